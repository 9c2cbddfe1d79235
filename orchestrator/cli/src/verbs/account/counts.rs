//! Counts of an account.

use lab_abi::rows::{CandidateRow, FlowEntry, FlowKey, PortRow};
use lab_plan::account::{Counted, SwitchAccount};
use lab_policy::lcmp::{PortState, PortThresholds};
use lab_switchd::account::{MapAccount, ProgramAccount};
use serde::Serialize;

/// Account of a scenario's switches.
#[derive(Debug, Serialize)]
pub struct Account {
    /// Example of the paper.
    pub paper: Counted,
    /// Switches of the scenario, by the paper's count.
    pub switches: Vec<SwitchAccount>,
    /// Bytes of one row of each kind in this program.
    pub rows: RowBytes,
    /// Tables of the switch program, on one CPU.
    pub tables: Vec<MapAccount>,
    /// Switch program, if the kernel loads it.
    pub program: Option<ProgramAccount>,
    /// Reason why the program is unknown.
    pub program_unknown: Option<String>,
}

/// Bytes per row, for each kind, from the declarations that program and agent share.
#[derive(Debug, Serialize)]
pub struct RowBytes {
    /// State of a port, in the agent.
    pub port_state: usize,
    /// Row of a port in the switch table.
    pub port_row: usize,
    /// Thresholds of a port, in the agent.
    pub port_thresholds: usize,
    /// Key of a flow.
    pub flow_key: usize,
    /// Entry of a flow.
    pub flow_entry: usize,
    /// Candidate: port, score and buckets.
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
