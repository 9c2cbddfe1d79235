//! The program at the ingress of all ports, until it is taken off.

use aya::{
    programs::{
        LinkOrder, TcAttachType,
        tc::{self, NlOptions, SchedClassifierLinkId, TcAttachOptions},
    },
    util::KernelVersion,
};
use lab_abi::wire::{AttachMode, Attachment};

use crate::{SwitchdError, program::Program, qdisc::Qdiscs};

/// What must be undone: the links, and the clsact qdiscs, which would outlive the agent.
pub(crate) struct Attached {
    attachment: Attachment,
    links: Vec<SchedClassifierLinkId>,
    clsact: Vec<i32>,
}

impl Attached {
    /// How the program is attached.
    pub(crate) const fn attachment(&self) -> Attachment {
        self.attachment
    }

    /// Takes the program off all ports; goes on after a failure and returns the first one.
    pub(crate) fn detach(
        &mut self,
        program: &mut Program,
        qdiscs: &mut Qdiscs,
    ) -> Result<(), SwitchdError> {
        let classifier = program.classifier()?;
        let mut first = Ok(());
        for link in self.links.drain(..) {
            let detached = classifier
                .detach(link)
                .map_err(|source| SwitchdError::Program {
                    action: "detach",
                    source,
                });
            first = first.and(detached);
        }
        first.and(delete_all(std::mem::take(&mut self.clsact), qdiscs))
    }
}

impl Drop for Attached {
    /// The way out of an error: what it could not undo, the next agent on these ports does.
    fn drop(&mut self) {
        if let Err(error) = delete_all(std::mem::take(&mut self.clsact), &mut Qdiscs::open()) {
            tracing::warn!(error = error.chain(), "a clsact qdisc stays behind");
        }
    }
}

/// Attaches the program to the interfaces, each given by name and index.
///
/// A clsact qdisc that is already there is removed first: it is an agent's that was killed, and its
/// filter would forward by tables nobody writes any more.
pub(crate) fn attach(
    program: &mut Program,
    interfaces: &[(&str, i32)],
    mode: AttachMode,
    qdiscs: &mut Qdiscs,
) -> Result<Attached, SwitchdError> {
    let attachment = choose(mode, has_tcx())?;
    let old = qdiscs.with_clsact()?;
    let mut attached = Attached {
        attachment,
        links: Vec::new(),
        clsact: Vec::new(),
    };
    for &(interface, ifindex) in interfaces {
        let failed = |source| SwitchdError::Attach {
            interface: interface.to_owned(),
            source,
        };
        if old.contains(&ifindex) {
            qdiscs.delete_clsact(ifindex)?;
        }
        let options = match attachment {
            Attachment::Tcx => TcAttachOptions::TcxOrder(LinkOrder::default()),
            Attachment::Netlink => {
                tc::qdisc_add_clsact(interface).map_err(|error| failed(error.into()))?;
                attached.clsact.push(ifindex);
                TcAttachOptions::Netlink(NlOptions::default())
            }
        };
        let link = program
            .classifier()?
            .attach_with_options(interface, TcAttachType::Ingress, options)
            .map_err(failed)?;
        attached.links.push(link);
    }
    Ok(attached)
}

/// tcx came with Linux 6.6; a kernel whose version cannot be read gets the older way.
fn has_tcx() -> bool {
    KernelVersion::current().is_ok_and(|version| version >= KernelVersion::new(6, 6, 0))
}

fn choose(mode: AttachMode, has_tcx: bool) -> Result<Attachment, SwitchdError> {
    match (mode, has_tcx) {
        (AttachMode::Tcx, false) => Err(SwitchdError::NoTcx),
        (AttachMode::Tcx | AttachMode::Auto, true) => Ok(Attachment::Tcx),
        (AttachMode::Netlink, _) | (AttachMode::Auto, false) => Ok(Attachment::Netlink),
    }
}

fn delete_all(ifindexes: Vec<i32>, qdiscs: &mut Qdiscs) -> Result<(), SwitchdError> {
    let mut first = Ok(());
    for ifindex in ifindexes {
        let deleted = qdiscs.delete_clsact(ifindex);
        first = first.and(deleted);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcx_is_taken_where_it_is() {
        assert!(matches!(
            choose(AttachMode::Auto, true),
            Ok(Attachment::Tcx)
        ));
        assert!(matches!(
            choose(AttachMode::Auto, false),
            Ok(Attachment::Netlink)
        ));
        assert!(matches!(
            choose(AttachMode::Netlink, true),
            Ok(Attachment::Netlink)
        ));
        assert!(matches!(
            choose(AttachMode::Tcx, false),
            Err(SwitchdError::NoTcx)
        ));
    }
}
