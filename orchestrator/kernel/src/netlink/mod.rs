//! Netlink messages for steps, and listings of objects in the kernel.
//!
//! The crate rtnetlink encodes links, addresses, neighbours, routes and rules; netlink-bindings
//! encodes queueing disciplines and filters.

pub(crate) mod dump;
pub(crate) mod ethtool;
pub(crate) mod rdma;
pub(crate) mod route;
pub(crate) mod rule;
pub(crate) mod tc;

pub(crate) use lab_netlink::{Batch, Socket};
pub use lab_netlink::{KernelError, NetlinkError};
