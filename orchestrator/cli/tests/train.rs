//! `lcmp-lab train` makes the program's own weights again.

mod common;

use std::{collections::BTreeMap, fs, path::Path};

use common::lcmp_lab;
use lab_redte::{Mlp, Weights, shipped};
use lab_units::Trainer;

/// Fails after a change of sampling, fluid model, trainer or network: the program's weights must then be trained again.
#[test]
fn the_programs_weights_are_those_that_train_makes() {
    let folder = tempfile::tempdir().unwrap();
    for trainer in [Trainer::Static, Trainer::Direct] {
        let own = weights(trainer, "te");
        let (networks, scores) = trained(folder.path(), trainer);
        assert!(networks == own.networks, "{trainer}: weights differ");
        assert_eq!(scores, own.header.scores, "{trainer}");
    }
}

#[test]
fn the_program_has_redte_for_the_papers_networks_and_every_trainer_for_te() {
    let names = shipped::ALL.iter().map(|text| {
        let header = Weights::decode(text).unwrap().header;
        (header.scenario, header.trainer)
    });
    let by_trainer: BTreeMap<Trainer, Vec<String>> =
        names.fold(BTreeMap::new(), |mut all, (scenario, trainer)| {
            all.entry(trainer).or_default().push(scenario);
            all
        });
    let te = ["te"].map(str::to_owned).to_vec();
    let papers = ["8dc", "fig5-50", "13dc", "te"].map(str::to_owned).to_vec();
    let expected = [
        (Trainer::Maddpg, papers),
        (Trainer::Direct, te.clone()),
        (Trainer::Static, te),
    ];
    assert_eq!(by_trainer, BTreeMap::from(expected));
}

/// Returns the program's weights that were trained on `scenario`.
fn weights(trainer: Trainer, scenario: &str) -> Weights {
    let all = shipped::ALL
        .iter()
        .map(|text| Weights::decode(text).unwrap());
    let mut wanted = all.filter(|weights| {
        let header = &weights.header;
        header.trainer == trainer && header.scenario == scenario
    });
    wanted.next().unwrap()
}

/// Trains for `scenarios/te.yaml`; returns the networks, and the scores on the validation demands.
fn trained(folder: &Path, trainer: Trainer) -> (Vec<Mlp>, BTreeMap<String, f64>) {
    let file = folder.join(trainer.to_string());
    let trainer = trainer.to_string();
    let arguments = [
        "train",
        "scenarios/te.yaml",
        "--trainer",
        &trainer,
        "-o",
        file.to_str().unwrap(),
    ];
    let out = lcmp_lab(folder, &arguments);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let weights = Weights::decode(&fs::read_to_string(file).unwrap()).unwrap();
    (weights.networks, weights.header.scores)
}
