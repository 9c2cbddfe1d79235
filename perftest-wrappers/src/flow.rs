//! One flow, from ready to its row.

use std::{io, net::TcpStream, time::Duration};

use lab_units::{Nanos, Side};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{sleep, timeout},
};

use crate::{
    clock::MonotonicTime,
    fct::{self, Fct, Sign, SignKind},
    handshake::{KEYS_LEN, ReadyPair},
    job::FlowJob,
    outcome::{Event, Exit, FlowOutcome, Release, Status, tell},
    pair::Pair,
    process::{Halt, Output},
    release::Due,
    report::{self, Bandwidth, ReportError},
    stops::Stops,
};

/// A flow whose two processes wait to be let go.
#[derive(Debug)]
pub(crate) struct ReadyFlow {
    job: FlowJob,
    pair: Pair,
    ready: ReadyPair,
    release: Option<Release>,
    sign: Option<Sign>,
    /// What the client said after its last completion.
    closing: Vec<u8>,
    farewell_said: bool,
}

/// What ended the wait for a flow.
#[derive(Debug)]
enum End {
    Exit(Side, Exit),
    Deadline,
    Silent,
    Abort,
    NotReleased(io::Error),
}

impl ReadyFlow {
    /// Takes both processes off the CPU for when they would compute: the client by its brake (see
    /// [`crate::brake`]), the server at once. A receiver has nothing to do once its buffers are
    /// posted, as the kernel acknowledges for it, so the server is never let go on: its report is
    /// another calibration, of a number that nobody reads.
    pub(crate) fn new(job: FlowJob, pair: Pair, ready: ReadyPair, stops: &Stops) -> Self {
        let mut flow = Self {
            job,
            pair,
            ready,
            release: None,
            sign: None,
            closing: Vec::new(),
            farewell_said: false,
        };
        if flow.server_is_suspended() {
            flow.pair.server.process.suspend();
        }
        if flow.ready.exact
            && flow.job.tool.waits_by_events()
            && flow.job.messages <= MAX_BRAKED_MESSAGES
            && let Err(error) = flow.pair.client.process.brake(stops)
        {
            tracing::debug!(flow = %flow.job.flow, %error, "the client reports as soon as it can");
        }
        flow
    }

    /// What lets it go.
    pub(crate) fn due(
        &self,
        t0: MonotonicTime,
        released: oneshot::Sender<io::Result<Release>>,
    ) -> io::Result<Due> {
        Ok(Due {
            at: t0.after(self.job.start),
            client: TcpStream::from(self.pair.client.line.share()?),
            message: self.ready.held.clone(),
            exact: self.ready.exact,
            released,
        })
    }

    /// Waits for its release and its end, leaves no process of it, and writes its row.
    pub(crate) async fn run(
        mut self,
        released: oneshot::Receiver<io::Result<Release>>,
        mut abort: watch::Receiver<bool>,
        events: &mpsc::UnboundedSender<Event>,
    ) -> FlowOutcome {
        let end = tokio::select! {
            end = self.until_end(released, events) => end,
            // It fails when nobody is left who could abort, which is an abort.
            _ = abort.wait_for(|aborted| *aborted) => End::Abort,
        };
        self.pair.kill().await;
        let client = self.pair.client.process.output().await;
        let server = self.pair.server.process.output().await;
        self.row(end, client, &server)
    }

    /// Ends it before it was let go.
    pub(crate) async fn abort(mut self) -> FlowOutcome {
        self.pair.kill().await;
        self.row(End::Abort, Output::default(), &Output::default())
    }

    async fn until_end(
        &mut self,
        released: oneshot::Receiver<io::Result<Release>>,
        events: &mpsc::UnboundedSender<Event>,
    ) -> End {
        let release = match self.until_release(released).await {
            Ok(release) => release,
            Err(end) => return end,
        };
        let flow = self.job.flow;
        self.release = Some(release);
        tell(events, Event::Released { flow, release });

        let deadline = release.at.after(self.job.deadline);
        let halt = tokio::select! {
            halt = self.until_halt() => halt,
            () = sleep(deadline.since(MonotonicTime::now()).to_duration()) => return End::Deadline,
        };
        if let (side, Halt::Ended(exit)) = halt {
            return End::Exit(side, exit);
        }
        self.saw(SignKind::Stopped);
        self.pair.client.process.resume_idly();
        tell(events, Event::Delivered { flow });

        tokio::select! {
            halt = self.until_halt() => match halt {
                (side, Halt::Ended(exit)) => End::Exit(side, exit),
                (_, Halt::Stopped) => End::Silent,
            },
            () = sleep(REPORT_WITHIN.to_duration()) => End::Silent,
        }
    }

