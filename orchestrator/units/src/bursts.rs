//! Shape of bursty traffic, which plans sample and trainings of RedTE repeat.
//!
//! Time is divided into slots of one burst's length. In a slot, a pair of datacenters bursts with probability
//! 1 ÷ [`SLOTS_PER_BURST`], and sends at [`OVER_LULL`] times its rate of the other slots.

use crate::Ratio;

/// Mean number of slots per burst.
pub const SLOTS_PER_BURST: u32 = 10;

/// Ratio of the rate in a burst to the rate between bursts.
pub const OVER_LULL: u32 = 11;

/// Ratio of the rate between bursts to the mean rate; with it, the mean over time is the mean rate.
pub const LULL: Ratio = over_mean(1);

/// Ratio of the rate in a burst to the mean rate.
pub const BURST: Ratio = over_mean(OVER_LULL);

/// Returns a rate in multiples of the mean rate, given in multiples of the rate between bursts.
const fn over_mean(lulls: u32) -> Ratio {
    let slots = (SLOTS_PER_BURST - 1 + OVER_LULL) as u64;
    Ratio::new(lulls as u64 * SLOTS_PER_BURST as u64, slots).expect("ten slots are not empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine slots at 0.5 and one at 5.5 times the mean are ten slots at the mean.
    #[test]
    fn the_mean_over_ten_slots_is_the_mean_rate() {
        assert_eq!(Some(LULL), Ratio::new(1, 2));
        assert_eq!(Some(BURST), Ratio::new(11, 2));
    }
}
