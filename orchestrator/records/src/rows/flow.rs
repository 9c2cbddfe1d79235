//! Rows of flows.

use lab_units::{Bytes, FlowId, Nanos};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Unexpected},
};

use super::{DcPath, fields, row};
use crate::Semantics;

row! {
    /// One flow under one policy. Every scheduled flow that the engine reached before the run ended has a row.
    pub struct FlowRow in "flows.csv", required: true {
        /// Repetition, from 0.
        pub repetition: u32,
        /// Id of the flow, its position in the plan's schedule.
        pub flow_id: FlowId,
        /// Label of the policy.
        pub policy: String,
        /// Congestion control of the sender; `none` for plain SoftRoCE.
        pub cc: String,
        /// Semantics of the simulated network, the paper's or the artifact's; empty for the kernel engine.
        pub semantics: Option<Semantics>,
        /// Sending host.
        pub src_host: String,
        /// Receiving host.
        pub dst_host: String,
        /// Datacenter of the sending host.
        pub src_dc: String,
        /// Datacenter of the receiving host.
        pub dst_dc: String,
        /// Size of the flow.
        pub size_bytes: Bytes,
        /// Start time, relative to the repetition's start; the scheduled start if the flow never started.
        pub start_ns: Nanos,
        /// Flow completion time, from the start to the last ACK at the sender; empty if the flow did not finish.
        pub fct_ns: Option<Nanos>,
        /// FCT that the flow would have alone in the network, on the fastest path that the forwarding tables allow.
        pub ideal_fct_ns: Nanos,
        /// FCT ÷ ideal FCT, not clipped, so that an impossible value stays visible; empty if the flow did not finish.
        #[serde(deserialize_with = "finite")]
        pub slowdown: Option<f64>,
        /// Datacenters on the first path of the flow's data. Failover and flow ageing may re-route later data.
        pub path: Option<DcPath>,
        /// Datacenters on the first path of the flow's ACKs.
        pub ack_path: Option<DcPath>,
        /// Outcome of the flow: finished, or how it failed.
        pub status: FlowStatus,
        /// Reason why the flow did not finish, as a sentence; empty for a finished flow.
        pub reason: String,
        /// Program that generated the flow, such as `ib_write_bw`.
        pub generator: String,
        /// Actual start minus scheduled start, in emulated time (after scaling); empty if the flow never started.
        pub launch_lateness_ns: Option<Nanos>,
        /// Number of bytes that were transferred, after scaling.
        pub emu_size_bytes: Bytes,
        /// Start time relative to the repetition's start, in emulated time (after scaling); the scheduled start if the
        /// flow never started.
        pub emu_start_ns: Nanos,
        /// FCT as measured, in emulated time (after scaling); empty if the flow did not finish.
        pub emu_fct_ns: Option<Nanos>,
        /// Ideal FCT in emulated time (after scaling).
        pub emu_ideal_fct_ns: Nanos,
        /// Maximum error of the measured FCT, in emulated time (after scaling); empty if unknown.
        pub emu_fct_resolution_ns: Option<Nanos>,
    }
}

/// Fields of a [`FlowRow`] that most queries read. They are borrowed from a batch, so that reading them allocates no
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct FlowFields<'a> {
    /// Repetition, from 0.
    pub repetition: u32,
    /// Id of the flow, its position in the plan's schedule.
    pub flow_id: FlowId,
    /// Label of the policy.
    pub policy: &'a str,
    /// Semantics of the simulated network, the paper's or the artifact's; `None` for the kernel engine.
    pub semantics: Option<Semantics>,
    /// Datacenter of the sending host.
    pub src_dc: &'a str,
    /// Datacenter of the receiving host.
    pub dst_dc: &'a str,
    /// Size of the flow.
    pub size_bytes: Bytes,
    /// Start time, relative to the repetition's start; the scheduled start if the flow never started.
    pub start_ns: Nanos,
    /// Flow completion time; `None` if the flow did not finish.
    pub fct_ns: Option<Nanos>,
    /// FCT ÷ ideal FCT; `None` if the flow did not finish.
    #[serde(deserialize_with = "finite")]
    pub slowdown: Option<f64>,
    /// Datacenters on the first path of the flow's data.
    #[serde(borrow)]
    pub path: Option<&'a str>,
    /// Outcome of the flow.
    pub status: FlowStatus,
    /// Actual start minus scheduled start, in emulated time (after scaling); `None` if the flow never started.
    pub launch_lateness_ns: Option<Nanos>,
    /// Ideal FCT in emulated time (after scaling).
    pub emu_ideal_fct_ns: Nanos,
    /// Maximum error of the measured FCT, in emulated time (after scaling); `None` if unknown.
    pub emu_fct_resolution_ns: Option<Nanos>,
}

/// Parses a finite number. A table that was edited by hand may contain `inf`, which cannot be plotted or compared.
fn finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?;
    match number {
        Some(number) if !number.is_finite() => {
            let unexpected = Unexpected::Float(number);
            Err(D::Error::invalid_value(unexpected, &"a finite number"))
        }
        number => Ok(number),
    }
}

