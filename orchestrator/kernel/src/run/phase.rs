//! How a run goes and how it went.

use std::{collections::BTreeMap, io};

use lab_abi::wire::Stats;
use lab_perftest::{MonotonicTime, SessionError};
use lab_records::{GuestCpu, Phase, RecordsError};
use lab_units::{DcId, FlowId, Nanos};
use thiserror::Error;

use super::AgentError;
use crate::{lab::LabErrorKind, lower::FaultError};

/// What a run says while it goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunEvent {
    /// A phase begins.
    Phase {
        /// Its name.
        name: String,
        /// Steps it has.
        steps: u64,
    },
    /// One step of the phase is done.
    Step {
        /// Which.
        text: String,
    },
    /// Something a reader of the results should know.
    Warning {
        /// The sentence.
        text: String,
    },
}

/// Why a run did not get to its end.
#[derive(Debug, Error)]
pub enum RunError {
    /// The user ended it.
    #[error("the run was cancelled")]
    Cancelled,
    /// A switch agent failed.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// All agents ended while flows ran.
    #[error("no switch agent is left")]
    AgentsGone,
    /// perftest could not be run at all.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The lab failed.
    #[error(transparent)]
    Lab(#[from] LabErrorKind),
    /// A fault cannot be applied.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// Rows could not be written.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Rows could not be brought to where they are kept.
    #[error("cannot keep the rows written so far: {0}")]
    Checkpoint(io::Error),
    /// The guest did not come to rest.
    #[error("cannot wait for the moment to start: {0}")]
    Settle(io::Error),
    /// A process could not be written down in the lab's journal.
    #[error("cannot write the lab's journal: {0}")]
    Journal(io::Error),
    /// A flow's end has no RDMA device.
    #[error("host `{host}` has no RDMA device to send from")]
    NoEndpoint {
        /// The host.
        host: String,
    },
    /// A DCI switch has no namespace.
    #[error("switch `{node}` has no namespace")]
    NoNamespace {
        /// The switch.
        node: String,
    },
    /// A flow ended that is not in the schedule.
    #[error("flow {flow} ended, which is not in the schedule")]
    UnknownFlow {
        /// The flow.
        flow: FlowId,
    },
}

/// How a run went.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// What was done and how long it took.
    pub phases: Vec<Phase>,
    /// Flows let go later than [`super::LATE_LAUNCH`].
    pub late_launches: u64,
    /// Times this kernel waited for its host while flows ran.
    pub host_waits: u64,
    /// CPU time while flows ran.
    pub flow_cpu: CpuTime,
    /// Counters of the switches, added up over repetitions.
    pub switches: BTreeMap<DcId, Stats>,
}

impl RunReport {
    pub(super) fn phase(&mut self, name: String, since: MonotonicTime) {
        self.phases.push(Phase {
            name,
            took_ns: MonotonicTime::now().since(since),
        });
    }

    /// An agent counts from its start, so its last word replaces those before it.
    pub(super) fn count(&mut self, dc: DcId, stats: &Stats) {
        self.switches.insert(dc, *stats);
    }

    /// What a reader should know of the switches' part.
    #[must_use]
    pub fn warnings(&self, name: impl Fn(DcId) -> String) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.host_waits > 0 {
            warnings.push(format!(
                "the guest waited for the host {} times while flows ran: on a virtual clock their \
                 times may differ from run to run",
                self.host_waits
            ));
        }
        for (dc, stats) in &self.switches {
            let counts = [
                (
                    stats.not_pinned,
                    "flows were not pinned: the flow table was full",
                ),
                (stats.evicted, "flows were evicted from the flow table"),
                (
                    stats.records_lost,
                    "decisions were not recorded: the ring buffer was full",
                ),
                (
                    stats.no_destination,
                    "packets were dropped: no live candidate",
                ),
            ];
            for (count, text) in counts.into_iter().filter(|(count, _)| *count > 0) {
                warnings.push(format!("{}: {count} {text}", name(*dc)));
            }
        }
        warnings
    }
}

/// CPU time of the whole machine.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CpuTime {
    busy: Nanos,
    idle: Nanos,
}

impl CpuTime {
    /// Since boot.
    #[must_use]
    pub fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self::parse(&text).unwrap_or_default()
    }

    /// From this reading to a later one.
    #[must_use]
    pub const fn until(self, later: Self) -> Self {
        Self {
            busy: later.busy.saturating_sub(self.busy),
            idle: later.idle.saturating_sub(self.idle),
        }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.busy = self.busy.saturating_add(more.busy);
        self.idle = self.idle.saturating_add(more.idle);
    }

    /// As a fact of the run.
    #[must_use]
    pub const fn fact(self) -> GuestCpu {
        GuestCpu {
            busy_ns: self.busy,
            available_ns: self.busy.saturating_add(self.idle),
        }
    }

    /// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
    fn parse(text: &str) -> Option<Self> {
        let numbers = text
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace();
        let ticks: Vec<u64> = numbers
            .take(8)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        let idle = ticks.get(3)? + ticks.get(4)?;
        let all: u64 = ticks.iter().sum();
        let time = |ticks: u64| Nanos::new(ticks.saturating_mul(TICK_NS));
        Some(Self {
            busy: time(all.saturating_sub(idle)),
            idle: time(idle),
        })
    }
}

/// `/proc/stat` counts in `USER_HZ`, 100 on every Linux that this runs on.
/// <https://elixir.bootlin.com/linux/v6.1/source/include/asm-generic/param.h#L9>
const TICK_NS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_for_disk_are_not_busy() {
        let time = CpuTime::parse("cpu  10 0 5 100 20 1 2 0 0 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!(time.busy, Nanos::from_millis(180));
        assert_eq!(time.idle, Nanos::from_millis(1_200));
    }

    #[test]
    fn a_text_that_is_no_stat_is_nothing() {
        assert_eq!(CpuTime::parse("intr 5"), None);
    }
}
