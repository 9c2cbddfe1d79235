//! Figure 1 of the paper beside its authors' published outputs, where these are.

use std::{fs, path::PathBuf};

use lab_artifact::{
    Agreement, ImportOptions, RoutingTable, SimulatedFlow, Source, import, parse_fct,
};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_sim::{
    Observer, Progress, RunOptions, World,
    cc::{CongestionControl, WithControl, with_control},
    note::Note,
    physics::{Artifact, NextHopOrder},
    run::run,
};
use lab_units::Nanos;

const TOPOLOGY: &str = "topology/topology_LeafSpine_MultiDC8.txt";
const FLOWS: &str = "traffic/traffic_WebSearch_8DC_fig1_rebuilt.txt";
const TABLE: &str = "fct/fig1/routing_table.csv";

/// The directory, or why the test is skipped.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are counted by what they print"
)]
fn directory(test: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/artifact");
    if path.join(TOPOLOGY).is_file() {
        return Some(path);
    }
    println!("skipped: {test}: there is no {}", path.display());
    None
}

struct Run<'a> {
    plan: &'a Plan,
    order: &'a NextHopOrder,
    policy: usize,
}

#[derive(Default)]
struct Log {
    ends: Vec<(u32, Nanos)>,
}

impl Observer for Log {
    fn note(&mut self, note: Note) {
        if let Note::Finished(end) = note {
            self.ends.push((end.flow, end.at.nanos_trunc()));
        }
    }

    fn progress(&mut self, _: Progress) -> bool {
        true
    }
}

impl WithControl for Run<'_> {
    type Output = Vec<SimulatedFlow>;

    fn run<C: CongestionControl + Send + 'static>(self, control: C::Parameters) -> Self::Output {
        let world: World<'_, Artifact, C> =
            World::with_order(self.plan, self.policy, 0, control, Some(self.order))
                .expect("a world");
        let mut log = Log::default();
        let options = RunOptions {
            threads: 2,
            ..RunOptions::default()
        };
        run(&world, &options, &mut log);
        let mut fcts = vec![None; world.flows.len()];
        for (flow, at) in log.ends {
            let start = world.flows[flow as usize].start.nanos_trunc();
            fcts[flow as usize] = Some(at.saturating_sub(start));
        }
        let flows = world.flows.iter().zip(fcts).map(|(flow, fct)| {
            let planned = &self.plan.flows[flow.plan.index()];
            SimulatedFlow {
                flow: flow.who.data,
                size: planned.size_bytes,
                start: planned.start_ns,
                fct,
                standalone: planned.ideal_fct_ns,
            }
        });
        flows.collect()
    }
}

fn agreement(directory: &std::path::Path, policy: usize, name: &str) -> Agreement {
    let read = |name: &str| fs::read_to_string(directory.join(name)).expect("a published file");
    let (topology, flows) = (read(TOPOLOGY), read(FLOWS));
    let options = ImportOptions {
        name: "figure1".to_owned(),
        max_delay: Nanos::from_millis(512),
    };
    let source = |path, text| Source { path, text };
    let text = import(source(TOPOLOGY, &topology), source(FLOWS, &flows), &options);
    let text = text.expect("a scenario");
    let scenario = lab_scenario::parse("figure1.yaml", text.as_bytes()).expect("a scenario");
    let files = [(FLOWS.to_owned(), flows)];
    let plan_options = PlanOptions {
        engine: Engine::Simulator { is_scaled: false },
        ..PlanOptions::default()
    };
    let plan = lab_plan::resolve(&scenario, &text, &files.into(), &plan_options).expect("a plan");
    let table = RoutingTable::parse(TABLE, &read(TABLE)).expect("a table");
    let order = NextHopOrder {
        neighbours: table.in_plan(&plan).expect("the plan's nodes"),
    };
    let run = Run {
        plan: &plan,
        order: &order,
        policy,
    };
    let simulated = with_control(&plan.transport.cc, plan.transport.physics, run);
    let output = format!("fct/fig1/{name}/fct_dcqcn.txt");
    Agreement::of(
        &parse_fct(&output, &read(&output)).expect("an output"),
        &simulated,
    )
}

/// |ΔFCT| / FCT is at most 0.1 % for half of the flows and 3 % for all but one in a hundred.
///
/// The rest is randomness: theirs decides otherwise which packets are marked.
fn agrees(policy: usize, name: &str) {
    let Some(directory) = directory(name) else {
        return;
    };
    let agreement = agreement(&directory, policy, name);
    let all = agreement.published;
    assert_eq!(
        (agreement.compared, agreement.same_standalone),
        (all, all),
        "{agreement}"
    );
    let [half, most] = [50, 99].map(|percent| agreement.percentile(percent));
    assert!(half.is_some_and(|half| half <= 1e-3), "{agreement}");
    assert!(most.is_some_and(|most| most <= 0.03), "{agreement}");
}

#[test]
fn ecmp_is_the_published_one() {
    agrees(0, "ECMP");
}

#[test]
fn ucmp_is_the_published_one() {
    agrees(1, "UCMP");
}

#[test]
fn lcmp_is_the_published_one() {
    agrees(2, "Ours");
}
