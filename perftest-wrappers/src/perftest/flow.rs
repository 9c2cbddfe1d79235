//! Flow in progress, from its readiness to its outcome.

use std::{io, net::TcpStream};

use lab_units::{Nanos, Side};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::sleep,
};

use super::{
    cpu::StopListener,
    fct,
    handshake::{KEYS_LEN, ReadyPair},
    pair::ProcessPair,
    process::{Halt, Output},
    report,
    trigger::ScheduledStart,
};
use crate::contract::{
    Bandwidth, CompletionMarker, Event, Exit, Fct, FlowJob, FlowOutcome, FlowStart, MarkerKind,
    MonotonicTime, ReportError, Status, emit,
};

/// Flow whose two processes are waiting for the start trigger.
#[derive(Debug)]
pub(crate) struct ReadyFlow {
    job: FlowJob,
    pair: ProcessPair,
    ready: ReadyPair,
    /// Scheduled instant of the start; `None` before the session has begun.
    scheduled: Option<MonotonicTime>,
    start: Option<FlowStart>,
    marker: Option<CompletionMarker>,
    /// Bytes that the client sent after its last completion.
    closing: Vec<u8>,
    is_farewell_sent: bool,
}

/// Reason why the wait for a flow ends.
#[derive(Debug)]
enum End {
    Exit(Side, Exit),
    Deadline,
    Silent,
    Abort,
    NotStarted(io::Error),
}

impl ReadyFlow {
    /// Keeps both processes from computing: the client is stopped once it computes (see [`super::cpu`]), the server is
    /// stopped at once and never continued. A receiver has nothing left to do after it has posted its buffers, because
    /// the kernel sends the acknowledgements. Its report, which would need another calibration, is not used.
    pub(crate) fn new(
        job: FlowJob,
        pair: ProcessPair,
        ready: ReadyPair,
        stops: &StopListener,
    ) -> Self {
        let mut flow = Self {
            job,
            pair,
            ready,
            scheduled: None,
            start: None,
            marker: None,
            closing: Vec::new(),
            is_farewell_sent: false,
        };
        if flow.server_is_suspended() {
            flow.pair.server.process.suspend();
        }
        if flow.ready.exact
            && flow.job.tool.waits_by_events()
            && flow.job.messages <= MAX_POSTED_MESSAGES
            && let Err(error) = flow.pair.client.process.stop_on_compute(stops)
        {
            tracing::debug!(flow = %flow.job.flow, %error, "cannot stop the client when it calibrates its clock");
        }
        flow
    }

    /// Returns the flow's entry in the schedule of a session that begins at `t0`.
    pub(crate) fn schedule(
        &mut self,
        t0: MonotonicTime,
        started: oneshot::Sender<io::Result<FlowStart>>,
    ) -> io::Result<ScheduledStart> {
        let at = t0.after(self.job.start);
        self.scheduled = Some(at);
        Ok(ScheduledStart {
            at,
            client: TcpStream::from(self.pair.client.connection.share()?),
            message: self.ready.held.clone(),
            exact: self.ready.exact,
            started,
        })
    }

    /// Waits for the flow's start and end, kills both processes, and returns the outcome.
    pub(crate) async fn run(
        mut self,
        started: oneshot::Receiver<io::Result<FlowStart>>,
        mut abort: watch::Receiver<bool>,
        events: &mpsc::UnboundedSender<Event>,
    ) -> FlowOutcome {
        let end = tokio::select! {
            end = self.until_end(started, events) => end,
            // The wait fails only if the aborter was dropped, which counts as an abort.
            _ = abort.wait_for(|aborted| *aborted) => End::Abort,
        };
        self.pair.kill().await;
        let client = self.pair.client.process.output().await;
        let server = self.pair.server.process.output().await;
        self.row(end, client, &server)
    }

    /// Ends a flow that has not started; returns its outcome.
    pub(crate) async fn abort(mut self) -> FlowOutcome {
        self.pair.kill().await;
        self.row(End::Abort, Output::default(), &Output::default())
    }

    async fn until_end(
        &mut self,
        started: oneshot::Receiver<io::Result<FlowStart>>,
        events: &mpsc::UnboundedSender<Event>,
    ) -> End {
        let start = match self.until_start(started).await {
            Ok(start) => start,
            Err(end) => return end,
        };
        let flow = self.job.flow;
        self.start = Some(start);
        emit(events, Event::Started { flow, start });

        let deadline = start.at.after(self.job.deadline);
        let halt = tokio::select! {
            halt = self.until_halt() => halt,
            () = sleep(deadline.since(MonotonicTime::now()).to_duration()) => return End::Deadline,
        };
        if let (side, Halt::Ended(exit)) = halt {
            return End::Exit(side, exit);
        }
        self.mark(MarkerKind::Stopped);
        self.pair.client.process.resume_idly();
        emit(events, Event::Delivered { flow });

        tokio::select! {
            halt = self.until_halt() => match halt {
                (side, Halt::Ended(exit)) => End::Exit(side, exit),
                (_, Halt::Stopped) => End::Silent,
            },
            () = sleep(REPORT_WITHIN.to_duration()) => End::Silent,
        }
    }

