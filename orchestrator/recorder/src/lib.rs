//! Records of a run, whatever its engine: the plan and what was measured become run facts and rows.
//!
//! Both engines measure in emulated units and name nodes, ports and datacenters by the plan's ids. This
//! crate gives them names and paper units, so that a row means the same in both.
//!
//! Must not contain: clocks, the kernel, files (`lab-records` writes), knowledge of one engine.
//!
//! - [`facts`][]: a plan as the facts of `run.json`
//! - [`rows`][]: measurements as rows
//! - [`hops`][]: paths of flows, and the bytes on each path
//! - [`evidence`](evidence())[]: the load that flows met, and each policy's mechanism at work

mod evidence;
pub mod facts;
pub mod hops;
pub mod rows;

pub use evidence::evidence;
pub use facts::{RunSetting, run_info};
pub use hops::{Hops, Packets, PathRange, next_dc};
pub use rows::{
    AgentCounts, CandidateScore, Decision, FlowGenerator, FlowResult, LinkCounters, PortTotals,
    QpRate, QueueLevels, RowBatch, RowMaker, Split, SwitchCounters,
};
