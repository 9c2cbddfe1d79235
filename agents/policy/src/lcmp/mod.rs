//! LCMP: long-haul cost-aware multipath (EuroSys '26), as pure functions of parameters and signals.
//!
//! - [`path`][]: path quality C_path, one byte per path (section 3.2: Alg. 1, Alg. 2, Eq. 2)
//! - [`thresholds`][]: thresholds for a port's queue and trend levels (section 3.1.2)
//! - [`port`][]: a port's congestion C_cong, from 24 bytes of state (section 3.3: Eq. 3 to 5)
//! - [`mod@decide`][]: choice of a next hop for a flow's first packet (sections 3.1.2 and 3.4: Eq. 1)
//!
//! Costs and scores range from 0 to 255; smaller is better. Levels are multiples of a tenth of 255.

pub mod decide;
pub mod path;
pub mod port;
pub mod thresholds;

pub use decide::{decide, decide_stale};
pub use lab_abi::{
    LcmpConfig, ParameterError, Preset,
    lcmp::{FLOW_TABLE_HEADROOM, Keep, LEVELS, MAX_DELAY_SHIFT, delay_of_shift},
};
pub use path::{delay_score, link_cap_score, path_score, separating_shift};
pub use port::{Levels, PortState};
pub use thresholds::{PortProvision, PortThresholds};

use lab_parameters::Value;

use crate::policy::{BuiltInPolicy, Mechanism};

/// LCMP with both path cost and congestion cost.
pub const POLICY: BuiltInPolicy = BuiltInPolicy {
    word: "lcmp",
    key: Some("lcmp"),
    doc: "Long-haul cost-aware multi-path routing.",
    sets: None,
    mechanism: Mechanism::Scores,
};

/// LCMP without the path cost.
pub const RM_ALPHA: BuiltInPolicy = BuiltInPolicy {
    word: "rm-alpha",
    key: Some("rm-alpha"),
    doc: "LCMP without the path cost: `alpha` is 0.",
    sets: Some(("alpha", Value::Number(0))),
    ..POLICY
};

/// LCMP without the congestion cost.
pub const RM_BETA: BuiltInPolicy = BuiltInPolicy {
    word: "rm-beta",
    key: Some("rm-beta"),
    doc: "LCMP without the congestion cost: `beta` is 0.",
    sets: Some(("beta", Value::Number(0))),
    ..POLICY
};

/// Score of each level (section 3.1.2): ⌊255·(i+1)/N⌋.
pub const LEVEL_SCORES: [u8; LEVELS] = [25, 51, 76, 102, 127, 153, 178, 204, 229, 255];

/// Returns `score` capped at 255.
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
