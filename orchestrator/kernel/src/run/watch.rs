//! Watchdog for CPUs and clocks while flows run on the real clock.
//!
//! A thread sleeps for a fixed interval throughout the run and records how late each wake-up is. Anything that delays
//! the thread also delays the lab's queues and links. Once a second, the thread reads how the CPUs have spent their
//! time.

use std::{
    fs, io,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lab_records::{CpuWatch, Watch, trust::bounds::WATCHDOG_LATE};
use lab_units::Nanos;
use procfs::{CpuTime, CurrentSI, KernelStats};

use crate::clocks::Clocks;

/// Running watchdog; its thread ends when this value is dropped.
pub(super) struct Watchdog {
    stop: Sender<()>,
    thread: JoinHandle<Watch>,
}

impl Watchdog {
    pub fn start() -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let watch = move || {
            let mut watcher = Watcher::new();
            loop {
                let asked = Instant::now() + INTERVAL;
                let left = asked.saturating_duration_since(Instant::now());
                if stopped.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                    return watcher.finish();
                }
                watcher.wake(asked.elapsed());
            }
        };
        let thread = thread::Builder::new()
            .name("watchdog".into())
            .spawn(watch)?;
        Ok(Self { stop, thread })
    }

    /// Stops the watchdog and returns its figures.
    pub fn stop(self) -> Watch {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Adds a repetition's figures to the figures of earlier repetitions: counts are summed, and the largest lateness and
/// the largest shares of CPU time are kept.
pub(super) fn add(sum: &mut Option<Watch>, watch: Watch) {
    let Some(sum) = sum else {
        *sum = Some(watch);
        return;
    };
    sum.wakeups += watch.wakeups;
    sum.late_wakeups += watch.late_wakeups;
    sum.latest_ns = sum.latest_ns.max(watch.latest_ns);
    sum.clock_jumps_ns = sum.clock_jumps_ns.saturating_add(watch.clock_jumps_ns);
    sum.cpu = match (sum.cpu, watch.cpu) {
        (Some(a), Some(b)) => Some(worse(a, b)),
        (a, b) => a.or(b),
    };
}

fn worse(a: CpuWatch, b: CpuWatch) -> CpuWatch {
    CpuWatch {
        busy: a.busy.max(b.busy),
        steal: a.steal.max(b.steal),
        softirq: a.softirq.max(b.softirq),
        waiting: a.waiting.max(b.waiting),
    }
}

/// Figures that the watchdog's thread has collected so far.
struct Watcher {
    watch: Watch,
    /// Readings of the clocks at the previous wake-up.
    clocks: Option<Clocks>,
    began: Instant,
    waited: Option<Nanos>,
    /// Start of the current second, and each CPU's times since boot at that start.
    second: (Instant, Vec<Spent>),
    cpu: Option<CpuWatch>,
}

impl Watcher {
    fn new() -> Self {
        Self {
            watch: Watch::default(),
            clocks: Clocks::read().ok(),
            began: Instant::now(),
            waited: waited(),
            second: (Instant::now(), spent()),
            cpu: None,
        }
    }

    /// Records a wake-up that came `late` after its scheduled time.
    fn wake(&mut self, late: Duration) {
        let late = Nanos::new(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
        self.watch.wakeups += 1;
        self.watch.late_wakeups += u64::from(late > WATCHDOG_LATE);
        self.watch.latest_ns = self.watch.latest_ns.max(late);
        let clocks = Clocks::read().ok();
        if let (Some(before), Some(now)) = (&self.clocks, &clocks) {
            let jump = now.jump_since(before);
            if jump > MIN_JUMP {
                let jumps = self.watch.clock_jumps_ns;
                self.watch.clock_jumps_ns = jumps.saturating_add(Nanos::new(jump));
            }
        }
        self.clocks = clocks;
        if self.second.0.elapsed() >= SECOND {
            self.end_second();
        }
    }

    /// Ends the current second: records how the CPUs have spent their time since its start.
    fn end_second(&mut self) {
        let now = spent();
        let shares = shares(&self.second.1, &now);
        self.second = (Instant::now(), now);
        self.cpu = match (self.cpu, shares) {
            (Some(a), Some(b)) => Some(worse(a, b)),
            (a, b) => a.or(b),
        };
    }

    fn finish(mut self) -> Watch {
        if self.cpu.is_none() {
            self.end_second();
        }
        if let (Some(cpu), Some(before), Some(after)) = (&mut self.cpu, self.waited, waited()) {
            let cpus = u128::try_from(self.second.1.len().max(1)).unwrap_or(1);
            let span = (self.began.elapsed().as_nanos() * cpus).max(1);
            cpu.waiting = ratio(after.saturating_sub(before).get().into(), span);
        }
        self.watch.cpu = self.cpu;
        self.watch
    }
}

/// Time that one CPU has spent in each state since boot, in ticks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Spent {
    all: u64,
    idle: u64,
    steal: u64,
    softirq: u64,
}

impl From<&CpuTime> for Spent {
    fn from(time: &CpuTime) -> Self {
        let idle = time.idle + time.iowait.unwrap_or(0);
        let steal = time.steal.unwrap_or(0);
        let softirq = time.softirq.unwrap_or(0);
        let used = time.user + time.nice + time.system + time.irq.unwrap_or(0);
        Self {
            all: idle + used + steal + softirq,
            idle,
            steal,
            softirq,
        }
    }
}

/// Returns the times of each CPU since boot; empty if the kernel does not report them.
fn spent() -> Vec<Spent> {
    let stats = KernelStats::current();
    stats.map_or_else(
        |_| Vec::new(),
        |it| it.cpu_time.iter().map(Spent::from).collect(),
    )
}

/// Returns shares of the CPU time between two readings: busy and steal over all CPUs, softirq of the CPU with the
/// largest share; `waiting` is 0. Returns `None` if no time has passed.
fn shares(before: &[Spent], after: &[Spent]) -> Option<CpuWatch> {
    let mut sum = Spent::default();
    let mut softirq = 0.0;
    for (before, after) in before.iter().zip(after) {
        let all = after.all.saturating_sub(before.all);
        let in_softirqs = after.softirq.saturating_sub(before.softirq);
        sum.all += all;
        sum.idle += after.idle.saturating_sub(before.idle);
        sum.steal += after.steal.saturating_sub(before.steal);
        softirq = f64::max(softirq, ratio(in_softirqs.into(), all.max(1).into()));
    }
    let of_all = |part: u64| ratio(part.into(), sum.all.into());
    (sum.all > 0).then(|| CpuWatch {
        busy: 1.0 - of_all(sum.idle),
        steal: of_all(sum.steal),
        softirq,
        waiting: 0.0,
    })
}

/// Returns the time that tasks have waited for a CPU since boot, summed over all CPUs; `None` if the kernel does not
/// report it.
fn waited() -> Option<Nanos> {
    waited_by(&fs::read_to_string("/proc/schedstat").ok()?)
}

/// Sums the eighth number of each CPU's line in `/proc/schedstat`, which is the time that tasks spent waiting to run.
///
/// <https://docs.kernel.org/scheduler/sched-stats.html>
fn waited_by(schedstat: &str) -> Option<Nanos> {
    let lines = schedstat.lines().filter(|line| line.starts_with("cpu"));
    let waited = lines.map(|line| line.split_whitespace().nth(8)?.parse::<u64>().ok());
    waited.sum::<Option<u64>>().map(Nanos::new)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share needs no more digits than a float has"
)]
fn ratio(part: u128, whole: u128) -> f64 {
    part as f64 / whole as f64
}

