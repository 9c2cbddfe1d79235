//! Tests of a run directory from its first byte to its verdict.

use std::{fs, path::Path, time::Duration};

use lab_records::{
    DcPath, DecisionRow, FlowCounts, FlowRow, FlowStatus, LinkRow, PathRow, Phase, QueueRow,
    ReasonCode, RecordsError, RunDir, RunWriter, Semantics, Table, UtcTime, Verdict,
    directory::{self, PLAN_FILE, SCENARIO_FILE},
    point_latest, stamp,
};
use lab_sample::{end, flow, info, now};
use lab_units::{Bytes, FlowId, Nanos};

/// Returns the row of a flow that timed out.
fn unfinished(policy: &str) -> FlowRow {
    FlowRow {
        fct_ns: None,
        slowdown: None,
        emu_fct_ns: None,
        emu_fct_resolution_ns: None,
        path: None,
        status: FlowStatus::TimedOut,
        reason: "not ended after 60 s, said \"a, b\"\nand more".into(),
        ..flow(policy)
    }
}

fn results() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn create(results: &Path) -> RunWriter {
    RunWriter::create(results, now(), &info()).expect("a run directory")
}

/// Returns the counts of flows that were never re-routed.
fn counted(rows: &[FlowRow]) -> FlowCounts {
    let mut counts = FlowCounts::default();
    rows.iter().for_each(|row| counts.add(row.fields(), 1));
    counts
}

fn read_flows(dir: &Path) -> Table<FlowRow> {
    RunDir::open(dir).expect("a run").flows().expect("flows")
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let results = results();
    let mut writer = create(results.path());
    let rows = [flow("ecmp"), unfinished("lcmp")];
    for row in &rows {
        writer.append_flows([row]).expect("a row");
    }
    let write = |name, text| directory::write_text(writer.dir(), name, text);
    write(SCENARIO_FILE, "name: 8dc\n").expect("scenario");
    let plan = "{\"format\": 2, \"name\": \"8dc\", \"flows\": []}\n";
    write(PLAN_FILE, plan).expect("plan");
    let (dir, outcome) = writer.finish(end()).expect("the end");

    let run = RunDir::open(&dir).expect("a run");
    assert_eq!(run.info(), &info());
    assert_eq!(run.outcome(), Some(&outcome));
    assert_eq!(run.outcome().map(|outcome| &outcome.end), Some(&end()));
    assert_eq!(run.started_at().to_string(), "2026-11-21T09:30:00.000Z");
    let flows = run.flows().expect("flows");
    assert_eq!(flows.rows, rows);
    assert_eq!(flows.truncated, 0);
    assert_eq!(run.table::<LinkRow>().expect("links").rows, []);
    assert_eq!(run.table::<QueueRow>().expect("queues").rows, []);
    assert_eq!(run.table::<DecisionRow>().expect("decisions").rows, []);
    let scenario = fs::read_to_string(dir.join("scenario.yaml")).expect("scenario");
    assert_eq!(scenario, "name: 8dc\n");
}

#[test]
fn a_run_is_given_the_times_of_whoever_followed_it() {
    let results = results();
    let (dir, outcome) = create(results.path()).finish(end()).expect("the end");
    let ended_at = UtcTime::new(now() + Duration::from_secs(7));
    let phases = vec![Phase {
        name: "lcmp flows".into(),
        took_ns: Nanos::from_millis(2_300),
        virtual_ns: Some(Nanos::from_millis(7_200)),
    }];
    stamp(&dir, ended_at, phases.clone(), Vec::new()).expect("the times");

    let run = RunDir::open(&dir).expect("a run");
    let mut expected = outcome;
    (expected.end.ended_at, expected.end.phases) = (ended_at, phases);
    assert_eq!(run.outcome(), Some(&expected));
}

#[test]
fn a_run_that_has_not_ended_is_given_no_end() {
    let results = results();
    let writer = create(results.path());
    stamp(writer.dir(), UtcTime::new(now()), Vec::new(), Vec::new()).expect("nothing to do");
    let run = RunDir::open(writer.dir()).expect("a run");
    assert_eq!(run.outcome(), None);
}

