//! Tests that rows of every table are unchanged after writing and reading.

use std::path::{Path, PathBuf};

use lab_records::{
    DcPath, DecisionRow, FlowRow, FlowStatus, LinkRow, List, PfcEvent, PfcRow, PortRow, QueueRow,
    Row, RunDir, RunInfo, RunWriter, Semantics, StoryEvent, StoryRow, SwitchRow,
};
use lab_sample as sample;
use lab_sample::{counter, end, flow, info, now, queue};
use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};
use proptest::prelude::*;

/// Generates texts, including those that CSV must quote.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9-]{1,8}",
        "[ -~]{0,20}",
        any::<String>().prop_map(|text| text.replace('\0', "")),
        Just("\"quoted\", and\r\nbroken".to_owned()),
    ]
}

fn nanos() -> impl Strategy<Value = Nanos> {
    any::<u64>().prop_map(Nanos::new)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    any::<u64>().prop_map(Bytes::new)
}

/// Generates names that scenarios allow, which can therefore be list items.
fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9-]{0,7}"
}

prop_compose! {
    fn flow_row()(
        policy in text(),
        src_host in text(),
        reason in text(),
        size in bytes(),
        start in nanos(),
        fct in prop::option::of(nanos()),
        ideal in nanos(),
        slowdown in prop::option::of(0.0..1e12f64),
        path in prop::option::of(prop::collection::vec(name(), 1..5)),
        status in prop_oneof![
            Just(FlowStatus::Finished), Just(FlowStatus::TimedOut), Just(FlowStatus::Failed),
            Just(FlowStatus::Unparsable), Just(FlowStatus::NotReady), Just(FlowStatus::Aborted),
            Just(FlowStatus::Interrupted),
        ],
        semantics in prop::option::of(prop_oneof![Just(Semantics::Paper), Just(Semantics::Artifact)]),
        id in any::<u32>(),
    ) -> FlowRow {
        FlowRow {
            flow_id: FlowId(id),
            policy,
            semantics,
            src_host,
            reason,
            size_bytes: size,
            start_ns: start,
            fct_ns: fct,
            ideal_fct_ns: ideal,
            slowdown,
            path: path.map(DcPath::new),
            status,
            launch_lateness_ns: fct,
            emu_fct_resolution_ns: fct,
            ..flow("")
        }
    }
}

prop_compose! {
    fn link_row()(
        policy in text(), link in text(), time in nanos(), tx in bytes(),
        rate in 1u64.., drops in any::<u64>(),
        packets in prop::option::of(any::<u64>()),
    ) -> LinkRow {
        LinkRow {
            policy, repetition: 3, time_ns: time, link, tx_bytes: tx,
            rate_bps: BitsPerSec::new(rate).expect("a positive rate"),
            drops, tx_packets: packets, marks: packets,
            ..counter(&sample::link("dc1", "dc8", 1, 1), "")
        }
    }
}

prop_compose! {
    fn queue_row()(
        policy in text(), port in text(), time in nanos(), backlog in bytes(), level in any::<u8>(),
    ) -> QueueRow {
        QueueRow {
            policy, time_ns: time, port, backlog_bytes: backlog, emu_backlog_bytes: backlog,
            queue_level: level, trend_level: level, duration_level: level, congestion_cost: level,
            ..queue(&sample::link("dc1", "dc8", 1, 1), "")
        }
    }
}

prop_compose! {
    fn decision_row()(
        policy in text(), time in nanos(), id in prop::option::of(any::<u32>()),
        address in any::<u32>(), sport in any::<u16>(),
        candidates in prop::collection::vec((name(), any::<u8>(), any::<u32>()), 0..8),
        chosen in prop::option::of(name()), age in prop::option::of(nanos()),
    ) -> DecisionRow {
        let byte = |row: &(String, u8, u32)| row.1;
        DecisionRow {
            policy, repetition: 0, time_ns: time, switch: "dc1".into(),
            flow_id: id.map(FlowId),
            src: address.into(), dst: address.into(), sport,
            reason: "new_flow/scored".into(),
            signal_age_ns: age, stale_signals: age.map(|_| 1),
            c_path: candidates.iter().map(byte).collect(),
            c_cong: candidates.iter().map(byte).collect(),
            cost: candidates.iter().map(|row| row.2).collect(),
            kept: candidates.iter().map(byte).collect(),
            candidates: candidates.into_iter().map(|row| row.0).collect(),
            chosen,
        }
    }
}

prop_compose! {
    fn pfc_row()(
        policy in text(), node in text(), time in nanos(), priority in any::<u8>(),
        event in prop_oneof![Just(PfcEvent::Pause), Just(PfcEvent::Resume)],
    ) -> PfcRow {
        PfcRow {
            policy, repetition: 1, time_ns: time, node, port: "dc1-l1-p3".into(),
            peer: "dc1/h1".into(), priority, event,
        }
    }
}

prop_compose! {
    fn port_row()(
        policy in text(), node in text(), time in nanos(), paused in nanos(), sent in bytes(),
        peak in bytes(), counts in any::<[u64; 4]>(), rate in 1u64..,
    ) -> PortRow {
        let [tx_packets, marks, drops, pauses] = counts;
        PortRow {
            policy, repetition: 1, time_ns: time, node, port: "dc1-l1-p3".into(),
            peer: "dc1/h1".into(), rate_bps: BitsPerSec::new(rate).expect("not zero"),
            tx_bytes: sent, emu_tx_bytes: sent, tx_packets, marks, drops, peak_queue_bytes: peak,
            pauses, paused_ns: paused,
        }
    }
}

