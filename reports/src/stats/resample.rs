//! Samples drawn with replacement, as counts.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Draws as many items as there are, with replacement, again and again.
pub struct Resampler {
    rng: Pcg64Mcg,
    counts: Vec<u32>,
}

impl Resampler {
    /// Draws from `len` items, the same draws each time.
    pub fn new(len: usize) -> Self {
        Self {
            rng: Pcg64Mcg::seed_from_u64(SEED),
            counts: vec![0; len],
        }
    }

    /// How often each item was drawn in the next sample.
    pub fn draw(&mut self) -> &[u32] {
        self.counts.fill(0);
        let len = self.counts.len();
        for _ in 0..len {
            let index = below(self.rng.next_u64(), len);
            self.counts[index] += 1;
        }
        &self.counts
    }
}

/// How many samples to draw of `len` items: 2,000, fewer where that would take more than about a
/// second. A multiple of 40, so that 2.5 % of them is a whole number.
pub fn sample_count(len: usize) -> usize {
    let affordable = MAX_DRAWS / len.max(1);
    affordable.clamp(MIN_SAMPLES, MAX_SAMPLES) / 40 * 40
}

/// `random` scaled to `0..len`. Its bias, at most `len / 2^64`, is far under what is estimated.
fn below(random: u64, len: usize) -> usize {
    let product = u128::from(random) * (len as u128);
    usize::try_from(product >> 64).unwrap_or(0)
}

/// Fixed, so that a report of a run is always the same.
const SEED: u64 = 0x1c4b;

const MAX_SAMPLES: usize = 2_000;
const MIN_SAMPLES: usize = 200;
const MAX_DRAWS: usize = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_as_many_items_as_there_are() {
        let mut resampler = Resampler::new(44);
        for _ in 0..100 {
            assert_eq!(resampler.draw().iter().sum::<u32>(), 44);
        }
    }

    #[test]
    fn the_draws_are_these_on_every_machine() {
        assert_eq!(Resampler::new(10).draw(), GOLDEN);
    }

    #[test]
    fn sample_counts_are_multiples_of_40_within_bounds() {
        assert_eq!(sample_count(44), 2_000);
        assert_eq!(sample_count(100_000), 1_000);
        assert_eq!(sample_count(10_000_000), 200);
    }

    const GOLDEN: [u32; 10] = [0, 2, 2, 1, 0, 0, 1, 2, 2, 0];
}
