//! Starts and FCTs of flows that finish.

use std::time::Duration;

use lab_generators::contract::{Event, FctSource, FlowJob, MonotonicTime, Status, Tool};
use lab_units::Nanos;

use crate::bench::{Bench, drain};

#[tokio::test]
async fn every_tool_makes_a_flow() {
    let bench = Bench::new();
    for (tool, source) in [
        (Tool::SendBw, FctSource::Printed),
        (Tool::WriteBw, FctSource::Exchanged),
        (Tool::ReadBw, FctSource::Exchanged),
    ] {
        let row = bench.run_one(tool, "good", "good").await;
        let Status::Finished(fct) = row.status else {
            panic!("{tool}: {}", row.status);
        };
        assert!(fct.time >= Nanos::from_millis(40), "{tool}: {}", fct.time);
        assert_eq!(fct.source, source, "{tool}");
        assert!(row.marker.unwrap().after > fct.time, "{tool}");
        let gids = [row.client_qp, row.server_qp].map(|address| address.unwrap().gid.to_string());
        assert_eq!(gids, ["::ffff:10.1.1.1", "::ffff:10.2.1.1"], "{tool}");
        assert_eq!(row.client_qp.unwrap().qp.0, 0x11);
        assert_eq!(row.server_qp.unwrap().qp.0, 0x12);
        assert!(row.start.unwrap().exact, "{tool}");
    }
    assert_eq!(bench.processes().len(), 0);
}

#[tokio::test]
async fn flows_start_at_their_instants_in_any_order_of_jobs() {
    let bench = Bench::new();
    let mut jobs: Vec<FlowJob> = (0..3)
        .map(|flow| bench.job(flow, Tool::SendBw, "good", "good"))
        .collect();
    for (job, start) in jobs.iter_mut().zip([200, 0, 100]) {
        job.start = Nanos::from_millis(start);
    }
    let (session, mut events) = bench.prepare(jobs.clone()).await;
    let t0 = MonotonicTime::now().after(Nanos::from_millis(50));
    let rows = session.run(t0).await.unwrap();

    let started: Vec<u32> = drain(&mut events)
        .iter()
        .filter_map(|event| match event {
            Event::Started { flow, .. } => Some(flow.0),
            _ => None,
        })
        .collect();
    assert_eq!(started, [1, 2, 0]);
    for (job, row) in jobs.iter().zip(rows) {
        assert_eq!(row.flow, job.flow);
        let start = row.start.unwrap();
        let scheduled = t0.after(job.start);
        assert!(start.at >= scheduled);
        assert_eq!(start.at.since(scheduled), start.lateness);
    }
}

#[tokio::test]
async fn no_flow_starts_before_the_session_runs() {
    let bench = Bench::new();
    let jobs = vec![
        bench.job(0, Tool::SendBw, "good", "good"),
        bench.job(1, Tool::WriteBw, "good", "good"),
    ];
    let (_session, mut events) = bench.prepare(jobs).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let events = drain(&mut events);
    assert_eq!(events.len(), 2);
    let mut events = events.iter();
    assert!(events.all(|event| matches!(event, Event::Ready { .. })));
    assert_eq!(bench.processes().len(), 4);
}

#[tokio::test]
async fn a_client_that_computes_is_stopped_and_continued() {
    let bench = Bench::new();
    let (session, mut events) = bench
        .prepare(vec![bench.job(0, Tool::SendBw, "good", "good")])
        .await;
    let rows = session.run(MonotonicTime::now()).await.unwrap();
    let delivered = |event: &Event| matches!(event, Event::Delivered { .. });
    let position = drain(&mut events).iter().position(delivered);
    if position.is_none() && !nix::unistd::Uid::effective().is_root() {
        eprintln!(
            "skipped: a_client_that_computes_is_stopped_and_continued: needs root or perf_event_open"
        );
        return;
    }
    assert_eq!(position, Some(2), "after Ready and Started, before Ended");
    let fct = rows[0].status.fct().unwrap();
    let after_fct = rows[0].marker.unwrap().after.saturating_sub(fct);
    assert!(after_fct > Nanos::ZERO);
}

#[tokio::test]
async fn an_unknown_version_starts_less_exactly() {
    let bench = Bench::new();
    for tool in Tool::PERFTEST {
        let row = bench.run_one(tool, "other", "other").await;
        let Status::Finished(fct) = row.status else {
            panic!("{tool}: {}", row.status);
        };
        assert_eq!(fct.source, FctSource::Printed, "{tool}");
        assert!(!row.start.unwrap().exact, "{tool}");
        assert_eq!(row.marker, None, "{tool}");
    }
}
