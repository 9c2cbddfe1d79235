//! Rows that are sampled at intervals: counters and levels of links, queues, switches, QPs and ports.

use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};

use super::row;

row! {
    /// Counters of one direction of an inter-DC link at one time.
    pub struct LinkRow in "links.csv", required: true {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Name of the link, such as `dc1-dc2`.
        pub link: String,
        /// Datacenter that sends in this direction.
        pub from_dc: String,
        /// Datacenter that receives in this direction, such as `dc2`, or `dc2_2` over a second link.
        pub to_dc: String,
        /// Bytes carried since the repetition's start, with headers and ACKs.
        pub tx_bytes: Bytes,
        /// `tx_bytes` as counted, in emulated bytes (after scaling).
        pub emu_tx_bytes: Bytes,
        /// Capacity of the link direction at the time of the sample.
        pub rate_bps: BitsPerSec,
        /// Number of packets dropped since the repetition's start.
        pub drops: u64,
        /// Number of packets carried since the repetition's start; empty if the engine does not count them.
        pub tx_packets: Option<u64>,
        /// Number of packets marked with ECN at the egress of the link direction since the repetition's start; empty if
        /// the engine does not count them.
        pub marks: Option<u64>,
    }
}

row! {
    /// Egress queue of an inter-DC port at one time.
    pub struct QueueRow in "queues.csv", required: true {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Name of the DCI switch.
        pub switch: String,
        /// Name of the port's interface.
        pub port: String,
        /// Datacenter at the other end of the port's link, such as `dc2`, or `dc2_2` over a second link.
        pub to_dc: String,
        /// Number of bytes in the queue.
        pub backlog_bytes: Bytes,
        /// `backlog_bytes` as measured, in emulated bytes (after scaling).
        pub emu_backlog_bytes: Bytes,
        /// Queue level Q, from the queue length, 0 to 255. This level and the next three fields are 0 if the policy
        /// does not sample queues.
        pub queue_level: u8,
        /// Trend level T, from the queue's growth, 0 to 255.
        pub trend_level: u8,
        /// Duration level D, from the time for which the queue has been above its high-water mark, 0 to 255.
        pub duration_level: u8,
        /// Congestion cost C_cong of the port, 0 to 255.
        pub congestion_cost: u8,
    }
}

row! {
    /// State and counters of a DCI switch with an agent at one time; counters start at 0 in each repetition.
    ///
    /// Both engines write this table. In the simulator `restarts` is 0, and tables are stale only while an agent is down, as
    /// the scenario plans. The simulator creates flow-table entries only at switches with several
    /// candidates; with the artifact's semantics, for every flow, including flows to the switch's own spines. The
    /// kernel engine creates an entry for every flow to another datacenter.
    pub struct SwitchRow in "switches.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Name of the DCI switch.
        pub switch: String,
        /// Number of flows in the flow table.
        pub occupancy: u64,
        /// Number of decisions: for the first packet of a flow, and for re-routing an active flow.
        pub decisions: u64,
        /// Number of decisions since the previous row, per second of paper time (before scaling).
        pub decisions_per_s: u64,
        /// Number of decisions made because a flow's port was dead.
        pub failovers: u64,
        /// Number of decisions by a fallback rule, including those with stale inputs.
        pub fallbacks: u64,
        /// Number of decisions with stale tables or stale queue samples; in the simulator only while an agent is down.
        pub stale: u64,
        /// Number of flows evicted because the flow table was full, least recently seen first.
        pub evicted: u64,
        /// Number of idle flows that flow-cache garbage collection removed.
        pub expired: u64,
        /// Number of packets forwarded by a flow table entry.
        pub hits: u64,
        /// Number of restarts of the switch's agent after it was killed; 0 in the simulator.
        pub restarts: u64,
        /// Number of queue samples; empty in the simulator, whose samples are never late.
        pub samples: Option<u64>,
        /// Number of queue samples that were taken only after the next one was due; empty in the simulator.
        pub late_samples: Option<u64>,
    }
}

row! {
    /// Congestion-control state of a sending QP at one time.
    ///
    /// Both engines write this table under `cc: dcqcn`, for the largest flows of a repetition.
    pub struct RateRow in "rates.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Flow that the QP sends.
        pub flow_id: FlowId,
        /// Current rate R_C of DCQCN's reaction point.
        pub rate_bps: BitsPerSec,
        /// `rate_bps` after scaling for emulation.
        pub emu_rate_bps: BitsPerSec,
        /// Target rate R_T of DCQCN's reaction point.
        pub target_bps: BitsPerSec,
        /// DCQCN's congestion estimate α, 0 to 1.
        pub alpha: f64,
        /// Number of CNPs received since the flow's start.
        pub cnps: u64,
    }
}

row! {
    /// Totals of one port at the end of a repetition.
    pub struct PortRow in "ports.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time at which the counters were read, relative to the repetition's start.
        pub time_ns: Nanos,
        /// Host or switch to which the port belongs.
        pub node: String,
        /// Name of the port's interface.
        pub port: String,
        /// Host or switch at the other end of the link.
        pub peer: String,
        /// Capacity of the port at the time when the counters were read.
        pub rate_bps: BitsPerSec,
        /// Bytes sent, with headers and ACKs.
        pub tx_bytes: Bytes,
        /// `tx_bytes` as counted, in emulated bytes (after scaling).
        pub emu_tx_bytes: Bytes,
        /// Number of packets sent.
        pub tx_packets: u64,
        /// Number of packets that the port marked with ECN.
        pub marks: u64,
        /// Number of packets dropped: at a full egress queue, at a link that was down, on the wire, or on arrival
        /// because the switch's buffer was full.
        pub drops: u64,
        /// Maximum length of the egress queue in bytes.
        pub peak_queue_bytes: Bytes,
        /// Number of times that priority flow control paused the port.
        pub pauses: u64,
        /// Total time for which the port was paused.
        pub paused_ns: Nanos,
    }
}

impl SwitchRow {
    /// Returns the number of decisions per second, rounded down, if `decisions` were made in `span`.
    #[must_use]
    pub fn pace_of(decisions: u64, span: Nanos) -> u64 {
        let per_second = u128::from(decisions) * NANOS_PER_SECOND / u128::from(span.get().max(1));
        u64::try_from(per_second).unwrap_or(u64::MAX)
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_rate_is_per_second_and_never_overflows() {
        assert_eq!(SwitchRow::pace_of(5, Nanos::from_millis(10)), 500);
        assert_eq!(SwitchRow::pace_of(0, Nanos::ZERO), 0);
        assert_eq!(SwitchRow::pace_of(u64::MAX, Nanos::ZERO), u64::MAX);
    }
}
