//! Comparison of two runs' tables where one run lacks a row.

use std::{fs, path::Path};

use lab_bundle::{TableDifference, compare_tables};
use lab_records::{RunDir, directory::FORMAT_VERSION};

/// Two samples of a sending QP, in the form that `cc: dcqcn` writes.
const RATES: &str = "\
policy,repetition,time_ns,flow_id,rate_bps,emu_rate_bps,target_bps,alpha,cnps
lcmp,0,100000000,0,100000000000,100000000000,100000000000,1.0,0
lcmp,0,200000000,0,50000000000,50000000000,100000000000,1.0,1
";

/// Copies the fixture of the current format from `lab-records` to `to`, and adds `rates.csv`.
fn copy_run(to: &Path) {
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/tests/records/formats");
    for entry in fs::read_dir(formats.join(FORMAT_VERSION.to_string())).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    fs::write(to.join("rates.csv"), RATES).unwrap();
}

#[test]
fn a_row_that_one_run_lacks_is_found_in_every_table() {
    let first = tempfile::tempdir().unwrap();
    copy_run(first.path());
    let kept = RunDir::open(first.path()).unwrap();
    let tables = [
        "flows.csv",
        "decisions.csv",
        "links.csv",
        "queues.csv",
        "switches.csv",
        "ports.csv",
        "rates.csv",
    ];
    for shorter in tables {
        let second = tempfile::tempdir().unwrap();
        copy_run(second.path());
        let file = second.path().join(shorter);
        let text = fs::read_to_string(&file).unwrap();
        let (rest, _last) = text.trim_end().rsplit_once('\n').unwrap();
        fs::write(&file, format!("{rest}\n")).unwrap();

        let found = compare_tables(&kept, &RunDir::open(second.path()).unwrap()).unwrap();
        let names: Vec<_> = found.iter().map(|table| table.table).collect();
        assert_eq!(names, tables, "{shorter}");
        let differ: Vec<_> = found.into_iter().filter(|table| !table.is_same()).collect();
        let expected = TableDifference {
            table: shorter,
            same_bytes: false,
            changed: 0,
            only_first: 1,
            only_second: 0,
            rows: Some(u64::try_from(text.lines().count() - 1).unwrap()),
        };
        assert_eq!(differ, [expected]);
    }
}
