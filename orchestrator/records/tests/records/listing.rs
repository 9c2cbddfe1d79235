//! Tests of the runs in a results directory.

use std::{collections::BTreeSet, fs, path::Path};

use lab_records::{
    RecordsError, RunWriter,
    listing::{ListedRun, delete, is_tag, list, set_tags},
};
use lab_sample::{end, info, now};

fn run(results: &Path) -> String {
    let writer = RunWriter::create(results, now(), &info()).expect("a run");
    let (dir, _) = writer.finish(end()).expect("the end");
    dir.file_name().expect("a name").to_string_lossy().into()
}

fn names(runs: &[ListedRun]) -> Vec<&str> {
    runs.iter().map(|run| run.name.as_str()).collect()
}

#[test]
fn only_directories_with_records_are_runs_and_damage_is_named() {
    let results = tempfile::tempdir().expect("a directory");
    assert!(list(&results.path().join("none")).expect("runs").is_empty());
    let first = run(results.path());
    let second = run(results.path());
    fs::create_dir(results.path().join("mine")).expect("a directory");
    fs::write(results.path().join(&second).join("run.json"), "{").expect("damage");
    let runs = list(results.path()).expect("runs");
    assert_eq!(names(&runs), [&first, &second]);
    assert!(runs[0].file.is_ok() && runs[0].bytes > 1_000, "{runs:?}");
    let damage = runs[1].file.as_ref().expect_err("damage");
    assert!(matches!(damage, RecordsError::Json { .. }), "{damage:?}");
}

#[test]
fn tags_are_kept_with_the_run() {
    let results = tempfile::tempdir().expect("a directory");
    let name = run(results.path());
    let tags = BTreeSet::from(["nightly".to_owned(), "v=2".to_owned()]);
    set_tags(&results.path().join(&name), &tags).expect("tags");
    assert_eq!(list(results.path()).expect("runs")[0].tags, tags);
    for (word, expected) in [("a-b", true), ("", false), ("a b", false), ("a\nb", false)] {
        assert_eq!(is_tag(word), expected, "{word:?}");
    }
    assert!(is_tag(&"é".repeat(64)) && !is_tag(&"a".repeat(65)));
}

#[test]
fn latest_follows_when_its_run_is_deleted() {
    let results = tempfile::tempdir().expect("a directory");
    let first = run(results.path());
    let second = run(results.path());
    let latest = results.path().join("latest");
    delete(&results.path().join(&second)).expect("a deletion");
    assert_eq!(fs::read_link(&latest).expect("a link"), Path::new(&first));
    delete(&results.path().join(&first)).expect("a deletion");
    assert!(fs::read_link(&latest).is_err());
    assert_eq!(fs::read_dir(results.path()).expect("entries").count(), 0);
}

#[test]
fn what_is_no_run_is_never_deleted() {
    let results = tempfile::tempdir().expect("a directory");
    let mine = results.path().join("mine");
    fs::create_dir(&mine).expect("a directory");
    let error = delete(&mine).expect_err("no run");
    assert!(matches!(error, RecordsError::NotARun { .. }), "{error:?}");
    assert!(mine.exists());
}
