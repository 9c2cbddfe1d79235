//! The program at the ingress of all ports, until it is taken off.

use aya::{
    programs::{
        LinkOrder, ProgramError, SchedClassifier, TcAttachType,
        links::{FdLink, LinkError, PinnedLink},
        tc::{
            self, NlOptions, SchedClassifierLink, SchedClassifierLinkId, TcAttachOptions, TcHandle,
        },
    },
    util::KernelVersion,
};
use lab_abi::wire::{AttachMode, Attachment};

use crate::{SwitchdError, pins::Pins, program::Program, qdisc::Qdiscs};

/// What must be undone: the links, and the clsact qdiscs, which would outlive the agent.
pub(crate) struct Attached {
    attachment: Attachment,
    links: Vec<PortLink>,
    clsact: Vec<i32>,
    pins: Option<Pins>,
}

/// What holds the program at a port.
enum PortLink {
    /// The program's own list of links.
    Listed(SchedClassifierLinkId),
    /// A descriptor, beside its file.
    Pinned(#[expect(dead_code, reason = "it is there to be closed last")] FdLink),
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
        self.pins = None;
        let classifier = program.classifier()?;
        let mut first = Ok(());
        for link in self.links.drain(..) {
            let PortLink::Listed(link) = link else {
                continue;
            };
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
/// Where `pins` are those of an agent that was killed, its program is replaced by this one, port by
/// port and without a packet in between. Else a clsact qdisc that is already there is removed first:
/// its filter would forward by tables nobody writes any more.
pub(crate) fn attach(
    program: &mut Program,
    interfaces: &[(&str, i32)],
    mode: AttachMode,
    pins: Option<Pins>,
    qdiscs: &mut Qdiscs,
) -> Result<Attached, SwitchdError> {
    let attachment = choose(mode, has_tcx())?;
    let is_inherited = pins.as_ref().is_some_and(Pins::is_inherited);
    let old = qdiscs.with_clsact()?;
    let mut attached = Attached {
        attachment,
        links: Vec::new(),
        clsact: Vec::new(),
        pins,
    };
    for (slot, &(interface, ifindex)) in interfaces.iter().enumerate() {
        let failed = |source| SwitchdError::Attach {
            interface: interface.to_owned(),
            source,
        };
        let has_clsact = old.contains(&ifindex);
        let classifier = program.classifier()?;
        let link = match attachment {
            Attachment::Tcx => {
                if has_clsact {
                    qdiscs.delete_clsact(ifindex)?;
                }
                by_tcx(classifier, interface, slot, attached.pins.as_ref()).map_err(failed)?
            }
            Attachment::Netlink => {
                attached.clsact.push(ifindex);
                let replaced = (has_clsact && is_inherited)
                    .then(|| replace_filter(classifier, interface).ok())
                    .flatten();
                match replaced {
                    Some(link) => PortLink::Listed(link),
                    None => {
                        if has_clsact {
                            qdiscs.delete_clsact(ifindex)?;
                        }
                        PortLink::Listed(add_filter(classifier, interface).map_err(failed)?)
                    }
                }
            }
        };
        attached.links.push(link);
    }
    Ok(attached)
}

/// By a link of its own, or by the one an agent left.
fn by_tcx(
    classifier: &mut SchedClassifier,
    interface: &str,
    slot: usize,
    pins: Option<&Pins>,
) -> Result<PortLink, ProgramError> {
    let file = pins.map(|pins| pins.link(slot));
    let inherited = file.as_ref().filter(|file| file.exists());
    let link = match inherited {
        Some(file) => {
            let link = FdLink::from(PinnedLink::from_pin(file).map_err(of_link)?);
            let link = SchedClassifierLink::try_from(link).map_err(of_link)?;
            classifier.attach_to_link(link)?
        }
        None => {
            let options = TcAttachOptions::TcxOrder(LinkOrder::default());
            classifier.attach_with_options(interface, TcAttachType::Ingress, options)?
        }
    };
    let Some(file) = &file else {
        return Ok(PortLink::Listed(link));
    };
    let link = FdLink::try_from(classifier.take_link(link)?).map_err(of_link)?;
    if inherited.is_none() {
        let pinned = link
            .pin(file)
            .map_err(|error| ProgramError::IOError(std::io::Error::other(error)))?;
        return Ok(PortLink::Pinned(FdLink::from(pinned)));
    }
    Ok(PortLink::Pinned(link))
}

fn of_link(error: LinkError) -> ProgramError {
    ProgramError::IOError(std::io::Error::other(error))
}

fn add_filter(
    classifier: &mut SchedClassifier,
    interface: &str,
) -> Result<SchedClassifierLinkId, ProgramError> {
    tc::qdisc_add_clsact(interface)?;
    let options = TcAttachOptions::Netlink(NlOptions {
        priority: PRIORITY,
        handle: HANDLE,
        classid: None,
    });
    classifier.attach_with_options(interface, TcAttachType::Ingress, options)
}

/// Puts the program in the place of the one that an agent left.
fn replace_filter(
    classifier: &mut SchedClassifier,
    interface: &str,
) -> Result<SchedClassifierLinkId, ProgramError> {
    let ingress = TcAttachType::Ingress;
    let old = SchedClassifierLink::attached(interface, ingress, PRIORITY, HANDLE, None)?;
    classifier.attach_to_link(old)
}

/// Where the filter is, so that the next agent finds it.
const PRIORITY: u16 = 1;
const HANDLE: TcHandle = TcHandle::new(0, 1);

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
