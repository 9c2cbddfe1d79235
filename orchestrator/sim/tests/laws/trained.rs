//! Tests of tables that each switch computes from its own measurements by trained weights.

use std::collections::BTreeMap;

use lab_plan::{Engine, Plan, PlanOptions};
use lab_redte::{Divisors, Header, Mlp, TeamLayout, Weights, fingerprint, weights};
use lab_scenario::Files;
use lab_sim::EndReason;
use lab_units::{Nanos, Trainer};

use crate::lab::{self, EQUAL_PATHS, MILLI, Run, simulate};

/// Returns a scenario with two equal paths from dc1 to dc4, and flows of 80 kB that start at `starts`, in ms.
fn scenario(starts: &[u64], flows: &str, more: &str) -> String {
    let probes: Vec<_> = starts
        .iter()
        .map(|at| format!("{{ from: dc1/h2, to: dc4/h2, size: 80 kB, start: {at} ms }}"))
        .collect();
    format!(
        "
name: trained
topology:
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 2 }}]
  links: [{EQUAL_PATHS}]
traffic: [{{ flows: [{flows}{}] }}]
policies: [redte-direct: {{ weights: w.redte }}]
transport: {{ window: none }}
{more}
",
        probes.join(", ")
    )
}

/// Plans a scenario with weights that decide every 10 ms: the logit of dc1's first candidate for dc4 is ln 3 · d, for
/// the demand d from dc1 to dc4 as a share of 100 Gbit/s. All other logits are 0.
fn plan(text: &str) -> Plan {
    let untrained = lab::plan(&text.replace("redte-direct: { weights: w.redte }", "ecmp"));
    let topology = untrained.te_topology();
    let agents = TeamLayout::new(&topology).agents;
    let mut networks: Vec<Mlp> = agents
        .iter()
        .map(|agent| {
            let shape = agent.shape();
            let parameters = vec![0.0; shape.parameters()];
            Mlp::new(shape, parameters)
        })
        .collect();
    let demand = agents[0].links.len() + agents[0].heads[0].row;
    let [first, second, last] = networks[0].shape().layers();
    let weights = &mut networks[0].parameters;
    // The hidden layers copy the demand. A layer's biases precede the rows of its inputs' weights.
    weights[(1 + demand) * first.outputs] = 1.0;
    weights[first.parameters() + second.outputs] = 1.0;
    weights[first.parameters() + second.parameters() + last.outputs] = 3_f32.ln();
    let header = Header {
        format: weights::FORMAT,
        scenario: "trained".to_owned(),
        topology: fingerprint(&topology, &untrained.paper_te_capacities()),
        divisors: Divisors {
            utilisation: 1.0,
            demand: 1.0,
        },
        shapes: networks.iter().map(|it| it.shape().clone()).collect(),
        paper_interval_ns: Nanos::from_millis(10),
        lag: weights::LAG,
        trainer: Trainer::Direct,
        options: BTreeMap::new(),
        seed: 1,
        steps: 1,
        version: String::new(),
        scores: BTreeMap::new(),
    };
    let file = Weights { header, networks }.encode();
    let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let files = Files::from([("w.redte".to_owned(), file)]);
    lab_plan::resolve(&scenario, text, &files, &options).unwrap()
}

/// Returns the start of each flow from dc1 and the candidates' buckets that its decision saw.
fn tables(run: &Run) -> Vec<(u64, Vec<u16>)> {
    assert_eq!(run.outcome.reason, EndReason::Finished);
    run.data_decisions()
        .map(|event| {
            let candidates = event.decision.candidates().iter();
            let buckets = candidates.map(|row| row.candidate.buckets).collect();
            (event.at.picos() / MILLI, buckets)
        })
        .collect()
}

/// A flow of 500 MB sends at 100 Gbit/s for 41 ms. The demand of an interval determines the buckets as soon as it ends:
/// one interval earlier than those of traffic engineering.
#[test]
fn the_demand_of_an_interval_determines_the_next_ones_buckets() {
    let flow = "{ from: dc1/h1, to: dc4/h1, size: 500 MB }, ";
    let plan = plan(&scenario(&[5, 15, 35, 65], flow, ""));
    let expected = [
        (0, vec![1, 1]),
        (5, vec![1, 1]),
        (15, vec![75, 25]),
        (35, vec![75, 25]),
        (65, vec![50, 50]),
    ];
    for threads in [1, 2] {
        assert_eq!(
            tables(&simulate(&plan, 0, threads)),
            expected,
            "{threads} threads"
        );
    }
}

/// The switch takes a cut of its own link into account from its next decision on; the hash avoids the link at once.
#[test]
fn a_cut_link_has_no_buckets_until_it_is_up_again() {
    let faults = "faults: [{ at: 22 ms, link: [dc1, dc2], down: true }, { at: 42 ms, link: [dc1, dc2], up: true }]";
    let plan = plan(&scenario(&[5, 15, 25, 35, 45, 55], "", faults));
    let expected = [
        (5, vec![1, 1]),
        (15, vec![50, 50]),
        (25, vec![50, 50]),
        (35, vec![0, 100]),
        (45, vec![0, 100]),
        (55, vec![50, 50]),
    ];
    assert_eq!(tables(&simulate(&plan, 0, 1)), expected);
}

/// The agent is down from 22 to 45 ms, so the buckets of 20 ms stay. It has not measured what the flow sent until 41 ms: in
/// its first interval, up to 50 ms, there is no demand.
#[test]
fn a_new_agent_knows_no_demands_from_before_its_start() {
    let flow = "{ from: dc1/h1, to: dc4/h1, size: 500 MB }, ";
    let faults =
        "faults: [{ at: 22 ms, agent: dc1, down: true }, { at: 45 ms, agent: dc1, up: true }]";
    let plan = plan(&scenario(&[5, 25, 35, 43, 55], flow, faults));
    let expected = [
        (0, vec![1, 1]),
        (5, vec![1, 1]),
        (25, vec![75, 25]),
        (35, vec![75, 25]),
        (43, vec![75, 25]),
        (55, vec![50, 50]),
    ];
    assert_eq!(tables(&simulate(&plan, 0, 1)), expected);
}
