//! Tests of the two traffic generators, perftest and verbs, in one lab.

mod common;

use std::{fs, path::Path};

use lab_records::{FlowRow, FlowStatus, Grade, LinkRow, RunDir, directory::LATEST};

use self::common::{lcmp_lab, skips_without_a_lab};

/// Scenario with two DCs, and with bulk flows in both directions, one direction after the other.
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

/// Scenario in which a link is cut for good: one flow has to cross it afterwards, another one ends before.
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

/// Scenario with six DCQCN flows over one link, a million packets in total.
const PACED: &str = "
name: paced
topology:
  dcs: [{ name: dc1, hosts: 5 }, { name: dc2, hosts: 5 }]
  links:
    - between: [dc1, dc2]
      rate: 100 Gbit
      delay: 100 us
      ecn: { k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 10 GB }
      - { from: dc1/h2, to: dc2/h2, size: 10 GB, start: 50 us }
      - { from: dc1/h3, to: dc2/h3, size: 10 GB, start: 100 us }
      - { from: dc1/h4, to: dc2/h4, size: 10 GB, start: 150 us }
      - { from: dc1/h5, to: dc2/h5, size: 2 GB, start: 400 ms }
      - { from: dc1/h5, to: dc2/h5, size: 2 GB, start: 1200 ms }
policies: [ecmp]
generator: verbs
transport: { cc: dcqcn }
scale: { rate: 1/2000, time: 200 }
measure: { queues: 2 ms, links: 20 ms }
";

/// Runs a scenario in the lab `lab`; returns its exit code, the run and its flows.
fn run(results: &Path, lab: &str, scenario: &str) -> (Option<i32>, RunDir, Vec<FlowRow>) {
    let file = results.join("scenario.yaml");
    fs::write(&file, scenario).unwrap();
    let up = lcmp_lab(results, &["--lab", lab, "up", file.to_str().unwrap()]);
    let run = RunDir::open(&results.join(LATEST)).unwrap_or_else(|error| panic!("{error}: {up:?}"));
    let flows = run.flows().unwrap().rows;
    (up.exit, run, flows)
}

#[test]
fn both_generators_measure_the_same_bulk_flow() {
    if skips_without_a_lab("both_generators_measure_the_same_bulk_flow") {
        return;
    }
    let [perftest, verbs] = ["perftest", "verbs"].map(|generator| {
        let results = tempfile::tempdir().unwrap();
        let (exit, _, flows) = run(
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
        let ours = fct(verbs);
        let theirs = fct(perftest);
        assert!(ours.abs_diff(theirs) * 200 <= theirs, "{ours} {theirs}");
    }
}

#[test]
fn a_flow_without_a_path_has_a_row_with_its_reason() {
    if skips_without_a_lab("a_flow_without_a_path_has_a_row_with_its_reason") {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let (exit, _, flows) = run(results.path(), "generators-cut", CUT);
    assert_eq!(exit, Some(4), "{flows:?}");
    let statuses: Vec<FlowStatus> = flows.iter().map(|flow| flow.status).collect();
    assert_eq!(statuses, [FlowStatus::Finished, FlowStatus::TimedOut]);
    assert!(
        flows[1].reason.starts_with("not finished after"),
        "{flows:?}"
    );
}

/// DCQCN changes the QPs' rates about 29,000 times. The pacer counts packets that leave it out of order or are lost,
/// which would be reasons to distrust the run; SoftRoCE would also request missing packets again.
#[test]
#[ignore = "it takes five minutes"]
fn a_million_paced_packets_keep_their_order() {
    if skips_without_a_lab("a_million_paced_packets_keep_their_order") {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let (exit, run, flows) = run(results.path(), "generators-paced", PACED);
    assert_eq!(exit, Some(0), "{flows:?}");
    let outcome = run.outcome().expect("the run ended");
    assert_eq!(outcome.verdict.grade, Grade::Valid, "{outcome:?}");
    assert_eq!(outcome.end.conduct.recovery.map(|it| it.retries), Some(0));
    let bytes: u64 = flows.iter().map(|flow| flow.emu_size_bytes.get()).sum();
    let links = run.table::<LinkRow>().unwrap().rows;
    let marks = links.iter().filter_map(|row| row.marks).max();
    eprintln!("{} packets, {marks:?} marks", bytes / 4_096);
    assert!(bytes / 4_096 > 1_000_000 && marks > Some(10_000));
}
