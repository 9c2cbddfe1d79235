//! Rows of the lab's certificate: required and measured values of each link direction.

use lab_units::{BitsPerSec, Nanos};

use super::row;

row! {
    /// Link direction, as the scenario requires it and as measured before the first flow, in emulated units.
    pub struct CertifiedRow in "certificate.csv", required: false {
        /// Name of the link: `dc1-dc2`, `dc1-dc1/h1`.
        pub link: String,
        /// Node that sends in this direction.
        pub from: String,
        /// Node that receives in this direction.
        pub to: String,
        /// Required rate.
        pub emu_rate_bps: BitsPerSec,
        /// Rate at which a train of frames arrived, without the frames of the shaper's burst; empty if too few frames
        /// arrived.
        pub emu_measured_rate_bps: Option<BitsPerSec>,
        /// Largest difference of the two.
        pub emu_rate_bound_bps: BitsPerSec,
        /// Required one-way delay.
        pub emu_delay_ns: Nanos,
        /// Least one-way delay of the probes, without their serialisation time; empty if no probe arrived.
        pub emu_measured_delay_ns: Option<Nanos>,
        /// Largest difference of the two.
        pub emu_delay_bound_ns: Nanos,
        /// Largest minus least delay of the probes; empty if no probe arrived.
        pub emu_spread_ns: Option<Nanos>,
        /// Bound on the spread.
        pub emu_spread_bound_ns: Nanos,
        /// Required length of the egress queue, in frames of the largest size.
        pub queue_packets: u64,
        /// Queue length measured by filling the queue; empty if the queue is too long to fill, so that only the
        /// kernel's limit was checked.
        pub measured_queue_packets: Option<u64>,
        /// Largest difference of the two.
        pub queue_bound_packets: u64,
        /// Number of frames sent: probes and train.
        pub sent: u64,
        /// Number of frames that did not arrive.
        pub lost: u64,
        /// Number of frames that arrived after a frame sent later, or twice.
        pub disordered: u64,
        /// Number of frames on the link that the measurement did not send.
        pub foreign: u64,
        /// Values outside their bounds, with the likely cause; empty for a certified direction.
        pub problem: Option<String>,
    }
}
