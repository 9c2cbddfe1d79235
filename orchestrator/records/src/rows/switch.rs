//! How each DCI switch fared as a whole.

use lab_units::Nanos;

use super::row;

row! {
    /// A DCI switch at one moment; what is counted is counted since the repetition's start.
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
        /// Decisions for want of fresh tables or signals; empty where tables do not age.
        pub stale: Option<u64>,
        /// Flows evicted from a full flow table, the least recently seen first.
        pub evicted: u64,
        /// Flows forgotten because they were idle.
        pub expired: u64,
        /// Packets forwarded by their flow's entry; empty if the engine does not count them.
        pub hits: Option<u64>,
        /// Times the switch's agent was started again after it was killed; empty where there is none.
        pub restarts: Option<u64>,
    }
}
