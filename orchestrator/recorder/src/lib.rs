//! Records of a run: converts the plan and the measurements of either engine to run facts and rows.
//!
//! Both engines measure in emulated units and identify nodes, ports and datacenters by the plan's ids. This crate
//! converts ids to names and values to paper units, so that a row has the same meaning for both engines.
//!
//! Must not contain: clocks, kernel interfaces, file access (which belongs to `lab-records`), or code for one engine
//! only.
//!
//! - [`decision`][]: decisions by the plan's numbers, from which rows and evidence are made
//! - [`facts`][]: facts of a run for `run.json`, from its plan
//! - [`rows`][]: measurements as rows
//! - [`hops`][]: paths of flows, and the bytes on each path
//! - [`evidence`](evidence())[]: the load on the network, and the actions of each policy's mechanism

pub mod decision;
mod evidence;
pub mod facts;
pub mod hops;
pub mod rows;

pub use decision::{CandidateScore, NumberedDecision};
pub use evidence::{Witness, evidence};
pub use facts::{RunSetting, run_info};
pub use hops::{Hops, Packets, PathRange, ReachedDc};
pub use rows::{
    AgentCounts, FlowGenerator, FlowResult, LinkCounters, PortTotals, QpRate, QueueLevels,
    RowBatch, RowMaker, Split, SwitchCounters, SwitchDecision,
};
