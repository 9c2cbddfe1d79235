//! Commands that come into a guest while it runs.
//!
//! The process that owns the guest listens on a Unix socket, the door. Whoever may open it asks for a
//! command and is its standard streams from then on. Each command has a number; the two control
//! lines carry all of them at once.
//!
//! - `talk`: what is said, the same at the door and on the control line
//! - `door`: where clients come in
//! - `clients`: those who are in
//! - `client`: the other side of the door

mod client;
mod clients;
mod door;
pub(crate) mod talk;

pub use client::{ExecError, run};
pub(crate) use clients::Clients;
pub(crate) use door::{Door, Knock};
