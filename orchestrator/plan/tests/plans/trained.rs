//! Tests of policies with trained weights: their plans, and files that cannot be used.

use std::collections::BTreeMap;

use lab_plan::{Plan, PlanError, PlanOptions, PolicyPlan, resolve};
use lab_redte::{
    Divisors, Header, Mlp, TeamLayout, Weights, fingerprint, fingerprint::hash, weights,
};
use lab_scenario::Files;
use lab_units::{Nanos, Trainer};

use crate::common;

/// Two paths of different capacity from `dc1` to `dc4`.
const SCENARIO: &str = "
name: choice
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 10 ms }
    - { between: [dc3, dc4], rate: 40 Gbit, delay: 10 ms }
traffic:
  - flows: [{ from: dc1/h1, to: dc4/h1, size: 5 MB }]
scale: { rate: 1/6000, time: 10 }
policies: [POLICIES]
";

/// Returns the scenario with a policy that names its weight file.
fn scenario(policy: &str) -> String {
    SCENARIO.replace(
        "POLICIES",
        &format!("ecmp, {policy}: {{ weights: w.redte }}"),
    )
}

/// Plans `text` with the text of the weight file.
fn plan(text: &str, file: &str) -> Result<Plan, PlanError> {
    let parsed = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
    let files = Files::from([("w.redte".to_owned(), file.to_owned())]);
    resolve(&parsed, text, &files, &PlanOptions::default())
}

/// Returns weights of zero for the inter-DC network of a scenario.
fn weights(text: &str, trainer: Trainer) -> Weights {
    let untrained = common::plan(&text.replace("POLICIES", "ecmp"));
    let topology = untrained.te_topology();
    let agents = TeamLayout::new(&topology).agents.into_iter();
    let networks: Vec<Mlp> = agents
        .map(|agent| {
            let shape = agent.shape();
            let parameters = vec![0.0; shape.parameters()];
            Mlp::new(shape, parameters)
        })
        .collect();
    Weights {
        header: Header {
            format: weights::FORMAT,
            scenario: "choice".to_owned(),
            topology: fingerprint(&topology, &untrained.paper_te_capacities()),
            divisors: Divisors {
                utilisation: 1.0,
                demand: 1.0,
            },
            shapes: networks.iter().map(|it| it.shape().clone()).collect(),
            paper_interval_ns: Nanos::from_millis(100),
            lag: weights::LAG,
            trainer,
            options: BTreeMap::new(),
            seed: 1,
            steps: 300,
            version: "0.1.0".to_owned(),
            scores: BTreeMap::new(),
        },
        networks,
    }
}

