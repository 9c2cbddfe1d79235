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

/// Crates that only engines and reports may use.
const ENGINES: &[&str] = &["tokio", "rtnetlink", "aya", "polars"];

/// Crates of the workspace, with the crates that they must not use, directly or indirectly.
const FORBIDDEN: &[(&str, &[&[&str]])] = &[
    // Policies are functions of integers.
    (
        "lab-policy",
        &[ENGINES, &["rand_core", "lab-plan", "lab-scenario"]],
    ),
    // So is congestion control.
    (
        "lab-dcqcn",
        &[ENGINES, &["rand_core", "lab-plan", "lab-scenario"]],
    ),
    // Host programs have neither plan nor records.
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
    // A plan is made without a kernel.
    ("lab-plan", &[ENGINES, &["nix", "libc", "lab-records"]]),
    // A scenario is read without a machine; it takes the names of policies from their declarations.
    ("lab-scenario", &[ENGINES, &["nix", "lab-plan"]]),
    // An agent has neither plan nor records.
    (
        "lab-switchd",
        &[&["lab-plan", "lab-scenario", "lab-records", "polars"]],
    ),
    // Generators of flows have neither plan nor records.
    (
        "lab-generators",
        &[&["lab-plan", "lab-scenario", "lab-records", "polars"]],
    ),
    // Benchmarks use the agent alone.
    (
        "lab-bench",
        &[
            &["tokio", "rtnetlink", "polars"],
            &["lab-plan", "lab-scenario", "lab-records"],
        ],
    ),
    // Reports see records alone.
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
    // A bundle is checked without engines; `--rerun` is the program's.
    (
        "lab-bundle",
        &[&["rtnetlink", "aya", "lab-sim", "lab-kernel", "lab-guest"]],
    ),
    // Claims are judged without engines.
    (
        "lab-reproduce",
        &[&["rtnetlink", "aya", "lab-sim", "lab-kernel"]],
    ),
    // Any crate may open files with it.
    (
        "lab-files",
        &[ENGINES, &["lab-units", "lab-records", "nix"]],
    ),
    // The released program has no fixtures.
    ("lcmp-lab", &[&["lab-sample", "lab-fuzz"]]),
    // Any crate's tests may use it.
    ("lab-fuzz", &[&["lab-units", "lab-records"]]),
    // Records know neither engines nor plots.
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
