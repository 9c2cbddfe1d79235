//! Conduct of a run: figures about the lab and its machine by which the run is trusted.

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

use super::{bounds::LINK_FACTOR, code::ReasonCode};
use crate::CertifiedRow;

/// Figures about the lab and its machine, over all repetitions; the simulator has only figures about its switches, and
/// losses despite PFC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    /// Certificate of the links; none if they were not measured.
    pub links: Option<Certification>,
    /// Number of times the guest waited for its host while flows ran: its virtual clock may have jumped.
    pub host_waits: u64,
    /// Watch over the CPUs and clocks while flows ran; none on the virtual clock, whose time stands still
    /// while the machine is busy with other things.
    pub watch: Option<Watch>,
    /// Packets dropped outside the emulated queues while flows ran: at CPU backlogs, in veths, on receive.
    pub dropped_outside: u64,
    /// Packets that links dropped although the scenario specifies no loss on them: their delay lines were too short, or
    /// somebody changed them.
    #[serde(default)]
    pub dropped_unasked: u64,
    /// Sentences about interfaces and queues that after flows differed from the plan with its faults; each difference
    /// is listed once, for the repetition that found it first.
    #[serde(default)]
    pub altered: Vec<String>,
    /// Counts of what switches and hosts did against their policy, congestion control or PFC, or did not record.
    #[serde(alias = "switches")]
    pub deviations: Vec<Deviation>,
    /// Recovery from loss, by SoftRoCE or in the simulator by hosts under PFC, and the facts that explain it; `None` if
    /// not counted.
    pub recovery: Option<Recovery>,
}

/// Count of what a switch or host did against its policy, congestion control or PFC, or did not record.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReadDeviation")]
pub struct Deviation {
    /// Policy and repetition, and the switch or `hosts` if known; in [`OLDEST_FORMAT`], the whole sentence.
    ///
    /// [`OLDEST_FORMAT`]: crate::directory::OLDEST_FORMAT
    pub subject: String,
    /// What is counted.
    pub code: ReasonCode,
    /// Number of times that it happened; 0 for a sentence, which contains its number.
    pub count: u64,
}

/// A deviation in this format, or in the one whose counts are sentences.
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

/// Certificate of a lab's links in short; `certificate.csv` has its rows.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Certification {
    /// Directions of links that were measured.
    pub directions: u64,
    /// Link directions with a figure that is out of bounds.
    pub out_of_bounds: u64,
    /// True if one of these is out by more than [`LINK_FACTOR`] times its bound, or carried nothing.
    pub is_another_network: bool,
    /// First problem, with its direction; none if all are certified.
    pub first: Option<String>,
}

/// Watch over the CPUs and clocks while flows ran on a real clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// Wake-ups that the watchdog asked for.
    pub wakeups: u64,
    /// Those of them that were later than [`WATCHDOG_LATE`](super::bounds::WATCHDOG_LATE).
    pub late_wakeups: u64,
    /// Latest of them.
    pub latest_ns: Nanos,
    /// Sum of the wall clock's jumps against the monotonic clock.
    pub clock_jumps_ns: Nanos,
    /// CPUs; none if the kernel does not tell.
    pub cpu: Option<CpuWatch>,
}

/// CPU use while flows ran, in shares from 0 to 1 of the worst second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuWatch {
    /// Largest share in use of all CPUs together.
    pub busy: f64,
    /// Largest share that the hypervisor gave to others.
    pub steal: f64,
    /// Largest share in softirqs of one CPU.
    pub softirq: f64,
    /// Tasks waiting for a CPU, per CPU, on average over the flows' time.
    pub waiting: f64,
}

/// Recovery of senders from loss.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Times that a sender went back to an earlier packet.
    pub retries: u64,
    /// Packets that emulated queues and links dropped.
    pub emulated_drops: u64,
    /// Decisions by which flows changed their path, whose packets may overtake each other.
    pub reroutes: u64,
}

impl Conduct {
    /// Adds those of `subject`'s counts that are not 0.
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
    /// Returns the certificate that `rows` make, in short.
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

/// True if a direction is not the one asked for by far: [`LINK_FACTOR`] times a bound, or nothing arrived.
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
