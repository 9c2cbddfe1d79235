//! How full each egress queue was.

use lab_units::{Bytes, Nanos};

use super::row;

row! {
    /// The egress queue of one inter-DC port at one moment.
    pub struct QueueRow in "queues.csv" {
        /// Label of the policy.
        pub policy: String,
        /// The repetition, from 0.
        pub repetition: u32,
        /// When.
        pub time_ns: Nanos,
        /// The DCI switch.
        pub switch: String,
        /// The port's interface.
        pub port: String,
        /// The DC at the other end.
        pub to_dc: String,
        /// Bytes waiting.
        pub backlog_bytes: Bytes,
        /// The same as counted.
        pub emu_backlog_bytes: Bytes,
        /// Level of the queue length, Q; 0 like the next three if the policy does not watch queues.
        pub queue_level: u8,
        /// Level of the queue's trend, T.
        pub trend_level: u8,
        /// Level of the queue's duration, D.
        pub duration_level: u8,
        /// C_cong.
        pub congestion_cost: u8,
    }
}
