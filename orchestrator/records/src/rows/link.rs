//! What each inter-DC link carried.

use lab_units::{BitsPerSec, Bytes, Nanos};

use super::row;

row! {
    /// The counters of one direction of an inter-DC link at one moment.
    pub struct LinkRow in "links.csv" {
        /// Label of the policy.
        pub policy: String,
        /// The repetition, from 0.
        pub repetition: u32,
        /// When.
        pub time_ns: Nanos,
        /// The link: `dc1-dc2`.
        pub link: String,
        /// Where this direction comes from.
        pub from_dc: String,
        /// Where this direction goes to.
        pub to_dc: String,
        /// Carried since the repetition's start, headers and acknowledgements included.
        pub tx_bytes: Bytes,
        /// The same as counted.
        pub emu_tx_bytes: Bytes,
        /// Capacity.
        pub rate_bps: BitsPerSec,
        /// Packets dropped since the repetition's start.
        pub drops: u64,
        /// Packets carried since the repetition's start; empty if the engine does not count them.
        pub tx_packets: Option<u64>,
        /// Packets ECN-marked at this egress since the repetition's start; empty likewise.
        pub marks: Option<u64>,
    }
}