#[test]
fn rows_outlive_a_writer_that_dies() {
    let results = results();
    let mut writer = create(results.path());
    let dir = writer.dir().to_owned();
    writer.append_flows([&flow("ecmp")]).expect("a row");
    // As if the process had been killed: no destructor runs.
    std::mem::forget(writer);

    let run = RunDir::open(&dir).expect("a run");
    let flows = run.flows().expect("flows");
    assert_eq!(flows.rows, [flow("ecmp")]);
    assert_eq!(run.outcome(), None);
    let verdict = Verdict::of(run.info(), None, &counted(&flows.rows));
    let reasons: Vec<_> = verdict
        .reasons
        .iter()
        .map(|it| (it.code, it.value, it.of))
        .collect();
    assert_eq!(
        reasons,
        [
            (ReasonCode::DidNotEnd, None, None),
            (ReasonCode::UnrecordedFlows, Some(1.0), Some(2)),
        ]
    );
}

#[test]
fn a_table_cut_anywhere_gives_its_whole_rows() {
    let results = results();
    let mut writer = create(results.path());
    let dir = writer.dir().to_owned();
    let table = dir.join("flows.csv");
    let length = || fs::metadata(&table).expect("flows").len();
    let rows = [flow("ecmp"), unfinished("lcmp"), flow("lcmp")];
    // Lengths of the file at which the header or a row ends.
    let mut ends = vec![0, length()];
    for row in &rows {
        writer.append_flows([row]).expect("a row");
        ends.push(length());
    }
    let whole = fs::read(&table).expect("flows");
    for cut in 0..=whole.len() {
        fs::write(&table, &whole[..cut]).expect("the cut table");
        let flows = read_flows(&dir);
        let whole_rows = ends.iter().filter(|&&end| end <= cut as u64).count();
        let count = whole_rows.saturating_sub(2);
        assert_eq!(flows.rows, rows[..count], "cut at {cut}");
        let is_truncated = !ends.contains(&(cut as u64));
        assert_eq!(flows.truncated, u64::from(is_truncated), "cut at {cut}");
    }
}

#[test]
fn damage_before_the_last_row_is_an_error_with_its_line() {
    let results = results();
    let mut writer = create(results.path());
    for policy in ["ecmp", "lcmp"] {
        writer.append_flows([&flow(policy)]).expect("a row");
    }
    let dir = writer.dir().to_owned();
    let table = dir.join("flows.csv");
    let text = fs::read_to_string(&table).expect("flows");
    let damaged = text.replacen("finished", "fini", 1);
    fs::write(&table, damaged).expect("the damaged table");
    let error = RunDir::open(&dir).expect("a run").flows().unwrap_err();
    assert!(
        matches!(error, RecordsError::Row { line: 2, .. }),
        "{error:?}"
    );
}

/// Returns the line and the cause of the error when the table of flows is read after `change`.
fn refused(change: impl Fn(&str) -> String) -> (u64, String) {
    let results = results();
    let mut writer = create(results.path());
    for policy in ["ecmp", "lcmp"] {
        writer.append_flows([&flow(policy)]).expect("a row");
    }
    let dir = writer.dir().to_owned();
    let table = dir.join("flows.csv");
    let text = fs::read_to_string(&table).expect("flows");
    fs::write(&table, change(&text)).expect("the changed table");
    match RunDir::open(&dir).expect("a run").flows().unwrap_err() {
        RecordsError::Row { path, line, source } => {
            assert_eq!(path, table);
            (line, source.to_string())
        }
        error => panic!("{error:?}"),
    }
}

#[test]
fn a_row_with_too_many_fields_is_named_even_if_it_is_the_last() {
    let (line, cause) = refused(|text| text.trim_end().to_owned() + ",7\n");
    assert_eq!(line, 3);
    assert!(cause.contains("fields"), "{cause}");
}

#[test]
fn a_row_of_a_policy_that_the_run_has_not_is_named() {
    let (line, cause) = refused(|text| text.replace(",lcmp,", ",lcmq,"));
    assert_eq!(line, 3);
    assert_eq!(cause, "the run has no policy `lcmq`; it has ecmp, lcmp");
}

