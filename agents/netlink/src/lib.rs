//! Netlink sockets: batches of messages, listings, notifications and the kernel's errors.
//!
//! The kernel engine, the switch agent and the benchmarks share this client; each defines its own messages. A batch is
//! sent with one system call, and only its last message requests an acknowledgement: the kernel reports errors of the
//! other messages anyway. Must not contain: message kinds that only one of them needs, namespaces, a runtime.
//!
//! - `socket`: requests, listings and notifications of one network namespace
//! - `batch`: messages to send with one system call
//! - `error`: failures, including the kernel's error texts
//!
//! ```no_run
//! use lab_netlink::{Batch, NetlinkError, Socket};
//!
//! # fn main() -> Result<(), NetlinkError> {
//! let mut socket = Socket::route()?;
//! let links = socket.dump(libc::RTM_GETLINK, &[0; 16], |link| link.first_chunk::<16>().copied())?;
//! for mut link in links {
//!     // `ifi_change`: only the flag IFF_UP, which `ifi_flags` then holds.
//!     link[8..].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0]);
//!     let mut batch = Batch::default();
//!     batch.raw(libc::RTM_NEWLINK, 0, &link);
//!     socket.execute_one(batch)?;
//! }
//! # Ok(())
//! # }
//! ```

mod batch;
mod error;
mod socket;

pub use self::{
    batch::Batch,
    error::{KernelError, NetlinkError, c_string},
    socket::Socket,
};
