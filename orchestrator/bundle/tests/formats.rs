//! Runs in the current and the previous format: packed, unpacked, and their numbers derived again.

use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
};

use lab_bundle::{
    Limits, Origin,
    derive::{DeriveError, derive},
    pack, unpack,
};
use lab_plan::Plan;
use lab_records::{RecordsError, RunDir, directory::FORMAT_VERSION};

fn fixture(format: u32) -> PathBuf {
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/tests/records/formats");
    formats.join(format.to_string())
}

/// A change of the plan's keys requires a new format number.
#[test]
fn a_plan_of_this_format_is_read_and_written_with_the_same_keys() {
    let dir = fixture(FORMAT_VERSION);
    let kept = fs::read_to_string(dir.join("plan.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let run = RunDir::open(&dir).unwrap();
    let plan: Plan = run.plan().unwrap().unwrap();
    let written = serde_json::to_value(&plan).unwrap();
    assert_eq!(written, kept, "other keys need another PLAN_FORMAT");
}

#[test]
fn the_rows_of_a_run_of_this_format_give_its_evidence() {
    let dir = fixture(FORMAT_VERSION);
    let run = RunDir::open(&dir).unwrap();
    let plan: Plan = run.plan().unwrap().unwrap();
    let evidence = lab_recorder::evidence(&plan, &dir).unwrap();
    assert_eq!(evidence, run.outcome().unwrap().end.evidence);
}

/// A bundle of a run by an earlier program keeps the run's format, so the unpacked run is rejected.
#[test]
fn a_run_of_the_previous_format_is_packed_as_it_is_and_refused_after_unpacking() {
    let run = tempfile::tempdir().unwrap();
    for name in ["run.json", "plan.json", "flows.csv"] {
        fs::copy(
            fixture(FORMAT_VERSION - 1).join(name),
            run.path().join(name),
        )
        .unwrap();
    }
    fs::write(run.path().join("summary.json"), "{}\n").unwrap();
    let origin = Origin {
        run: "20261125T172321Z-formats-faa01c48".to_owned(),
        tool_version: "0.1.0".to_owned(),
        tool_commit: "abc".to_owned(),
        started_at: 1_000,
    };
    let mut bundle = Vec::new();
    pack(run.path(), origin, &mut bundle).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let unpacked = folder.path().join("run");
    unpack(Cursor::new(bundle), &unpacked, &Limits::default()).unwrap();
    let read = |dir: &Path| fs::read(dir.join("run.json")).unwrap();
    assert_eq!(read(&unpacked), read(run.path()));
    let again = folder.path().join("again");
    let derived = derive(&unpacked, &again);
    assert!(
        matches!(
            derived,
            Err(DeriveError::Records(RecordsError::OtherFormat { .. }))
        ),
        "{derived:?}"
    );
    assert!(!again.exists());
}
