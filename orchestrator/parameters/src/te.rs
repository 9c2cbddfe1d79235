//! Parameters of centralised traffic engineering.

use lab_units::Nanos;

use crate::{
    limits::millis,
    set::{parameters, published},
    value::{INTERVALS, Value, numbers},
};

parameters! {
    /// Parameters of centralised traffic engineering.
    #[derive(Copy)]
    pub struct TeConfig(label) = "TE" {
        /// Interval over which demands are measured; the split computed from these demands is installed one interval
        /// later. 100 ms is the published period of the control loop.
        interval_ns: Nanos = millis(100) => {
            domain: INTERVALS,
            published: published("100 ms", "section 6.1", &[Value::Time(millis(100))]),
        };
        /// Number of hash buckets that are divided among the next hops to a destination.
        buckets: u16 = 100 => { domain: numbers(1, 1_000) };
    }
    conflicts []
}

impl TeConfig {
    /// Default parameters; TE has no presets.
    pub const DEFAULT: Self = Self::PAPER;
}
