//! `lcmp-lab account`: what deciding takes of a DCI switch, beside what the paper counts (Sec. 4).

mod show;

use lab_abi::rows::{CandidateRow, FlowEntry, FlowKey, PortRow};
use lab_plan::{
    Engine, Plan, PlanOptions,
    account::{self, Counted, SwitchAccount},
};
use lab_policy::lcmp::{PortState, PortThresholds};
use lab_switchd::account::{self as measured, Footprint, MapAccount};
use serde::Serialize;

use crate::{
    args::ScenarioArgs,
    failure::{Exit, Outcome, with_causes},
    load,
    terminal::{print, print_json},
};

/// Everything that is told.
#[derive(Debug, Serialize)]
struct Told {
    /// The paper's own example.
    paper: Counted,
    /// The scenario's switches, by the paper's counting.
    switches: Vec<SwitchAccount>,
    /// Bytes of one row of each kind, as they are here.
    rows: RowBytes,
    /// The program's tables, on one CPU.
    tables: Vec<TableTold>,
    /// The switch program, where the kernel takes it.
    program: Option<ProgramTold>,
    /// Why it is not known.
    program_unknown: Option<String>,
}

/// Bytes of one of each, from the declarations that program and agent are compiled with.
#[derive(Debug, Serialize)]
struct RowBytes {
    /// A port's state, in the agent.
    port_state: usize,
    /// A port's row in the switch table.
    port_row: usize,
    /// A port's thresholds, in the agent.
    port_thresholds: usize,
    /// A flow's key.
    flow_key: usize,
    /// A flow's entry.
    flow_entry: usize,
    /// A candidate: its port, its score, its buckets.
    candidate: usize,
}

/// A table of the switch program.
#[derive(Debug, Serialize)]
struct TableTold {
    name: String,
    key_bytes: u32,
    value_bytes: u32,
    rows: u32,
    bytes: u64,
    /// What the kernel says it takes, where it was asked.
    kernel_bytes: Option<u64>,
}

/// The switch program as the kernel has it.
#[derive(Debug, Serialize)]
struct ProgramTold {
    instructions: u32,
    verified_instructions: Option<u32>,
    machine_code_bytes: u32,
}

/// `lcmp-lab account`.
pub fn run(arguments: &ScenarioArgs, json: bool) -> Outcome {
    let loaded = load::load(&arguments.scenario)?;
    let options = PlanOptions {
        seed: arguments.seed,
        policies: (!arguments.policies.is_empty()).then(|| arguments.policies.clone()),
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let plan = load::resolve(&loaded, &arguments.scenario, &options)?;
    let flows = flow_table_entries(&plan);
    let (maps, program, program_unknown) = match measured::account(flows) {
        Ok(found) => (found.maps, Some(found.program.into()), None),
        Err(error) => (
            measured::declared_maps(flows),
            None,
            Some(with_causes(&error)),
        ),
    };
    let told = Told {
        paper: account::EXAMPLE,
        switches: account::account(&plan, flows),
        rows: RowBytes::HERE,
        tables: maps.into_iter().map(TableTold::from).collect(),
        program,
        program_unknown,
    };
    if json {
        print_json(&told);
    } else {
        print(&show::text(&told));
    }
    Ok(Exit::Pass)
}

/// The largest flow table of the scenario's policies.
fn flow_table_entries(plan: &Plan) -> u32 {
    let tables = plan.policies.iter().filter_map(|run| run.policy.lcmp());
    let most = tables.map(|config| config.flow_table_entries).max();
    most.unwrap_or(lab_abi::lcmp::MAX_FLOW_TABLE_ENTRIES)
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

impl From<Footprint> for ProgramTold {
    fn from(found: Footprint) -> Self {
        Self {
            instructions: found.instructions,
            verified_instructions: found.verified_instructions,
            machine_code_bytes: found.machine_code_bytes,
        }
    }
}

impl From<MapAccount> for TableTold {
    fn from(map: MapAccount) -> Self {
        Self {
            name: map.name,
            key_bytes: map.key_bytes,
            value_bytes: map.value_bytes,
            rows: map.entries,
            bytes: map.row_bytes,
            kernel_bytes: map.kernel_bytes,
        }
    }
}
