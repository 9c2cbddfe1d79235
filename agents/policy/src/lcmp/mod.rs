//! LCMP: long-haul cost-aware multipath, as pure functions of its parameters and signals.
//!
//! - [`path`][]: how good a path is, one byte per path (Eq. 2, Alg. 1 and 2)
//! - [`thresholds`][]: where a port's queue and trend levels begin
//! - [`port`][]: a port's congestion, in 24 bytes of state (Eq. 3 to 5)
//! - [`mod@decide`][]: the choice for a flow's first packet (Eq. 1)
//!
//! Costs and scores are 0 to 255 and smaller is better. Levels are tenths of 255.

pub mod decide;
pub mod path;
pub mod port;
pub mod thresholds;

pub use decide::{decide, decide_stale};
pub use lab_abi::{
    LcmpConfig, ParameterError, Preset,
    lcmp::{LEVELS, MAX_DELAY_SHIFT, delay_of_shift},
};
pub use path::{capacity_score, delay_score, path_score, separating_shift};
pub use port::{Levels, PortState};
pub use thresholds::{PortProvision, PortThresholds};

/// The score of each level: ⌊255·(i+1)/N⌋.
pub const LEVEL_SCORES: [u8; LEVELS] = [25, 51, 76, 102, 127, 153, 178, 204, 229, 255];

/// `score`, at most 255.
pub(crate) fn saturate(score: u32) -> u8 {
    u8::try_from(score).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_tenths_of_the_top_score() {
        for (index, score) in (1u32..).zip(LEVEL_SCORES) {
            assert_eq!(u32::from(score), 255 * index / 10);
        }
    }
}
