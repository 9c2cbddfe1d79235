//! Parameters of a link and its queues.

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    limits::{MAX_BUFFER, MAX_DELAY, MIN_BUFFER, megabits, micros},
    set::{ParameterError, parameters},
    value::{Domain, Value},
};

parameters! {
    /// Parameters of a link, equal in both directions.
    ///
    /// The defaults are those of a link inside a datacenter: in the paper, hosts, leaves and spines have 100 Gb/s,
    /// and leaf and spine switches have 32 MB of buffer.
    #[derive(Copy)]
    pub struct LinkConfig = "Link" {
        /// Rate in each direction.
        rate_bps: BitsPerSec = megabits(100_000) => { is_required: true, is_changeable: true };
        /// One-way propagation delay.
        delay_ns: Nanos = micros(1) => {
            domain: Domain::Time { min: Nanos::ZERO, max: MAX_DELAY },
            is_required: true,
            is_changeable: true,
        };
        /// Size of the egress queue at each end.
        buffer_bytes: Bytes = Bytes::new(32_000_000) => {
            domain: Domain::Size { min: MIN_BUFFER, max: MAX_BUFFER },
        };
        /// Share of packets that are lost at random.
        loss: Ratio = Ratio::ZERO => { domain: Domain::ProperFraction, is_changeable: true };
    }
    conflicts []
    beside {
        /// ECN marking at the egress queues.
        ecn: Option<EcnConfig> = None;
    }
}

parameters! {
    /// RED-style ECN marking by queue length.
    #[derive(Copy)]
    pub struct EcnConfig = "ECN" {
        /// Queue length below which no packet is marked.
        k_min: Bytes = Bytes::ZERO => {
            domain: Domain::Size { min: Bytes::ZERO, max: MAX_BUFFER },
            is_required: true,
        };
        /// Queue length above which every packet is marked.
        k_max: Bytes = Bytes::new(1) => { is_required: true };
        /// Marking probability at `k_max`.
        p_max: Ratio = Ratio::ONE => { is_required: true };
    }
    conflicts [thresholds]
}

fn thresholds(config: &EcnConfig) -> Option<ParameterError> {
    (config.k_min > config.k_max).then_some(ParameterError::Order {
        low: ("k_min", Value::Size(config.k_min)),
        high: ("k_max", Value::Size(config.k_max)),
        may_meet: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParameterSet;

    #[test]
    fn marking_may_start_at_the_threshold_at_which_it_is_certain() {
        let marks = |k_min, k_max| EcnConfig {
            k_min: Bytes::new(k_min),
            k_max: Bytes::new(k_max),
            ..EcnConfig::PAPER
        };
        assert_eq!(marks(2, 2).check(), Ok(()));
        let names = marks(3, 2).check().map_err(|error| error.names());
        assert_eq!(names, Err(["k_min", "k_max"]));
    }
}
