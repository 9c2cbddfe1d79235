//! Tests of plans for the paper's figures.

use std::{fmt::Write as _, fs, path::PathBuf};

use lab_plan::{CcPlan, Engine, Plan, PlanOptions, Semantics, resolve};
use lab_scenario::Files;

fn folder() -> PathBuf {
    crate::common::scenarios().join("paper")
}

fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // `testbed.yaml` is not a figure: it runs in the lab.
    let is_figure = |name: &String| name.starts_with("fig") && name.ends_with(".yaml");
    let mut names: Vec<String> = names.filter(is_figure).collect();
    names.sort();
    names
}

fn plan(name: &str, engine: Engine) -> Plan {
    let text = fs::read_to_string(folder().join(name)).unwrap();
    let text_of = |path: &str| fs::read_to_string(folder().join(path)).unwrap();
    let mut files = Files::new();
    let missing = |files: &Files| lab_scenario::missing_file(name, text.as_bytes(), files);
    while let Some(file) = missing(&files).unwrap_or_else(|errors| panic!("{errors}")) {
        let text = text_of(&file.path);
        files.insert(file.path, text);
    }
    let scenario = lab_scenario::parse_with(name, text.as_bytes(), &files)
        .unwrap_or_else(|errors| panic!("{errors}"));
    for path in lab_scenario::files(&scenario) {
        files
            .entry(path.to_owned())
            .or_insert_with(|| text_of(path));
    }
    let options = PlanOptions {
        engine,
        ..PlanOptions::default()
    };
    resolve(&scenario, &text, &files, &options).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns an FNV-1a hash over every number in the flow schedule, so that any change is detected.
fn digest(plan: &Plan) -> u64 {
    let numbers = plan.flows.iter().flat_map(|flow| {
        [
            u64::from(flow.src.0),
            u64::from(flow.dst.0),
            flow.size_bytes.get(),
            flow.start_ns.get(),
            flow.ideal_fct_ns.get(),
        ]
    });
    numbers
        .flat_map(u64::to_be_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
}

#[test]
fn every_figures_plan_in_a_line() {
    let mut lines = String::new();
    for name in names() {
        let plan = plan(&name, Engine::Sim);
        assert_eq!(plan.transport.semantics, Semantics::Artifact, "{name}");
        assert_eq!(format!("{}.yaml", plan.name), name);
        let bytes: u64 = plan.flows.iter().map(|flow| flow.size_bytes.get()).sum();
        let labels: Vec<_> = plan.policies.iter().map(|run| run.label.as_str()).collect();
        writeln!(
            lines,
            "{name}: {} DCs, {} nodes, {} flows of {} MB, {:016x}\n  {}",
            plan.dcs.len(),
            plan.nodes.len(),
            plan.flows.len(),
            bytes / 1_000_000,
            digest(&plan),
            labels.join(" ")
        )
        .unwrap();
    }
    insta::assert_snapshot!(lines);
}

/// `check` plans for the kernel engine, although the scenarios of the paper's figures are made for the simulator.
#[test]
fn every_figure_can_be_checked() {
    for name in names() {
        plan(&name, Engine::Kernel);
    }
}

/// Section 6.1 of the paper describes this testbed.
#[test]
fn the_testbed_has_four_hosts_at_both_ends_under_dcqcn_three_times() {
    let plan = plan("testbed.yaml", Engine::Kernel);
    let hosts: Vec<usize> = plan.dcs.iter().map(|dc| dc.hosts.len()).collect();
    assert_eq!(hosts, [4, 0, 0, 0, 0, 0, 0, 4]);
    assert_eq!(plan.repetitions, 3);
    assert!(matches!(plan.transport.cc, CcPlan::Dcqcn(_)));
    let from_dc8 = plan
        .flows
        .iter()
        .filter(|flow| plan.dcs[7].hosts.contains(&flow.src));
    let share = from_dc8.count() * 100 / plan.flows.len();
    assert!(
        (45..=55).contains(&share),
        "{share} % of the flows come from DC8"
    );
}
