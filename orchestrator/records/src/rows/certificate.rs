//! Rows of the lab's certificate, with the required and the measured values of each link direction.

use lab_units::{BitsPerSec, Nanos};

use super::row;

row! {
    /// Rate, delay and queue of a link direction: required by the scenario, and measured before the first flow. Rates
    /// and delays are after scaling for emulation.
    pub struct CertifiedRow in "certificate.csv", required: false {
        /// Name of the link, such as `dc1-dc2` or `dc1-dc1/h1`.
        pub link: String,
        /// Node that sends in this direction.
        pub from: String,
        /// Node that receives in this direction.
        pub to: String,
        /// Rate that the scenario requires.
        pub emu_rate_bps: BitsPerSec,
        /// Rate at which a train of back-to-back frames arrived, not counting the shaper's initial burst; empty if too
        /// few frames arrived.
        pub emu_measured_rate_bps: Option<BitsPerSec>,
        /// Maximum permitted difference between required and measured rate.
        pub emu_rate_bound_bps: BitsPerSec,
        /// One-way delay that the scenario requires.
        pub emu_delay_ns: Nanos,
        /// Minimum one-way delay of the probes, without their serialisation time; empty if no probe arrived.
        pub emu_measured_delay_ns: Option<Nanos>,
        /// Maximum permitted difference between required and measured delay.
        pub emu_delay_bound_ns: Nanos,
        /// Maximum minus minimum delay of the probes; empty if no probe arrived.
        pub emu_spread_ns: Option<Nanos>,
        /// Maximum permitted difference between the probes' maximum and minimum delay.
        pub emu_spread_bound_ns: Nanos,
        /// Length of the egress queue that the scenario requires, in frames of the maximum size.
        pub queue_packets: u64,
        /// Queue length measured by filling the queue; empty if it is too long to fill, and only the kernel's limit was
        /// checked.
        pub measured_queue_packets: Option<u64>,
        /// Maximum permitted difference between required and measured queue length.
        pub queue_bound_packets: u64,
        /// Number of frames sent: delay probes and the train of back-to-back frames together.
        pub sent: u64,
        /// Number of frames that did not arrive.
        pub lost: u64,
        /// Number of frames that arrived twice, or after a frame that was sent later.
        pub disordered: u64,
        /// Number of frames on the link that did not belong to the measurement.
        pub foreign: u64,
        /// Values outside their bounds, with the likely cause; empty if all values are within their bounds.
        pub problem: Option<String>,
    }
}
