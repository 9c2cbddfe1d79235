//! Seeded choices.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A source of test values that a seed repeats.
pub(crate) struct Random(Pcg64Mcg);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Any number.
    pub(crate) fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which is not 0. The bias is no matter for tests.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.any() % u64::from(bound)).unwrap_or(0)
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.any().to_le_bytes()[0]
    }

    pub(crate) fn word16(&mut self) -> u16 {
        let [low, high, ..] = self.any().to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    pub(crate) fn word32(&mut self) -> u32 {
        self.0.next_u32()
    }
}
