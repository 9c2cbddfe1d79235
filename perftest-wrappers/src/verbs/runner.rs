//! Runner: the thread that starts flows at their scheduled instants and processes their completions.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    os::fd::AsFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use lab_units::Nanos;
use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        eventfd::{EfdFlags, EventFd},
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    device::{Completion, Device},
    error::{VerbsError, status_hint},
    factory::{Made, Order},
    pair::{ConnectedPair, identity},
    sys,
};
use crate::contract::{
    Event, Fct, FctSource, FlowJob, FlowOutcome, FlowStart, MonotonicTime, Side, Status,
};

/// Handle for waking a runner from another thread.
#[derive(Debug)]
pub(crate) struct Waker {
    fd: EventFd,
    is_aborted: AtomicBool,
}

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            fd: EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?,
            is_aborted: AtomicBool::new(false),
        })
    }

    /// Wakes the runner's thread from its sleep.
    pub(crate) fn wake(&self) {
        // The write fails only if the counter is full, and then the runner is about to wake anyway.
        let _ = self.fd.write(1);
    }

    /// Makes the runner end all flows.
    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, Ordering::Release);
        self.wake();
    }
}

/// Queue pairs that the factory has created and the runner has not taken yet.
///
/// A mutex, not a channel: the runner has real-time priority, and a channel's receiver spins while a sender is inside
/// `send`. The spinning runner would keep the factory's thread from leaving `send` until the kernel throttles real-time
/// threads, so that two seconds would pass without a start or completion (priority inversion).
#[derive(Default)]
pub(crate) struct MadePairs(Mutex<Vec<Made>>);

impl MadePairs {
    pub(crate) fn put(&self, made: Made) {
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.push(made);
    }

    /// Removes and returns all pairs, in the order of the flows.
    fn take(&self) -> Vec<Made> {
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *pairs)
    }
}

/// State of a running session's flows.
pub(crate) struct Runner {
    pub(crate) jobs: Arc<[FlowJob]>,
    pub(crate) devices: Vec<Arc<Device>>,
    pub(crate) start: MonotonicTime,
    pub(crate) waker: Arc<Waker>,
    pub(crate) orders: mpsc::Sender<Order>,
    pub(crate) made: Arc<MadePairs>,
    pub(crate) events: UnboundedSender<Event>,
    /// Queue pairs of the next flows, in the order of the flows.
    pub(crate) ready: VecDeque<Made>,
    /// Index of the next flow to start.
    pub(crate) next: usize,
    pub(crate) running: BTreeMap<usize, Running>,
    /// Deadlines of started flows, in the order of their starts.
    pub(crate) deadlines: VecDeque<(MonotonicTime, usize)>,
    pub(crate) outcomes: BTreeMap<usize, FlowOutcome>,
}

/// Flow that has been started.
pub(crate) struct Running {
    pair: Box<ConnectedPair>,
    start: FlowStart,
    is_delivered: bool,
}

