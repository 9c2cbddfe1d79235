//! Smoke test: a small lab comes up, runs its flows, writes a report and leaves no objects behind, on this kernel or in
//! a guest.

mod common;

use std::{collections::BTreeMap, fs};

use lab_records::{CertifiedRow, Clock, RunDir, directory::LATEST};

use self::common::{lcmp_lab, skips_without_a_lab};

#[test]
fn the_smoke_scenario_comes_up_is_valid_and_leaves_nothing() {
    if skips_without_a_lab("the_smoke_scenario_comes_up_is_valid_and_leaves_nothing") {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let arguments = ["--lab", "smoke-test", "up", "scenarios/smoke.yaml"];
    let up = lcmp_lab(results.path(), &arguments);
    assert_eq!(up.exit, Some(0), "{up:?}");
    for part in [
        "ecmp",
        "lcmp",
        "cost of flows",
        "verdict: valid",
        "report: ",
    ] {
        assert!(up.stdout.contains(part), "{part}: {up:?}");
    }

    let run = RunDir::open(&results.path().join(LATEST)).unwrap();
    let outcome = run.outcome().expect("the run ended");
    assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
    let flows = run.flows().unwrap().rows;
    assert_eq!(flows.len(), 12);
    for flow in &flows {
        assert!(flow.path.is_some() && flow.ack_path.is_some(), "{flow:?}");
        // Only a few flows share a link; all others must have their ideal FCT.
        let slowdown = flow.slowdown.expect("the flow finished");
        assert!((1.0..2.0).contains(&slowdown), "{flow:?}");
    }
    // There are three links between datacenters and five host links, each with two directions.
    let certificate = run.table::<CertifiedRow>().unwrap().rows;
    assert_eq!(certificate.len(), 2 * (3 + 5));
    for direction in &certificate {
        assert_eq!(direction.problem, None, "{direction:?}");
        assert!(direction.emu_measured_rate_bps.is_some(), "{direction:?}");
    }
    let conduct = &outcome.end.conduct;
    let links = conduct.links.as_ref().expect("links were measured");
    assert_eq!((links.directions, links.out_of_bounds), (16, 0));
    let recovery = conduct.recovery.expect("SoftRoCE counts retries");
    assert_eq!(
        (conduct.dropped_outside, recovery.retries),
        (0, 0),
        "{conduct:?}"
    );
    // No packet is lost, so the lab must have sent exactly the planned packets: data and ACKs on each link, for two
    // policies.
    let plan = fs::read_to_string(results.path().join(LATEST).join("plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let planned = 2 * plan["estimate"]["packet_hops"].as_u64().unwrap();
    let sent = outcome.end.lab.expect("the run had a lab").packet_hops;
    assert!(
        sent.abs_diff(planned) * 20 <= planned,
        "{sent} sent, {planned} planned"
    );
    assert!(results.path().join(LATEST).join("report.html").is_file());

    let status = lcmp_lab(results.path(), &["status"]);
    assert!(!status.stdout.contains("smoke-test"));
}

/// dc1's agent is down from 15 to 55 ms and dc4's from 60 ms on. From the cut at 20 ms to the restart, dc1's first link is
/// dead, so flows that start at 30, 40 and 50 ms leave through dc3, in the simulator as in the lab.
#[test]
#[ignore = "it takes some minutes"]
fn a_switch_whose_agent_crashes_forwards_as_in_the_simulator() {
    if skips_without_a_lab("a_switch_whose_agent_crashes_forwards_as_in_the_simulator") {
        return;
    }
    let scenario = "orchestrator/kernel/fixtures/crash.yaml";
    let paths = |words: &[&str]| {
        let results = tempfile::tempdir().unwrap();
        let ran = lcmp_lab(results.path(), &[words, &[scenario]].concat());
        assert_eq!(ran.exit, Some(0), "{ran:?}");
        let run = RunDir::open(&results.path().join(LATEST)).unwrap();
        let outcome = run.outcome().expect("the run ended");
        assert!(outcome.end.changes.is_empty(), "{:?}", outcome.end.changes);
        let crashes = outcome
            .end
            .evidence
            .policies
            .iter()
            .map(|policy| policy.crashes.len());
        assert_eq!(crashes.collect::<Vec<_>>(), [2, 2]);
        let flows = run.flows().unwrap().rows.into_iter();
        let while_down = |start: u64| (30_000_000..=50_000_000).contains(&start);
        let mut paths: Vec<_> = flows
            .filter(|flow| flow.policy == "ecmp")
            .map(|flow| (flow.emu_start_ns.get() / 50, flow))
            // In a guest the next agent needs about a second, 20 ms in paper time, until it revives the port.
            .filter(|(planned, _)| !(55_000_000..80_000_000).contains(planned))
            .map(|(planned, flow)| {
                let path = flow.path.expect("a decision").to_string();
                if while_down(planned) {
                    assert!(path.contains("dc3"), "{path} at {planned} ns");
                }
                (flow.flow_id, path)
            })
            .collect();
        paths.sort();
        paths
    };
    let lab = paths(&["--lab", "crash-test", "up", "--guest", "--clock", "virtual"]);
    assert_eq!(lab.len(), 6);
    assert_eq!(lab, paths(&["sim", "--scaled"]));
}

/// On a virtual clock, a run depends only on its scenario, its seed, the program, and the offset of the kernel's timer
/// ticks from the clock, which differs by some tens of microseconds in a few boots.
#[test]
#[ignore = "it takes a quarter of an hour"]
fn thirty_runs_on_the_virtual_clock_are_valid_and_within_50_microseconds() {
    let test = "thirty_runs_on_the_virtual_clock_are_valid_and_within_50_microseconds";
    if skips_without_a_lab(test) {
        return;
    }
    let mut grades = BTreeMap::new();
    let mut fcts = BTreeMap::new();
    for run in 1..=RUNS {
        let results = tempfile::tempdir().unwrap();
        let words = [
            "--lab",
            "smoke-thirty",
            "up",
            "--guest",
            "--clock",
            "virtual",
        ];
        let up = lcmp_lab(
            results.path(),
            &[&words[..], &["scenarios/smoke.yaml"]].concat(),
        );
        let dir = RunDir::open(&results.path().join(LATEST))
            .unwrap_or_else(|error| panic!("{error}: {up:?}"));
        assert_eq!(dir.info().clock, Clock::Virtual);
        let outcome = dir.outcome().expect("the run ended");
        eprintln!("run {run}: exit {:?}, {:?}", up.exit, outcome.verdict);
        *grades.entry(outcome.verdict.grade.to_string()).or_insert(0) += 1;
        let mut flows = dir.flows().unwrap().rows;
        flows.sort_by(|a, b| (&a.policy, a.flow_id).cmp(&(&b.policy, b.flow_id)));
        let times: Vec<_> = flows.iter().map(|flow| flow.fct_ns).collect();
        *fcts.entry(times).or_insert(0) += 1;
    }
    eprintln!(
        "verdicts: {grades:?}; {} different sets of FCTs",
        fcts.len()
    );
    for times in fcts.keys() {
        eprintln!("{times:?}");
    }
    assert_eq!(grades, BTreeMap::from([("valid".to_owned(), RUNS)]));
    let all: Vec<_> = fcts.into_keys().collect();
    for (flow, first) in all[0].iter().enumerate() {
        let first = first.expect("the flow finished");
        for times in &all {
            let time = times[flow].expect("the flow finished");
            assert!(
                time.get().abs_diff(first.get()) < 50_000,
                "{flow}: {first:?}, {time:?}"
            );
        }
    }
}

/// Number of runs whose verdicts are counted.
const RUNS: u32 = 30;
