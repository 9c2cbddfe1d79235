//! Rows that are read at intervals: counters and levels of links, queues, switches and ports.

use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};

use super::row;

row! {
    /// Counters for one direction of an inter-DC link at one time.
    pub struct LinkRow in "links.csv", required: true {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample.
        pub time_ns: Nanos,
        /// Name of the link: `dc1-dc2`.
        pub link: String,
        /// Datacenter that sends in this direction.
        pub from_dc: String,
        /// Datacenter that receives in this direction.
        pub to_dc: String,
        /// Bytes carried since the repetition's start, headers and acknowledgements included.
        pub tx_bytes: Bytes,
        /// `tx_bytes` as counted.
        pub emu_tx_bytes: Bytes,
        /// Capacity.
        pub rate_bps: BitsPerSec,
        /// Packets dropped since the repetition's start.
        pub drops: u64,
        /// Packets carried since the repetition's start; empty if the engine does not count them.
        pub tx_packets: Option<u64>,
        /// Packets ECN-marked at this egress since the repetition's start; empty if the engine
        /// does not count them.
        pub marks: Option<u64>,
    }
}

row! {
    /// The egress queue of one inter-DC port at one time.
    pub struct QueueRow in "queues.csv", required: true {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample.
        pub time_ns: Nanos,
        /// The DCI switch.
        pub switch: String,
        /// Name of the port's interface.
        pub port: String,
        /// Datacenter at the other end.
        pub to_dc: String,
        /// Bytes in the queue.
        pub backlog_bytes: Bytes,
        /// `backlog_bytes` as measured.
        pub emu_backlog_bytes: Bytes,
        /// Level of the queue length, Q, 0 to 255; 0 like the next three if the policy does not
        /// sample queues.
        pub queue_level: u8,
        /// Level of the queue's trend, T.
        pub trend_level: u8,
        /// Level of the queue's duration, D.
        pub duration_level: u8,
        /// Congestion cost of the port, C_cong.
        pub congestion_cost: u8,
    }
}

row! {
    /// A DCI switch with an agent at one time; counters count from the repetition's start.
    ///
    /// Both engines write it. The agent of a simulated switch is never killed and its tables are
    /// never out of date, so `restarts` and `stale` are 0. The simulator pins a flow only where it
    /// has a choice, except with the artifact's semantics, where it pins every flow, those to its
    /// own spines too; the kernel engine pins every flow to another datacenter.
    pub struct SwitchRow in "switches.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample.
        pub time_ns: Nanos,
        /// The DCI switch.
        pub switch: String,
        /// Flows in the flow table.
        pub occupancy: u64,
        /// Decisions: flows decided for the first time or again.
        pub decisions: u64,
        /// Decisions since the previous row, per second of paper time.
        pub decisions_per_s: u64,
        /// Decisions because a flow's port was dead.
        pub failovers: u64,
        /// Decisions by a fallback rule, stale ones included.
        pub fallbacks: u64,
        /// Decisions without fresh tables or signals; 0 in the simulator.
        pub stale: u64,
        /// Flows evicted from a full flow table, the least recently seen first.
        pub evicted: u64,
        /// Idle flows removed by flow-cache garbage collection.
        pub expired: u64,
        /// Packets forwarded by their flow's entry.
        pub hits: u64,
        /// Restarts of the switch's agent after it was killed; 0 in the simulator.
        pub restarts: u64,
        /// Samples of the queues; empty in the simulator, whose samples are never late.
        pub samples: Option<u64>,
        /// Samples that began later than the next one was due; empty likewise.
        pub late_samples: Option<u64>,
    }
}

row! {
    /// Congestion control of a sending QP at one time.
    ///
    /// Both engines write it under `cc: dcqcn`, for the largest flows of a repetition.
    pub struct RateRow in "rates.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the sample.
        pub time_ns: Nanos,
        /// The QP's flow.
        pub flow_id: FlowId,
        /// Rate of the reaction point, R_C.
        pub rate_bps: BitsPerSec,
        /// `rate_bps` as it was.
        pub emu_rate_bps: BitsPerSec,
        /// Target of the rate, R_T.
        pub target_bps: BitsPerSec,
        /// Estimate of congestion, α, 0 to 1.
        pub alpha: f64,
        /// CNPs received since the flow's start.
        pub cnps: u64,
    }
}

row! {
    /// Totals for one port at the end of a repetition.
    pub struct PortRow in "ports.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Time of the reading.
        pub time_ns: Nanos,
        /// The host or switch.
        pub node: String,
        /// Name of the port's interface.
        pub port: String,
        /// The host or switch at the other end.
        pub peer: String,
        /// Capacity.
        pub rate_bps: BitsPerSec,
        /// Bytes sent, headers and acknowledgements included.
        pub tx_bytes: Bytes,
        /// `tx_bytes` as counted.
        pub emu_tx_bytes: Bytes,
        /// Packets sent.
        pub tx_packets: u64,
        /// Packets ECN-marked.
        pub marks: u64,
        /// Packets dropped: at a full egress queue, at a link that was down, on the wire, or at
        /// ingress because the switch's buffer was full.
        pub drops: u64,
        /// Longest egress queue.
        pub peak_queue_bytes: Bytes,
        /// Times that priority flow control paused the port.
        pub pauses: u64,
        /// Total time that the port was paused.
        pub paused_ns: Nanos,
    }
}

impl SwitchRow {
    /// Returns the rate of `decisions` within `span`, per second.
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
