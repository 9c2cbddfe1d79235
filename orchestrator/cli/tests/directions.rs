//! Tests that crates depend on one another only in the directions of the architecture, according to `cargo tree`.

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

/// Returns all crates on which the workspace member `package` depends, directly or indirectly.
fn dependencies(package: &str) -> BTreeSet<String> {
    let tree = cargo_tree(&["--edges", "normal", "--package", package]);
    let names = tree.iter().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// Every dependency has one set of features, because cargo builds a dependency once per set, and polars takes minutes.
#[test]
fn the_program_and_the_tests_share_every_dependency() {
    let features = ["--format", "{p} {f}", "--edges"];
    let program = cargo_tree(&[&features[..], &["normal,build"]].concat());
    let tests = cargo_tree(&[&features[..], &["normal,build,dev", "--workspace"]].concat());
    let alone: Vec<_> = program.difference(&tests).collect();
    assert!(alone.is_empty(), "tests build these once more: {alone:#?}");
}

/// Crates that only engines and reports may use.
const ENGINES: &[&str] = &["tokio", "rtnetlink", "aya", "polars"];

/// Crates of the workspace, each with the crates that it must not use, directly or indirectly.
const FORBIDDEN: &[(&str, &[&[&str]])] = &[
    // Policies are functions of integers.
    (
        "lab-policy",
        &[ENGINES, &["rand_core", "lab-plan", "lab-scenario"]],
    ),
    // Congestion control consists of functions of integers, too.
    (
        "lab-dcqcn",
        &[ENGINES, &["rand_core", "lab-plan", "lab-scenario"]],
    ),
    // Host programs use neither the plan nor records.
    (
        "lab-host",
        &[
            &["tokio", "rtnetlink", "polars"],
            &["lab-plan", "lab-scenario", "lab-records"],
        ],
    ),
    // Any program that loads eBPF objects may use the loader.
    (
        "lab-loader",
        &[&["tokio", "rtnetlink", "polars", "lab-units", "lab-abi"]],
    ),
    // Any program that talks to the kernel may use the netlink client.
    (
        "lab-netlink",
        &[
            ENGINES,
            &["lab-units", "lab-abi", "lab-plan", "lab-kernel", "nix"],
        ],
    ),
    // Parameters are declared without their users.
    (
        "lab-parameters",
        &[ENGINES, &["lab-scenario", "lab-plan", "lab-policy"]],
    ),
    // Traffic engineering is a function of demands.
    ("lab-te", &[ENGINES, &["lab-plan", "lab-abi", "rand_core"]]),
    // RedTE's actor is a function of measurements, and its training one of demands.
    (
        "lab-redte",
        &[ENGINES, &["lab-plan", "lab-abi", "rand_core"]],
    ),
    (
        "lab-redte-train",
        &[ENGINES, &["lab-plan", "lab-scenario", "lab-files"]],
    ),
    // Planning does not use the kernel engine.
    ("lab-plan", &[ENGINES, &["nix", "libc", "lab-records"]]),
    // Scenarios are read without a machine. The names of policies come from the policies' declarations.
    ("lab-scenario", &[ENGINES, &["nix", "lab-plan"]]),
    // Agents use neither the plan nor records.
    (
        "lab-switchd",
        &[&["lab-plan", "lab-scenario", "lab-records", "polars"]],
    ),
    // Traffic generators use neither the plan nor records.
    (
        "lab-generators",
        &[&["lab-plan", "lab-scenario", "lab-records", "polars"]],
    ),
    // Benchmarks use only the agent.
    (
        "lab-bench",
        &[
            &["tokio", "rtnetlink", "polars"],
            &["lab-plan", "lab-scenario", "lab-records"],
        ],
    ),
    // Reports use only records.
    (
        "lab-reports",
        &[&["lab-plan", "lab-kernel", "lab-scenario", "rtnetlink"]],
    ),
    // The recorder serves both engines.
    (
        "lab-recorder",
        &[ENGINES, &["lab-sim", "lab-kernel", "nix"]],
    ),
    // Suites are judged without engines.
    (
        "lab-regress",
        &[&["rtnetlink", "aya", "lab-plan", "lab-sim", "lab-kernel"]],
    ),
    // Bundles are checked without engines; the program implements `--rerun`.
    (
        "lab-bundle",
        &[&["rtnetlink", "aya", "lab-sim", "lab-kernel", "lab-guest"]],
    ),
    // Claims are judged without engines.
    (
        "lab-reproduce",
        &[&["rtnetlink", "aya", "lab-sim", "lab-kernel"]],
    ),
    // Any crate may use this crate to open files.
    (
        "lab-files",
        &[ENGINES, &["lab-units", "lab-records", "nix"]],
    ),
    // The released program has no fixtures.
    ("lcmp-lab", &[&["lab-sample", "lab-fuzz"]]),
    // Any crate's tests may use it.
    ("lab-fuzz", &[&["lab-units", "lab-records"]]),
    // Records use neither engines nor plots.
    (
        "lab-records",
        &[&["lab-plan", "lab-kernel", "plotters", "polars"]],
    ),
];

#[test]
fn crates_use_only_what_the_architecture_allows() {
    for (package, forbidden) in FORBIDDEN {
        let used = dependencies(package);
        assert!(
            used.contains(*package),
            "`{package}` is not in its own tree"
        );
        for name in forbidden.iter().copied().flatten() {
            assert!(!used.contains(*name), "`{package}` must not use `{name}`");
        }
    }
}