#[test]
fn a_plan_that_is_no_plan_is_refused_with_its_line() {
    let results = results();
    let writer = create(results.path());
    for (plan, line) in [("{\n \"format\": 2,\n %%\n}", 3), ("[]", 1), ("", 1)] {
        fs::write(writer.dir().join("plan.json"), plan).expect("a plan");
        let error = RunDir::open(writer.dir()).unwrap_err();
        let text = error.to_string();
        let place = format!("plan.json` is not a plan: error in line {line}");
        assert!(text.ends_with(&place), "{plan:?}: {text}");
    }
}

#[test]
fn a_slowdown_that_is_no_number_is_refused() {
    let results = results();
    let mut writer = create(results.path());
    writer.append_flows([&flow("ecmp")]).expect("a row");
    let dir = writer.dir().to_owned();
    let table = dir.join("flows.csv");
    let text = fs::read_to_string(&table).expect("flows");
    for wrong in ["inf", "NaN"] {
        fs::write(&table, text.replace(",1.5,", &format!(",{wrong},"))).expect("a table");
        let error = RunDir::open(&dir).expect("a run").flows().unwrap_err();
        let RecordsError::Row {
            source, line: 2, ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert!(source.to_string().contains("a finite number"), "{source}");
    }
}

#[test]
fn an_unknown_column_is_ignored_and_a_missing_one_is_named() {
    let results = results();
    let writer = create(results.path());
    let dir = writer.dir().to_owned();
    let table = dir.join("links.csv");
    let head = "policy,repetition,time_ns,link,from_dc,to_dc,tx_bytes,emu_tx_bytes,rate_bps,\
                tx_packets,marks";
    let row = "ecmp,0,5,dc1-dc8,dc1,dc8,10,1,200,,";
    fs::write(&table, format!("{head},drops,colour\n{row},7,red\n")).expect("a table");
    let links = RunDir::open(&dir)
        .expect("a run")
        .table::<LinkRow>()
        .expect("links");
    assert_eq!(links.rows[0].drops, 7);

    fs::write(&table, format!("{head}\n{row}\n")).expect("a table");
    let error = RunDir::open(&dir)
        .expect("a run")
        .table::<LinkRow>()
        .unwrap_err();
    let RecordsError::Row { source, .. } = error else {
        panic!("{error:?}");
    };
    assert!(source.to_string().contains("`drops`"), "{source}");
}

#[test]
fn what_is_no_run_is_said_to_be_none() {
    let results = results();
    for path in [results.path().to_owned(), results.path().join("none")] {
        let error = RunDir::open(&path).unwrap_err();
        assert!(matches!(error, RecordsError::NotARun { .. }), "{error:?}");
    }
    fs::write(results.path().join("run.json"), "{}").expect("run.json");
    let error = RunDir::open(results.path()).unwrap_err();
    assert!(matches!(error, RecordsError::Json { .. }), "{error:?}");
}

#[test]
fn latest_points_to_the_newest_run_by_a_relative_link() {
    let results = results();
    let first = create(results.path());
    let second = create(results.path());
    let latest = results.path().join("latest");
    let name = fs::read_link(&latest).expect("a link");
    assert_eq!(name, Path::new("20261121T093000Z-8dc-1f2e3d4c-2"));
    assert_eq!(results.path().join(&name), second.dir());
    assert_ne!(first.dir(), second.dir());
    RunDir::open(&latest).expect("the newest run");

    let entries = fs::read_dir(results.path()).expect("entries");
    let drafts = entries.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with('.')
    });
    assert_eq!(drafts.count(), 0);
}

#[test]
fn a_directory_called_latest_is_left_alone() {
    let results = results();
    let latest = results.path().join("latest");
    fs::create_dir(&latest).expect("a directory");
    fs::write(latest.join("mine"), "").expect("a file");
    let error = point_latest(results.path(), "run").unwrap_err();
    assert!(error.to_string().starts_with("cannot replace"), "{error}");
    assert!(latest.join("mine").exists());
    assert_eq!(fs::read_dir(results.path()).expect("entries").count(), 1);
}

