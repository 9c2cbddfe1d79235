//! Messages for queueing disciplines and filters, and listings of them.

use std::{
    ffi::CString,
    os::fd::{AsRawFd, OwnedFd},
};

use netlink_bindings::{
    tc::{
        ActOptionsMsg, OpGetqdiscDump, OpGettfilterDump, OptionsMsg, Request, TcU32Key, TcU32Sel,
        Tcmsg,
    },
    traits::NetlinkRequest,
};

use super::{Batch, NetlinkError, Socket};
use crate::qdisc::{Attributes, Handle, Parent, Qdisc};

/// Adds the message for `tc qdisc add` to a batch.
pub(crate) fn add(batch: &mut Batch, index: u32, parent: Parent, handle: Handle, qdisc: &Qdisc) {
    let header = header(index, parent, handle);
    let create = Request::new().set_create().set_excl();
    let mut request = create.op_newqdisc_do(&header);
    qdisc.push(request.encode());
    batch.request(&request);
}

/// Adds the message for `tc qdisc change` to a batch.
pub(crate) fn change(batch: &mut Batch, index: u32, parent: Parent, handle: Handle, qdisc: &Qdisc) {
    let header = header(index, parent, handle);
    let mut request = Request::new().op_newqdisc_do(&header);
    qdisc.push(request.encode());
    batch.request(&request);
}

/// Adds to a batch the message for `tc filter add … ingress protocol all u32 match u32 0 0 action mirred egress
/// redirect dev …`.
///
/// The filter is an empty u32 match instead of matchall, because every kernel that has filters has u32.
pub(crate) fn redirect(batch: &mut Batch, from: u32, to: u32) {
    let mut header = Tcmsg::new();
    header.ifindex = from.cast_signed();
    header.parent = CLSACT_INGRESS;
    header.info = (FIRST_PREFERENCE << 16) | u32::from(ETH_P_ALL.to_be());
    let mut everything = TcU32Sel::new();
    everything.flags = TC_U32_TERMINAL;
    everything.nkeys = 1;
    everything.keys = TcU32Key::new();
    let create = Request::new().set_create().set_excl();
    let mut request = create.op_newtfilter_do(&header);
    let filter = request.encode().nested_options_u32().push_sel(everything);
    // The kernel counts actions from 1 and ignores an action 0, whereas the crate counts from 0.
    let actions = filter.array_act().entry_nested().end_nested();
    actions
        .entry_nested()
        .nested_options_mirred()
        .push_parms(&egress_redirect(to));
    batch.request(&request);
}

/// Adds to a batch the message for `tc filter add … pref 1 handle 1 bpf direct-action object-pinned …`, and keeps the
/// program's file descriptor open until the batch has been sent.
pub(crate) fn attach(batch: &mut Batch, index: u32, hook: Hook, name: &str, program: OwnedFd) {
    let mut header = Tcmsg::new();
    header.ifindex = index.cast_signed();
    header.parent = hook.parent();
    header.handle = 1;
    header.info = (FIRST_PREFERENCE << 16) | u32::from(ETH_P_ALL.to_be());
    let create = Request::new().set_create().set_excl();
    let mut request = create.op_newtfilter_do(&header);
    let name = CString::new(name).unwrap_or_default();
    request
        .encode()
        .nested_options_bpf()
        .push_fd(program.as_raw_fd().cast_unsigned())
        .push_name(&name)
        .push_flags(TCA_BPF_FLAG_ACT_DIRECT);
    batch.request(&request);
    batch.keep(program);
}

/// Returns the ids of the programs that are attached at a hook of an interface.
pub(crate) fn attached(
    socket: &mut Socket,
    index: u32,
    hook: Hook,
) -> Result<Vec<u32>, NetlinkError> {
    let mut header = Tcmsg::new();
    header.ifindex = index.cast_signed();
    header.parent = hook.parent();
    socket.dump(libc::RTM_GETTFILTER, header.as_slice(), |message| {
        let (_, attributes) = OpGettfilterDump::decode_reply(message);
        match attributes.get_options() {
            Ok(OptionsMsg::Bpf(filter)) => filter.get_id().ok(),
            _ => None,
        }
    })
}

/// Hook of an interface's clsact qdisc.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hook {
    Ingress,
    Egress,
}

