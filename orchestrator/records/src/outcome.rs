//! Facts of a run that are known after its last flow, and its verdict.

use lab_units::{BitsPerSec, Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::{Evidence, FlowRow, LiveChange, RunInfo, UtcTime};

/// Outcome of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Facts from the engine.
    pub end: RunEnd,
    /// Counts of flows by outcome.
    #[serde(rename = "tally")]
    pub counts: FlowCounts,
    /// Verdict on the run.
    pub verdict: Verdict,
}

/// Facts that the engine knows at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Time of the run's end, by the same clock as its phases.
    pub ended_at: UtcTime,
    /// Phases, in order.
    pub phases: Vec<Phase>,
    /// CPU use of the guest, in virtual time; none outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// Work of the lab; none for the simulator.
    #[serde(default)]
    pub lab: Option<LabWork>,
    /// Work of the simulator; none for the kernel engine.
    pub sim: Option<SimWork>,
    /// Number of flows that started later than the engine tolerates.
    pub late_launches: u64,
    /// Measurements of each inter-DC link.
    pub measured_links: Vec<MeasuredLink>,
    /// Warnings of the engine.
    pub warnings: Vec<String>,
    /// Reasons why the results cannot be trusted, besides those that the rows give.
    pub problems: Vec<String>,
    /// Evidence that the run exercised what it ranks.
    #[serde(default)]
    pub evidence: Evidence,
    /// Changes while flows ran, in order; faults are in [`RunInfo::faults`].
    #[serde(default)]
    pub changes: Vec<LiveChange>,
}

/// One phase of a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Name: `build-up`.
    pub name: String,
    /// Duration, by the clock of the machine that shows the run's progress.
    pub took_ns: Nanos,
    /// Duration in a guest's virtual time; none where it has no meaning, as this clock jumps while
    /// the guest waits for the host.
    pub virtual_ns: Option<Nanos>,
}

/// CPU use of a guest, in virtual time. Near 100 % the guest was too slow for the lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct GuestCpu {
    /// CPU time used while flows ran.
    pub busy_ns: Nanos,
    /// CPU time available while flows ran.
    pub available_ns: Nanos,
}

/// Work of the lab, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct LabWork {
    /// Number of packets sent while flows ran, counted on every link.
    pub packet_hops: u64,
    /// Time while flows ran, lab's clock.
    pub lab_ns: Nanos,
}

/// Work of the simulator, over all policies and repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SimWork {
    /// Number of events handled.
    pub events: u64,
    /// Number of packets that arrived at the other end of a link, counted on every link.
    pub packet_hops: u64,
    /// Simulated time.
    pub virtual_ns: Nanos,
    /// Real time.
    pub wall_ns: Nanos,
    /// Largest memory of the process; none if it is not known.
    pub peak_memory_bytes: Option<Bytes>,
}

/// One direction of an inter-DC link, as configured and as measured, in emulated units.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLink {
    /// Name of the link: `dc1-dc2`.
    pub link: String,
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Configured rate.
    pub emu_rate_bps: BitsPerSec,
    /// Measured rate; none if it was not measured.
    pub emu_measured_rate_bps: Option<BitsPerSec>,
    /// Configured one-way delay.
    pub emu_delay_ns: Nanos,
    /// Measured one-way delay; none if it was not measured.
    pub emu_measured_delay_ns: Option<Nanos>,
    /// Method of the delay measurement.
    pub delay_method: DelayMethod,
}

/// Method of measuring a one-way delay.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayMethod {
    /// Time stamps of one clock at both ends.
    OneWay,
    /// Half of the round-trip time.
    HalfRtt,
}

/// Counts of a run's flow rows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// All rows.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Finished flows that are too fast: [`FlowRow::is_too_fast`].
    pub below_one: u64,
}

/// Verdict on a run: whether its results can be trusted, with the reasons against it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// True if there are no reasons.
    pub clean: bool,
    /// Reasons not to trust the run, each a sentence without its full stop.
    pub reasons: Vec<String>,
    /// Reasons why a ranking by the run says less than it seems to: [`Evidence::warnings`]. Its numbers
    /// can be trusted all the same.
    #[serde(default)]
    pub unexercised: Vec<String>,
}

impl FlowCounts {
    /// Counts `row`.
    pub fn add(&mut self, row: &FlowRow) {
        let is_finished = row.status.is_finished();
        self.flows += 1;
        self.finished += u64::from(is_finished);
        self.unfinished += u64::from(!is_finished);
        self.below_one += u64::from(row.is_too_fast());
    }
}

impl<'a> FromIterator<&'a FlowRow> for FlowCounts {
    fn from_iter<I: IntoIterator<Item = &'a FlowRow>>(rows: I) -> Self {
        let mut counts = Self::default();
        rows.into_iter().for_each(|row| counts.add(row));
        counts
    }
}

impl Verdict {
    /// Returns the verdict on a run by its facts and flow counts; `end` is `None` if the run did
    /// not end.
    #[must_use]
    pub fn of(info: &RunInfo, end: Option<&RunEnd>, counts: &FlowCounts) -> Self {
        let mut reasons = Vec::new();
        let scheduled = info.total_flows();
        let FlowCounts {
            flows,
            finished,
            unfinished,
            below_one,
        } = counts;
        if end.is_none() {
            reasons.push("the run did not end: it was interrupted, or is still going on".into());
        }
        if *unfinished > 0 {
            reasons.push(format!("flows not finished: {unfinished} of {flows}"));
        }
        if *flows != scheduled {
            reasons.push(format!("flows recorded: {flows} of {scheduled} scheduled"));
        }
        if *below_one > 0 {
            reasons.push(format!(
                "slowdowns under 1: {below_one} of {finished} (none can be: the ideal FCT or the \
                 measurement is wrong)"
            ));
        }
        if let Some(end) = end {
            let late = end.late_launches;
            if late > 0 {
                reasons.push(format!("flows launched late: {late} of {flows}"));
            }
            reasons.extend(end.problems.iter().cloned());
        }
        Self {
            clean: reasons.is_empty(),
            reasons,
            unexercised: end.map_or_else(Vec::new, |end| end.evidence.warnings()),
        }
    }

    /// Adds a reason not to trust the run.
    pub fn add_reason(&mut self, reason: String) {
        self.clean = false;
        self.reasons.push(reason);
    }
}
