//! Runs and rows for the tests of this crate.

use lab_records::{
    DcInfo, FlowRow, FlowStatus, LinkInfo, LinkRow, RecordsError, RunDir, RunInfo, RunWriter,
    sample,
};
use lab_units::{Bytes, FlowId, Nanos};

/// A run directory that is removed with this value.
pub struct TestRun {
    pub dir: RunDir,
    _files: tempfile::TempDir,
}

/// Writes a run with the rows that `write` appends.
pub fn run(
    info: &RunInfo,
    write: impl FnOnce(&mut RunWriter) -> Result<(), RecordsError>,
) -> TestRun {
    let files = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create_in(files.path(), sample::now(), info).unwrap();
    write(&mut writer).unwrap();
    let dir = RunDir::open(writer.dir()).unwrap();
    TestRun { dir, _files: files }
}

/// Three datacenters: dc1 and dc3 are linked over dc2, and directly.
pub fn info() -> RunInfo {
    let dc = |name: &str| DcInfo {
        name: name.into(),
        hosts: vec![format!("{name}/h1")],
        legacy: false,
    };
    let link = |a: &str, b: &str, delay_ms: u64| LinkInfo {
        name: format!("{a}-{b}"),
        a: a.into(),
        b: b.into(),
        rate_bps: "100 Gbit".parse().unwrap(),
        delay_ns: Nanos::from_millis(delay_ms),
        buffer_bytes: Bytes::new(1_000_000),
    };
    RunInfo {
        policies: vec!["a".into(), "b".into()],
        dcs: ["dc1", "dc2", "dc3"].map(dc).into(),
        links: vec![
            link("dc1", "dc2", 5),
            link("dc2", "dc3", 5),
            link("dc1", "dc3", 50),
        ],
        ..sample::info()
    }
}

/// A flow of 1 kB, finished if it has a slowdown.
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

/// A counter of policy `a` at time 0, of the link from one datacenter to another.
pub fn counter(from: &str, to: &str) -> LinkRow {
    LinkRow {
        policy: "a".into(),
        repetition: 0,
        time_ns: Nanos::ZERO,
        link: "dc1-dc2".into(),
        from_dc: from.into(),
        to_dc: to.into(),
        tx_bytes: Bytes::new(0),
        emu_tx_bytes: Bytes::new(0),
        rate_bps: "1 Gbit".parse().unwrap(),
        drops: 0,
        tx_packets: None,
        marks: None,
    }
}
