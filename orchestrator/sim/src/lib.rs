//! Packet-level simulator that runs a plan in virtual time.
//!
//! Must not contain: wall clocks, tokio, netlink, hash-map order, or randomness that is not seeded by the plan.
//!
//! Model:
//! - [`time`][]: virtual time
//! - [`packet`][], [`fifo`][], [`wire`][]: packets, packet queues, and packets in flight on a link
//! - [`network`][], [`world`][]: static data of a run, from the plan, in the simulator's numbering
//! - [`port`][], [`mmu`][]: queues, ECN marks, shared buffers, PFC
//! - [`dice`][]: random numbers for losses and marks
//! - [`cc`][]: congestion control of a sending QP
//! - [`te`][]: TE controller
//! - [`semantics`][]: rules that differ between the paper and the artifact
//!
//! Execution:
//! - [`event`][]: event queue
//! - [`partition`][]: one datacenter as a logical process
//! - [`run`][]: execution of all partitions, on one thread or many, with the same result
//! - [`trace`][]: events for observers
//! - [`mod@simulate`][]: run of a policy, for any semantics and congestion control
//! - [`mod@record`][]: observer that writes the rows of a run directory
//! - [`replay`][]: observer that keeps results in memory, for comparison with the artifact's outputs
//! - [`trains`][]: several packets as one event, an approximation
//! - [`estimate`][]: cost of a simulation before it runs

pub mod cc;
pub mod dice;
pub mod error;
pub mod estimate;
pub mod event;
pub mod fifo;
pub mod mmu;
pub mod network;
pub mod packet;
pub mod partition;
pub mod port;
pub mod record;
pub mod replay;
pub mod run;
pub mod semantics;
pub mod simulate;
pub mod te;
#[cfg(test)]
mod testing;
pub mod time;
pub mod trace;
mod trained;
pub mod trains;
pub mod wire;
pub mod world;

pub use error::SimError;
pub use estimate::RepetitionCost;
pub use partition::Work;
pub use record::{RecordError, Sink, record};
pub use run::{EndReason, Observer, Outcome, Progress, RunOptions};
pub use simulate::{Job, simulate};
pub use time::SimTime;
pub use trace::{Samples, TraceFilter};
pub use world::World;
