//! HPCC's parameters (Li et al., SIGCOMM '19).

use lab_units::{BitsPerSec, Ratio};

use crate::{
    limits::{MAX_STAGES, megabits, ratio},
    set::parameters,
    value::numbers,
};

parameters! {
    /// HPCC's parameters.
    ///
    /// `paper`: η and maxStage from section 5.1. W_AI is W_init · (1 − η) / N by section 3.3; for a NIC of 100 Gbit/s
    /// and N = 100 flows, this is an increase of 50 Mbit/s per round trip. `artifact`: `U_TARGET`, `MI_THRESH`,
    /// `RATE_AI` and `MIN_RATE` from its configuration, and `IntHeader::maxHop` from its code.
    pub struct HpccConfig by preset = "HPCC" {
        /// Target utilisation of a link (η).
        utilisation: Ratio = ratio(95, 100);
        /// Number of additive raises before a multiplicative raise (maxStage); if 0, all raises are multiplicative.
        max_stage: u32 = 5, 0 => { domain: numbers(0, MAX_STAGES) };
        /// Additive increase of the window per round trip (W_AI), given as a rate.
        additive_rate_bps: BitsPerSec = megabits(50);
        /// Minimum rate of a QP.
        min_rate_bps: BitsPerSec = megabits(100);
        /// Maximum number of hops whose telemetry (INT) a packet can carry.
        int_hops: u32 = 5, 64 => {
            domain: numbers(1, 64),
            derived: Some("the number of switches on the longest path, at least 5"),
        };
    }
    conflicts []
}
