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
        /// Time over which demands are measured, and after which the resulting split is installed; 100 ms is the
        /// published control loop.
        interval_ns: Nanos = millis(100) => {
            domain: INTERVALS,
            published: published("100 ms", "section 6.1", &[Value::Time(millis(100))]),
        };
        /// Number of hash buckets that a destination's next hops share.
        buckets: u16 = 100 => { domain: numbers(1, 1_000) };
    }
    conflicts []
}

impl TeConfig {
    /// Default parameters.
    pub const DEFAULT: Self = Self::PAPER;
}
