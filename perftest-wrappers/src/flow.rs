//! One flow, from ready to its row.

use std::{io, net::TcpStream};

use lab_units::Nanos;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::sleep,
};

use crate::{
    clock::MonotonicTime,
    handshake::{KEYS_LEN, ReadyPair},
    job::FlowJob,
    outcome::{Event, Exit, FlowOutcome, Release, Status},
    pair::Pair,
    process::Output,
    release::Due,
    report::{self, Bandwidth, ReportError},
    tool::Side,
};

/// A flow whose two processes wait to be let go.
#[derive(Debug)]
pub(crate) struct ReadyFlow {
    job: FlowJob,
    pair: Pair,
    ready: ReadyPair,
    release: Option<Release>,
    closing: Closing,
}

/// What the client says after its last completion.
#[derive(Debug, Default)]
struct Closing {
    began: Option<MonotonicTime>,
    bytes: Vec<u8>,
    answered: bool,
}

/// What ended the wait for a flow.
#[derive(Debug)]
enum End {
    Exit(Side, Exit),
    Deadline,
    Abort,
    NotReleased(io::Error),
}

impl ReadyFlow {
    /// A receiver has nothing to do once its buffers are posted: the kernel acknowledges for it.
    /// Its process is suspended here and killed in the end, or its own clock calibration would
    /// take the CPU from the network while data is under way.
    pub(crate) fn new(job: FlowJob, pair: Pair, ready: ReadyPair) -> Self {
        let flow = Self {
            job,
            pair,
            ready,
            release: None,
            closing: Closing::default(),
        };
        if flow.server_is_suspended() {
            flow.pair.server.process.suspend();
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
        self.pair.client.process.kill().await;
        self.pair.server.process.kill().await;
        let client = self.pair.client.process.output().await;
        let server = self.pair.server.process.output().await;
        self.row(end, client, &server)
    }

    /// Ends it before it was let go.
    pub(crate) async fn abort(mut self) -> FlowOutcome {
        self.pair.client.process.kill().await;
        self.pair.server.process.kill().await;
        self.row(End::Abort, Output::default(), &Output::default())
    }

    fn server_is_suspended(&self) -> bool {
        self.job.tool.server_measures() && self.ready.exact
    }

    async fn until_end(
        &mut self,
        released: oneshot::Receiver<io::Result<Release>>,
        events: &mpsc::UnboundedSender<Event>,
    ) -> End {
        let release = tokio::select! {
            released = released => match released {
                Ok(Ok(release)) => release,
                Ok(Err(error)) => return End::NotReleased(error),
                Err(_) => return End::Abort,
            },
            exit = self.pair.client.process.exit() => return End::Exit(Side::Client, exit),
            exit = self.pair.server.process.exit() => return End::Exit(Side::Server, exit),
        };
        self.release = Some(release);
        // Nobody need listen.
        let _ = events.send(Event::Released {
            flow: self.job.flow,
            release,
        });
        let deadline = release.at.after(self.job.deadline);
        tokio::select! {
            end = self.until_exit() => end,
            () = sleep(deadline.since(MonotonicTime::now()).to_duration()) => End::Deadline,
        }
    }

    /// Passes on what the two sides say until the client ends, or the server with an error.
    async fn until_exit(&mut self) -> End {
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
                exit = client.process.exit() => return End::Exit(Side::Client, exit),
                exit = server.process.exit(), if server_runs => {
                    if exit != Exit::Code(0) && self.closing.began.is_none() {
                        return End::Exit(Side::Server, exit);
                    }
                    server_runs = false;
                }
            }
        }
    }

    async fn client_said(&mut self, bytes: &[u8]) {
        let now = MonotonicTime::now();
        let closing = &mut self.closing;
        closing.began.get_or_insert(now);
        closing.bytes.extend_from_slice(bytes);
        // A side that listens no more ends, and that is what counts.
        if !(self.job.tool.server_measures() && self.ready.exact) {
            let _ = self.pair.server.line.say(bytes).await;
        } else if closing.bytes.len() >= KEYS_LEN && !closing.answered {
            closing.answered = true;
            let farewell = [&self.ready.held, FAREWELL].concat();
            let _ = self.pair.client.line.say(&farewell).await;
        }
    }

    fn row(self, end: End, client: Output, server: &Output) -> FlowOutcome {
        let gate_interval = match (self.release, self.closing.began) {
            (Some(release), Some(began)) if release.exact => Some(began.since(release.at)),
            _ => None,
        };
        let (status, bandwidth) = match end {
            End::Exit(Side::Client, Exit::Code(0)) if self.release.is_some() => {
                match self.finished(&client.stdout, gate_interval) {
                    Ok((status, bandwidth)) => (status, Some(bandwidth)),
                    Err(error) => (Status::Unparsable { error }, None),
                }
            }
            End::Exit(Side::Client, exit) => (Status::failed(Side::Client, exit, &client), None),
            End::Exit(Side::Server, exit) => (Status::failed(Side::Server, exit, server), None),
            End::Deadline => {
                let after = self.job.deadline;
                (Status::TimedOut { after }, None)
            }
            End::Abort => (Status::Aborted, None),
            End::NotReleased(error) => (
                Status::NotReleased {
                    reason: error.to_string(),
                },
                None,
            ),
        };
        FlowOutcome {
            flow: self.job.flow,
            status,
            release: self.release,
            client_qp: Some(self.ready.client_qp),
            server_qp: Some(self.ready.server_qp),
            bandwidth,
            gate_interval,
            stdout_tail: client.stdout,
        }
    }

    fn finished(
        &self,
        stdout: &str,
        gate_interval: Option<Nanos>,
    ) -> Result<(Status, Bandwidth), ReportError> {
        let printed = report::parse(stdout)?;
        let exchanged = match self.ready.exact {
            true => report::exchanged(&self.closing.bytes, &self.job),
            false => None,
        };
        let fct = report::fct(self.job.total_bytes(), printed, exchanged, gate_interval)?;
        Ok((Status::Finished(fct), exchanged.unwrap_or(printed)))
    }
}

/// What a server says when it has nothing more to say.
const FAREWELL: &[u8] = b"done\0";