    async fn until_release(
        &mut self,
        mut released: oneshot::Receiver<io::Result<Release>>,
    ) -> Result<Release, End> {
        let Pair { client, server } = &mut self.pair;
        let end = tokio::select! {
            answer = &mut released => return release(answer),
            exit = client.process.exit() => End::Exit(Side::Client, exit),
            exit = server.process.exit() => End::Exit(Side::Server, exit),
        };
        // A client that ends as soon as it is let go may be seen to end before it is known that it
        // was let go.
        match timeout(RELEASE_LAG, released).await {
            Ok(answer) => release(answer),
            Err(_) => Err(end),
        }
    }

    /// Passes on what the two sides say until the client halts, or the server fails.
    async fn until_halt(&mut self) -> (Side, Halt) {
        let (mut client_speaks, mut server_speaks, mut server_runs) = (true, true, true);
        loop {
            let Pair { client, server } = &mut self.pair;
            tokio::select! {
                heard = client.line.hear(), if client_speaks => match heard {
                    Some(bytes) => self.client_said(&bytes).await,
                    None => client_speaks = false,
                },
                heard = server.line.hear(), if server_speaks => match heard {
                    // A client that listens no more ends, and that is what counts.
                    Some(bytes) => drop(client.line.say(&bytes).await),
                    None => server_speaks = false,
                },
                halt = client.process.halt() => return (Side::Client, halt),
                exit = server.process.exit(), if server_runs => {
                    if exit != Exit::Code(0) && self.sign.is_none() {
                        return (Side::Server, Halt::Ended(exit));
                    }
                    server_runs = false;
                }
            }
        }
    }

    async fn client_said(&mut self, bytes: &[u8]) {
        self.saw(SignKind::Spoke);
        self.closing.extend_from_slice(bytes);
        // A side that listens no more ends, and that is what counts.
        if !self.server_is_suspended() {
            let _ = self.pair.server.line.say(bytes).await;
        } else if self.closing.len() >= KEYS_LEN && !self.farewell_said {
            self.farewell_said = true;
            let farewell = [&self.ready.held, FAREWELL].concat();
            let _ = self.pair.client.line.say(&farewell).await;
        }
    }

    /// Notes the client's first sign. When the rest of the handshake was not known, its first word
    /// is none.
    fn saw(&mut self, kind: SignKind) {
        let now = MonotonicTime::now();
        if let Some(release) = self.release.filter(|release| release.exact) {
            let after = now.since(release.at);
            self.sign.get_or_insert(Sign { kind, after });
        }
    }

    fn server_is_suspended(&self) -> bool {
        self.job.tool.server_measures() && self.ready.exact
    }

    fn row(self, end: End, client: Output, server: &Output) -> FlowOutcome {
        let mut bandwidth = None;
        let status = match end {
            End::Exit(Side::Client, Exit::Code(0)) if self.release.is_some() => {
                match self.finished(&client.stdout) {
                    Ok((fct, said)) => {
                        bandwidth = Some(said);
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
            End::NotReleased(error) => Status::NotReleased {
                reason: error.to_string(),
            },
        };
        FlowOutcome {
            flow: self.job.flow,
            status,
            release: self.release,
            client_qp: Some(self.ready.client_qp),
            server_qp: Some(self.ready.server_qp),
            bandwidth,
            sign: self.sign,
            stdout_tail: client.stdout,
        }
    }

    fn finished(&self, stdout: &str) -> Result<(Fct, Bandwidth), ReportError> {
        let printed = report::parse(stdout)?;
        let exchanged = match self.ready.exact {
            true => report::exchanged(&self.closing, &self.job),
            false => None,
        };
        let fct = fct::fct(self.job.total_bytes(), printed, exchanged, self.sign)?;
        Ok((fct, exchanged.unwrap_or(printed)))
    }
}

fn release(answer: Result<io::Result<Release>, oneshot::error::RecvError>) -> Result<Release, End> {
    match answer {
        Ok(Ok(release)) => Ok(release),
        Ok(Err(error)) => Err(End::NotReleased(error)),
        Err(_) => Err(End::Abort),
    }
}

/// What a server says when it has nothing more to say.
const FAREWELL: &[u8] = b"done\0";

/// A client posts this many messages at once and sleeps until the last is complete. With more it
/// wakes in between to post the rest, and its CPU time says nothing about where it is.
const MAX_BRAKED_MESSAGES: u32 = 100;

/// How long after a flow was let go that is known, at most.
const RELEASE_LAG: Duration = Duration::from_millis(100);

/// How long a client may take to calibrate its clock and say its number; it needs 0.22 s of a CPU.
const REPORT_WITHIN: Nanos = Nanos::from_millis(60_000);