    async fn until_start(
        &mut self,
        mut started: oneshot::Receiver<io::Result<FlowStart>>,
    ) -> Result<FlowStart, End> {
        let ProcessPair { client, server } = &mut self.pair;
        let end = tokio::select! {
            answer = &mut started => return start(answer),
            exit = client.process.exit() => End::Exit(Side::Client, exit),
            exit = server.process.exit() => End::Exit(Side::Server, exit),
        };
        // If a client ends immediately, its end may be observed before the start is reported.
        match self.scheduled {
            Some(at) if at <= MonotonicTime::now() => start(started.await),
            _ => Err(end),
        }
    }

    /// Forwards bytes between client and server until the client stops or ends, or the server fails.
    async fn until_halt(&mut self) -> (Side, Halt) {
        let mut client_sends = true;
        let mut server_sends = true;
        let mut server_runs = true;
        loop {
            let ProcessPair { client, server } = &mut self.pair;
            tokio::select! {
                received = client.connection.receive(), if client_sends => match received {
                    Some(bytes) => self.client_sent(&bytes).await,
                    None => client_sends = false,
                },
                received = server.connection.receive(), if server_sends => match received {
                    // A failed send means that the client has closed its connection; its end, which follows, ends the
                    // flow.
                    Some(bytes) => drop(client.connection.send(&bytes).await),
                    None => server_sends = false,
                },
                halt = client.process.halt() => return (Side::Client, halt),
                exit = server.process.exit(), if server_runs => {
                    if exit != Exit::Code(0) && self.marker.is_none() {
                        return (Side::Server, Halt::Ended(exit));
                    }
                    server_runs = false;
                }
            }
        }
    }

    async fn client_sent(&mut self, bytes: &[u8]) {
        self.mark(MarkerKind::Sent);
        self.closing.extend_from_slice(bytes);
        // A failed send means that the side has closed its connection; its end, which follows, ends the flow.
        if !self.server_is_suspended() {
            let _ = self.pair.server.connection.send(bytes).await;
        } else if self.closing.len() >= KEYS_LEN && !self.is_farewell_sent {
            self.is_farewell_sent = true;
            let farewell = [&self.ready.held, FAREWELL].concat();
            let _ = self.pair.client.connection.send(&farewell).await;
        }
    }

    /// Records the completion marker if it is the client's first. If the start is not exact there is no marker, because
    /// the client's next bytes are the rest of its handshake.
    fn mark(&mut self, kind: MarkerKind) {
        let now = MonotonicTime::now();
        if let Some(start) = self.start.filter(|start| start.exact) {
            let after = now.since(start.at);
            self.marker.get_or_insert(CompletionMarker { kind, after });
        }
    }

    fn server_is_suspended(&self) -> bool {
        self.job.tool.server_measures() && self.ready.exact
    }

    fn row(self, end: End, client: Output, server: &Output) -> FlowOutcome {
        let mut bandwidth = None;
        let status = match end {
            End::Exit(Side::Client, Exit::Code(0)) if self.start.is_some() => {
                match self.finished(&client.stdout) {
                    Ok((fct, reported)) => {
                        bandwidth = Some(reported);
                        Status::Finished(fct)
                    }
                    Err(error) => Status::Unparsable { error },
                }
            }
            End::Exit(Side::Client, exit) => Status::failed(Side::Client, exit, &client),
            End::Exit(Side::Server, exit) => Status::failed(Side::Server, exit, server),
            End::Deadline => Status::TimedOut {
                after: self.job.deadline,
            },
            End::Silent => Status::NoReport {
                within: REPORT_WITHIN,
            },
            End::Abort => Status::Aborted,
            End::NotStarted(error) => Status::NotStarted {
                reason: error.to_string(),
            },
        };
        FlowOutcome {
            flow: self.job.flow,
            status,
            start: self.start,
            client_qp: Some(self.ready.client_qp),
            server_qp: Some(self.ready.server_qp),
            bandwidth,
            marker: self.marker,
            stdout_tail: client.stdout,
        }
    }

    fn finished(&self, stdout: &str) -> Result<(Fct, Bandwidth), ReportError> {
        let printed = report::parse(stdout)?;
        let exchanged = if self.ready.exact {
            report::exchanged(&self.closing, &self.job)
        } else {
            None
        };
        let fct = fct::fct(self.job.total_bytes(), printed, exchanged, self.marker)?;
        Ok((fct, exchanged.unwrap_or(printed)))
    }
}

fn start(
    answer: Result<io::Result<FlowStart>, oneshot::error::RecvError>,
) -> Result<FlowStart, End> {
    match answer {
        Ok(Ok(start)) => Ok(start),
        Ok(Err(error)) => Err(End::NotStarted(error)),
        Err(_) => Err(End::Abort),
    }
}

/// Last message of a server's handshake.
const FAREWELL: &[u8] = b"done\0";

/// Maximum number of messages that a client posts at once before it sleeps until the last one is complete. With more
/// messages, the client wakes in between to post the rest, so its CPU time does not indicate completion.
const MAX_POSTED_MESSAGES: u32 = 100;

/// Time limit for a client to calibrate its clock and send its report, which takes 0.22 s of CPU time.
const REPORT_WITHIN: Nanos = Nanos::from_millis(60_000);
