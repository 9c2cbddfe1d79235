//! LCMP: long-haul cost-aware multipath, as pure functions of its parameters and signals.
//!
//! - [`path`][]: how good a path is, once per path (Eq. 2, Alg. 1 and 2)
//!
//! Costs and scores are 0 to 255 and smaller is better.

pub mod path;

pub use lab_abi::lcmp::{LEVELS, LcmpConfig, LcmpConfigError, Preset};
pub use path::{capacity_score, delay_score, path_score, separating_shift};

/// The score of each level: ⌊255·(i+1)/N⌋.
pub const LEVEL_SCORES: [u8; LEVELS] = [25, 51, 76, 102, 127, 153, 178, 204, 229, 255];
