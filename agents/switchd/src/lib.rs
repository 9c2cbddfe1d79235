//! Agent of one DCI switch: loads the switch program, installs tables, samples queues.
//!
//! A process in the switch's network namespace calls [`run`] with an [`AgentConfig`](lab_abi::wire::AgentConfig); it
//! returns when the controller disconnects or stops it. The agent is one thread that sleeps until a timer is due or a
//! file descriptor is readable: under a guest's virtual clock, every needless wake-up takes time from the lab. Must not
//! contain: the plan, the scenario, records, policies (`lab-policy` has them, `agents/ebpf/switch.bpf.c` mirrors them).
//!
//! The kernel has all inputs of a decision, so flows are decided, pinned and moved off dead ports even
//! while the agent sleeps. The agent
//! - fills the tables and attaches the program to the ingress of all ports,
//! - samples the egress queues and publishes each port's congestion as one word,
//! - publishes the ports' liveness, from their links and by command (fast failover),
//! - removes idle flows (flow-cache garbage collection),
//! - reports queues, decisions, demands, flows and counters to the controller,
//! - rewrites hash buckets, path costs, weights and thresholds by command,
//! - and detaches the program when it ends.
//!
//! If the configuration names a directory on a bpffs mount, maps and links are pinned there: the switch of a killed
//! agent keeps forwarding, and the next agent takes it over.
//!
//! [`selftest()`] compares the program with `lab-policy`, [`mod@account`] reports its size; both need no
//! interface. [`read_object`] checks a user's own object. The modules [`attach`], [`frame`], [`install`],
//! [`program`] and [`qdisc`] are public for the benchmarks in `lab-bench`.
//!
//! ```no_run
//! let config = serde_json::from_reader(std::io::stdin())?;
//! lab_switchd::run(config)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod account;
mod agent;
pub mod attach;
mod buffer;
mod clock;
mod controller;
mod error;
#[cfg(test)]
mod example;
mod failover;
mod flow_gc;
pub mod frame;
pub mod install;
mod maps;
mod object;
mod pins;
pub mod program;
pub mod qdisc;
mod reports;
mod sampler;
mod selftest;
mod shared;
mod wait;

pub use agent::run;
pub use clock::now;
pub use error::SwitchdError;
pub use object::{MAX_OBJECT_BYTES, ObjectError, read_object};
pub use pins::Pins;
pub use selftest::{SelftestReport, selftest};
