//! Perftest session: all flows of one run.

use std::collections::{BTreeMap, BTreeSet};

use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use super::{
    cpu::StopListener, error::SessionError, flow::ReadyFlow, options::Options, pair::PairStarter,
    trigger::StartTrigger,
};
use crate::contract::{Event, FlowJob, FlowOutcome, JobError, MonotonicTime, emit};

/// Flows whose processes are connected and waiting for their start triggers. Dropping the session kills every
/// process.
#[derive(Debug)]
pub struct Session {
    slots: Vec<Slot>,
    events: mpsc::UnboundedSender<Event>,
    abort: watch::Sender<bool>,
    /// Starter of the processes; dropping it kills every process.
    starter: PairStarter,
    stops: StopListener,
}

/// Handle for ending a running session; see [`Session::aborter`].
#[derive(Clone, Debug)]
pub struct Aborter(watch::Sender<bool>);

/// Flow of a session, ready or already ended.
#[derive(Debug)]
enum Slot {
    Ready(Box<ReadyFlow>),
    Ended(Box<FlowOutcome>),
}

impl Session {
    /// Starts and connects the processes of all flows, one flow after the other, because a device numbers its queue
    /// pairs in order of creation, and switches hash these numbers.
    ///
    /// If a flow does not become ready, its outcome is recorded and the other flows continue.
    ///
    /// # Errors
    /// A job cannot be run; no process was started in this case.
    pub async fn prepare(
        jobs: Vec<FlowJob>,
        options: &Options,
        events: mpsc::UnboundedSender<Event>,
    ) -> Result<Self, SessionError> {
        check(&jobs)?;
        let stops = StopListener::start().map_err(|source| SessionError::Thread { source })?;
        let starter = PairStarter::new(&jobs, options)?;
        let mut slots = Vec::with_capacity(jobs.len());
        for job in jobs {
            let slot = match starter.make_ready(&job).await {
                Ok((pair, ready)) => {
                    let event = Event::Ready {
                        flow: job.flow,
                        client_qp: ready.client_qp,
                        server_qp: ready.server_qp,
                    };
                    emit(&events, event);
                    Slot::Ready(Box::new(ReadyFlow::new(job, pair, ready, &stops)))
                }
                Err(status) => {
                    let row = FlowOutcome::without_report(job.flow, status);
                    emit(&events, Event::Ended(row.clone()));
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

    /// Returns a handle for ending the session while it runs.
    #[must_use]
    pub fn aborter(&self) -> Aborter {
        Aborter(self.abort.clone())
    }

    /// Starts each flow at its scheduled start, counted from `t0`, and waits for all flows. Returns the outcomes in the
    /// order of the jobs.
    ///
    /// # Errors
    /// The kernel refuses to create the start trigger's thread; no flow was started in this case.
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
                Slot::Ready(mut flow) => {
                    let (sender, started) = oneshot::channel();
                    let entry = flow.schedule(t0, sender);
                    schedule.push(entry.map_err(|source| SessionError::Thread { source })?);
                    let events = events.clone();
                    let abort = abort.subscribe();
                    flows.spawn(async move {
                        let row = flow.run(started, abort, &events).await;
                        emit(&events, Event::Ended(row.clone()));
                        (index, row)
                    });
                }
            }
        }
        let trigger =
            StartTrigger::start(schedule).map_err(|source| SessionError::Thread { source })?;
        while let Some(ended) = flows.join_next().await {
            match ended {
                Ok((index, row)) => drop(rows.insert(index, row)),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        drop((trigger, starter, stops));
        Ok(rows.into_values().collect())
    }

    /// Ends a session without running it; returns its outcomes.
    pub async fn abort(self) -> Vec<FlowOutcome> {
        let mut rows = Vec::with_capacity(self.slots.len());
        for slot in self.slots {
            rows.push(match slot {
                Slot::Ended(row) => *row,
                Slot::Ready(flow) => {
                    let row = flow.abort().await;
                    emit(&self.events, Event::Ended(row.clone()));
                    row
                }
            });
        }
        rows
    }
}

impl Aborter {
    /// Ends every flow that has not ended; [`Session::run`] then returns their outcomes.
    pub fn abort(&self) {
        self.0.send_replace(true);
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
