//! Weight files for the scenario [`DIAMOND`].

use std::{collections::BTreeMap, sync::OnceLock};

use lab_plan::{Plan, PlanOptions};
use lab_policy::redte;
use lab_redte::{
    AgentLayout, Divisors, Header, Mlp, TeamLayout, Weights, fingerprint, weights::FORMAT,
};
use lab_scenario::Files;
use lab_units::{Nanos, Trainer};

use super::entries::DIAMOND;

/// Returns two weight files of each trainer, `TRAINER-1` and `TRAINER-2`, whose splits are constant and differ; the
/// second is also what `train: auto` gives. `sizes` contains the file that the scenario names.
pub(super) fn files(sizes: &Files) -> Vec<(String, String)> {
    static FILES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let made = FILES.get_or_init(|| {
        let scenario = lab_scenario::parse("diamond.yaml", DIAMOND.as_bytes()).expect("is valid");
        let options = PlanOptions::default();
        let plan = lab_plan::resolve(&scenario, DIAMOND, sizes, &options).expect("is valid");
        let trainers = [Trainer::Maddpg, Trainer::Direct, Trainer::Static].into_iter();
        let files = trainers.flat_map(|trainer| {
            let [first, second] = [1.0, 2.0].map(|logit| weights(&plan, trainer, logit).encode());
            let trained = format!("trained:{}", redte::name(trainer));
            [
                (format!("{trainer}-1"), first),
                (format!("{trainer}-2"), second.clone()),
                (trained, second),
            ]
        });
        files.collect()
    });
    made.clone()
}

/// Returns weights by which the first candidate of each destination has e^`logit` times the share of each other one.
fn weights(plan: &Plan, trainer: Trainer, logit: f32) -> Weights {
    let topology = plan.te_topology();
    let network = |agent: &AgentLayout| {
        let shape = agent.shape();
        let mut parameters = vec![0.0; shape.parameters()];
        // A layer's biases precede its weights.
        let [first, second, _] = shape.layers();
        parameters[first.parameters() + second.parameters()] = logit;
        Mlp::new(shape, parameters)
    };
    let networks: Vec<Mlp> = TeamLayout::new(&topology)
        .agents
        .iter()
        .map(network)
        .collect();
    Weights {
        header: Header {
            format: FORMAT,
            scenario: plan.name.clone(),
            topology: fingerprint(&topology, &plan.paper_te_capacities()),
            divisors: Divisors {
                utilisation: 1.0,
                demand: 1.0,
            },
            shapes: networks.iter().map(|it| it.shape().clone()).collect(),
            paper_interval_ns: Nanos::from_millis(1),
            lag: 1,
            trainer,
            options: BTreeMap::new(),
            seed: 1,
            steps: 1,
            version: "0.1.0".to_owned(),
            scores: BTreeMap::new(),
        },
        networks,
    }
}
