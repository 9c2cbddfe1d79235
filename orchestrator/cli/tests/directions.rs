//! The architecture's directions between crates, held by what cargo resolves.

use std::{collections::BTreeSet, process::Command};

/// Returns the lines that `cargo tree` prints with `arguments`.
fn cargo_tree(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix", "none"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tree = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let repeated = |line: &str| line.trim_end_matches(" (*)").to_owned();
    tree.lines().map(repeated).collect()
}

/// Returns all crates that the workspace member `package` depends on, directly or indirectly.
fn dependencies(package: &str) -> BTreeSet<String> {
    let tree = cargo_tree(&["--edges", "normal", "--package", package]);
    let names = tree.iter().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// Cargo builds a dependency again for every other set of features, polars for minutes.
#[test]
fn the_program_and_the_tests_share_every_dependency() {
    let features = ["--format", "{p} {f}", "--edges"];
    let program = cargo_tree(&[&features[..], &["normal,build"]].concat());
    let tests = cargo_tree(&[&features[..], &["normal,build,dev", "--workspace"]].concat());
    let alone: Vec<_> = program.difference(&tests).collect();
    assert!(alone.is_empty(), "tests build these once more: {alone:#?}");
}

#[track_caller]
fn assert_never_uses(package: &str, forbidden: &[&str]) {
    let used = dependencies(package);
    assert!(used.contains(package), "`{package}` is not in its own tree");
    for name in forbidden {
        assert!(!used.contains(*name), "`{package}` must not use `{name}`");
    }
}

const ENGINES: [&str; 4] = ["tokio", "rtnetlink", "aya", "polars"];

#[test]
fn the_policy_is_integers_and_its_arguments() {
    assert_never_uses("lab-policy", &ENGINES);
    assert_never_uses("lab-policy", &["rand_core", "lab-plan", "lab-scenario"]);
}

#[test]
fn parameters_are_declared_without_their_users() {
    assert_never_uses("lab-parameters", &ENGINES);
    assert_never_uses(
        "lab-parameters",
        &["lab-scenario", "lab-plan", "lab-policy"],
    );
}

#[test]
fn traffic_engineering_is_a_function_of_demands() {
    assert_never_uses("lab-te", &ENGINES);
    assert_never_uses("lab-te", &["lab-plan", "lab-abi", "rand_core"]);
}

#[test]
fn the_plan_knows_no_kernel() {
    assert_never_uses("lab-plan", &ENGINES);
    assert_never_uses("lab-plan", &["nix", "libc", "lab-records"]);
}

#[test]
fn a_scenario_is_read_without_a_machine() {
    assert_never_uses("lab-scenario", &ENGINES);
    assert_never_uses("lab-scenario", &["nix", "lab-plan", "lab-policy"]);
}

#[test]
fn the_agent_knows_neither_plan_nor_records() {
    assert_never_uses(
        "lab-switchd",
        &["lab-plan", "lab-scenario", "lab-records", "polars"],
    );
}

#[test]
fn benchmarks_know_the_agent_alone() {
    assert_never_uses("lab-bench", &["tokio", "rtnetlink", "polars"]);
    assert_never_uses("lab-bench", &["lab-plan", "lab-scenario", "lab-records"]);
}

#[test]
fn reports_see_records_alone() {
    assert_never_uses(
        "lab-reports",
        &["lab-plan", "lab-kernel", "lab-scenario", "rtnetlink"],
    );
}

#[test]
fn the_recorder_knows_no_engine() {
    assert_never_uses("lab-recorder", &ENGINES);
    assert_never_uses("lab-recorder", &["lab-sim", "lab-kernel", "nix", "libc"]);
}

#[test]
fn records_know_neither_engines_nor_plots() {
    assert_never_uses(
        "lab-records",
        &["lab-plan", "lab-kernel", "plotters", "polars"],
    );
}
