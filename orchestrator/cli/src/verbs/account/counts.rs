//! Memory and operation counts that `account` shows.

use lab_abi::rows::{CandidateRow, FlowEntry, FlowKey, PortRow};
use lab_plan::account::{Counted, SwitchAccount, TrainedAccount};
use lab_policy::lcmp::{PortState, PortThresholds};
use lab_switchd::account::{MapAccount, ProgramAccount};
use lab_units::CandidateSet;
use serde::Serialize;

/// Memory and operations of a scenario's switches.
#[derive(Debug, Serialize)]
pub struct Account {
    /// Counts for the example switch in Sec. 4 of the paper.
    pub paper: Counted,
    /// Rule by which the switches' neighbours are candidates; left out if it is the default.
    #[serde(skip_serializing_if = "CandidateSet::is_default")]
    pub candidate_set: CandidateSet,
    /// Counts for each switch of the scenario, by the paper's rules.
    pub switches: Vec<SwitchAccount>,
    /// Counts for each policy with trained weights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trained: Vec<TrainedAccount>,
    /// Bytes per table row in this implementation, by kind of row.
    pub rows: RowBytes,
    /// Maps of the switch program; per-CPU maps are counted for one CPU.
    pub tables: Vec<MapAccount>,
    /// Size of the switch program; `None` if the program could not be loaded into this kernel.
    pub program: Option<ProgramAccount>,
    /// Reason why `program` is `None`.
    pub program_unknown: Option<String>,
}

/// Bytes per row of each kind, as declared in the code that switch program and agent share.
#[derive(Debug, Serialize)]
pub struct RowBytes {
    /// State of a port in the agent, such as its queue's level and trend.
    pub port_state: usize,
    /// Row of a port in the switch program's table.
    pub port_row: usize,
    /// Congestion thresholds of a port in the agent.
    pub port_thresholds: usize,
    /// Key of a flow: its 5-tuple.
    pub flow_key: usize,
    /// Entry of a flow in the flow cache, without its key.
    pub flow_entry: usize,
    /// Candidate next hop: port, score and buckets.
    pub candidate: usize,
}

impl RowBytes {
    pub const HERE: Self = Self {
        port_state: size_of::<PortState>(),
        port_row: size_of::<PortRow>(),
        port_thresholds: size_of::<PortThresholds>(),
        flow_key: size_of::<FlowKey>(),
        flow_entry: size_of::<FlowEntry>(),
        candidate: size_of::<CandidateRow>(),
    };
}
