//! The plan in virtual time, packet by packet.
//!
//! Must not contain: wall clocks, tokio, netlink, hash-map order, randomness that is not seeded by
//! the plan.
//!
//! What is simulated:
//! - [`time`][]: virtual time
//! - [`packet`][], [`fifo`][]: what travels and queues, with `prefetch`, since queues are long
//! - [`network`][], [`world`][]: the plan, looked up once
//! - [`port`][], [`mmu`][], [`flow_table`][]: queues and marks, buffers and PFC, pinned flows
//! - [`cc`][]: congestion control of a sending QP
//! - [`te`][]: traffic engineering, where all datacenters' demands meet
//! - [`semantics`][]: the paper's semantics and the artifact's
//!
//! How:
//! - [`event`][]: what happens next
//! - [`shard`][]: one datacenter
//! - [`run`][]: all of them, on one thread or many, with the same result
//! - [`note`][]: what is told meanwhile
//! - [`mod@simulate`][]: a plan's run, whatever its semantics and congestion control
//! - [`mod@record`][]: the same as rows of a run directory
//! - [`played`][]: the same in memory, beside the artifact's outputs
//! - [`estimate`][]: what it costs, before

pub mod cc;
pub mod error;
pub mod estimate;
pub mod event;
pub mod fifo;
pub mod flow_table;
pub mod mmu;
pub mod network;
pub mod note;
pub mod packet;
pub mod played;
pub mod port;
mod prefetch;
pub mod record;
pub mod run;
pub mod semantics;
pub mod shard;
pub mod simulate;
pub mod te;
#[cfg(test)]
mod testing;
pub mod time;
pub mod world;

pub use error::SimError;
pub use estimate::Estimate;
pub use record::{RecordError, record};
pub use run::{EndReason, Observer, Outcome, Progress, RunOptions};
pub use shard::{Told, Work};
pub use simulate::{Job, simulate};
pub use time::SimTime;
pub use world::World;
