//! The main job, small: a lab up, its flows, a report, and nothing left, on the real kernel path.
//! Here where this kernel can, else in a guest.

mod common;

use std::{path::Path, process::Command};

use lab_records::{RunDir, directory::LATEST};

use self::common::obstacle;

fn lcmp_lab(results: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command.arg("--results").arg(results);
    command
}

#[test]
fn the_smoke_scenario_comes_up_runs_clean_and_leaves_nothing() {
    if let Some(reason) = obstacle() {
        eprintln!("skipped: the_smoke_scenario_comes_up_runs_clean_and_leaves_nothing: {reason}");
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let output = lcmp_lab(results.path())
        .args(["--lab", "smoke-test", "up", "scenarios/smoke.yaml"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains("ecmp") && told.contains("lcmp") && told.contains("report: "),
        "{told}"
    );

    let run = RunDir::open(&results.path().join(LATEST)).unwrap();
    let outcome = run.outcome().expect("the run ended");
    assert!(outcome.verdict.clean, "{:?}", outcome.verdict);
    let flows = run.flows().unwrap().rows;
    assert_eq!(flows.len(), 12);
    for flow in &flows {
        assert!(flow.path.is_some() && flow.ack_path.is_some(), "{flow:?}");
        // Alone on its path a flow takes its ideal FCT; here a few share a link.
        assert!(
            flow.slowdown
                .is_some_and(|slowdown| (1.0..2.0).contains(&slowdown)),
            "{flow:?}"
        );
    }
    for link in &outcome.end.measured_links {
        let rate = link.emu_measured_rate_bps.expect("it was measured").get();
        let delay = link.emu_measured_delay_ns.expect("it was measured").get();
        assert!(
            rate.abs_diff(link.emu_rate_bps.get()) * 100 <= link.emu_rate_bps.get(),
            "{link:?}"
        );
        assert!(
            delay.abs_diff(link.emu_delay_ns.get()) * 100 <= link.emu_delay_ns.get(),
            "{link:?}"
        );
    }
    assert!(results.path().join(LATEST).join("report.html").is_file());

    let status = lcmp_lab(results.path()).arg("status").output().unwrap();
    assert!(!String::from_utf8_lossy(&status.stdout).contains("smoke-test"));
}
