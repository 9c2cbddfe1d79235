//! Settings that all interfaces of links and of the pacer share.

use super::Layout;
use crate::step::{DeviceChange, Handle, Namespace, Step};

pub(super) fn offloads(netns: &Namespace, dev: &str) -> Step {
    Step::device(netns, dev, DeviceChange::NoOffloads)
}

/// Returns the number of the interface group (`ip link … group`) that contains the lab's interfaces in the root
/// namespace.
pub(super) fn root_group(layout: &Layout<'_>) -> u32 {
    ROOT_GROUP + u32::from(layout.plan.slot)
}

/// Handle of the root queueing discipline of an interface.
pub(super) const ROOT: Handle = Handle(1);

/// Handle that the kernel gives to every clsact qdisc.
pub(super) const CLSACT: Handle = Handle(0xffff);

/// Interface group of the lab in slot 0 (each machine has slots 0 to 15); the lab in slot n uses this number plus n.
/// The members of a group in the root namespace are deleted in one request, because each single deletion costs tens of
/// milliseconds. The number is unlikely to be used by another program.
const ROOT_GROUP: u32 = 0x6c63_6d00;

/// Transmit queue length of interfaces, in packets. The queueing disciplines have their own limits.
pub(super) const QUEUE_LEN: u32 = 1_000;
