//! Netlink: messages for steps, batches of messages, and the kernel's answers.
//!
//! The crate rtnetlink encodes links, addresses, neighbours, routes and rules; netlink-bindings
//! encodes queueing disciplines and filters. A batch is sent by one system call, and only its last
//! message asks for an acknowledgement: the kernel reports errors of the others anyway.

mod batch;
pub(crate) mod dump;
mod error;
pub(crate) mod ethtool;
pub(crate) mod rdma;
pub(crate) mod route;
pub(crate) mod rule;
mod socket;
pub(crate) mod tc;

pub use self::error::{KernelError, NetlinkError};
pub(crate) use self::{batch::Batch, socket::Socket};
