//! The plan in virtual time, packet by packet.
//!
//! Must not contain: wall clocks, tokio, netlink, hash-map order, randomness that is not seeded by
//! the plan.
//!
//! - [`time`][]: virtual time
//! - [`cc`][]: congestion control of a sending QP
//! - [`physics`][]: the paper's semantics and the artifact's

pub mod cc;
pub mod physics;
pub mod time;
