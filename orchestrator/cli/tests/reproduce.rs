//! Tests of `reproduce`: published values, missing runs, trains and refusals. No case is simulated packet by packet,
//! because that takes minutes.

mod common;

use std::fs;

use serde_json::Value;

use self::common::{lcmp_lab, root};

/// Every scenario is modified and planned, but not run, so that the test is fast.
#[test]
fn published_values_are_shown_where_no_run_is() {
    let results = tempfile::tempdir().unwrap();
    let arguments = [
        "reproduce",
        "all",
        "--engine",
        "kernel",
        "--quick",
        "--json",
    ];
    let out = lcmp_lab(results.path(), &arguments);
    assert_eq!(out.exit, Some(4), "{out:?}");
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    let verdicts: Vec<_> = report["claims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| {
            let verdict = |source: &str| claim["verdicts"][source]["verdict"].as_str().unwrap();
            (
                claim["id"].as_str().unwrap(),
                verdict("published"),
                verdict("fair"),
            )
        })
        .collect();
    assert_eq!(verdicts.len(), 6);
    assert!(
        verdicts.contains(&("C4", "holds", "cannot-tell")),
        "{verdicts:?}"
    );
    let page = fs::read_to_string(results.path().join("reproduction/REPRODUCTION.md")).unwrap();
    assert!(
        page.contains("lcmp-lab reproduce all --engine kernel --quick"),
        "{page}"
    );
    assert!(!page.contains(&root().display().to_string()), "{page}");
    assert!(
        page.contains("not emulated: beyond the lab: the figure varies the congestion control"),
        "{page}"
    );
}

/// A second call reuses the runs in trains. Neither call makes runs of single packets.
#[test]
fn trains_are_a_column_of_their_own() {
    let results = tempfile::tempdir().unwrap();
    let arguments = ["reproduce", "fig5", "--quick", "--trains", "--json"];
    for expected in ["3 of 3 runs\n", "3 of 3 runs, 3 found\n"] {
        let out = lcmp_lab(results.path(), &arguments);
        assert_eq!(out.exit, Some(0), "{out:?}");
        assert!(out.stderr.contains(expected), "{out:?}");
        let report: Value = serde_json::from_str(&out.stdout).unwrap();
        let verdict = |source: &str| &report["claims"][0]["verdicts"][source]["verdict"];
        let [trains, others @ ..] = ["trains", "simulated", "fair"].map(verdict);
        assert_eq!(trains, "holds", "{report}");
        assert_eq!(others, ["cannot-tell"; 2], "{report}");
        let why = &report["cases"][0]["without"]["simulated"];
        let hint = "no simulation run exists (hint: leave out `--trains` to make it)";
        assert_eq!(why, hint, "{report}");
    }
    for (refused, why) in [
        (
            vec!["--trains", "--engine", "kernel"],
            "`--trains` is an option of simulations",
        ),
        (
            vec!["--trains=1"],
            "`--trains=1`: a train of one packet is a packet",
        ),
    ] {
        let arguments = [vec!["reproduce", "fig5"], refused].concat();
        let out = lcmp_lab(results.path(), &arguments);
        assert_eq!(out.exit, Some(2), "{out:?}");
        assert!(out.stderr.contains(why), "{out:?}");
    }
}

#[test]
fn the_fidelity_of_the_testbed_needs_a_run_of_the_lab() {
    let results = tempfile::tempdir().unwrap();
    let out = lcmp_lab(results.path(), &["reproduce", "fig6"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let line = "fig6 Pearson of p50: published 0.95; cannot tell: no lab run exists";
    assert!(out.stdout.contains(line), "{out:?}");
}

#[test]
fn an_unknown_figure_and_a_missing_table_are_usage_errors() {
    let results = tempfile::tempdir().unwrap();
    let out = lcmp_lab(results.path(), &["reproduce", "fig2"]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(out.stderr.contains("nor one of fig1, fig5"), "{out:?}");
    let artifact = |dir: &str| {
        let out = lcmp_lab(results.path(), &["reproduce", "fig1", "--artifact", dir]);
        assert_eq!((out.exit, out.stdout.as_str()), (Some(2), ""), "{out:?}");
        assert!(!results.path().join("reproduction").exists());
        out.stderr
    };
    let expected = "error: `--artifact /nosuch`: there is no such directory";
    assert!(artifact("/nosuch").starts_with(expected));
    let elsewhere = results.path().to_str().unwrap();
    let message = artifact(elsewhere);
    assert!(
        message.contains("has none of the published flows, such as `"),
        "{message}"
    );
    let arguments = ["reproduce", "fig6", "--scenarios", elsewhere];
    let out = lcmp_lab(results.path(), &arguments);
    assert_eq!(out.exit, Some(2), "{out:?}");
    assert!(out.stderr.contains("published/slowdown.csv"), "{out:?}");
}
