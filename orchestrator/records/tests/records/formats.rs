//! Tests of the rules for data in other formats. Each folder of `formats/` is a small run, named after the format of
//! its `run.json`; its plan has the plan format of the same time.
//!
//! If a column or a key changes, a test here fails. Then increase `FORMAT_VERSION`, keep the folder of the previous
//! format, and add a folder of the new format. The folders of older, readable formats have only the files that their
//! test needs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use lab_records::{
    CertifiedRow, DecisionRow, FlowRow, Grade, LinkRow, PathRow, PfcRow, PortRow, QueueRow,
    RateRow, Reason, ReasonCode, RecordsError, Row, RunDir, RunFile, SplitRow, StoryRow, SwitchRow,
    UtcTime, Verdict,
    directory::{FORMAT_VERSION, OLDEST_FORMAT},
    listing::{self, ListedRun},
    stamp,
};
use lab_units::PLAN_FORMAT;
use tempfile::TempDir;

/// Formats of `run.json` and of `plan.json` in the folder whose run the reader refuses.
const REFUSED: (u32, u32) = (5, 1);

fn fixture(format: u32) -> PathBuf {
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/formats");
    formats.join(format.to_string())
}

/// Returns a copy of the fixture run in format `format`, which a test may change.
fn copy(format: u32) -> TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files(&fixture(format)) {
        fs::write(copy.path().join(name), bytes).expect("a file");
    }
    copy
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("a directory");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

