//! No damage to a run directory makes its reader panic, and what it refuses is named.

use std::{cell::Cell, fs, path::Path};

use lab_records::{
    CertifiedRow, DecisionRow, FlowRow, LinkRow, QueueRow, RecordsError, Row, RunDir, RunWriter,
    sample::{counter, end, flow, info, now, queue},
};
use proptest::{collection::vec, prelude::*, sample, test_runner::TestRunner};

/// Replacements of a part of a file.
const PARTS: &[&[u8]] = &[
    b"",
    b"\0",
    b"\n",
    b"\r\n",
    b",",
    b"\"",
    b"{",
    b"}",
    b"[",
    b":",
    b"-1",
    b"1e999",
    b"null",
    b"99999999999999999999",
    b"NaN",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"lcmp",
    b"policy",
    b"|",
];

/// Files of a run that has every kind of value, by name.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let results = tempfile::tempdir().expect("a directory");
    let info = info();
    let mut writer = RunWriter::create(results.path(), now(), &info).expect("a run");
    for policy in ["ecmp", "lcmp"] {
        writer.append_flow(&flow(policy)).expect("a row");
        writer
            .append(&[counter(&info.links[0], policy)])
            .expect("rows");
        writer
            .append(&[queue(&info.links[0], policy)])
            .expect("rows");
    }
    writer
        .write_plan("{\"format\": 1, \"name\": \"8dc\", \"flows\": []}\n")
        .expect("a plan");
    let (dir, _) = writer.finish(end()).expect("the end");
    let files = fs::read_dir(dir).expect("entries").map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        (name.into_owned(), fs::read(&path).expect("a file"))
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}

fn read(dir: &Path) -> Result<(), RecordsError> {
    fn table<R: Row>(run: &RunDir) -> Result<(), RecordsError> {
        run.table::<R>().map(drop)
    }
    let run = RunDir::open(dir)?;
    for read in [
        table::<FlowRow>,
        table::<LinkRow>,
        table::<QueueRow>,
        table::<DecisionRow>,
        table::<CertifiedRow>,
    ] {
        read(&run)?;
    }
    Ok(())
}

#[test]
fn a_damaged_run_is_read_or_refused_with_its_file() {
    let files = corpus();
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes) in &files {
        fs::write(dir.path().join(name), bytes).expect("a file");
    }
    read(dir.path()).expect("undamaged");
    let index = any::<sample::Index>;
    let edits = vec((index(), index(), sample::select(PARTS)), 1..4);
    let (refused, all) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let tested = runner.run(&(index(), edits), |(file, edits)| {
        let (name, bytes) = &files[file.index(files.len())];
        let mut damaged = bytes.clone();
        for (start, length, part) in edits {
            let start = start.index(damaged.len() + 1);
            let end = (start + length.index(40)).min(damaged.len());
            damaged.splice(start..end, part.iter().copied());
        }
        let path = dir.path().join(name);
        fs::write(&path, damaged).expect("a file");
        let result = read(dir.path());
        fs::write(&path, bytes).expect("a file");
        all.set(all.get() + 1);
        if let Err(error) = result {
            refused.set(refused.get() + 1);
            let text = error.to_string();
            prop_assert!(
                text.contains(name.as_str()) || text.contains("run directory"),
                "{}",
                text
            );
        }
        Ok(())
    });
    eprintln!("{} damaged runs, {} refused", all.get(), refused.get());
    tested.expect("each is read or refused");
}

/// Damaged runs.
const CASES: u32 = 3_000;
