//! Named streams of random numbers.
//!
//! Each sampled quantity of each sending host has its own stream, identified by a name, so that another host, load or
//! repetition does not change the other streams. The generator is PCG-64-MCG, seeded with the SHA-256 of the name, and
//! the logarithm is a Rust port of musl's, so that a seed gives the same schedule on every machine.

use lab_units::{Nanos, Ratio};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use sha2::{Digest, Sha256};

/// Inputs for sampling a workload of the scenario in one repetition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling<'a> {
    pub seed: u64,
    pub repetition: u32,
    /// Index in the scenario's `traffic` list.
    pub traffic: usize,
    /// YAML path of the workload, such as `traffic[0]`.
    pub path: &'a str,
}

/// Components of the name that identifies a stream of random numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamName<'a> {
    pub seed: u64,
    pub repetition: u32,
    /// Index in the scenario's `traffic` list.
    pub traffic: usize,
    /// Name of the sending host; `HOST>DC` for the host's flows to one datacenter.
    pub host: &'a str,
    /// Name of the sampled quantity, such as `gaps`.
    pub quantity: &'static str,
}

/// Stream of uniformly distributed 64-bit numbers.
pub(crate) struct Stream(Pcg64Mcg);

impl Stream {
    pub fn named(name: StreamName<'_>) -> Self {
        let text = format!(
            "lcmp-lab flows 1|{}|{}|{}|{}|{}",
            name.seed, name.repetition, name.traffic, name.host, name.quantity
        );
        Self(generator(&text))
    }

    /// Returns the stream for the random faults of the links named `group`. `random` is the position of the entry among
    /// those with random faults.
    pub fn of_faults(seed: u64, random: usize, group: &str) -> Self {
        Self(generator(&format!(
            "lcmp-lab faults 1|{seed}|{random}|{group}"
        )))
    }

    /// Returns the next number, uniform over the 64-bit range.
    pub fn uniform(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number from 0 to `bound` − 1.
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.uniform()) * u128::try_from(bound).unwrap_or(u128::MAX >> 64);
        usize::try_from(wide >> 64).unwrap_or(usize::MAX)
    }

    /// Returns a uniform duration between 0 and `mean` nanoseconds, the phase of an even arrival process.
    pub fn phase(&mut self, mean: f64) -> Nanos {
        nearest(self.fraction() * mean)
    }

    /// Returns an exponentially distributed duration with mean `mean` (ns), by inversion: −ln(1 − u) · mean.
    pub fn exponential(&mut self, mean: f64) -> Nanos {
        nearest(-libm::log1p(-self.fraction()) * mean)
    }

    /// Returns a uniform number in [0, 1) with the full 53-bit precision of a float.
    fn fraction(&mut self) -> f64 {
        float(self.uniform() >> 11) / float(1 << 53)
    }
}

/// Returns the random number generator for the stream `name`: PCG-64-MCG, whose initial state is the first half of the
/// name's SHA-256.
///
/// # Panics
/// Never, because a digest has 32 bytes.
#[must_use]
pub fn generator(name: &str) -> Pcg64Mcg {
    let digest: [u8; 32] = Sha256::digest(name).into();
    let (state, _) = digest
        .split_first_chunk()
        .expect("a digest has over 16 bytes");
    Pcg64Mcg::new(u128::from_be_bytes(*state))
}

/// Converts `value` to a float: exact up to 2^53, the nearest float above that.
#[must_use]
pub(crate) fn float(value: u64) -> f64 {
    value as f64
}

/// Returns a ratio as a float.
pub(crate) fn quotient(ratio: Ratio) -> f64 {
    float(ratio.numerator()) / float(ratio.denominator())
}

/// Rounds `nanos` to the nearest whole number of nanoseconds.
#[must_use]
pub(crate) fn nearest(nanos: f64) -> Nanos {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and no length is negative"
    )]
    Nanos::new(nanos.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(repetition: u32, host: &str) -> StreamName<'_> {
        StreamName {
            seed: 1,
            repetition,
            traffic: 0,
            host,
            quantity: "gaps",
        }
    }

    /// If these first random numbers changed, the schedule of every recorded run would no longer be reproducible.
    #[test]
    fn the_first_draws_are_pinned() {
        let mut stream = Stream::named(name(0, "dc1/h1"));
        let draws: Vec<_> = (0..4).map(|_| stream.uniform()).collect();
        insta::assert_debug_snapshot!(draws);
        let mut stream = Stream::named(name(0, "dc1/h1"));
        let gaps: Vec<_> = (0..4).map(|_| stream.exponential(1e9).get()).collect();
        insta::assert_debug_snapshot!(gaps);
    }

    #[test]
    fn streams_of_other_names_differ() {
        let first = |name| Stream::named(name).uniform();
        assert_ne!(first(name(0, "dc1/h1")), first(name(1, "dc1/h1")));
        assert_ne!(first(name(0, "dc1/h1")), first(name(0, "dc1/h2")));
    }

    /// The mean of n exponential samples has a relative standard error of 1/√n. One seed in three million is more than
    /// five standard errors off; the seed here is fixed.
    #[test]
    fn exponential_gaps_have_their_mean_and_spread() {
        let mut stream = Stream::named(name(0, "dc1/h1"));
        let draws: Vec<f64> = (0..40_000)
            .map(|_| float(stream.exponential(1e6).get()) / 1e6)
            .collect();
        let mean = draws.iter().sum::<f64>() / 40_000.0;
        assert!((mean - 1.0).abs() < 5.0 / 200.0, "{mean}");
        let above = draws.iter().filter(|gap| **gap > 1.0).count();
        // The expected share is 1/e, with a standard error of √(p(1−p)/n) = 0.0024.
        let share = float(u64::try_from(above).unwrap()) / 40_000.0;
        assert!((share - (-1.0f64).exp()).abs() < 5.0 * 0.0024, "{share}");
    }

    #[test]
    fn below_reaches_all_and_never_the_bound() {
        let mut stream = Stream::named(name(0, "dc1/h1"));
        let mut seen = [0u32; 3];
        for _ in 0..300 {
            seen[stream.below(3)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }
}
