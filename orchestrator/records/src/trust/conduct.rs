//! Figures about the lab and its machine during a run, which decide whether the run is trusted.

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use super::{bounds::LINK_FACTOR, code::ReasonCode};
use crate::CertifiedRow;

/// Figures about the lab and its machine, over all repetitions. In the simulator, only the figures about switches and
/// about losses despite PFC exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    /// Summary of the link certificate (measured rate, delay and buffer of each link direction); `None` if the links
    /// were not measured.
    pub links: Option<Certification>,
    /// Number of times that the guest waited for its host while flows ran; each wait may have made the virtual clock
    /// jump.
    pub host_waits: u64,
    /// CPU and clock monitoring while flows ran; `None` on the virtual clock, which stops while the machine runs other
    /// programs.
    pub watch: Option<Watch>,
    /// Number of packets dropped outside the emulated queues while flows ran: at CPU backlogs, in veths, on receive.
    pub dropped_outside: u64,
    /// Number of packets dropped by links without `loss` in the scenario: a delay line was too short, or somebody
    /// changed the link.
    #[serde(default)]
    pub dropped_unasked: u64,
    /// Interfaces and queues that differed from plan and faults after the flows, as sentences; each difference is
    /// listed once, for the repetition in which it was found first.
    #[serde(default)]
    pub altered: Vec<String>,
    /// Deviations of switches and hosts from policy, congestion control or PFC, and losses of their records, with
    /// counts.
    #[serde(alias = "switches")]
    pub deviations: Vec<Deviation>,
    /// Recovery from loss (of SoftRoCE; in the simulator, of hosts with PFC) and counts that can explain it; `None` if
    /// not counted.
    pub recovery: Option<Recovery>,
}

/// Deviation of a switch or host: a counted action against its policy, congestion control or PFC, or a counted loss of
/// records.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReadDeviation")]
pub struct Deviation {
    /// Policy and repetition, then the switch or `hosts` if known; in [`OLDEST_FORMAT`], the whole sentence.
    ///
    /// [`OLDEST_FORMAT`]: crate::directory::OLDEST_FORMAT
    pub subject: String,
    /// Kind of the deviation.
    pub code: ReasonCode,
    /// Number of occurrences; 0 if `subject` is a sentence, which contains the number.
    pub count: u64,
}

/// Deviation as read from `run.json`: in the current format, or as a sentence in
/// [`OLDEST_FORMAT`](crate::directory::OLDEST_FORMAT).
#[derive(Deserialize)]
#[serde(untagged)]
enum ReadDeviation {
    Sentence(String),
    Counted {
        subject: String,
        code: ReasonCode,
        count: u64,
    },
}

impl From<ReadDeviation> for Deviation {
    fn from(read: ReadDeviation) -> Self {
        match read {
            ReadDeviation::Sentence(subject) => Self {
                subject,
                code: ReasonCode::EngineProblem,
                count: 0,
            },
            ReadDeviation::Counted {
                subject,
                code,
                count,
            } => Self {
                subject,
                code,
                count,
            },
        }
    }
}

/// Summary of a lab's link certificate: the measured rate, delay and buffer of each link direction, listed in
/// `certificate.csv`.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Certification {
    /// Number of measured link directions.
    pub directions: u64,
    /// Number of measured link directions with a value outside its bounds.
    pub out_of_bounds: u64,
    /// True if a link direction differs from the plan by more than [`LINK_FACTOR`] times a bound, or lost more than
    /// half of its frames.
    pub is_another_network: bool,
    /// First link direction with a value out of bounds and the problem, as text; `None` if all are within their bounds.
    pub first: Option<String>,
}

/// Results of monitoring CPUs and clocks while flows ran, on a real clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// Number of times that the watchdog should have woken up.
    pub wakeups: u64,
    /// Number of wake-ups that were late by more than [`WATCHDOG_LATE`](super::bounds::WATCHDOG_LATE).
    pub late_wakeups: u64,
    /// Maximum delay of a wake-up.
    pub latest_ns: Nanos,
    /// Sum of the wall clock's jumps relative to the monotonic clock.
    pub clock_jumps_ns: Nanos,
    /// CPU use; `None` if the kernel does not report it.
    pub cpu: Option<CpuWatch>,
}

/// CPU use while flows ran; shares are from 0 to 1, each in its own worst second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuWatch {
    /// Largest share of all CPU time in use.
    pub busy: f64,
    /// Largest share of CPU time that the hypervisor gave to other machines.
    pub steal: f64,
    /// Largest share of one CPU's time in softirqs.
    pub softirq: f64,
    /// Mean number of tasks that waited for a CPU, divided by the number of CPUs.
    pub waiting: f64,
}

/// Recovery of senders from packet loss.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Number of times that a sender went back to an earlier packet.
    pub retries: u64,
    /// Number of packets that emulated queues and links dropped.
    pub emulated_drops: u64,
    /// Number of decisions that re-routed a flow, after which its packets may overtake each other.
    pub reroutes: u64,
}

impl Conduct {
    /// Adds the counts of `subject`, a switch or hosts, that are not 0.
    pub fn add_deviations(&mut self, subject: &str, counts: &[(ReasonCode, u64)]) {
        let found = counts.iter().filter(|(_, count)| *count > 0);
        self.deviations
            .extend(found.map(|&(code, count)| Deviation {
                subject: subject.to_owned(),
                code,
                count,
            }));
    }
}

impl Certification {
    /// Summarises the link certificate `rows`, which has one row per link direction.
    #[must_use]
    pub fn of(rows: &[CertifiedRow]) -> Self {
        let out = || rows.iter().filter(|row| row.problem.is_some());
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Self {
            directions: count(rows.len()),
            out_of_bounds: count(out().count()),
            is_another_network: out().any(is_another),
            first: out().next().map(|row| {
                let problem = row.problem.as_deref().unwrap_or_default();
                format!("{} → {}: {problem}", row.from, row.to)
            }),
        }
    }
}

/// Returns true if a link direction differs from the plan by more than [`LINK_FACTOR`] times a bound, or lost more than
/// half of its frames.
fn is_another(row: &CertifiedRow) -> bool {
    let far = |measured: u64, asked: u64, bound: u64| {
        measured.abs_diff(asked) > LINK_FACTOR.saturating_mul(bound)
    };
    let rate = row.emu_measured_rate_bps.map_or(0, |rate| rate.get());
    let delay = row.emu_measured_delay_ns.map_or(u64::MAX, Nanos::get);
    let queue = row.measured_queue_packets.unwrap_or(row.queue_packets);
    far(rate, row.emu_rate_bps.get(), row.emu_rate_bound_bps.get())
        || far(delay, row.emu_delay_ns.get(), row.emu_delay_bound_ns.get())
        || far(queue, row.queue_packets, row.queue_bound_packets)
        || row.lost.saturating_mul(2) > row.sent
}
