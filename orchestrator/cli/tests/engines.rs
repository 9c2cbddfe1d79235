//! The two engines beside each other: the kernel's packets and the simulator's, of one plan.

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use lab_records::{DecisionRow, FlowRow, RunDir, directory::LATEST};

use self::common::{Said, obstacle};

/// The run of a scenario by an engine, in the lab `lab` if there is one.
fn run(results: &Path, verb: &[&str], scenario: &str, lab: &str) -> RunDir {
    let said: Said = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["--lab", lab])
        .args(verb)
        .arg(scenario)
        .arg("--results")
        .arg(results)
        .output()
        .unwrap()
        .into();
    assert_eq!(said.exit, Some(0), "{said:?}");
    RunDir::open(&results.join(LATEST)).unwrap()
}

/// The flows of `scenarios/8dc.yaml` by policy and number.
fn flows(results: &Path, verb: &[&str]) -> BTreeMap<(String, u32), FlowRow> {
    let run = run(results, verb, "scenarios/8dc.yaml", "engines");
    let rows = run.flows().unwrap().rows.into_iter();
    rows.map(|row| ((row.policy.clone(), row.flow_id.0), row))
        .collect()
}

/// Two ways whose costs are the same for 4.125 MB; flows of less and of more.
const AGEING: &str = "
name: ageing
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 2 }]
  links:
    - { between: [dc1, dc2], rate: 40 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 40 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 100 Gbit, delay: 10 ms }
    - { between: [dc3, dc4], rate: 100 Gbit, delay: 10 ms }
traffic:
  - flows:
      - { from: dc1/h1, to: dc4/h1, size: 10 MB }
      - { from: dc1/h2, to: dc4/h2, size: 1 MB }
      - { from: dc4/h1, to: dc1/h2, size: 8 MB, start: 30 ms }
policies:
  - ucmp: { alpha: 10, ageing: true }
scale: { rate: 1/2000, time: 100 }
";

/// The decisions of a run where there was a choice, in order: switch, flow, reason, and the way
/// chosen. Where there is none only the kernel's switch decides.
fn decisions(run: &RunDir) -> BTreeSet<(String, Option<u32>, String, Option<String>)> {
    let rows = run.table::<DecisionRow>().unwrap().rows.into_iter();
    let rows = rows.filter(|row| row.candidates.0.len() > 1);
    rows.map(|row| {
        let flow = row.flow_id.map(|flow| flow.0);
        (row.switch, flow, row.reason, row.chosen)
    })
    .collect()
}

#[test]
fn flows_that_have_grown_are_moved_alike_in_kernel_and_simulator() {
    if let Some(reason) = obstacle() {
        eprintln!(
            "skipped: flows_that_have_grown_are_moved_alike_in_kernel_and_simulator: {reason}"
        );
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let scenario = results.path().join("ageing.yaml");
    std::fs::write(&scenario, AGEING).unwrap();
    let scenario = scenario.to_str().unwrap();
    let results = |engine: &str| results.path().join(engine);
    let run = |results: &Path, verb: &[&str]| run(results, verb, scenario, "engines-ageing");
    let kernel = run(&results("kernel"), &["up"]);
    let simulator = run(&results("simulator"), &["sim", "--scaled"]);
    let (kernel, simulator) = (decisions(&kernel), decisions(&simulator));
    assert_eq!(kernel, simulator);
    let moved = |switch: &str, flow| {
        let of_age = |(at, of, reason, chosen): &&(String, Option<u32>, String, Option<String>)| {
            at == switch && *of == Some(flow) && reason == "age" && chosen.as_deref() == Some("dc3")
        };
        kernel.iter().any(|row| of_age(&row))
    };
    assert!(
        moved("dc1", 0) && !moved("dc1", 1) && moved("dc4", 2),
        "{kernel:?}"
    );
}

#[test]
fn kernel_and_simulator_choose_the_same_paths_and_take_the_same_times() {
    if let Some(reason) = obstacle() {
        eprintln!(
            "skipped: kernel_and_simulator_choose_the_same_paths_and_take_the_same_times: {reason}"
        );
        return;
    }
    let (kernel, simulator) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let kernel = flows(kernel.path(), &["up"]);
    let simulator = flows(simulator.path(), &["sim", "--scaled"]);
    assert!(kernel.len() >= 88, "{}", kernel.len());
    assert!(kernel.keys().eq(simulator.keys()));
    let mut apart = Vec::new();
    for (seen, played) in kernel.values().zip(simulator.values()) {
        assert_eq!(
            (&seen.path, &seen.ack_path),
            (&played.path, &played.ack_path),
            "{seen:?} {played:?}"
        );
        let [seen, played] = [seen, played].map(|row| row.emu_fct_ns.expect("it finished").get());
        apart.push(seen.abs_diff(played) * 1_000_000 / played);
    }
    apart.sort_unstable();
    let parts_per_million = |percent| apart[apart.len() * percent / 100];
    // Where many short flows share one link, which packet is first decides by more: perftest's flow is
    // five messages, each with a short last packet, and the simulator's is one.
    assert!(parts_per_million(50) <= 1_000, "{apart:?}");
    assert!(parts_per_million(95) <= 20_000, "{apart:?}");
}
