//! Runs and rows that the tests of this crate use.

use lab_records::{FlowRow, FlowStatus, RecordsError, RunInfo, RunWriter};
use lab_sample as sample;
use lab_units::{Bytes, FlowId, Nanos};

use crate::facts::RunFacts;

/// Run directory that is removed when this value is dropped.
pub struct TestRun {
    pub dir: RunFacts,
    _files: tempfile::TempDir,
}

/// Writes a run with the facts `info` and the rows that `write` appends.
pub fn run(
    info: &RunInfo,
    write: impl FnOnce(&mut RunWriter) -> Result<(), RecordsError>,
) -> TestRun {
    let files = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create_in(files.path(), sample::now(), info).unwrap();
    write(&mut writer).unwrap();
    let dir = RunFacts::open(writer.dir()).unwrap();
    TestRun { dir, _files: files }
}

/// Returns a network of three datacenters, in which dc1 and dc3 are linked directly and via dc2.
pub fn info() -> RunInfo {
    RunInfo {
        policies: vec!["a".into(), "b".into()],
        dcs: ["dc1", "dc2", "dc3"].map(|name| sample::dc(name, 1)).into(),
        links: vec![
            sample::link("dc1", "dc2", 100, 5),
            sample::link("dc2", "dc3", 100, 5),
            sample::link("dc1", "dc3", 100, 50),
        ],
        ..sample::info()
    }
}

/// Returns a flow of 1 kB, which finished if it has a slowdown.
pub fn flow(policy: &str, id: u32, slowdown: Option<f64>) -> FlowRow {
    FlowRow {
        flow_id: FlowId(id),
        dst_host: "dc3/h1".into(),
        dst_dc: "dc3".into(),
        size_bytes: Bytes::new(1_000),
        fct_ns: slowdown.map(|_| Nanos::from_millis(1)),
        ideal_fct_ns: Nanos::from_millis(1),
        slowdown,
        path: None,
        status: match slowdown {
            Some(_) => FlowStatus::Finished,
            None => FlowStatus::TimedOut,
        },
        ..sample::flow(policy)
    }
}
