//! Tests of scenarios that cannot be planned, and of their errors.

use lab_plan::{PlanOptions, resolve};
use lab_scenario::{Fabric, Fault, FaultSpec, Traffic};
use lab_units::{Nanos, Twin};

use crate::common;

fn error(text: &str, options: &PlanOptions) -> String {
    common::try_plan(text, options).unwrap_err().to_string()
}

#[test]
fn a_policy_that_is_not_there() {
    let options = PlanOptions {
        policies: Some(vec!["lcpm".to_owned()]),
        ..PlanOptions::default()
    };
    let text = common::scenario_text("smoke.yaml");
    assert_eq!(
        error(&text, &options),
        "`policies`: there is no policy `lcpm` (hint: there are `ecmp`, `lcmp`)"
    );
}

#[test]
fn chosen_policies_keep_the_scenarios_order() {
    let labels = |wanted: &[&str]| {
        let policies = wanted.iter().map(|&label| label.to_owned()).collect();
        let options = PlanOptions {
            policies: Some(policies),
            ..PlanOptions::default()
        };
        let plan = common::try_plan(&common::scenario_text("smoke.yaml"), &options).unwrap();
        plan.policies
            .into_iter()
            .map(|run| run.label)
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(&["lcmp", "ecmp"]), ["ecmp", "lcmp"]);
    assert_eq!(labels(&["lcmp"]), ["lcmp"]);
}

#[test]
fn a_file_that_was_not_handed_over() {
    let (scenario, _) = common::read(&common::testbed_text());
    let error = resolve(&scenario, "", &Default::default(), &PlanOptions::default());
    assert_eq!(
        error.unwrap_err().to_string(),
        "`traffic[0].workload.sizes`: the text of `workloads/large.csv` is missing"
    );
}

#[test]
fn a_host_of_a_flow_file_that_the_topology_lacks() {
    let (mut scenario, _) = common::read(&common::testbed_text());
    scenario.traffic = vec![Traffic::FlowFile {
        path: "flows.txt".to_owned(),
    }];
    let plan = |text: &str| {
        let files = [("flows.txt".to_owned(), text.to_owned())].into();
        let plan = resolve(&scenario, "", &files, &PlanOptions::default());
        plan.unwrap_err().to_string()
    };
    assert_eq!(
        plan("1\n5 112 3 100 1000 2.0\n"),
        "`flows.txt`, line 2: host 5 is host 6 of datacenter 1, but `dc1` has 4 hosts (hint: these \
         files number 16 hosts per datacenter, from 0)"
    );
    assert_eq!(
        plan("1\n3 200 3 100 1000 2.0\n"),
        "`flows.txt`, line 2: host 200 is host 9 of datacenter 13, but the topology has 8 \
         datacenters (hint: these files number 16 hosts per datacenter, from 0)"
    );
}

/// The parser already rejects unknown names; the planner's own check is for scenarios built by a program.
#[test]
fn names_that_nothing_has() {
    let (scenario, files) = common::read(&common::scenario_text("fabric.yaml"));
    let plan = |change: &dyn Fn(&mut lab_scenario::Scenario)| {
        let mut scenario = scenario.clone();
        change(&mut scenario);
        let plan = resolve(&scenario, "", &files, &PlanOptions::default());
        plan.unwrap_err().to_string()
    };
    let first_flow = |scenario: &mut lab_scenario::Scenario, from: &str, to: &str| {
        if let Traffic::Flows(flows) = &mut scenario.traffic[0] {
            flows[0].from = from.to_owned();
            flows[0].to = to.to_owned();
        }
    };
    assert_eq!(
        plan(&|scenario| first_flow(scenario, "dc1/h5", "dc3/h1")),
        "`traffic[0].flows[0].from`: there is no host `dc1/h5` (hint: hosts of `dc1` are `dc1/h1` \
         to `dc1/h4`)"
    );
    assert_eq!(
        plan(&|scenario| first_flow(scenario, "dc1/h1", "dc1/h1")),
        "`traffic[0].flows[0]`: host `dc1/h1` sends to itself"
    );
    assert_eq!(
        plan(&|scenario| scenario.topology.links[0].between[1] = "dc9".to_owned()),
        "`topology.links[0].between`: there is no datacenter `dc9`"
    );
    assert_eq!(
        plan(&|scenario| scenario.topology.links.truncate(1)),
        "no inter-DC links lead from `dc1` to `dc3` (hint: connect them in `topology.links`)"
    );
    assert_eq!(
        plan(&|scenario| scenario.faults.push(Fault {
            entry: 0,
            at: Nanos::ZERO,
            link: ["dc1".to_owned(), "dc1".to_owned()],
            twin: Twin::FIRST,
            change: FaultSpec::Down,
        })),
        "`faults[0].link`: there is no inter-DC link `dc1-dc1`"
    );
    assert_eq!(
        plan(&|scenario| {
            if let Fabric::LeafSpine { leaves, .. } = &mut scenario.topology.dcs[0].fabric {
                *leaves = 128;
            }
        }),
        "datacenter `dc1` has 128 leaves, but the address plan holds at most 127"
    );
}

/// Returns a scenario in which datacenter `a` reaches `b` through `paths` other datacenters.
fn parallel(paths: usize) -> String {
    let names = (1..=paths).map(|path| format!("m{path}"));
    let dcs = names.clone().map(|name| format!(", {{ name: {name} }}"));
    let links = names.flat_map(|name| {
        [("a", &name), (&name, &"b".to_owned())].map(|(from, to)| {
            format!("  - {{ between: [{from}, {to}], rate: 1 Gbit, delay: 1 ms }}\n")
        })
    });
    format!(
        "name: parallel\ntopology:\n  dcs: [{{ name: a, hosts: 1 }}, {{ name: b, hosts: 1 }}{}]\n  \
         links:\n{}traffic:\n  - flows: [{{ from: a/h1, to: b/h1, size: 1 MB, start: 0 s }}]\n\
         policies: [ecmp, wcmp, ucmp, te-100ms, lcmp]\n",
        dcs.collect::<String>(),
        links.collect::<String>()
    )
}

#[test]
fn more_next_hops_than_a_switch_chooses_among() {
    let options = PlanOptions::default();
    common::try_plan(&parallel(16), &options).expect("sixteen fit");
    assert_eq!(
        error(&parallel(17), &options),
        "`a` has 17 next hops on shortest paths to `b`, but a switch chooses among at most 16 (hint: remove \
         links of `a`, or links from its next hops to `b`, or write `routing: { candidates: downhill-delay }`, which \
         keeps the next hops of least path delay)"
    );
}

/// A damaged scenario that still parses is either planned or rejected, quickly and without a panic.
#[test]
fn a_damaged_scenario_is_planned_or_refused() {
    let corpus = ["smoke.yaml", "failover.yaml"].map(common::scenario_text);
    let files = corpus.iter().map(|text| common::read(text).1);
    let all: lab_scenario::Files = files.flatten().collect();
    lab_fuzz::fuzz("plan", &corpus, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let scenario = lab_scenario::parse_with("any", text.as_bytes(), &all);
        scenario.is_ok_and(|scenario| {
            let mut files = all.clone();
            files.retain(|path, _| lab_scenario::files(&scenario).contains(&path.as_str()));
            resolve(&scenario, &text, &files, &PlanOptions::default()).is_ok()
        })
    });
}
