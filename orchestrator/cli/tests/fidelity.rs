//! Tests of `fidelity`: table, JSON and exit codes, both for records written by the test and for simulations.

mod common;

use std::path::{Path, PathBuf};

use lab_records::{
    DcPath, EngineInfo, FlowRow, RunInfo, RunWriter, Semantics, SimInfo, directory::LATEST,
};
use lab_sample as sample;
use lab_units::{Bytes, FlowId, Nanos};

use self::common::{Outcome, lcmp_lab};

/// Number of flows per policy in the runs that the test writes.
const FLOWS: u32 = 20;

/// Writes a run on the small sample network; the FCTs depend on `engine`.
fn write(folder: &Path, engine: EngineInfo) -> PathBuf {
    let info = RunInfo {
        scheduled_flows: FLOWS.into(),
        plan_hash: "ab".repeat(32),
        engine,
        ..sample::info()
    };
    let is_kernel = info.engine == EngineInfo::Kernel;
    let mut writer = RunWriter::create(folder, sample::now(), &info).unwrap();
    for policy in &info.policies {
        for id in 0..FLOWS {
            let fct = Nanos::new(u64::from(20 + id) * 1_000_000 + u64::from(is_kernel) * 1_000);
            let ideal = Nanos::from_millis(20);
            let row = FlowRow {
                flow_id: FlowId(id),
                size_bytes: Bytes::new(1_000_000 * u64::from(id + 1)),
                fct_ns: Some(fct),
                ideal_fct_ns: ideal,
                slowdown: FlowRow::slowdown_of(fct, ideal),
                ack_path: Some(DcPath::new(["dc8", "dc1"])),
                ..sample::flow(policy)
            };
            writer.append_flows([&row]).unwrap();
        }
    }
    writer
        .append(&[sample::queue(&info.links[0], "ecmp")])
        .unwrap();
    writer.finish(sample::end()).unwrap().0
}

fn simulator() -> EngineInfo {
    EngineInfo::Sim(SimInfo {
        semantics: Semantics::Paper,
        cc: vec!["none".into(); 2],
        threads: 1,
        trains: None,
    })
}

/// Simulates the smallest scenario into `folder` and returns the directory of the run.
#[track_caller]
fn simulate(folder: &Path, more: &[&str]) -> PathBuf {
    let out = lcmp_lab(folder, &[&["sim", "scenarios/smoke.yaml"], more].concat());
    assert_eq!(out.exit, Some(0), "{out:?}");
    folder.join(LATEST).canonicalize().unwrap()
}

fn fidelity(runs: [&Path; 2], more: &[&str]) -> Outcome {
    let [first, second] = runs.map(|run| run.to_str().unwrap());
    lcmp_lab(runs[0], &[&["fidelity", first, second], more].concat())
}

#[test]
fn a_kernels_run_is_compared_with_its_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = write(&folder.path().join("kernel"), EngineInfo::Kernel);
    let sim = write(&folder.path().join("sim"), simulator());

    let out = fidelity(
        [&kernel, &sim],
        &["--min-paths", "100%", "--max-p99", "50%"],
    );
    assert_eq!((out.exit, out.stderr.as_str()), (Some(0), ""), "{out:?}");
    let text = out
        .stdout
        .replace(folder.path().to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!("fidelity", text);
    assert!(kernel.join("fidelity/fidelity.html").is_file());

    let other = folder.path().join("elsewhere");
    let bounds = ["--max-p50", "ecmp=0%,lcmp=50%"];
    let output = ["--json", "-o", other.to_str().unwrap()];
    let out = fidelity([&kernel, &sim], &[output.as_slice(), &bounds].concat());
    assert_eq!(out.exit, Some(1), "{out:?}");
    let expected = "out of bounds: ecmp: |ΔFCT| / FCT p50 is 0.003333 %; it must be at most 0 % \
                    (--max-p50)\n";
    assert_eq!(out.stderr, expected);
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(
        (&json["verdict"], &json["exit"]),
        (&"fail".into(), &1.into())
    );
    let checks = json["checks"].as_array().unwrap();
    let failed: Vec<_> = checks.iter().filter(|it| it["grade"] == "fail").collect();
    assert_eq!((failed.len(), &failed[0]["code"]), (1, &"max-p50".into()));
    assert_eq!(json["all"]["compared"], 40);
    assert_eq!(json["policies"][1]["policy"], "lcmp");
    assert_eq!(json["page"], other.join("fidelity.html").to_str().unwrap());
}

#[test]
fn a_run_that_is_not_clean_is_inconclusive_unless_a_bound_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let whole = simulate(&folder.path().join("whole"), &[]);
    let cut = folder.path().join("cut");
    let out = lcmp_lab(&cut, &["sim", "scenarios/smoke.yaml", "--until", "4 ms"]);
    assert_eq!(out.exit, Some(4), "{out:?}");
    let cut = cut.join(LATEST).canonicalize().unwrap();
    let out = fidelity([&cut, &whole], &[]);
    assert_eq!(out.exit, Some(4), "{out:?}");
    for words in ["not clean: first run: ", " flows did not finish"] {
        assert!(out.stderr.contains(words), "{out:?}");
    }
    assert!(out.stdout.contains("/6  "), "{out:?}");
    let out = fidelity([&cut, &whole], &["--min-paths", "0%"]);
    assert_eq!(out.exit, Some(1), "{out:?}");
    assert!(out.stderr.contains("(--min-compared)"), "{out:?}");
}

#[test]
fn a_simulation_of_the_scaled_network_is_of_the_same_plan() {
    let folder = tempfile::tempdir().unwrap();
    let scaled = simulate(&folder.path().join("scaled"), &["--scaled"]);
    let unscaled = simulate(&folder.path().join("unscaled"), &[]);
    let out = fidelity([&scaled, &unscaled], &["--min-paths", "100%", "--json"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(json["runs"][1]["name"], "second run");
    assert_eq!(json["all"]["compared"], 12);
}

#[test]
fn runs_that_cannot_be_compared_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = &write(&folder.path().join("kernel"), EngineInfo::Kernel);
    let sim = &write(&folder.path().join("sim"), simulator());
    let smoke = &simulate(&folder.path().join("smoke"), &[]);
    let none = &folder.path().join("none");
    for (runs, more, expected) in [
        (
            [sim, smoke],
            &[][..],
            "the runs are not of one plan: the scenario is `8dc` in",
        ),
        (
            [sim, kernel],
            &[],
            "hint: lcmp-lab fidelity RUN_KERNEL RUN_SIM",
        ),
        ([kernel, none], &[], "is not a run directory"),
        ([kernel, sim], &["--min-paths", "98"], "`98` is not a bound"),
        (
            [kernel, sim],
            &["--min-paths", "wcmp=98%"],
            "names policy `wcmp`, but the compared policies are ecmp, lcmp",
        ),
    ] {
        let out = fidelity(runs.map(PathBuf::as_path), more);
        assert_eq!(out.exit, Some(2), "{out:?}");
        assert!(out.stderr.contains(expected), "{out:?}");
    }
}
