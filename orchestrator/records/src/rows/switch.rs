//! How each DCI switch fared as a whole.

use lab_units::Nanos;

use super::row;

row! {
    /// A DCI switch with an agent at one moment; what is counted is counted since the repetition's
    /// start.
    ///
    /// Both engines write it. A simulated switch has an agent that is never killed and tables that
    /// are never too old, so that it has no `restarts` and nothing is `stale`. It pins only flows
    /// that it has a choice for, except in the artifact's semantics, where it pins all, those to its
    /// own spines too; a switch of the kernel pins all that go to another datacenter.
    pub struct SwitchRow in "switches.csv" {
        /// Label of the policy.
        pub policy: String,
        /// The repetition, from 0.
        pub repetition: u32,
        /// When.
        pub time_ns: Nanos,
        /// The DCI switch.
        pub switch: String,
        /// Flows in its flow table.
        pub occupancy: u64,
        /// Decisions: flows decided for the first time or again.
        pub decisions: u64,
        /// Decisions since the row before, per second of paper time.
        pub decisions_per_s: u64,
        /// Decisions because a flow's port had died.
        pub failovers: u64,
        /// Decisions by a fallback rule, stale ones included.
        pub fallbacks: u64,
        /// Decisions for want of fresh tables or signals; 0 in the simulator.
        pub stale: u64,
        /// Flows evicted from a full flow table, the least recently seen first.
        pub evicted: u64,
        /// Flows forgotten because they were idle.
        pub expired: u64,
        /// Packets forwarded by their flow's entry.
        pub hits: u64,
        /// Times the switch's agent was started again after it was killed; 0 in the simulator.
        pub restarts: u64,
    }
}

impl SwitchRow {
    /// The pace of so many decisions within `span`, per second.
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
    fn a_pace_is_for_a_whole_second_and_never_overflows() {
        assert_eq!(SwitchRow::pace_of(5, Nanos::from_millis(10)), 500);
        assert_eq!(SwitchRow::pace_of(0, Nanos::ZERO), 0);
        assert_eq!(SwitchRow::pace_of(u64::MAX, Nanos::ZERO), u64::MAX);
    }
}