#[test]
fn a_hostile_scenario_name_stays_inside_the_results() {
    let results = results();
    let mut info = info();
    info.scenario = "../../etc/<b>\n".into();
    let writer = RunWriter::create(results.path(), now(), &info).expect("a run");
    assert_eq!(writer.dir().parent(), Some(results.path()));
    let name = writer.dir().file_name().expect("a name").to_string_lossy();
    assert_eq!(name, "20261121T093000Z-....etcb-1f2e3d4c");
}

#[test]
fn records_are_never_written_over_others() {
    let results = results();
    let writer = create(results.path());
    let error = RunWriter::create_in(writer.dir(), now(), &info()).unwrap_err();
    assert!(error.to_string().starts_with("cannot create `"), "{error}");
}

#[test]
fn results_that_cannot_be_made_are_an_error_with_the_path() {
    let results = results();
    let file = results.path().join("results");
    fs::write(&file, "").expect("a file");
    let error = RunWriter::create(&file, now(), &info()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot create directory `"), "{text}");
}

#[test]
fn no_flow_beats_its_ideal_but_what_the_authors_code_takes_for_one() {
    let below_one = |semantics, fct| {
        let fct = Nanos::new(fct);
        let ideal = Nanos::new(1_000_000);
        let row = FlowRow {
            semantics: Some(semantics),
            fct_ns: Some(fct),
            ideal_fct_ns: ideal,
            slowdown: FlowRow::slowdown_of(fct, ideal),
            ..flow("ecmp")
        };
        counted(&[row]).below_one
    };
    assert_eq!(below_one(Semantics::Artifact, 999_999), 0);
    assert_eq!(below_one(Semantics::Paper, 999_999), 1);
}

/// perftest prints six decimals, so the FCT of a two-second flow has a resolution of 126 µs.
#[test]
fn a_flow_is_not_too_fast_by_less_than_its_fct_is_known_to() {
    let fct = Nanos::new(2_009_750_190);
    let ideal = Nanos::new(2_009_766_400);
    let is_too_fast = |known_to| {
        let row = FlowRow {
            slowdown: FlowRow::slowdown_of(fct, ideal),
            emu_fct_ns: Some(fct),
            emu_ideal_fct_ns: ideal,
            emu_fct_resolution_ns: Some(Nanos::new(known_to)),
            ..flow("lcmp")
        };
        row.fields().is_too_fast(1)
    };
    assert!(!is_too_fast(126_051));
    assert!(is_too_fast(16_000));
}

/// Two paths without delay, each with half of the packets, halve the ideal FCT; two paths cannot do more.
#[test]
fn a_flow_on_two_paths_is_too_fast_below_half_its_ideal_fct() {
    let path = |via: &str| PathRow {
        policy: "ucmp".to_owned(),
        repetition: 0,
        flow_id: FlowId(1),
        path: DcPath::new(["dc1", via, "dc3"]),
        sent_bytes: Bytes::new(5_000),
        emu_sent_bytes: Bytes::new(5_000),
    };
    let too_fast = |policy: &str, repetition, id, slowdown| {
        let results = results();
        let mut writer = create(results.path());
        let paths = [path("dc2"), path("dc4")];
        writer.append_paths(&paths).expect("rows");
        let row = FlowRow {
            repetition,
            flow_id: FlowId(id),
            slowdown: Some(slowdown),
            ..flow(policy)
        };
        writer.append_flows([&row]).expect("a row");
        writer.finish(end()).expect("the end").1.counts.below_one
    };
    assert_eq!(too_fast("ucmp", 0, 1, 0.51), 0, "two paths");
    assert_eq!(too_fast("ucmp", 0, 1, 0.49), 1, "less than half");
    assert_eq!(too_fast("ucmp", 0, 2, 0.99), 1, "another flow");
    assert_eq!(too_fast("ucmp", 1, 1, 0.99), 1, "another repetition");
    assert_eq!(too_fast("ecmp", 0, 1, 0.99), 1, "another policy");
}
