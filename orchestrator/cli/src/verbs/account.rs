//! `lcmp-lab account`: memory and operations of a DCI switch, beside the paper's count (Sec. 4).

mod show;

use lab_abi::rows::{CandidateRow, FlowEntry, FlowKey, PortRow};
use lab_plan::{
    Engine, Plan,
    account::{self, Counted, SwitchAccount},
};
use lab_policy::lcmp::{PortState, PortThresholds};
use lab_switchd::account::{self as measured, MapAccount, ProgramAccount};
use serde::Serialize;

use crate::{
    args::ScenarioArgs,
    failure::{Outcome, with_causes},
    load, terminal,
};

/// Account of a scenario's switches.
#[derive(Debug, Serialize)]
struct Account {
    /// Example of the paper.
    paper: Counted,
    /// Switches of the scenario, by the paper's count.
    switches: Vec<SwitchAccount>,
    /// Bytes per row for each kind of row in this program.
    rows: RowBytes,
    /// Tables of the switch program, on one CPU.
    tables: Vec<MapAccount>,
    /// Switch program, if the kernel loads it.
    program: Option<ProgramAccount>,
    /// Reason why the program is unknown.
    program_unknown: Option<String>,
}

/// Bytes per row for each kind of row, as the program and the agent declare them.
#[derive(Debug, Serialize)]
struct RowBytes {
    /// State of a port, in the agent.
    port_state: usize,
    /// Row of a port in the switch table.
    port_row: usize,
    /// Thresholds of a port, in the agent.
    port_thresholds: usize,
    /// Key of a flow.
    flow_key: usize,
    /// Entry of a flow.
    flow_entry: usize,
    /// Candidate: port, score and buckets.
    candidate: usize,
}

/// Runs `lcmp-lab account`.
pub fn run(arguments: &ScenarioArgs, json: bool) -> Outcome {
    let loaded = load::load(&arguments.scenario)?;
    let options = load::options(&arguments.overrides, Engine::Sim)?;
    let plan = load::resolve(&loaded, &arguments.scenario, &options)?;
    let flows = flow_table_entries(&plan);
    let (tables, program, program_unknown) = match measured::account(flows) {
        Ok(found) => (found.maps, Some(found.program), None),
        Err(error) => (
            measured::declared_maps(flows),
            None,
            Some(with_causes(&error)),
        ),
    };
    let account = Account {
        paper: account::EXAMPLE,
        switches: account::account(&plan, flows),
        rows: RowBytes::HERE,
        tables,
        program,
        program_unknown,
    };
    terminal::show(json, &account, show::text)
}

/// Returns the largest flow table of the scenario's policies, in rows.
fn flow_table_entries(plan: &Plan) -> u32 {
    let tables = plan.policies.iter().filter_map(|run| run.policy.lcmp());
    let max = tables.map(|config| config.flow_table_entries).max();
    max.unwrap_or(lab_abi::lcmp::MAX_FLOW_TABLE_ENTRIES)
}

impl RowBytes {
    const HERE: Self = Self {
        port_state: size_of::<PortState>(),
        port_row: size_of::<PortRow>(),
        port_thresholds: size_of::<PortThresholds>(),
        flow_key: size_of::<FlowKey>(),
        flow_entry: size_of::<FlowEntry>(),
        candidate: size_of::<CandidateRow>(),
    };
}
