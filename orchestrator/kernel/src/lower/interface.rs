//! Settings shared by all interfaces, of links and of the pacer.

use super::Layout;
use crate::step::{DeviceChange, Handle, Namespace, Step};

pub(super) fn offloads(netns: &Namespace, dev: &str) -> Step {
    Step::device(netns, dev, DeviceChange::NoOffloads)
}

/// Returns the group of the lab's interfaces in the root namespace.
pub(super) fn root_group(layout: &Layout<'_>) -> u32 {
    ROOT_GROUP + u32::from(layout.plan.slot)
}

/// Handle of an interface's root discipline.
pub(super) const ROOT: Handle = Handle(1);

/// Handle that the kernel gives to clsact.
pub(super) const CLSACT: Handle = Handle(0xffff);

/// First interface group; the slot is added. The members of a group in the root namespace are deleted
/// in one request, since each single deletion costs tens of milliseconds. The number is unlikely to be used by anyone
/// else.
const ROOT_GROUP: u32 = 0x6c63_6d00;

/// Transmit queue length in packets. Queueing disciplines have their own limits.
pub(super) const QUEUE_LEN: u32 = 1_000;
