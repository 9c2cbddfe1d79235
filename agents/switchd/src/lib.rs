//! The agent of one DCI switch: loads the switch program, installs tables, samples queues.
//!
//! [`run`] is all a process needs: it is in the switch's network namespace, has an
//! [`AgentConfig`](lab_abi::wire::AgentConfig), and blocks until its controller is gone. It runs in
//! one thread that sleeps until something is due or has come; under a guest's virtual clock every
//! needless wake-up is time taken from the lab. Must not contain: the plan, the scenario, records,
//! policies (those are `lab-policy`'s, and mirrored by `agents/ebpf/switch.bpf.c`).
//!
//! What a decision needs is in the kernel, so flows are decided, pinned and moved off dead ports
//! even while the agent sleeps. The agent
//! - fills the tables and attaches the program to the ingress of all ports,
//! - samples the egress queues and publishes each port's congestion as one word,
//! - publishes ports' liveness, from their links and by command,
//! - forgets idle flows,
//! - tells the controller of queues, decisions, demands, flows and counters,
//! - rewrites hash buckets, path costs, weights and thresholds as the controller says,
//! - and takes the program off the ports when it ends.
//!
//! Where its configuration names a directory of a BPF file system, maps and links are pinned there: an
//! agent that is killed leaves a switch that goes on forwarding, and the next agent takes it over.
//!
//! [`selftest`] holds the program against `lab-policy`, [`mod@bench`] measures it, [`mod@account`] says
//! what it takes; all run wherever the kernel takes the program, interfaces or not. [`read_object`]
//! says whether a user's own object is a switch program.
//!
//! ```no_run
//! let config = serde_json::from_reader(std::io::stdin())?;
//! lab_switchd::run(&config)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod account;
mod agent;
mod attach;
pub mod bench;
mod clock;
mod controller;
mod decisions;
mod error;
#[cfg(test)]
mod example;
mod flows;
mod install;
mod links;
mod object;
mod pins;
mod program;
mod qdisc;
mod row;
mod sampler;
mod selftest;
mod shared;
mod wait;

pub use agent::run;
pub use error::SwitchdError;
pub use object::{MAX_OBJECT_BYTES, ObjectError, read_object};
pub use selftest::{SelftestReport, selftest};
