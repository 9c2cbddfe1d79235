//! The two traffic generators, perftest and verbs, in one lab.

mod common;

use std::{fs, path::Path};

use lab_records::{FlowRow, FlowStatus, RunDir, directory::LATEST};

use self::common::{lcmp_lab, skips_without_a_lab};

/// Two DCs and bulk flows both ways, one after the other.
const BULK: &str = "
name: bulk
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 20 MB }
      - { from: dc2/h1, to: dc1/h1, size: 5 MB, start: 60 ms }
policies: [ecmp]
scale: { rate: 1/2000, time: 50 }
generator: GENERATOR
";

/// A flow whose only path is cut before its start and stays cut, and one that ends before the cut.
const CUT: &str = "
name: cut
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 1 MB }
      - { from: dc2/h1, to: dc1/h1, size: 1 MB, start: 100 ms }
faults: [{ at: 50 ms, link: [dc1, dc2], down: true }]
policies: [ecmp]
scale: { rate: 1/2000, time: 50 }
generator: verbs
";

/// Runs a scenario in the lab `lab`; returns its exit code and the flows.
fn run(results: &Path, lab: &str, scenario: &str) -> (Option<i32>, Vec<FlowRow>) {
    let file = results.join("scenario.yaml");
    fs::write(&file, scenario).unwrap();
    let up = lcmp_lab(results, &["--lab", lab, "up", file.to_str().unwrap()]);
    let run = RunDir::open(&results.join(LATEST)).unwrap_or_else(|error| panic!("{error}: {up:?}"));
    (up.exit, run.flows().unwrap().rows)
}

#[test]
fn both_generators_measure_the_same_bulk_flow() {
    if skips_without_a_lab("both_generators_measure_the_same_bulk_flow") {
        return;
    }
    let [perftest, verbs] = ["perftest", "verbs"].map(|generator| {
        let results = tempfile::tempdir().unwrap();
        let (exit, flows) = run(
            results.path(),
            "generators",
            &BULK.replace("GENERATOR", generator),
        );
        assert_eq!(exit, Some(0), "{flows:?}");
        flows
    });
    assert_eq!((perftest.len(), verbs.len()), (2, 2));
    for (perftest, verbs) in perftest.iter().zip(&verbs) {
        assert_eq!(perftest.flow_id, verbs.flow_id);
        let fct = |row: &FlowRow| row.emu_fct_ns.expect("it finished").get();
        let (ours, theirs) = (fct(verbs), fct(perftest));
        assert!(ours.abs_diff(theirs) * 200 <= theirs, "{ours} {theirs}");
    }
}

#[test]
fn a_flow_without_a_path_has_a_row_with_its_reason() {
    if skips_without_a_lab("a_flow_without_a_path_has_a_row_with_its_reason") {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let (exit, flows) = run(results.path(), "generators-cut", CUT);
    assert_eq!(exit, Some(4), "{flows:?}");
    let statuses: Vec<FlowStatus> = flows.iter().map(|flow| flow.status).collect();
    assert_eq!(statuses, [FlowStatus::Finished, FlowStatus::TimedOut]);
    assert!(
        flows[1].reason.starts_with("not finished after"),
        "{flows:?}"
    );
}