impl Hook {
    const fn parent(self) -> u32 {
        match self {
            Self::Ingress => CLSACT_INGRESS,
            Self::Egress => CLSACT_EGRESS,
        }
    }
}

/// Queueing discipline as the kernel lists it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Held {
    /// Index of the interface that has the discipline.
    pub interface: u32,
    pub handle: u32,
    pub parent: u32,
    pub attributes: Attributes,
}

/// Returns the queueing disciplines in the socket's namespace.
pub(crate) fn qdiscs(socket: &mut Socket) -> Result<Vec<Held>, NetlinkError> {
    socket.dump(libc::RTM_GETQDISC, Tcmsg::new().as_slice(), read)
}

/// Returns the number of packets that the root discipline of each interface has dropped, with the interface's index.
pub(crate) fn drops(socket: &mut Socket) -> Result<Vec<(u32, u64)>, NetlinkError> {
    socket.dump(libc::RTM_GETQDISC, Tcmsg::new().as_slice(), |message| {
        let (header, attributes) = OpGetqdiscDump::decode_reply(message);
        let queue = attributes.get_stats2().ok()?.get_queue().ok()?;
        let index = header.ifindex.cast_unsigned();
        (header.parent == TC_H_ROOT).then_some((index, u64::from(queue.drops)))
    })
}

/// Returns the index of the interface to which the packets that `from` receives are redirected; `None` if they are not
/// redirected.
pub(crate) fn redirected_to(socket: &mut Socket, from: u32) -> Result<Option<u32>, NetlinkError> {
    let mut header = Tcmsg::new();
    header.ifindex = from.cast_signed();
    header.parent = CLSACT_INGRESS;
    let targets = socket.dump(libc::RTM_GETTFILTER, header.as_slice(), |message| {
        let (_, attributes) = OpGettfilterDump::decode_reply(message);
        let Ok(OptionsMsg::U32(filter)) = attributes.get_options() else {
            return None;
        };
        let mut actions = filter.get_act().ok()?;
        let mirred = actions.find_map(|action| match action.get_options() {
            Ok(ActOptionsMsg::Mirred(mirred)) => mirred.get_parms().ok(),
            _ => None,
        });
        let target = mirred?.get(MIRRED_IFINDEX..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*target))
    })?;
    Ok(targets.first().copied())
}

/// Converts a discipline of a lab to the form in which the kernel lists it.
pub(crate) fn held(interface: u32, parent: Parent, handle: Handle, qdisc: &Qdisc) -> Held {
    let header = header(interface, parent, handle);
    Held {
        interface,
        handle: header.handle,
        parent: header.parent,
        attributes: qdisc.attributes(),
    }
}

fn read(message: &[u8]) -> Option<Held> {
    let (header, attributes) = OpGetqdiscDump::decode_reply(message);
    let kind = attributes.get_kind().ok()?.to_str().ok()?;
    Some(Held {
        interface: header.ifindex.cast_unsigned(),
        handle: header.handle,
        parent: header.parent,
        attributes: Attributes::read(kind, attributes.get_options().ok())?,
    })
}

fn header(index: u32, parent: Parent, handle: Handle) -> Tcmsg {
    let mut header = Tcmsg::new();
    header.ifindex = index.cast_signed();
    header.handle = u32::from(handle.0) << 16;
    header.parent = match parent {
        Parent::Root => TC_H_ROOT,
        Parent::Of(parent) => (u32::from(parent.0) << 16) | 1,
        Parent::Clsact => TC_H_CLSACT,
    };
    header
}

/// Returns a `struct tc_mirred` that redirects packets to the interface `to`; its fields are index, capab, action,
/// refcnt, bindcnt, eaction, ifindex.
fn egress_redirect(to: u32) -> Vec<u8> {
    let words = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, to];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Offset in bytes of `ifindex`, the last field of `struct tc_mirred`.
const MIRRED_IFINDEX: usize = 24;

const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_CLSACT: u32 = 0xffff_fff1;
const CLSACT_INGRESS: u32 = 0xffff_fff2;
const CLSACT_EGRESS: u32 = 0xffff_fff3;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const FIRST_PREFERENCE: u32 = 1;
const ETH_P_ALL: u16 = 3;
const TC_U32_TERMINAL: u8 = 1;
const TC_ACT_STOLEN: u32 = 4;
const TCA_EGRESS_REDIR: u32 = 1;
