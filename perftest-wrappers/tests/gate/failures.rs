//! Failures of flows; afterwards no process may remain.

use std::time::Duration;

use lab_generators::{
    contract::{
        Event, Exit, FlowOutcome, HandshakeError, JobError, MonotonicTime, ReportError, Side,
        Status, Tool,
    },
    perftest::{Options, Session, SessionError},
};
use lab_units::{FlowId, Nanos};
use tokio::sync::mpsc;

use crate::bench::Bench;

#[tokio::test]
async fn a_pair_that_does_not_become_ready_has_its_reason() {
    let bench = Bench::new();
    let failed = |row: FlowOutcome| match row.status {
        Status::Failed {
            side,
            exit,
            message,
        } => (side, exit, message),
        other => panic!("{other}"),
    };
    let nodev = "IB device nodev not found; Unable to find the Infiniband/RoCE device";
    let row = bench.run_one(Tool::SendBw, "absent", "good").await;
    assert_eq!(failed(row), (Side::Client, Exit::Code(1), nodev.to_owned()));
    let row = bench.run_one(Tool::SendBw, "good", "absent").await;
    assert_eq!(failed(row), (Side::Server, Exit::Code(1), nodev.to_owned()));
    let row = bench.run_one(Tool::ReadBw, "good", "gone").await;
    assert_eq!(failed(row), (Side::Server, Exit::Code(3), String::new()));

    for (client, server, culprit) in [
        ("garbled", "good", Side::Client),
        ("good", "garbled", Side::Server),
    ] {
        let row = bench.run_one(Tool::SendBw, client, server).await;
        let Status::NotReady {
            error: HandshakeError::Unexpected { side, .. },
        } = row.status
        else {
            panic!("{}", row.status);
        };
        assert_eq!(side, culprit);
        assert_eq!(row.start, None);
    }
    bench.processes_end().await;
}

#[tokio::test]
async fn a_silent_peer_times_out_and_other_flows_run() {
    let bench = Bench::new();
    let (events, _received) = mpsc::unbounded_channel();
    let options = Options {
        // The silent pair waits for the whole limit, whereas the other pair needs a fraction of a second of CPU time.
        ready_within: Some(Duration::from_secs(15)),
        ..bench.options()
    };
    let jobs = vec![
        bench.job(0, Tool::SendBw, "good", "silent"),
        bench.job(1, Tool::SendBw, "good", "good"),
    ];
    let session = Session::prepare(jobs, &options, events).await.unwrap();
    let rows = session.run(MonotonicTime::now()).await.unwrap();
    assert_eq!(
        rows[0].status.to_string(),
        "no handshake within 15 s (waiting for the flow's processes to exchange QP addresses)"
    );
    assert!(rows[1].status.fct().is_some());
}

#[tokio::test]
async fn a_flow_that_fails_has_its_reason() {
    let bench = Bench::new();
    let row = bench.run_one(Tool::SendBw, "failing", "good").await;
    assert_eq!(
        row.status.to_string(),
        "the client exited with code 1: Completion with error at client; \
         Failed status 9: wr_id 0 syndrom 0x8a"
    );
    let row = bench.run_one(Tool::WriteBw, "good", "dying").await;
    assert_eq!(
        row.status.to_string(),
        "the server exited with code 139: Segmentation fault"
    );
    let row = bench.run_one(Tool::SendBw, "mute", "good").await;
    let no_bandwidth = matches!(
        row.status,
        Status::Unparsable {
            error: ReportError::NoBandwidth { .. }
        }
    );
    assert!(no_bandwidth, "{}", row.status);
    assert!(row.start.is_some());

    let mut job = bench.job(0, Tool::ReadBw, "hanging", "good");
    job.deadline = Nanos::from_millis(200);
    let row = bench.run(vec![job]).await.remove(0);
    assert_eq!(
        row.status,
        Status::TimedOut {
            after: Nanos::from_millis(200)
        }
    );
    assert_eq!(bench.processes().len(), 0);
}

#[tokio::test]
async fn an_aborted_session_has_an_outcome_for_every_flow_and_no_process() {
    let bench = Bench::new();
    let mut late = bench.job(1, Tool::SendBw, "good", "good");
    late.start = Nanos::from_millis(3_600_000);
    let jobs = vec![
        bench.job(0, Tool::WriteBw, "hanging", "good"),
        late,
        bench.job(2, Tool::SendBw, "good", "good"),
    ];
    let (session, mut events) = bench.prepare(jobs).await;
    let aborter = session.aborter();
    let running = tokio::spawn(session.run(MonotonicTime::now()));
    loop {
        match events.recv().await.unwrap() {
            Event::Ended(row) if row.flow == FlowId(2) => break,
            _ => {}
        }
    }
    aborter.abort();
    let rows = running.await.unwrap().unwrap();
    assert_eq!(rows[0].status, Status::Aborted);
    assert_eq!(rows[1].status, Status::Aborted);
    assert!(rows[2].status.fct().is_some());
    assert!(rows[0].start.is_some());
    assert!(rows[1].start.is_none());
    assert_eq!(bench.processes().len(), 0);
}

#[tokio::test]
async fn a_session_that_is_never_run_leaves_no_process() {
    let bench = Bench::new();
    let (session, _events) = bench
        .prepare(vec![bench.job(0, Tool::SendBw, "good", "good")])
        .await;
    assert_eq!(bench.processes().len(), 2);
    assert_eq!(session.abort().await[0].status, Status::Aborted);
    assert_eq!(bench.processes().len(), 0);

    let (session, _events) = bench
        .prepare(vec![bench.job(0, Tool::ReadBw, "good", "good")])
        .await;
    assert_eq!(bench.processes().len(), 2);
    drop(session);
    bench.processes_end().await;
}

#[tokio::test]
async fn a_schedule_that_cannot_be_run_starts_nothing() {
    let bench = Bench::new();
    let prepare = async |jobs, options| {
        let (events, _received) = mpsc::unbounded_channel();
        Session::prepare(jobs, &options, events).await
    };
    let job = bench.job(4, Tool::SendBw, "good", "good");
    let error = prepare(vec![job.clone(), job.clone()], bench.options())
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        SessionError::Job(JobError::Duplicate { flow: FlowId(4) })
    ));

    let mut nowhere = job.clone();
    nowhere.dst.netns = Some("/run/netns/lab-perftest-no-such".into());
    let error = prepare(vec![nowhere], bench.options()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot open the network namespace `/run/netns/lab-perftest-no-such` of host `nowhere`: \
         No such file or directory (os error 2)"
    );

    let elsewhere = Options {
        tools: Some("/nonexistent".into()),
        ..bench.options()
    };
    let rows = prepare(vec![job], elsewhere).await.unwrap().abort().await;
    assert!(matches!(
        rows[0].status,
        Status::NotReady {
            error: HandshakeError::Spawn {
                side: Side::Server,
                ..
            }
        }
    ));
}