impl Runner {
    /// Runs all flows; returns their outcomes in the order of the flows.
    ///
    /// # Errors
    /// The kernel refuses to create a timer, or a device fails as a whole.
    pub(crate) fn run(mut self) -> Result<Vec<FlowOutcome>, VerbsError> {
        let thread = |source: Errno| VerbsError::Thread {
            source: source.into(),
        };
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC).map_err(thread)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(thread)?;
        let readable = |token| EpollEvent::new(EpollFlags::EPOLLIN, token);
        epoll.add(timer.as_fd(), readable(TIMER)).map_err(thread)?;
        epoll
            .add(self.waker.fd.as_fd(), readable(WAKER))
            .map_err(thread)?;
        for (token, device) in (FIRST_DEVICE..).zip(&self.devices) {
            epoll
                .add(device.events(), readable(token))
                .map_err(thread)?;
        }
        let mut woken = [EpollEvent::empty(); MAX_EVENTS];
        let mut completions = Vec::new();
        loop {
            self.ready.extend(self.made.take());
            if self.waker.is_aborted.load(Ordering::Acquire) {
                self.abort();
            }
            let now = MonotonicTime::now();
            self.start_due(now);
            self.expire(now);
            if self.outcomes.len() == self.jobs.len() {
                return Ok(self.outcomes.into_values().collect());
            }
            arm(&timer, self.next_instant()).map_err(thread)?;
            let count = match epoll.wait(&mut woken, EpollTimeout::NONE) {
                Err(Errno::EINTR) => 0,
                other => other.map_err(thread)?,
            };
            for event in &woken[..count] {
                match event.data() {
                    TIMER => drain(&timer),
                    WAKER => drop(self.waker.fd.read()),
                    token => {
                        let index = usize::try_from(token - FIRST_DEVICE).unwrap_or(usize::MAX);
                        let device = Arc::clone(&self.devices[index]);
                        device.take_sent(&mut completions)?;
                        self.complete(&mut completions)?;
                    }
                }
            }
        }
    }

    /// Returns the next instant at which there is work: the next flow start if that flow's queue pairs exist, or the
    /// next deadline.
    fn next_instant(&self) -> Option<MonotonicTime> {
        let start = (!self.ready.is_empty()).then(|| self.scheduled(self.next));
        let deadline = self.deadlines.front().map(|(at, _)| *at);
        start.into_iter().chain(deadline).min()
    }

    fn scheduled(&self, index: usize) -> MonotonicTime {
        self.start.after(self.jobs[index].start)
    }

    /// Starts every flow that is due and whose queue pairs exist.
    fn start_due(&mut self, now: MonotonicTime) {
        while !self.ready.is_empty() && self.scheduled(self.next) <= now {
            let Some(made) = self.ready.pop_front() else {
                return;
            };
            let index = self.next;
            self.next += 1;
            self.order(Order::Make);
            let pair = match made {
                Ok(pair) => pair,
                Err(error) => {
                    let reason = error.to_string();
                    self.end(index, None, Status::NotStarted { reason });
                    continue;
                }
            };
            let job = &self.jobs[index];
            let at = MonotonicTime::now();
            let start = FlowStart {
                at,
                lateness: at.since(self.scheduled(index)),
                exact: true,
            };
            let posted = pair.post(job, identity(index));
            let running = Running {
                pair,
                start,
                is_delivered: false,
            };
            if let Err(error) = posted {
                let reason = error.to_string();
                self.end(index, Some(running), Status::NotStarted { reason });
                continue;
            }
            let flow = job.flow;
            self.deadlines.push_back((at.after(job.deadline), index));
            self.running.insert(index, running);
            self.emit(Event::Started { flow, start });
        }
    }

    /// Ends the flows whose last write has completed, with or without success.
    fn complete(&mut self, completions: &mut Vec<Completion>) -> Result<(), VerbsError> {
        let now = MonotonicTime::now();
        for completion in completions.drain(..) {
            let Ok(index) = usize::try_from(completion.id) else {
                continue;
            };
            // A failed pair reports a completion for each of its requests; the first of them has already ended the
            // flow.
            let Some(running) = self.running.get(&index) else {
                continue;
            };
            let receiver = Arc::clone(running.pair.receiver());
            self.take_deliveries(&receiver)?;
            let Some(running) = self.running.remove(&index) else {
                continue;
            };
            let status = self.status(completion, &running, now);
            self.end(index, Some(running), status);
        }
        Ok(())
    }

    /// Marks flows as delivered if their immediate data has arrived at `device`.
    fn take_deliveries(&mut self, device: &Device) -> Result<(), VerbsError> {
        let mut received = Vec::new();
        device.take_received(&mut received)?;
        for delivery in received {
            let index = usize::try_from(delivery.id).unwrap_or(usize::MAX);
            if let Some(running) = self.running.get_mut(&index) {
                running.is_delivered |= delivery.status == sys::WC_SUCCESS;
            }
        }
        Ok(())
    }

    fn status(&self, completion: Completion, running: &Running, now: MonotonicTime) -> Status {
        let error = match completion.status {
            sys::WC_SUCCESS if running.is_delivered => {
                return Status::Finished(Fct {
                    time: now.since(running.start.at),
                    resolution: Nanos::new(1),
                    source: FctSource::Completion,
                });
            }
            sys::WC_SUCCESS => {
                "the last write was acknowledged, but its immediate data did not arrive".to_owned()
            }
            status => {
                let verbs = self.devices[0].verbs();
                format!(
                    "{} (hint: {})",
                    verbs.status_words(status),
                    status_hint(status)
                )
            }
        };
        Status::WorkRequest {
            side: Side::Client,
            error,
        }
    }

    /// Ends the flows whose deadline has passed.
    fn expire(&mut self, now: MonotonicTime) {
        while let Some(&(at, index)) = self.deadlines.front() {
            let is_running = self.running.contains_key(&index);
            if is_running && at > now {
                return;
            }
            self.deadlines.pop_front();
            if let Some(running) = self.running.remove(&index) {
                let after = self.jobs[index].deadline;
                self.end(index, Some(running), Status::TimedOut { after });
            }
        }
    }

    /// Ends every flow that has not ended.
    fn abort(&mut self) {
        for (index, running) in std::mem::take(&mut self.running) {
            self.end(index, Some(running), Status::Aborted);
        }
        for index in self.next..self.jobs.len() {
            self.end(index, None, Status::Aborted);
        }
        self.next = self.jobs.len();
        self.ready.clear();
    }

    /// Records the outcome of a flow and requests the destruction of the flow's queue pairs.
    fn end(&mut self, index: usize, running: Option<Running>, status: Status) {
        let addresses = running.as_ref().map(|running| running.pair.addresses());
        let outcome = FlowOutcome {
            start: running.as_ref().map(|running| running.start),
            client_qp: addresses.map(|(client, _)| client),
            server_qp: addresses.map(|(_, server)| server),
            ..FlowOutcome::without_report(self.jobs[index].flow, status)
        };
        if let Some(running) = running {
            if outcome.status.fct().is_none() {
                running.pair.abort();
            }
            self.order(Order::Destroy(running.pair));
        }
        self.emit(Event::Ended(outcome.clone()));
        self.outcomes.insert(index, outcome);
    }

    fn order(&self, order: Order) {
        // The factory's thread receives as long as this sender exists, so the call cannot fail.
        let _ = self.orders.send(order);
    }

    fn emit(&self, event: Event) {
        // The receiver may be gone, because outcomes are also returned.
        let _ = self.events.send(event);
    }
}

/// Sets the timer to an instant, or disarms it if there is none.
fn arm(timer: &TimerFd, at: Option<MonotonicTime>) -> nix::Result<()> {
    match at {
        None => timer.unset(),
        Some(at) => {
            // A timer set to zero would be disarmed; a timer set to the past expires at once.
            let instant = Duration::from_nanos(at.as_nanos().max(1));
            let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
            timer.set(Expiration::OneShot(instant.into()), flags)
        }
    }
}

fn drain(timer: &TimerFd) {
    let mut expirations = [0_u8; 8];
    // The event shows that the timer is readable; the number of expirations does not matter.
    let _ = nix::unistd::read(timer, &mut expirations);
}

const TIMER: u64 = 0;
const WAKER: u64 = 1;
const FIRST_DEVICE: u64 = 2;
const MAX_EVENTS: usize = 64;
