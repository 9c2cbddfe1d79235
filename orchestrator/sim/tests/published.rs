//! Figure 1 of the paper beside its authors' published outputs, where these are.

use std::{fs, path::Path};

use lab_artifact::{
    Agreement, LinkAgreement, RoutingTable, parse_fct, parse_utilisation,
    published::{self, FLOWS, POLICIES, ROUTES, TOPOLOGY, UTILISATION, beside},
};
use lab_plan::{Engine, Plan, PlanOptions};
use lab_sim::{
    Job, RunOptions,
    replay::{Replay, replay},
    semantics::NextHopOrder,
};
use lab_units::Nanos;

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).expect("a published file")
}

fn plan(directory: &Path) -> Plan {
    let flows = read(directory, FLOWS);
    let text = published::scenario(&read(directory, TOPOLOGY), &flows).expect("a scenario");
    let scenario = lab_scenario::parse("figure1.yaml", text.as_bytes()).expect("a scenario");
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let files = [(FLOWS.to_owned(), flows)];
    let mut plan = lab_plan::resolve(&scenario, &text, &files.into(), &options).expect("a plan");
    // As often as the artifact's monitor.
    plan.measure.links_ns = Nanos::from_millis(1);
    plan
}

fn replay_all(directory: &Path, plan: &Plan) -> Vec<Replay> {
    let table = RoutingTable::parse(ROUTES, &read(directory, ROUTES)).expect("a table");
    let order = NextHopOrder {
        neighbours: table.in_plan(plan).expect("the plan's nodes"),
    };
    let options = RunOptions {
        threads: 2,
        ..RunOptions::default()
    };
    let policy = |policy| {
        let job = Job {
            order: Some(&order),
            ..Job::new(plan, policy, 0)
        };
        replay(job, &options, &mut |_| {}).expect("a simulation")
    };
    (0..POLICIES.len()).map(policy).collect()
}

/// |ΔFCT| / FCT is at most 0.1 % for half of the flows and 3 % for all but one in a hundred: the rest
/// is randomness, since theirs decides otherwise which packets are marked. Links carry what theirs
/// did to one part in a hundred.
#[test]
fn every_policy_is_the_published_one() {
    let Some(directory) = beside("every_policy_is_the_published_one") else {
        return;
    };
    let plan = plan(&directory);
    let replays = replay_all(&directory, &plan);
    let (columns, averages) =
        parse_utilisation(UTILISATION, &read(&directory, UTILISATION)).expect("averages");
    let span = replays
        .iter()
        .map(Replay::last_end)
        .max()
        .expect("policies");
    for ((label, output), replay) in POLICIES.into_iter().zip(&replays) {
        let name = published::fct(output);
        let rows = parse_fct(&name, &read(&directory, &name)).expect("an output");
        let flows = Agreement::of(&rows, &replay.flows);
        let all = flows.published;
        assert_eq!(
            (flows.compared, flows.same_standalone),
            (all, all),
            "{label}\n{flows}"
        );
        let [half, most] = [50, 99].map(|percent| flows.percentile(percent));
        assert!(half.is_some_and(|half| half <= 1e-3), "{label}\n{flows}");
        assert!(most.is_some_and(|most| most <= 0.03), "{label}\n{flows}");
        let column = columns.iter().position(|column| column == output);
        let links = LinkAgreement::of(&averages, column.expect("a column"), |between| {
            replay.utilisation(&plan, between, span)
        });
        assert_eq!(links.len(), 6, "{label}");
        for link in links {
            assert!(link.relative() <= 0.01, "{label}\n{link}");
        }
    }
}
