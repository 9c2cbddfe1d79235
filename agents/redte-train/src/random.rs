//! Named streams of random numbers.
//!
//! Every use has a stream of its own, and no stream's state outlives a step, so that a resumed training draws the same
//! numbers as an uninterrupted one.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Stream of random numbers.
pub(crate) struct Random(Pcg64Mcg);

impl Random {
    /// Returns the stream that `parts` name.
    pub fn of(parts: &[u64]) -> Self {
        let seed = parts.iter().fold(0, |seed, part| mixed(seed ^ part));
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns a uniform number in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "the number has 53 bits")]
    pub fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a uniform number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.0.next_u64()) * u128::try_from(bound).unwrap_or(u128::MAX >> 64);
        usize::try_from(wide >> 64).unwrap_or(usize::MAX)
    }

    /// Returns an exponentially distributed number with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.fraction())
    }

    /// Returns a uniform number between −`limit` and `limit`.
    pub fn within(&mut self, limit: f64) -> f64 {
        (2.0 * self.fraction() - 1.0) * limit
    }
}

/// Mixes the bits of a number, as SplitMix64 does.
const fn mixed(number: u64) -> u64 {
    let a = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}