#[test]
fn a_plan_has_the_weights_and_begins_with_capacity() {
    let file = weights(SCENARIO, Trainer::Direct).encode();
    let plan = plan(&scenario("redte-direct"), &file).unwrap();
    let run = &plan.policies[1];
    assert_eq!(run.label, "redte-direct");
    let PolicyPlan::Trained(trained) = &run.policy else {
        panic!("{run:?}")
    };
    // 100 ms at a time scale of ten.
    assert_eq!(trained.interval_ns, Nanos::from_millis(1_000));
    assert_eq!(trained.weights, file);
    assert_eq!(trained.buckets, 100);
    // 100 and 40 Gbit/s.
    let wcmp = common::plan(&SCENARIO.replace("POLICIES", "wcmp"));
    assert_eq!(run.buckets, wcmp.policies[0].buckets);
    // Of the two switches with a choice, `dc1` has four inputs at most: two links, and a demand for each of three
    // destinations.
    let (layout, alone) = trained.weights_of(&plan.te_topology(), 0).unwrap();
    let alone = Weights::decode(&alone).unwrap();
    assert_eq!(alone.networks.len(), 1);
    assert_eq!(*alone.networks[0].shape(), layout.shape());
    assert!(trained.weights_of(&plan.te_topology(), 1).is_none());
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_place_and_a_hint() {
    let own = weights(SCENARIO, Trainer::Direct);
    let text = own.encode();
    let changed = |change: fn(&mut Weights)| {
        let mut weights = own.clone();
        change(&mut weights);
        weights.encode()
    };
    let flipped = |at: usize| {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        String::from_utf8(bytes).unwrap()
    };
    let other = SCENARIO.replace("rate: 40 Gbit", "rate: 200 Gbit");
    let wider = SCENARIO.replace(
        "    - { between: [dc1, dc3]",
        "    - { between: [dc1, dc4], rate: 10 Gbit, delay: 1 ms }\n    - { between: [dc1, dc3]",
    );
    let damaged = "it is truncated or damaged: its checksum does not match (hint: copy it again, or train again)";
    let no_weights = "it does not start with `lcmp-lab redte weights` (hint: `lcmp-lab train` makes weight files)";
    let other_network = "it is for another network: graph, capacities or next hops differ (hint: train for this \
                         scenario, by `lcmp-lab train`)";
    for (name, file, expected) in [
        ("truncated", text[..text.len() / 2].to_owned(), damaged),
        (
            "without its last line end",
            text.trim_end().to_owned(),
            damaged,
        ),
        ("with an empty line", format!("{text}\n"), damaged),
        ("a weight flipped", flipped(text.len() / 2), damaged),
        ("the header flipped", flipped(40), damaged),
        ("the checksum flipped", flipped(text.len() - 2), damaged),
        ("Windows line ends", text.replace('\n', "\r\n"), damaged),
        ("the title flipped", flipped(3), no_weights),
        ("empty", String::new(), no_weights),
        ("binary", "\0\u{1}PK\u{3}\u{4}".repeat(1_000), no_weights),
        (
            "other text",
            "bytes,percent\n1,100\n".to_owned(),
            no_weights,
        ),
        (
            "newer",
            changed(|it| it.header.format = 2),
            "its format is 2, and this program reads format 1 (hint: a newer version of this program wrote it)",
        ),
        (
            "older",
            changed(|it| it.header.format = 0),
            "its format is 0, and this program reads format 1 (hint: train again)",
        ),
        (
            "not finite",
            changed(|it| it.networks[0].parameters[0] = f32::INFINITY),
            "a weight is not finite (hint: train again)",
        ),
        (
            "an interval of 0",
            changed(|it| it.header.paper_interval_ns = Nanos::ZERO),
            "its header has an interval of 0 (hint: train again)",
        ),
        (
            "other capacities",
            weights(&other, Trainer::Direct).encode(),
            other_network,
        ),
        (
            "another graph",
            weights(&wider, Trainer::Direct).encode(),
            other_network,
        ),
    ] {
        let error = plan(&scenario("redte-direct"), &file).unwrap_err();
        let place = "`policies[1].redte-direct`: `w.redte`: ";
        assert_eq!(error.to_string(), format!("{place}{expected}"), "{name}");
    }
}

#[test]
fn weights_of_another_trainer_are_refused_with_the_policys_name() {
    let trainers = [Trainer::Maddpg, Trainer::Direct, Trainer::Static];
    let names = ["redte", "redte-direct", "static"];
    for (policy, expected) in names.into_iter().zip(trainers) {
        for (name, trainer) in names.into_iter().zip(trainers) {
            let planned = plan(&scenario(policy), &weights(SCENARIO, trainer).encode());
            if trainer == expected {
                assert!(planned.is_ok(), "{policy}: {planned:?}");
                continue;
            }
            let message = format!(
                "`policies[1].{policy}`: these weights were trained by {trainer} (hint: call the policy `{name}`)"
            );
            assert_eq!(planned.unwrap_err().to_string(), message);
        }
    }
}

#[test]
fn without_a_file_the_network_must_be_one_that_the_program_has_weights_for() {
    let text = SCENARIO.replace("POLICIES", "ecmp, static");
    let error = common::try_plan(&text, &PlanOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`policies[1].static`: the program has no weights for this inter-DC network (hint: write `train: auto`; \
         or make some with `lcmp-lab train SCENARIO --trainer static -o FILE`, and name them with `weights: FILE`)"
    );
}

#[test]
fn a_file_that_was_not_handed_over() {
    let text = scenario("static");
    let parsed = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
    let error = resolve(&parsed, &text, &Files::new(), &PlanOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`policies[1].static.weights`: the text of `w.redte` is missing"
    );
}

/// The largest file that a scenario may name, whose checksum fits.
#[test]
fn a_large_file_is_refused_soon() {
    let mut body = weights(SCENARIO, Trainer::Direct).encode();
    let last = body.rfind("sha256 ").unwrap();
    body.truncate(last);
    let line = format!("{}\n", "A".repeat(76));
    while body.len() < (64 << 20) - 200 {
        body.push_str(&line);
    }
    let file = format!("{body}sha256 {}\n", hash(&body));
    let began = std::time::Instant::now();
    let error = plan(&scenario("redte-direct"), &file)
        .unwrap_err()
        .to_string();
    assert!(error.contains("weights, but its header says"), "{error}");
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