impl FlowRow {
    /// Returns true if the flow started more than `tolerance` after its scheduled start.
    #[must_use]
    pub fn is_late(&self, tolerance: Nanos) -> bool {
        self.launch_lateness_ns.is_some_and(|late| late > tolerance)
    }

    /// Returns the fields that most queries read.
    #[must_use]
    pub fn fields(&self) -> FlowFields<'_> {
        FlowFields {
            repetition: self.repetition,
            flow_id: self.flow_id,
            policy: &self.policy,
            semantics: self.semantics,
            src_dc: &self.src_dc,
            dst_dc: &self.dst_dc,
            size_bytes: self.size_bytes,
            start_ns: self.start_ns,
            fct_ns: self.fct_ns,
            slowdown: self.slowdown,
            path: self.path.as_ref().map(DcPath::as_str),
            status: self.status,
            launch_lateness_ns: self.launch_lateness_ns,
            emu_ideal_fct_ns: self.emu_ideal_fct_ns,
            emu_fct_resolution_ns: self.emu_fct_resolution_ns,
        }
    }

    /// Returns FCT ÷ ideal FCT; `None` if the ideal FCT is zero.
    #[must_use]
    pub fn slowdown_of(fct: Nanos, ideal: Nanos) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 ns are 104 days; a slowdown needs no more digits"
        )]
        let ratio = fct.get() as f64 / ideal.get() as f64;
        (ideal > Nanos::ZERO).then_some(ratio)
    }
}

impl FlowFields<'_> {
    /// Returns true if the flow started, false if the run ended before.
    #[must_use]
    pub const fn has_started(&self) -> bool {
        self.launch_lateness_ns.is_some() || self.fct_ns.is_some()
    }

    /// Returns the time of completion, relative to the repetition's start; `None` if the flow did not finish.
    #[must_use]
    pub fn end(&self) -> Option<Nanos> {
        Some(self.start_ns.saturating_add(self.fct_ns?))
    }

    /// Names of all fields in [`FlowFields`], in order; each is also a column of [`FlowRow`].
    pub(crate) const COLUMNS: [&'static str; 15] = [
        "repetition",
        "flow_id",
        "policy",
        "semantics",
        "src_dc",
        "dst_dc",
        "size_bytes",
        "start_ns",
        "fct_ns",
        "slowdown",
        "path",
        "status",
        "launch_lateness_ns",
        "emu_ideal_fct_ns",
        "emu_fct_resolution_ns",
    ];

    /// Returns true if the FCT is impossibly short for data on this number of paths, by more than its maximum error.
    ///
    /// On a single path, no FCT is below the ideal FCT. The packets of a re-routed flow that still wait on the earlier
    /// path leave while the later path sends, so its FCT can be shorter. But one of the paths carries at least
    /// 1 ÷ `paths` of the bytes, which takes at least that share of the ideal FCT.
    ///
    /// Always false with the artifact's semantics, where such an FCT is not an error: the authors' ideal FCT assumes
    /// full packets on the path with the least delay, but a flow may have smaller packets or take a path with more
    /// capacity.
    #[must_use]
    pub fn is_too_fast(&self, paths: u32) -> bool {
        let known_to = self.emu_fct_resolution_ns.unwrap_or(Nanos::ZERO);
        let known_to = FlowRow::slowdown_of(known_to, self.emu_ideal_fct_ns).unwrap_or(0.0);
        self.semantics != Some(Semantics::Artifact)
            && self
                .slowdown
                .is_some_and(|slowdown| (slowdown + known_to) * f64::from(paths) < 1.0)
    }
}

/// Outcome of a flow.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowStatus {
    /// All bytes were acknowledged.
    Finished,
    /// The flow was unfinished at its deadline.
    TimedOut,
    /// The flow's generator ended with an error.
    Failed,
    /// The flow's generator succeeded, but its output could not be parsed.
    Unparsable,
    /// The flow's generator never became ready to send.
    NotReady,
    /// The engine aborted the run before the flow ended.
    Aborted,
    /// The user interrupted the run before the flow ended.
    Interrupted,
}

impl FlowStatus {
    /// Returns true if the flow has an FCT.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Finished)
    }

    /// Returns the text of the status in tables.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::TimedOut => "timed out",
            Self::Failed => "failed",
            Self::Unparsable => "output not understood",
            Self::NotReady => "never ready",
            Self::Aborted => "aborted",
            Self::Interrupted => "interrupted",
        }
    }
}

fields!(Text: FlowStatus);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_under_one_is_kept() {
        let slowdown = FlowRow::slowdown_of(Nanos::new(3), Nanos::new(4));
        assert_eq!(slowdown, Some(0.75));
        assert_eq!(FlowRow::slowdown_of(Nanos::new(3), Nanos::ZERO), None);
    }
}
