//! Effects of a scenario: the rows of a simulation, or everything that the kernel engine derives from the plan.

use std::fs;

use lab_artifact::routing_table::RoutingTable;
use lab_generators::contract::Endpoint;
use lab_plan::{
    Engine, PlanOptions,
    model::{Flow, Plan, PolicyPlan, Warning},
};
use lab_recorder::{RowBatch, RunSetting, run_info};
use lab_records::RunWriter;
use lab_sample as sample;
use lab_sim::{Job, RunOptions, record, semantics::NextHopOrder};

use super::scenario;
use crate::{
    lower::{LowerOptions, lower, lower_fault},
    run::{agent_config::agent_config, commands, generator, transits::TransitRows},
    testing,
};

/// Engine that runs a scenario, and whether the scenario is scaled for emulation.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Mode {
    /// Simulation at the paper's scale, `lcmp-lab sim`.
    Sim,
    /// Simulation after scaling, `lcmp-lab sim --scaled`.
    Scaled,
    /// The lab that `lcmp-lab up` starts, whose rates, times and sizes are scaled.
    Lab,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Sim, Self::Scaled, Self::Lab];

    /// Returns the heading of the mode's column in the README.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Sim => "`sim`",
            Self::Scaled => "`sim --scaled`",
            Self::Lab => "`up`",
        }
    }

    fn options(self) -> PlanOptions {
        PlanOptions {
            engine: match self {
                Self::Sim | Self::Scaled => Engine::Sim,
                Self::Lab => Engine::Kernel,
            },
            is_scaled: self == Self::Scaled,
            ..PlanOptions::default()
        }
    }
}

/// Effects that a scenario had in one mode.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Rows of a simulation, or everything that the kernel engine derives from the plan, followed by the measured
    /// flows.
    pub effects: String,
    /// Warnings that the scenario's plan contains.
    pub warnings: Vec<Warning>,
}

/// Simulates the scenario `text` or, in the mode `Lab`, derives the inputs of the kernel engine from it. If the
/// scenario is refused, returns the error message.
pub(super) fn run(text: &str, mode: Mode) -> Result<Seen, String> {
    let files = scenario::files();
    let read = lab_scenario::parse_with("scenario.json", text.as_bytes(), &files)
        .map_err(|errors| errors.to_string())?;
    let plan = lab_plan::resolve(&read, text, &files, &mode.options())
        .map_err(|error| error.to_string())?;
    let order = read.transport.routes.as_ref().map(|name| {
        let table = RoutingTable::parse(name, &files[name]);
        let neighbours = table.and_then(|table| table.in_plan(&plan));
        NextHopOrder {
            neighbours: neighbours.expect("its nodes are the plan's"),
        }
    });
    let mut effects = match mode {
        Mode::Sim | Mode::Scaled => rows(&plan, order.as_ref())?,
        Mode::Lab => lowered(&plan),
    };
    let setting = RunSetting::simulated(&plan, 1, None, String::new());
    effects += &format!("{:?}", run_info(&plan, "", &setting).measured);
    Ok(Seen {
        effects,
        warnings: plan.warnings,
    })
}

/// Returns the simulated rows of all policies and repetitions.
fn rows(plan: &Plan, order: Option<&NextHopOrder>) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer =
        RunWriter::create_in(folder.path(), sample::now(), &sample::info()).expect("a run");
    for policy in 0..plan.policies.len() {
        for repetition in 0..plan.repetitions {
            let job = Job {
                order,
                ..Job::new(plan, policy, repetition)
            };
            let sink = &mut |rows: &RowBatch| rows.write(&mut writer);
            record(job, &RunOptions::default(), sink, &mut |_| true)
                .map_err(|error| error.to_string())?;
        }
    }
    let tables = testing::tables(folder.path())
        .into_iter()
        .map(|path| measured_columns(&fs::read_to_string(path).expect("a table")));
    Ok(tables.collect())
}

/// Returns a table without the columns listed in [`REPEATED`].
fn measured_columns(table: &str) -> String {
    let fields = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut lines = table.lines();
    let heading = fields(lines.next().unwrap_or_default());
    let kept = |fields: Vec<String>| {
        let named = heading.iter().zip(fields);
        let kept = named.filter(|(name, _)| !REPEATED.contains(&name.as_str()));
        kept.map(|(_, field)| field + ",").collect::<String>() + "\n"
    };
    lines.map(|line| kept(fields(line))).collect()
}

/// Columns that are not measured: names from the scenario, the computed ideal FCT, and the slowdown relative to it.
const REPEATED: &[&str] = &[
    "policy",
    "cc",
    "semantics",
    "generator",
    "ideal_fct_ns",
    "slowdown",
];

/// Returns everything that the kernel engine derives from a plan before flows run: steps for the lab and for faults,
/// the agents' configurations, crashes and commands, the TE controller's parameters, and the generator's jobs.
fn lowered(plan: &Plan) -> String {
    let options = LowerOptions::shown("t".parse().expect("a name"));
    let mut made = format!("{:#?}{:#?}", lower(plan, &options), plan.agent_crashes);
    for (policy, run) in plan.policies.iter().enumerate() {
        for (index, switch) in plan.switches.iter().enumerate() {
            let dc = plan.nodes[switch.node.index()].dc;
            if !plan.dcs[dc.index()].legacy {
                made += &format!("{:#?}", agent_config(plan, run, index));
            }
        }
        if let PolicyPlan::Te(te) = run.policy {
            made += &format!("{te:?}");
        }
        for fault in &plan.faults {
            let parameters = run.policy.lcmp();
            let commands = commands::of_fault(plan, policy, fault, |_| parameters);
            let steps = lower_fault(plan, &options, fault);
            made += &format!("{} {steps:#?} {commands:#?}", fault.at_ns);
        }
        for change in &plan.reconvergences {
            let parameters = run.policy.lcmp();
            let commands = commands::of_reconvergence(plan, policy, change, |_| parameters);
            made += &format!("{} {commands:#?}", change.at_ns);
        }
    }
    made += &format!("{:#?}", TransitRows::of(plan));
    let endpoints: Vec<Vec<Endpoint>> = plan
        .nodes
        .iter()
        .map(|node| {
            node.addrs()
                .map(|addr| endpoint(&node.name, addr))
                .collect()
        })
        .collect();
    for flows in plan.flows.chunk_by(|a, b| a.repetition == b.repetition) {
        let flows: Vec<&Flow> = flows.iter().collect();
        let jobs = generator::jobs_between(plan, &endpoints, &flows);
        made += &format!(
            "{:#?}",
            jobs.expect("a host has the endpoints of its addresses")
        );
    }
    made
}

fn endpoint(host: &str, addr: std::net::Ipv4Addr) -> Endpoint {
    Endpoint {
        host: host.to_owned(),
        rdma_device: addr.to_string(),
        gid_index: 1,
        netns: None,
    }
}
