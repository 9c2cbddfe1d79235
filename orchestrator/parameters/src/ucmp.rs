//! UCMP's parameters.

use lab_units::Nanos;

use crate::{
    limits::{MAX_INTERVAL, micros, ratio},
    set::{parameters, published},
    value::{Domain, Hundredths, Value},
};

parameters! {
    /// Parameters of UCMP's uniform cost (Li et al., SIGCOMM '24).
    #[derive(Copy)]
    pub struct UcmpConfig(label) = "UCMP" {
        /// Weight of link use relative to delay (α), in steps of 0.01.
        alpha_percent: Hundredths = Hundredths(50) => {
            published: published("0.5", "Li et al.'s experiments", &[Value::Ratio(ratio(1, 2))]),
        };
        /// Cost difference up to which two paths count as equal, so that flows are hashed over both; by default a
        /// tenth of the paper's shortest inter-DC delay.
        quantum_ns: Nanos = micros(100) => {
            domain: Domain::Time { min: Nanos::ZERO, max: MAX_INTERVAL },
            is_scaled: false,
        };
        /// Flow ageing: if true, a flow is re-routed to the cheapest path for the bytes sent so far. If false, a flow
        /// keeps the path of its first packet, which is a path with the least delay, and the policy is labelled
        /// `min-delay`.
        ageing: bool = true => {
            published: published("true", "Li et al.", &[Value::Flag(true)]),
        };
    }
    conflicts []
}

impl UcmpConfig {
    /// Default parameters; UCMP has no presets.
    pub const DEFAULT: Self = Self::PAPER;
}
