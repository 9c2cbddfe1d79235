//! What became of each port of every host and switch.

use lab_units::{BitsPerSec, Bytes, Nanos};

use super::row;

row! {
    /// One port at the end of a repetition: what left by it, and what happened to that.
    pub struct PortRow in "ports.csv" {
        /// Label of the policy.
        pub policy: String,
        /// The repetition, from 0.
        pub repetition: u32,
        /// When it was read.
        pub time_ns: Nanos,
        /// The host or switch.
        pub node: String,
        /// The port's interface.
        pub port: String,
        /// The host or switch at the other end.
        pub peer: String,
        /// Capacity.
        pub rate_bps: BitsPerSec,
        /// Sent, headers and acknowledgements included.
        pub tx_bytes: Bytes,
        /// The same as counted.
        pub emu_tx_bytes: Bytes,
        /// Packets sent.
        pub tx_packets: u64,
        /// Packets ECN-marked.
        pub marks: u64,
        /// Packets dropped: its egress queue had no room or its link was down, they were lost on
        /// the wire, or the buffer of its switch had no room for what came in by it.
        pub drops: u64,
        /// Most that its egress queue held.
        pub peak_queue_bytes: Bytes,
        /// How often priority flow control stopped it.
        pub pauses: u64,
        /// For how long in all.
        pub paused_ns: Nanos,
    }
}
