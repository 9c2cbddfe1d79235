//! Rows of the lab's certificate: for each link direction, the required and the measured values.

use lab_units::{BitsPerSec, Nanos};

use super::row;

row! {
    /// One direction of a link, as the scenario asks for it and as it was measured before the first flow,
    /// in emulated units.
    pub struct CertifiedRow in "certificate.csv", required: false {
        /// Name of the link: `dc1-dc2`, `dc1-dc1/h1`.
        pub link: String,
        /// Node that sends in this direction.
        pub from: String,
        /// Node that receives in this direction.
        pub to: String,
        /// Rate asked for.
        pub emu_rate_bps: BitsPerSec,
        /// Rate at which a train of frames arrived, above the shaper's burst; empty if too few
        /// arrived.
        pub emu_measured_rate_bps: Option<BitsPerSec>,
        /// Largest difference of the two.
        pub emu_rate_bound_bps: BitsPerSec,
        /// One-way delay asked for.
        pub emu_delay_ns: Nanos,
        /// Least one-way delay of the probes, without their serialisation; empty if none arrived.
        pub emu_measured_delay_ns: Option<Nanos>,
        /// Largest difference of the two.
        pub emu_delay_bound_ns: Nanos,
        /// Largest minus least delay of the probes; empty if none arrived.
        pub emu_spread_ns: Option<Nanos>,
        /// Largest spread.
        pub emu_spread_bound_ns: Nanos,
        /// Frames of the largest size that the egress queue holds.
        pub queue_packets: u64,
        /// The same as measured by filling it; empty for a queue too long to fill, whose limit is only read
        /// back from the kernel.
        pub measured_queue_packets: Option<u64>,
        /// Largest difference of the two.
        pub queue_bound_packets: u64,
        /// Frames sent, probes and train.
        pub sent: u64,
        /// Frames that did not arrive.
        pub lost: u64,
        /// Frames that arrived after a later one, or twice.
        pub disordered: u64,
        /// Frames on the link that the measurement did not send.
        pub foreign: u64,
        /// Figures out of their bounds, with the likely cause; empty for a certified direction.
        pub problem: Option<String>,
    }
}
