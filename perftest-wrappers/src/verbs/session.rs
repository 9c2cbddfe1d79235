//! Verbs session: all flows of one run.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, mpsc},
    thread,
};

use lab_units::Bytes;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use super::{
    error::VerbsError,
    factory::{Factory, Made, Order},
    runner::{MadePairs, Runner, Waker},
};
use crate::contract::{Event, FlowJob, FlowOutcome, MonotonicTime, job, limits};

/// Flows whose devices are open; the first flows already have connected queue pairs. Dropping the session destroys
/// every queue pair.
#[derive(Debug)]
pub struct Session {
    jobs: Arc<[FlowJob]>,
    factory: Factory,
    ready: VecDeque<Made>,
    events: UnboundedSender<Event>,
    waker: Arc<Waker>,
}

/// Handle for ending a running session; see [`Session::aborter`].
#[derive(Clone, Debug)]
pub struct Aborter(Arc<Waker>);

impl Aborter {
    /// Ends every flow that has not ended; [`Session::run`] then returns their outcomes.
    pub fn abort(&self) {
        self.0.abort();
    }
}

impl Session {
    /// Opens the devices of all hosts, and connects the queue pairs of the first flows.
    ///
    /// # Errors
    /// The generator cannot run a job, or a device cannot be opened.
    pub async fn prepare(
        mut jobs: Vec<FlowJob>,
        events: UnboundedSender<Event>,
    ) -> Result<Self, VerbsError> {
        check(&jobs)?;
        // The sort is stable: flows with the same instant start in the given order.
        jobs.sort_by_key(|job| job.start);
        let jobs: Arc<[FlowJob]> = jobs.into();
        let for_factory = Arc::clone(&jobs);
        let opened = tokio::task::spawn_blocking(move || {
            let factory = Factory::open(for_factory)?;
            let first = jobs.len().min(AHEAD);
            let ready: VecDeque<Made> = (0..first).map(|index| factory.make(index)).collect();
            for (job, made) in jobs.iter().zip(&ready) {
                announce(&events, job, made);
            }
            let waker = Waker::new().map_err(|source| VerbsError::Thread { source })?;
            Ok(Self {
                jobs,
                factory,
                ready,
                events,
                waker: Arc::new(waker),
            })
        });
        match opened.await {
            Ok(session) => session,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Returns a handle for ending the session while it runs.
    #[must_use]
    pub fn aborter(&self) -> Aborter {
        Aborter(Arc::clone(&self.waker))
    }

    /// Starts each flow at its scheduled time after `t0` and waits for all flows. Returns the outcomes in the order of
    /// the scheduled starts.
    ///
    /// # Errors
    /// The kernel refuses to create a thread or timer, or a device fails as a whole.
    pub async fn run(self, t0: MonotonicTime) -> Result<Vec<FlowOutcome>, VerbsError> {
        let Self {
            jobs,
            factory,
            ready,
            events,
            waker,
        } = self;
        let (orders, received) = mpsc::channel();
        let made = Arc::new(MadePairs::default());
        let runner = Runner {
            jobs: Arc::clone(&jobs),
            devices: factory.devices().cloned().collect(),
            start: t0,
            waker: Arc::clone(&waker),
            orders,
            made: Arc::clone(&made),
            events: events.clone(),
            next: 0,
            running: BTreeMap::new(),
            deadlines: VecDeque::new(),
            outcomes: BTreeMap::new(),
            ready,
        };
        let refused = |source| VerbsError::Thread { source };
        let maker = thread::Builder::new()
            .name("verbs-pairs".to_owned())
            .spawn(move || make_ahead(&factory, &jobs, &received, &made, &events, &waker))
            .map_err(refused)?;
        let (ended, outcomes) = oneshot::channel();
        let flows = thread::Builder::new().name("verbs-flows".to_owned());
        flows
            .spawn(move || {
                // With this priority, no flow starts late because another thread computes.
                if let Err(error) = crate::priority::run_first() {
                    tracing::debug!(
                        %error,
                        "cannot set real-time priority of the thread that starts flows; flows may start late"
                    );
                }
                // The call fails only if the session was dropped.
                let _ = ended.send(runner.run());
            })
            .map_err(refused)?;
        let outcomes = outcomes.await.map_err(|_| VerbsError::Thread {
            source: std::io::Error::other("the thread that runs the flows has panicked"),
        })?;
        // When the runner ends, its sender of orders is dropped. The factory's thread then ends too, after it has
        // destroyed the remaining pairs.
        let joined = tokio::task::spawn_blocking(move || maker.join()).await;
        if let Ok(Err(panic)) = joined {
            std::panic::resume_unwind(panic);
        }
        outcomes
    }
}

/// Carries out `orders`: creates queue pairs, each announced by [`Event::Ready`] before the runner gets it, and
/// destroys them.
fn make_ahead(
    factory: &Factory,
    jobs: &[FlowJob],
    orders: &mpsc::Receiver<Order>,
    made: &MadePairs,
    events: &UnboundedSender<Event>,
    waker: &Waker,
) {
    let mut next = jobs.len().min(AHEAD);
    for order in orders {
        match order {
            Order::Make if next < jobs.len() => {
                let pair = factory.make(next);
                announce(events, &jobs[next], &pair);
                next += 1;
                made.put(pair);
                waker.wake();
            }
            Order::Make => {}
            Order::Destroy(pair) => drop(pair),
        }
    }
}

fn announce(events: &UnboundedSender<Event>, job: &FlowJob, made: &Made) {
    if let Ok(pair) = made {
        let (client_qp, server_qp) = pair.addresses();
        // The call fails if nobody listens to events, because outcomes are also returned.
        let _ = events.send(Event::Ready {
            flow: job.flow,
            client_qp,
            server_qp,
        });
    }
}

fn check(jobs: &[FlowJob]) -> Result<(), VerbsError> {
    let mut seen = BTreeSet::new();
    for job in jobs {
        let problem = |problem: String| VerbsError::Job {
            flow: job.flow,
            problem,
        };
        let size = job.message_bytes;
        if size == Bytes::ZERO || size > limits::MAX_MESSAGE {
            let max = limits::MAX_MESSAGE;
            return Err(problem(format!(
                "a message has {size}; it must have 1 B to {max}"
            )));
        }
        if !(1..=MAX_MESSAGES).contains(&job.messages) {
            let count = job.messages;
            return Err(problem(format!(
                "the flow has {count} messages; it must have 1 to {MAX_MESSAGES}"
            )));
        }
        if !job::PATH_MTUS.contains(&job.path_mtu) {
            return Err(problem(format!("path MTU {}", job.path_mtu)));
        }
        if !seen.insert(job.flow) {
            return Err(problem("the flow occurs twice in the schedule".to_owned()));
        }
    }
    Ok(())
}

/// Number of flows whose queue pairs are created ahead of their starts. Creating a pair takes about one millisecond, so
/// a burst of this many starts needs no waiting.
pub const AHEAD: usize = 256;

/// Maximum number of messages per flow: the capacity of an rxe send queue minus a margin. 4,096 messages of 8 MiB are
/// 32 GiB.
const MAX_MESSAGES: u32 = 4_096;