prop_compose! {
    fn story_row()(
        policy in text(), node in text(), time in nanos(), count in any::<u64>(),
        event in prop_oneof![Just(StoryEvent::RateSet), Just(StoryEvent::Cnp)],
        peer in prop::option::of(name()),
        rate in prop::option::of(1u64..),
        offset in prop::option::of(bytes()),
        id in any::<u32>(),
    ) -> StoryRow {
        StoryRow {
            policy, repetition: 1, flow_id: FlowId(id), time_ns: time, event, count, node, peer,
            rate_bps: rate.and_then(BitsPerSec::new), offset_bytes: offset,
        }
    }
}

prop_compose! {
    fn switch_row()(
        policy in text(), switch in name(), time in nanos(), counts in any::<[u64; 10]>(),
        samples in prop::option::of(any::<u64>()),
    ) -> SwitchRow {
        let [occupancy, decisions, decisions_per_s, failovers, fallbacks, ..] = counts;
        let [.., stale, evicted, expired, hits, restarts] = counts;
        SwitchRow {
            policy, repetition: 1, time_ns: time, switch, occupancy, decisions, decisions_per_s,
            failovers, fallbacks, stale, evicted, expired, hits, restarts,
            samples, late_samples: samples,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reader_after_writer_is_identity(
        flows in prop::collection::vec(flow_row(), 0..5),
        links in prop::collection::vec(link_row(), 0..5),
        queues in prop::collection::vec(queue_row(), 0..5),
        decisions in prop::collection::vec(decision_row(), 0..5),
        pauses in prop::collection::vec(pfc_row(), 0..5),
        ports in prop::collection::vec(port_row(), 0..5),
        story in prop::collection::vec(story_row(), 0..5),
        switches in prop::collection::vec(switch_row(), 0..5),
    ) {
        let results = tempfile::tempdir().expect("a directory");
        let policies = flows.iter().map(|row| &row.policy)
            .chain(links.iter().map(|row| &row.policy))
            .chain(queues.iter().map(|row| &row.policy))
            .chain(decisions.iter().map(|row| &row.policy))
            .chain(pauses.iter().map(|row| &row.policy))
            .chain(ports.iter().map(|row| &row.policy))
            .chain(story.iter().map(|row| &row.policy))
            .chain(switches.iter().map(|row| &row.policy));
        let info = RunInfo { policies: policies.cloned().collect(), ..info() };
        let mut writer = RunWriter::create(results.path(), now(), &info).expect("a run");
        for row in &flows {
            writer.append_flows([row]).expect("a row");
        }
        writer.append(&links).expect("rows");
        writer.append(&queues).expect("rows");
        writer.append(&decisions).expect("rows");
        writer.append(&pauses).expect("rows");
        writer.append(&ports).expect("rows");
        writer.append(&story).expect("rows");
        writer.append(&switches).expect("rows");
        let run = RunDir::open(writer.dir()).expect("a run");
        let same = |run: &RunDir| {
            prop_assert_eq!(&read_like(run, &flows), &flows);
            prop_assert_eq!(&read_like(run, &links), &links);
            prop_assert_eq!(&read_like(run, &queues), &queues);
            prop_assert_eq!(&read_like(run, &decisions), &decisions);
            prop_assert_eq!(&read_like(run, &pauses), &pauses);
            prop_assert_eq!(&read_like(run, &ports), &ports);
            prop_assert_eq!(&read_like(run, &story), &story);
            prop_assert_eq!(&read_like(run, &switches), &switches);
            Ok(())
        };
        same(&run)?;
        // With a limit of 0 rows, every table becomes Parquet.
        let (dir, _) = writer.with_large_table(0).finish(end()).expect("the end");
        for table in tables(&dir, "parquet") {
            prop_assert!(!table.with_extension("csv").exists());
        }
        same(&run)?;
    }
}

/// Reads the table of the same row type as the given rows.
fn read_like<R: Row>(run: &RunDir, _: &[R]) -> Vec<R> {
    run.table().expect("rows").rows
}

fn tables(run_dir: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(run_dir).expect("entries");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect()
}

/// Returns the header that the `csv` crate derives from a row type.
fn derived_header<R: Row>(row: R) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(row).expect("a row");
    let bytes = writer.into_inner().expect("bytes");
    let text = String::from_utf8(bytes).expect("text");
    text.lines().next().expect("a header").to_owned()
}

#[test]
fn the_written_header_is_the_one_the_reader_expects() {
    let names: Vec<&str> = FlowRow::COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(derived_header(flow("ecmp")), names.join(","));
}

#[test]
fn a_list_item_that_could_not_be_read_back_is_refused() {
    for item in ["", "a|b"] {
        let list = List(vec![item.to_owned()]);
        let error = serde_json::to_string(&list).unwrap_err().to_string();
        assert!(error.contains("cannot be in a list"), "{error}");
    }
    let error = serde_json::from_str::<List<u8>>(r#""1|x""#).unwrap_err();
    assert!(error.to_string().contains("`x` in a list"), "{error}");
}
