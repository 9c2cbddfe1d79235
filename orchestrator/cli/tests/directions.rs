//! Tests that crates depend on one another only as the architecture allows, by the output of `cargo tree`.

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

/// Cargo builds a dependency once per set of features, and polars takes minutes, so each dependency must have only one
/// set.
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

/// Crates of the workspace with the crates that they must not depend on, directly or indirectly.
const FORBIDDEN: &[(&str, &[&[&str]])] = &[
    // Policies are pure functions of integers.
    (
        "lab-policy",
        &[ENGINES, &["rand_core", "lab-plan", "lab-scenario"]],
    ),
    // Congestion control is also made of pure functions of integers.
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
    // Any program that configures the network may use the netlink client.
    (
        "lab-netlink",
        &[
            ENGINES,
            &["lab-units", "lab-abi", "lab-plan", "lab-kernel", "nix"],
        ],
    ),
    // Graph files are read without knowledge of scenarios and of the file system.
    (
        "lab-topologies",
        &[
            ENGINES,
            &["rand_core", "lab-scenario", "lab-plan", "lab-files"],
        ],
    ),
    // Parameters are declared without knowledge of their users.
    (
        "lab-parameters",
        &[ENGINES, &["lab-scenario", "lab-plan", "lab-policy"]],
    ),
    // Traffic engineering is a pure function of demands.
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
    // Scenarios are parsed without access to the machine. The names of policies are those that the policies declare.
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
    // Benchmarks know only the agent.
    (
        "lab-bench",
        &[
            &["tokio", "rtnetlink", "polars"],
            &["lab-plan", "lab-scenario", "lab-records"],
        ],
    ),
    // Reports read only records.
    (
        "lab-reports",
        &[&["lab-plan", "lab-kernel", "lab-scenario", "rtnetlink"]],
    ),
    // The recorder must not depend on an engine, because it serves both.
    (
        "lab-recorder",
        &[ENGINES, &["lab-sim", "lab-kernel", "nix"]],
    ),
    // Suites are judged without engines.
    (
        "lab-regress",
        &[&["rtnetlink", "aya", "lab-plan", "lab-sim", "lab-kernel"]],
    ),
    // Bundles are checked without engines; only the program can run a scenario again.
    (
        "lab-bundle",
        &[&["rtnetlink", "aya", "lab-sim", "lab-kernel", "lab-guest"]],
    ),
    // Claims are judged without engines.
    (
        "lab-reproduce",
        &[&["rtnetlink", "aya", "lab-sim", "lab-kernel"]],
    ),
    // A sweep's cells are told apart and judged without engines.
    (
        "lab-sweep",
        &[&["rtnetlink", "aya", "lab-plan", "lab-sim", "lab-kernel"]],
    ),
    // All crates may use it to open files, so it depends on none of them.
    (
        "lab-files",
        &[ENGINES, &["lab-units", "lab-records", "nix"]],
    ),
    // The released program contains no test fixtures.
    ("lcmp-lab", &[&["lab-sample", "lab-fuzz"]]),
    // The tests of all crates may use it.
    ("lab-fuzz", &[&["lab-units", "lab-records"]]),
    // Records depend on neither engines nor plots.
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
