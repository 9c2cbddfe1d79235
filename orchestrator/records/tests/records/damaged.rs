//! Tests with damaged run directories: the reader never panics, and its errors name the damaged file.

use std::{fs, path::Path};

use lab_records::{
    CertifiedRow, DecisionRow, FlowRow, LinkRow, QueueRow, RecordsError, Row, RunDir, RunWriter,
    directory::{self, PLAN_FILE},
};
use lab_sample::{counter, end, flow, info, now, queue};

/// Returns the files, with their names, of a run that has every kind of value. Tables with more than `large` rows are
/// Parquet.
fn corpus(large: u64) -> Vec<(String, Vec<u8>)> {
    let results = tempfile::tempdir().expect("a directory");
    let info = info();
    let mut writer = RunWriter::create(results.path(), now(), &info)
        .expect("a run")
        .with_large_table(large);
    for policy in ["ecmp", "lcmp"] {
        writer.append_flows([&flow(policy)]).expect("a row");
        writer
            .append(&[counter(&info.links[0], policy)])
            .expect("rows");
        writer
            .append(&[queue(&info.links[0], policy)])
            .expect("rows");
    }
    let plan = "{\"format\": 2, \"name\": \"8dc\", \"flows\": []}\n";
    directory::write_text(writer.dir(), PLAN_FILE, plan).expect("a plan");
    let (dir, _) = writer.finish(end()).expect("the end");
    let mut files: Vec<_> = fs::read_dir(dir)
        .expect("entries")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("a file"))
        })
        .collect();
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
    let files = corpus(100);
    damage_first(&files, files.len());
}

#[test]
fn a_damaged_run_of_parquet_tables_is_read_or_refused_with_its_file() {
    let mut files = corpus(1);
    let is_parquet = |(name, _): &(String, Vec<u8>)| name.ends_with(".parquet");
    let count = files.iter().filter(|file| is_parquet(file)).count();
    assert_eq!(count, 3, "flows, links and queues");
    // Only Parquet files are damaged here; another test damages the other files, including CSV tables.
    files.sort_by_key(|file| !is_parquet(file));
    damage_first(&files, count);
}

/// These inputs once made a reader panic or allocate gigabytes; random damage or deliberate attacks found them. Each is
/// named after its table.
#[test]
fn inputs_that_failed_once_are_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/corpus");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the corpus") {
        let input = entry.expect("an entry").path();
        let name = input.file_name().expect("a name").to_string_lossy();
        let table = name.split('-').next().expect("a table");
        let dir = tempfile::tempdir().expect("a directory");
        for (name, bytes) in corpus(1) {
            fs::write(dir.path().join(name), bytes).expect("a file");
        }
        fs::copy(&input, dir.path().join(format!("{table}.parquet"))).expect("a copy");
        let (refused, memory) = lab_fuzz::peak_of(|| read(dir.path()));
        let refused = refused.expect_err(&name).to_string();
        assert!(
            refused.contains(&format!("{table}.parquet")),
            "{name}: {refused}"
        );
        assert!(memory < lab_fuzz::MAX_MEMORY, "{name}: {memory} bytes");
        count += 1;
    }
    assert!(count >= 5, "{count} inputs");
}

/// Damages each of the first `count` files, one at a time.
fn damage_first(files: &[(String, Vec<u8>)], count: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).expect("a file");
    }
    read(dir.path()).expect("undamaged");
    for (name, bytes) in &files[..count] {
        let path = dir.path().join(name);
        lab_fuzz::fuzz(&format!("`{name}` of a run"), &[bytes], |damaged| {
            fs::write(&path, damaged).expect("a file");
            let Err(error) = read(dir.path()) else {
                return true;
            };
            let text = error.to_string();
            // Damage to one file may cause an error in another, such as rows of a policy that `run.json` no longer has.
            let mut names = files.iter().map(|(name, _)| name.as_str());
            let is_named = names.any(|name| text.contains(name)) || text.contains("run directory");
            assert!(is_named, "{text}");
            false
        });
        fs::write(&path, bytes).expect("a file");
    }
}
