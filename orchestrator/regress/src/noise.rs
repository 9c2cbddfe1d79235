//! Seeded noise for tests of statistical properties.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{ContinuousCDF as _, Normal};

/// Generator of standard normal values, by inversion of the cumulative distribution function.
pub struct Noise(Pcg64Mcg, Normal);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed), Normal::standard())
    }

    pub fn normal(&mut self) -> f64 {
        let uniform = f64::from(self.0.next_u32()) + 0.5;
        self.1.inverse_cdf(uniform / 2f64.powi(32))
    }
}
