//! Attachment of the switch program to the ingress of all ports.

use std::path::Path;

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

/// Attached program: its BPF links, and its clsact qdiscs, which remain when the process ends.
pub struct Attached {
    attachment: Attachment,
    links: Vec<PortLink>,
    clsact: Vec<i32>,
    /// BPF link of the program that marks ports dead; `None` if the kernel cannot run that program.
    carriers: Option<FdLink>,
}

/// BPF link that attaches the program to a port.
enum PortLink {
    /// Id of a BPF link in aya's list of the program's links.
    Listed(SchedClassifierLinkId),
    /// File descriptor of a BPF link that is pinned on the bpffs.
    Pinned(#[expect(dead_code, reason = "closed when this value is dropped")] FdLink),
}

/// Treatment of a clsact qdisc that an earlier agent may have left at a port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum OldClsact {
    /// The port has no clsact qdisc.
    None,
    /// The qdisc's filter uses tables that no agent updates any more, so the qdisc is removed.
    Remove,
    /// The qdisc's filter uses the inherited tables, so only its program is replaced.
    Replace,
}

impl Attached {
    pub(crate) const fn attachment(&self) -> Attachment {
        self.attachment
    }

    /// Returns true if the kernel marks a port dead by itself when its link loses its carrier.
    pub(crate) const fn has_carriers(&self) -> bool {
        self.carriers.is_some()
    }

    /// Detaches the program from all ports; continues after a failure and returns the first error.
    pub fn detach(
        &mut self,
        program: &mut Program,
        qdiscs: &mut Qdiscs,
    ) -> Result<(), SwitchdError> {
        self.carriers = None;
        let mut first = program.pins().map_or(Ok(()), Pins::remove_links);
        let classifier = program.classifier()?;
        for link in self.links.drain(..) {
            let PortLink::Listed(link) = link else {
                continue;
            };
            let detached = classifier.detach(link);
            first = first.and(detached.map_err(SwitchdError::program("detach")));
        }
        first.and(delete_all(std::mem::take(&mut self.clsact), qdiscs))
    }
}

impl Drop for Attached {
    /// Removes the clsact qdiscs after an error; if that fails, the next agent on these ports removes them.
    fn drop(&mut self) {
        if self.clsact.is_empty() {
            return;
        }
        let clsact = std::mem::take(&mut self.clsact);
        let deleted = Qdiscs::open().and_then(|mut qdiscs| delete_all(clsact, &mut qdiscs));
        if let Err(error) = deleted {
            tracing::warn!(error = error.chain(), "cannot remove a clsact qdisc");
        }
    }
}

/// Attaches the program to the interfaces, which are given as pairs of name and index.
///
/// If the program's maps are inherited from a killed agent, that agent's program is replaced at each port without
/// losing a packet.
/// After a failure the program is detached from all ports.
pub fn attach(
    program: &mut Program,
    interfaces: &[(&str, i32)],
    mode: AttachMode,
    qdiscs: &mut Qdiscs,
) -> Result<Attached, SwitchdError> {
    let attachment = choose(mode, has_tcx())?;
    let clsact = qdiscs.with_clsact()?;
    let mut attached = Attached {
        attachment,
        links: Vec::new(),
        clsact: Vec::new(),
        carriers: None,
    };
    for (slot, &(interface, ifindex)) in interfaces.iter().enumerate() {
        let old = old_clsact(
            attachment,
            clsact.contains(&ifindex),
            program.is_inherited(),
        );
        let port = (interface, ifindex, slot);
        attached.attach_port(program, port, old, qdiscs)?;
    }
    match watch_carriers(program) {
        Ok(link) => attached.carriers = Some(link),
        Err(error) => tracing::info!(
            error = error.chain(),
            "the kernel does not mark dead ports by itself; the agent does, some milliseconds later"
        ),
    }
    Ok(attached)
}

/// Attaches the program that marks ports dead; its BPF link replaces the BPF link that an earlier agent pinned.
fn watch_carriers(program: &mut Program) -> Result<FdLink, SwitchdError> {
    let link = program.watch_carriers()?;
    match program.pins() {
        Some(pins) => pins.pin_carriers(link),
        None => Ok(link),
    }
}

const fn old_clsact(attachment: Attachment, has_clsact: bool, is_inherited: bool) -> OldClsact {
    match (has_clsact, attachment, is_inherited) {
        (false, ..) => OldClsact::None,
        (true, Attachment::Netlink, true) => OldClsact::Replace,
        (true, ..) => OldClsact::Remove,
    }
}

