//! Inputs of a network, from the measurements of an interval.

use lab_units::{BitsPerSec, Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Divisors that bring the inputs near 1: the same for all switches, and fixed by the training.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Divisors {
    /// Largest link utilisation that the training demands cause under ECMP.
    pub utilisation: f64,
    /// Largest training demand, as a share of the network's largest link rate.
    pub demand: f64,
}

impl Divisors {
    /// Returns the inputs of a network: first the links' utilisations, then the rows' demands.
    #[must_use]
    pub fn inputs(
        self,
        utilisations: impl IntoIterator<Item = f64>,
        demands: impl IntoIterator<Item = f64>,
    ) -> Vec<f32> {
        let utilisations = utilisations
            .into_iter()
            .map(|it| narrow(it / self.utilisation));
        let demands = demands.into_iter().map(|it| narrow(it / self.demand));
        utilisations.chain(demands).collect()
    }
}

/// Measurements of one interval at a switch. All values are in paper units or all are scaled: the inputs are the same.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub interval: Nanos,
    /// Largest rate of a link between switches in the network.
    pub largest_rate: BitsPerSec,
    /// Bytes sent over the links of [`crate::AgentLayout::links`], and the links' rates.
    pub links: &'a [(Bytes, BitsPerSec)],
    /// Bytes that the hosts of the switch's datacenter sent, by row.
    pub demands: &'a [Bytes],
}

impl Observation<'_> {
    /// Returns the inputs of the switch's network.
    #[must_use]
    pub fn inputs(&self, divisors: Divisors) -> Vec<f32> {
        let share = |bytes, rate| share(bytes, rate, self.interval);
        divisors.inputs(
            self.links.iter().map(|&(bytes, rate)| share(bytes, rate)),
            self.demands
                .iter()
                .map(|&bytes| share(bytes, self.largest_rate)),
        )
    }
}

/// Returns bytes per interval as a share of a rate.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "conversion and division round as IEEE 754 says, so all machines agree"
)]
pub fn share(bytes: Bytes, rate: BitsPerSec, interval: Nanos) -> f64 {
    bytes.get() as f64 * BIT_NANOS / (rate.get() as f64 * interval.get() as f64)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounded to the nearest float"
)]
const fn narrow(number: f64) -> f32 {
    number as f32
}

/// Bits per byte, times nanoseconds per second.
const BIT_NANOS: f64 = 8e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_shares_over_divisors() {
        let rate = |gbit: u64| BitsPerSec::new(gbit * 1_000_000_000).unwrap();
        // At 1 Gbit/s, 100 ms carry 12.5 MB.
        let links = [
            (Bytes::new(12_500_000), rate(1)),
            (Bytes::new(12_500_000), rate(4)),
        ];
        let observation = Observation {
            interval: Nanos::from_millis(100),
            largest_rate: rate(4),
            links: &links,
            demands: &[Bytes::new(25_000_000), Bytes::ZERO],
        };
        let divisors = Divisors {
            utilisation: 2.0,
            demand: 0.25,
        };
        assert_eq!(observation.inputs(divisors), [0.5, 0.125, 2.0, 0.0]);
        // A hundredth of the rate for a hundred times the interval.
        let slower = |gbit: u64| BitsPerSec::new(gbit * 10_000_000).unwrap();
        let scaled = Observation {
            interval: Nanos::from_millis(10_000),
            largest_rate: slower(4),
            links: &links.map(|(bytes, rate)| (bytes, slower(rate.get() / 1_000_000_000))),
            ..observation
        };
        assert_eq!(scaled.inputs(divisors), observation.inputs(divisors));
    }
}