/// Interval between two wake-ups of the watchdog.
const INTERVAL: Duration = Duration::from_millis(10);

const SECOND: Duration = Duration::from_secs(1);

/// Minimum jump of the wall clock that is counted, in ns; corrections by NTP between two wake-ups are smaller.
const MIN_JUMP: u64 = 50_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(all: u64, idle: u64, steal: u64, softirq: u64) -> Spent {
        Spent {
            all,
            idle,
            steal,
            softirq,
        }
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let before = [spent(100, 50, 0, 0), spent(100, 100, 0, 0)];
        let after = [spent(200, 50, 10, 80), spent(200, 190, 0, 0)];
        let shares = shares(&before, &after).unwrap();
        assert!((shares.busy - 0.55).abs() < 1e-9, "{shares:?}");
        assert!((shares.steal - 0.05).abs() < 1e-9, "{shares:?}");
        assert!((shares.softirq - 0.8).abs() < 1e-9, "{shares:?}");
        assert_eq!(super::shares(&before, &before), None);
    }

    #[test]
    fn waits_are_added_over_the_cpus() {
        let text = "version 15\ntimestamp 4\ncpu0 0 0 0 0 0 0 10 700 3\ndomain0 3 1\ncpu1 0 0 0 0 0 0 10 50 3\n";
        assert_eq!(waited_by(text), Some(Nanos::new(750)));
        assert_eq!(waited_by("cpu0 1 2\n"), None);
    }

    #[test]
    fn late_wake_ups_are_counted_and_the_latest_is_kept() {
        let mut watcher = Watcher::new();
        for millis in [0, 1, 5, 3] {
            watcher.wake(Duration::from_millis(millis));
        }
        let watch = watcher.finish();
        assert_eq!((watch.wakeups, watch.late_wakeups), (4, 2));
        assert_eq!(watch.latest_ns, Nanos::from_millis(5));
    }

    #[test]
    fn a_watch_ends_when_it_is_stopped() {
        let mut watched = 3 * INTERVAL;
        loop {
            let watchdog = Watchdog::start().unwrap();
            thread::sleep(watched);
            if watchdog.stop().wakeups > 0 {
                break;
            }
            // On a busy machine, the watchdog's thread may not have run yet.
            watched *= 2;
            assert!(watched < 60 * SECOND, "it never woke up");
        }
    }
}
