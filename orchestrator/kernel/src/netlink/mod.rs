//! Netlink: messages of steps, batches of messages, and what the kernel answers.
//!
//! Links, addresses, neighbours, routes and rules are rtnetlink's messages; queueing disciplines and
//! filters are netlink-bindings', which knows their options. Many messages go in one system call and
//! only the last asks for an acknowledgement: the kernel reports errors of the others unasked.

mod batch;
pub(crate) mod dump;
mod error;
pub(crate) mod ethtool;
pub(crate) mod rdma;
pub(crate) mod route;
mod socket;
pub(crate) mod tc;

pub use self::error::{KernelError, NetlinkError};
pub(crate) use self::{batch::Batch, socket::Socket};
