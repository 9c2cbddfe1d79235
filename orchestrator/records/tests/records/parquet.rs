//! Tests of large tables, which are Parquet files.

use std::{fs, path::Path};

use lab_records::{
    FlowRow, LinkRow, RecordsError, RunDir, RunWriter, parquet_table::remove_copied,
};
use lab_sample::{counter, end, flow, info, link, now};
use lab_units::{Bytes, Nanos};

fn link_rows(count: u64) -> Vec<LinkRow> {
    let row = |number: u64| LinkRow {
        time_ns: Nanos::new(number),
        tx_bytes: Bytes::new(u64::MAX - number),
        drops: number % 3,
        tx_packets: number.is_multiple_of(2).then_some(number),
        ..counter(&link("dc1", "dc8", 200, 5), "lcmp")
    };
    (0..count).map(row).collect()
}

fn write(results: &Path, links: &[LinkRow], large: u64) -> RunDir {
    let mut writer = RunWriter::create(results, now(), &info())
        .expect("a run")
        .with_large_table(large);
    writer.append_flows([&flow("ecmp")]).expect("a row");
    for rows in links.chunks(10_000) {
        writer.append(rows).expect("rows");
    }
    let (dir, _) = writer.finish(end()).expect("the end");
    RunDir::open(&dir).expect("a run")
}

#[test]
fn only_a_table_over_the_bound_becomes_parquet() {
    let results = tempfile::tempdir().expect("a directory");
    for (rows, is_copied) in [(10, false), (11, true)] {
        let run = write(results.path(), &link_rows(rows), 10);
        let copy = |name| run.path().join(name).exists();
        assert_eq!(copy("links.parquet"), is_copied, "{rows} rows");
        assert!(!copy("flows.parquet"));
        let mut names = fs::read_dir(run.path())
            .expect("a list")
            .map(|it| it.expect("a file").file_name());
        assert!(names.all(|it| !it.to_string_lossy().ends_with("draft")));
        assert_eq!(copy("links.csv"), !is_copied, "the CSV goes");
    }
}

#[test]
fn rows_that_came_from_a_guest_go_with_the_copy() {
    let results = tempfile::tempdir().expect("a directory");
    let run = write(results.path(), &link_rows(11), 10);
    let came = run.path().join("links.csv");
    fs::write(&came, "the same rows").expect("written");
    remove_copied(run.path()).expect("removed");
    assert!(!came.exists());
    assert!(run.path().join("flows.csv").exists(), "it has no copy");
    assert_eq!(run.table::<LinkRow>().expect("links").rows, link_rows(11));
}

#[test]
fn a_table_of_several_row_groups_reads_back_in_order() {
    let results = tempfile::tempdir().expect("a directory");
    let rows = link_rows(140_000);
    let run = write(results.path(), &rows, 100_000);
    assert_eq!(run.table::<LinkRow>().expect("links").rows, rows);
    let mut seen = 0;
    let truncated = run.visit(|_: LinkRow| seen += 1).expect("rows");
    assert_eq!((seen, truncated), (140_000, 0));
}

#[test]
fn a_column_of_one_text_has_it_in_the_rows_that_have_one() {
    let results = tempfile::tempdir().expect("a directory");
    let mut writer = RunWriter::create(results.path(), now(), &info())
        .expect("a run")
        .with_large_table(1);
    let with = flow("ecmp");
    let without = FlowRow {
        path: None,
        ..flow("ecmp")
    };
    let rows = [with, without];
    assert!(rows[0].path.is_some());
    for row in &rows {
        writer.append_flows([row]).expect("a row");
    }
    let (dir, _) = writer.finish(end()).expect("the end");
    assert!(dir.join("flows.parquet").exists());
    let run = RunDir::open(&dir).expect("a run");
    assert_eq!(run.flows().expect("flows").rows, rows);
}

#[test]
fn a_damaged_copy_is_an_error_with_a_hint() {
    let results = tempfile::tempdir().expect("a directory");
    let run = write(results.path(), &link_rows(20), 10);
    let copy = run.path().join("links.parquet");
    let whole = fs::read(&copy).expect("the copy");
    for cut in [0, 4, whole.len() / 2, whole.len() - 1] {
        fs::write(&copy, &whole[..cut]).expect("a damaged copy");
        let error = run.table::<LinkRow>().unwrap_err();
        assert!(matches!(error, RecordsError::Parquet { .. }), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("hint: remove it if the table's `.csv` is beside it")
        );
    }
}