impl Attached {
    fn attach_port(
        &mut self,
        program: &mut Program,
        (interface, ifindex, slot): (&str, i32, usize),
        old: OldClsact,
        qdiscs: &mut Qdiscs,
    ) -> Result<(), SwitchdError> {
        if self.attachment == Attachment::Netlink {
            self.clsact.push(ifindex);
        }
        if old == OldClsact::Replace
            && let Ok(link) = replace_filter(program.classifier()?, interface)
        {
            self.links.push(PortLink::Listed(link));
            return Ok(());
        }
        if old != OldClsact::None {
            qdiscs.delete_clsact(ifindex)?;
        }
        let link = match self.attachment {
            Attachment::Tcx => {
                let file = program.pins().map(|pins| pins.link(slot));
                attach_tcx(program.classifier()?, interface, file.as_deref())
            }
            Attachment::Netlink => {
                add_filter(program.classifier()?, interface).map(PortLink::Listed)
            }
        };
        self.links.push(link.map_err(|source| SwitchdError::Attach {
            interface: interface.to_owned(),
            source,
        })?);
        Ok(())
    }
}

/// Attaches the program with a new tcx link, or with the tcx link that an earlier agent pinned as `file`.
fn attach_tcx(
    classifier: &mut SchedClassifier,
    interface: &str,
    file: Option<&Path>,
) -> Result<PortLink, ProgramError> {
    let inherited = file.filter(|file| file.exists());
    let link = match inherited {
        Some(file) => {
            let link = FdLink::from(PinnedLink::from_pin(file).map_err(link_error)?);
            let link = SchedClassifierLink::try_from(link).map_err(link_error)?;
            classifier.attach_to_link(link)?
        }
        None => {
            let options = TcAttachOptions::TcxOrder(LinkOrder::default());
            classifier.attach_with_options(interface, TcAttachType::Ingress, options)?
        }
    };
    let Some(file) = file else {
        return Ok(PortLink::Listed(link));
    };
    let link = FdLink::try_from(classifier.take_link(link)?).map_err(link_error)?;
    if inherited.is_some() {
        return Ok(PortLink::Pinned(link));
    }
    let pinned = link
        .pin(file)
        .map_err(std::io::Error::other)
        .map_err(ProgramError::IOError)?;
    Ok(PortLink::Pinned(FdLink::from(pinned)))
}

fn link_error(error: LinkError) -> ProgramError {
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

/// Replaces the program in the filter that an earlier agent left.
fn replace_filter(
    classifier: &mut SchedClassifier,
    interface: &str,
) -> Result<SchedClassifierLinkId, ProgramError> {
    let ingress = TcAttachType::Ingress;
    let old = SchedClassifierLink::attached(interface, ingress, PRIORITY, HANDLE, None)?;
    classifier.attach_to_link(old)
}

/// Priority of the clsact filter, the same at every port, so that the next agent can find the filter.
const PRIORITY: u16 = 1;
/// Handle of the clsact filter, the same at every port, so that the next agent can find the filter.
const HANDLE: TcHandle = TcHandle::new(0, 1);

/// Returns true on Linux 6.6 and later; false if the version cannot be read.
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
    fn tcx_is_chosen_where_the_kernel_has_it() {
        for (mode, has_tcx, expected) in [
            (AttachMode::Auto, true, Some(Attachment::Tcx)),
            (AttachMode::Auto, false, Some(Attachment::Netlink)),
            (AttachMode::Netlink, true, Some(Attachment::Netlink)),
            (AttachMode::Tcx, false, None),
        ] {
            assert_eq!(choose(mode, has_tcx).ok(), expected);
        }
    }

    #[test]
    fn a_filter_is_replaced_only_where_its_tables_are_inherited() {
        let tcx = Attachment::Tcx;
        let netlink = Attachment::Netlink;
        for (attachment, has_clsact, is_inherited, expected) in [
            (netlink, true, true, OldClsact::Replace),
            (netlink, true, false, OldClsact::Remove),
            (netlink, false, true, OldClsact::None),
            (tcx, true, true, OldClsact::Remove),
        ] {
            assert_eq!(old_clsact(attachment, has_clsact, is_inherited), expected);
        }
    }
}
