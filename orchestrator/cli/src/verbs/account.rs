//! `lcmp-lab account`: memory and operations of a DCI switch, next to the paper's counts (Sec. 4).

mod counts;
mod show;

use lab_plan::{Engine, Plan, account};
use lab_switchd::account as measured;

use self::counts::{Account, RowBytes};
use crate::{
    args::ScenarioArgs,
    failure::{Outcome, with_causes},
    load, terminal,
    verbs::train,
};

/// Runs `lcmp-lab account`.
pub fn run(arguments: &ScenarioArgs, json: bool) -> Outcome {
    let loaded = train::load_shown(&arguments.scenario, &arguments.overrides.policies)?;
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
        candidate_set: plan.candidate_set,
        switches: account::account(&plan, flows),
        trained: account::trained(&plan),
        rows: RowBytes::HERE,
        tables,
        program,
        program_unknown,
    };
    terminal::show(json, &account, show::text)
}

/// Returns the number of rows of the largest flow table among the scenario's policies.
fn flow_table_entries(plan: &Plan) -> u32 {
    let tables = plan.policies.iter().filter_map(|run| run.policy.lcmp());
    tables
        .map(|config| config.flow_table_entries)
        .max()
        .unwrap_or(lab_abi::lcmp::MAX_FLOW_TABLE_ENTRIES)
}
