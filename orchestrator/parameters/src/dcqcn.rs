//! DCQCN's parameters (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
//! SIGCOMM '15, and their NS-3 code).

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    limits::{MAX_STAGES, megabits, micros, ratio},
    set::{Preset, parameters},
    value::numbers,
};

parameters! {
    /// DCQCN's parameters. The preset `paper` sends CNPs; with `artifact` marks come back in ACKs,
    /// rates are cut at ticks, and no byte counter raises them.
    ///
    /// `paper`: N, K, T, B, F and R_AI of sections 3 and 5; R_HAI, five times R_AI, and the minimum
    /// rate of the authors' NS-3 code. `artifact`: `EWMA_GAIN`, `RATE_DECREASE_INTERVAL`, `RP_TIMER`,
    /// `FAST_RECOVERY_TIMES`, `RATE_AI`, `RATE_HAI` and `MIN_RATE` of its configuration, which has no
    /// `ALPHA_RESUME_INTERVAL`, so that `RdmaHw`'s default counts.
    pub struct DcqcnConfig by preset = "DCQCN" {
        /// Weight of a new mark in α (g).
        gain: Ratio = ratio(1, 256);
        /// Minimum time between two CNPs of one QP (N).
        cnp_interval_ns: Nanos = micros(50) => { only: Some(Preset::Paper) };
        /// Time between two updates of α (K): with the preset `paper`, time without a CNP after which
        /// α decays.
        alpha_interval_ns: Nanos = micros(55);
        /// Minimum time between two cuts of the rate, on a grid that starts at the first mark.
        decrease_interval_ns: Nanos = micros(4) => { only: Some(Preset::Artifact) };
        /// Time between two raises of the rate (T).
        increase_interval_ns: Nanos = micros(55), micros(900);
        /// Bytes sent between two raises of the rate (B).
        byte_counter_bytes: Bytes = Bytes::new(10_000_000) => { only: Some(Preset::Paper) };
        /// Number of raises by halving the gap to the target, before the target itself is raised (F).
        fast_recovery: u32 = 5, 1 => { domain: numbers(1, MAX_STAGES) };
        /// Raise of the target after fast recovery (R_AI).
        additive_rate_bps: BitsPerSec = megabits(40), megabits(50);
        /// Raise of the target after additive raises (R_HAI): with the preset `paper`, once both
        /// timer and byte counter are past fast recovery, times the lesser number of stages past it;
        /// with `artifact`, from the second raise on.
        hyper_rate_bps: BitsPerSec = megabits(200), megabits(100);
        /// Minimum rate.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts []
}