/// Replaces the JSON file at `path` by one of format `format` in which all other keys have different types.
fn reformat(path: &Path, format: u32) {
    let text = format!(r#"{{"format": {format}, "engine": "warp", "flows": 7}}"#);
    fs::write(path, text).expect("a file");
}

#[track_caller]
fn assert_refused(result: Result<RunDir, RecordsError>, file: &str, found: u32, own: u32) {
    let text = result.expect_err("another format").to_string();
    let hint = if found > own {
        "update lcmp-lab"
    } else {
        "run its `scenario.yaml` again, or read the run with the lcmp-lab of the `tool_commit` in `run.json`"
    };
    let expected = format!(
        "{file}` has format {found}, which this lcmp-lab (format {own}) cannot read (hint: {hint})"
    );
    assert!(text.ends_with(&expected), "{text}");
}

fn columns<R: Row>() -> String {
    let names: Vec<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
    format!("{}: {}\n", R::FILE, names.join(","))
}

#[test]
fn the_tables_have_the_columns_of_this_format() {
    let found = [
        columns::<FlowRow>(),
        columns::<LinkRow>(),
        columns::<QueueRow>(),
        columns::<DecisionRow>(),
        columns::<CertifiedRow>(),
        columns::<PathRow>(),
        columns::<SwitchRow>(),
        columns::<SplitRow>(),
        columns::<PfcRow>(),
        columns::<PortRow>(),
        columns::<RateRow>(),
        columns::<StoryRow>(),
    ];
    let kept = fs::read_to_string(fixture(FORMAT_VERSION).join("columns.txt")).expect("columns");
    assert_eq!(
        found.concat(),
        kept,
        "other columns need another FORMAT_VERSION"
    );
}

#[test]
fn a_run_of_this_format_is_read_whole_and_written_with_the_same_keys() {
    let dir = fixture(FORMAT_VERSION);
    let run = RunDir::open(&dir).expect("a run of this format");
    assert_eq!(run.flows().expect("flows").rows.len(), 2);
    assert_eq!(run.table::<DecisionRow>().expect("decisions").rows.len(), 5);
    let text = fs::read_to_string(dir.join("run.json")).expect("run.json");
    let kept: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let file: RunFile = serde_json::from_str(&text).expect("a run");
    let written = serde_json::to_value(&file).expect("plain data");
    assert_eq!(written, kept, "other keys need another FORMAT_VERSION");
}

/// The folders of all readable formats contain the same run.
#[test]
fn runs_of_the_older_formats_are_read() {
    let sentence = "lcmp: dc1: 3 flows not pinned: the flow table was full";
    let counted = (ReasonCode::UnpinnedDecisions, Some("lcmp: dc1"), Some(3.0));
    for (format, count) in [
        (
            OLDEST_FORMAT,
            (ReasonCode::EngineProblem, Some(sentence), None),
        ),
        (FORMAT_VERSION - 1, counted),
        (FORMAT_VERSION, counted),
    ] {
        let run = RunDir::open(&fixture(format)).expect("a run that is read");
        assert_eq!(run.flows().expect("flows").rows.len(), 2);
        let outcome = run.outcome().expect("an outcome");
        let again = Verdict::of(run.info(), Some(&outcome.end), &outcome.counts);
        for verdict in [&outcome.verdict, &again] {
            assert_eq!(verdict.grade, Grade::Doubtful);
            let reason = |it: &Reason| (it.code, it.subject.clone(), it.value);
            let (code, subject, value) = count;
            let unfinished = (ReasonCode::UnfinishedFlows, None, Some(2.0));
            let count = (code, subject.map(str::to_owned), value);
            let found: Vec<_> = verdict.reasons.iter().map(reason).collect();
            assert_eq!(found, [unfinished, count]);
        }
    }
}

#[test]
fn a_run_whose_counts_are_sentences_is_never_rewritten() {
    let run = copy(OLDEST_FORMAT);
    let before = files(run.path());
    let now: UtcTime = "2026-11-21T09:30:00.000Z".parse().expect("a time");
    let stamped = stamp(run.path(), now, Vec::new(), Vec::new());
    assert!(
        matches!(stamped, Err(RecordsError::OtherFormat { .. })),
        "{stamped:?}"
    );
    assert_eq!(files(run.path()), before);
}

#[test]
fn runs_of_other_formats_are_refused_before_anything_else_of_them_is_read() {
    let last = RunDir::open(&fixture(REFUSED.0));
    assert_refused(last, "run.json", REFUSED.0, FORMAT_VERSION);
    for format in [1, OLDEST_FORMAT - 1, FORMAT_VERSION + 1] {
        let run = copy(FORMAT_VERSION);
        reformat(&run.path().join("run.json"), format);
        let opened = RunDir::open(run.path());
        assert_refused(opened, "run.json", format, FORMAT_VERSION);
    }
}

#[test]
fn plans_of_other_formats_are_refused_before_anything_else_of_them_is_read() {
    let run = copy(FORMAT_VERSION);
    let plan = run.path().join("plan.json");
    fs::copy(fixture(REFUSED.0).join("plan.json"), &plan).expect("the previous format's plan");
    let opened = RunDir::open(run.path());
    assert_refused(opened, "plan.json", REFUSED.1, PLAN_FORMAT);
    reformat(&plan, PLAN_FORMAT + 1);
    let opened = RunDir::open(run.path());
    assert_refused(opened, "plan.json", PLAN_FORMAT + 1, PLAN_FORMAT);
    fs::remove_file(&plan).expect("removed");
    let opened = RunDir::open(run.path()).expect("a run without a plan");
    assert_eq!(opened.plan::<serde_json::Value>().expect("no plan"), None);
}

#[test]
fn a_run_of_another_format_is_listed_and_tagged_but_never_rewritten() {
    let run = copy(REFUSED.0);
    let before = files(run.path());
    let now: UtcTime = "2026-11-21T09:30:00.000Z".parse().expect("a time");
    let stamped = stamp(run.path(), now, Vec::new(), Vec::new());
    assert!(
        matches!(stamped, Err(RecordsError::OtherFormat { found, .. }) if found == REFUSED.0),
        "{stamped:?}"
    );
    assert_eq!(files(run.path()), before, "a refused writer writes nothing");

    listing::set_tags(run.path(), &["kept".to_owned()].into()).expect("tags");
    let listed = ListedRun::read(run.path().to_owned());
    assert!(listed.tags.contains("kept"));
    assert!(
        matches!(listed.file, Err(RecordsError::OtherFormat { .. })),
        "{:?}",
        listed.file
    );
    let mut after = files(run.path());
    after.remove("tags.txt").expect("the tags");
    assert_eq!(after, before);
}
