//! All flows of one run.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use crate::{
    clock::MonotonicTime,
    error::{JobError, SessionError},
    flow::ReadyFlow,
    job::FlowJob,
    outcome::{Event, FlowOutcome, tell},
    release::Releaser,
    start::Starter,
    stops::Stops,
};

/// What a session is prepared with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory perftest is in; `None` is `PATH`.
    pub tools: Option<PathBuf>,
    /// How long the two processes of one flow may take until they are ready; `None` is for ever,
    /// which still ends when one of them ends or says something unexpected.
    ///
    /// In a guest whose clock jumps over idle there must be no limit: while a file is read from the
    /// host the clock may jump by minutes.
    pub ready_within: Option<Duration>,
}

/// Flows whose processes are started, connected, and wait to be let go.
///
/// Dropping it kills every process of it.
#[derive(Debug)]
pub struct Session {
    slots: Vec<Slot>,
    events: mpsc::UnboundedSender<Event>,
    abort: watch::Sender<bool>,
    /// Its end is the end of every process.
    starter: Starter,
    stops: Stops,
}

/// Ends a running session from outside of it; see [`Session::aborter`].
#[derive(Clone, Debug)]
pub struct Aborter(watch::Sender<bool>);

/// A flow's place in a session.
#[derive(Debug)]
enum Slot {
    Ready(Box<ReadyFlow>),
    Ended(Box<FlowOutcome>),
}

impl Session {
    /// Starts and connects the processes of every flow, one flow after the other: a device numbers
    /// its queue pairs as they are made, and a switch hashes those numbers.
    ///
    /// A flow that cannot be made ready has its row already, and the others go on.
    ///
    /// # Errors
    /// When a job cannot be run whatever happens; then nothing was started.
    pub async fn prepare(
        jobs: Vec<FlowJob>,
        options: &Options,
        events: mpsc::UnboundedSender<Event>,
    ) -> Result<Self, SessionError> {
        check(&jobs)?;
        let stops = Stops::listen().map_err(|source| SessionError::Thread { source })?;
        let starter = Starter::new(&jobs, options)?;
        let mut slots = Vec::with_capacity(jobs.len());
        for job in jobs {
            let slot = match starter.make_ready(&job).await {
                Ok((pair, ready)) => {
                    let event = Event::Ready {
                        flow: job.flow,
                        client_qp: ready.client_qp,
                        server_qp: ready.server_qp,
                    };
                    tell(&events, event);
                    Slot::Ready(Box::new(ReadyFlow::new(job, pair, ready, &stops)))
                }
                Err(status) => {
                    let row = FlowOutcome::not_started(job.flow, status);
                    tell(&events, Event::Ended(row.clone()));
                    Slot::Ended(Box::new(row))
                }
            };
            slots.push(slot);
        }
        Ok(Self {
            slots,
            events,
            abort: watch::Sender::new(false),
            starter,
            stops,
        })
    }

    /// How many flows are ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        let is_ready = |slot: &&Slot| matches!(slot, Slot::Ready(_));
        self.slots.iter().filter(is_ready).count()
    }

    /// A handle that ends the session while it runs.
    #[must_use]
    pub fn aborter(&self) -> Aborter {
        Aborter(self.abort.clone())
    }

    /// Lets each flow go at its start after `t0` and waits for all of them; the rows are in the
    /// order of the jobs.
    ///
    /// # Errors
    /// When the kernel refuses the releasing thread; then no flow was let go.
    pub async fn run(self, t0: MonotonicTime) -> Result<Vec<FlowOutcome>, SessionError> {
        let Self {
            slots,
            events,
            abort,
            starter,
            stops,
        } = self;
        let mut rows = BTreeMap::new();
        let mut schedule = Vec::new();
        let mut flows = JoinSet::new();
        for (index, slot) in slots.into_iter().enumerate() {
            match slot {
                Slot::Ended(row) => drop(rows.insert(index, *row)),
                Slot::Ready(flow) => {
                    let (released, release) = oneshot::channel();
                    let due = flow.due(t0, released);
                    schedule.push(due.map_err(|source| SessionError::Thread { source })?);
                    let (events, abort) = (events.clone(), abort.subscribe());
                    flows.spawn(async move {
                        let row = flow.run(release, abort, &events).await;
                        tell(&events, Event::Ended(row.clone()));
                        (index, row)
                    });
                }
            }
        }
        let releaser =
            Releaser::start(schedule).map_err(|source| SessionError::Thread { source })?;
        while let Some(ended) = flows.join_next().await {
            match ended {
                Ok((index, row)) => drop(rows.insert(index, row)),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        drop((releaser, starter, stops));
        Ok(rows.into_values().collect())
    }

    /// Ends a session that was not run.
    pub async fn abort(self) -> Vec<FlowOutcome> {
        let mut rows = Vec::with_capacity(self.slots.len());
        for slot in self.slots {
            rows.push(match slot {
                Slot::Ended(row) => *row,
                Slot::Ready(flow) => {
                    let row = flow.abort().await;
                    tell(&self.events, Event::Ended(row.clone()));
                    row
                }
            });
        }
        rows
    }
}

impl Aborter {
    /// Ends every flow that has not ended; [`Session::run`] then returns their rows.
    pub fn abort(&self) {
        self.0.send_replace(true);
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tools: None,
            ready_within: Some(DEFAULT_READY_WITHIN),
        }
    }
}

fn check(jobs: &[FlowJob]) -> Result<(), JobError> {
    let mut seen = BTreeSet::new();
    for job in jobs {
        job.check()?;
        if !seen.insert(job.flow) {
            return Err(JobError::Duplicate { flow: job.flow });
        }
    }
    Ok(())
}

/// Starting two processes takes some 50 ms; an overloaded machine may take much longer.
const DEFAULT_READY_WITHIN: Duration = Duration::from_secs(60);
