//! The main use, small: a lab comes up, runs its flows, writes a report and leaves nothing, on this
//! kernel or in a guest.

mod common;

use std::fs;

use lab_records::{RunDir, directory::LATEST};

use self::common::{lcmp_lab, skips_without_a_lab};

#[test]
fn the_smoke_scenario_comes_up_runs_clean_and_leaves_nothing() {
    if skips_without_a_lab("the_smoke_scenario_comes_up_runs_clean_and_leaves_nothing") {
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let arguments = ["--lab", "smoke-test", "up", "scenarios/smoke.yaml"];
    let up = lcmp_lab(results.path(), &arguments);
    assert_eq!(up.exit, Some(0), "{up:?}");
    for part in ["ecmp", "lcmp", "cost of flows", "report: "] {
        assert!(up.stdout.contains(part), "{part}: {up:?}");
    }

    let run = RunDir::open(&results.path().join(LATEST)).unwrap();
    let outcome = run.outcome().expect("the run ended");
    assert!(outcome.verdict.clean, "{:?}", outcome.verdict);
    let flows = run.flows().unwrap().rows;
    assert_eq!(flows.len(), 12);
    for flow in &flows {
        assert!(flow.path.is_some() && flow.ack_path.is_some(), "{flow:?}");
        // A few flows share a link; the others take their ideal FCT.
        let slowdown = flow.slowdown.expect("it finished");
        assert!((1.0..2.0).contains(&slowdown), "{flow:?}");
    }
    for link in &outcome.end.measured_links {
        let rate = link.emu_measured_rate_bps.expect("it was measured").get();
        let delay = link.emu_measured_delay_ns.expect("it was measured").get();
        let within_1_percent = |measured: u64, set: u64| measured.abs_diff(set) * 100 <= set;
        assert!(
            within_1_percent(rate, link.emu_rate_bps.get())
                && within_1_percent(delay, link.emu_delay_ns.get()),
            "{link:?}"
        );
    }
    // Nothing is lost, so the lab sent what the plan counts: data and ACKs on each link, for two policies.
    let plan = fs::read_to_string(results.path().join(LATEST).join("plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let planned = 2 * plan["estimate"]["packet_hops"].as_u64().unwrap();
    let sent = outcome.end.lab.expect("it was a lab").packet_hops;
    assert!(
        sent.abs_diff(planned) * 20 <= planned,
        "{sent} sent, {planned} planned"
    );
    assert!(results.path().join(LATEST).join("report.html").is_file());

    let status = lcmp_lab(results.path(), &["status"]);
    assert!(!status.stdout.contains("smoke-test"));
}
