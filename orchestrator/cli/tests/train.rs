//! `lcmp-lab train` makes the program's own weights again.

mod common;

use std::{collections::BTreeMap, fs, path::Path};

use common::{lcmp_lab, root};
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

/// The scores that the training of `static` prints on the 8-DC graph, for each length of bursts, are in `TESTBED.md`.
#[test]
fn the_scores_by_length_of_bursts_are_those_of_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let workloads = root().join("scenarios/workloads");
    std::os::unix::fs::symlink(workloads, folder.path().join("workloads")).unwrap();
    let document = fs::read_to_string(root().join("reports/TESTBED.md")).unwrap();
    for bursts in ["none", "300 ms", "3 s"] {
        let scenario = folder.path().join("bursts.yaml");
        fs::write(&scenario, all_to_all_in_bursts(bursts)).unwrap();
        let weights = folder.path().join(bursts.replace(' ', "-"));
        let [file, path] = [&weights, &scenario].map(|it| it.to_str().unwrap());
        let arguments = ["train", path, "--trainer", "static", "-o", file];
        let out = lcmp_lab(folder.path(), &arguments);
        assert_eq!(out.exit, Some(0), "{out:?}");
        let head = format!("| 8 DCs, {bursts} |");
        let row = document.lines().find_map(|line| line.strip_prefix(&head));
        let shown: Vec<&str> = row.unwrap().split('|').map(str::trim).collect();
        let policies = [
            "ecmp",
            "wcmp",
            "static",
            "lp, one interval late",
            "lp, two intervals late",
        ];
        for (policy, shown) in policies.iter().zip(shown) {
            let score = out
                .stdout
                .lines()
                .find_map(|line| line.strip_prefix(policy));
            let score: f64 = score.unwrap().trim().parse().unwrap();
            assert_eq!(format!("{score:.3}"), shown, "{policy}, {bursts}");
        }
    }
}

/// Returns `te.yaml` with the paper's rates and one workload, of load 0.2 in bursts of one length.
fn all_to_all_in_bursts(bursts: &str) -> String {
    let te = fs::read_to_string(root().join("scenarios/te.yaml")).unwrap();
    let (network, _) = te.split_once("traffic:").unwrap();
    let network = [("20", "200"), ("10", "100"), ("4", "40")].iter().fold(
        network.to_owned(),
        |network, (tenth, rate)| {
            network.replace(
                &format!("rate: {tenth} Gbit"),
                &format!("rate: {rate} Gbit"),
            )
        },
    );
    let bursts = match bursts {
        "none" => String::new(),
        length => format!("bursts: {length}, "),
    };
    format!(
        "{network}
traffic:
  - workload: {{ sizes: workloads/websearch.csv, pairs: all-to-all, load: 0.2, {bursts}duration: 3 s }}
policies: [static]
scale: {{ rate: 1/5000, time: 20 }}
"
    )
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
