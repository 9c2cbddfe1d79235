//! DCQCN's parameters (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
//! SIGCOMM '15, and their NS-3 code).

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    limits::{MAX_STAGES, megabits, micros, ratio},
    set::{Preset, parameters},
    value::numbers,
};

parameters! {
    /// DCQCN's parameters. With the preset `paper`, receivers send CNPs; with `artifact`, marks are returned in ACKs,
    /// rate cuts happen on a fixed time grid, and no byte counter raises the rate.
    ///
    /// `paper`: N, K, T, B, F and R_AI from sections 3 and 5; R_HAI, which is five times R_AI, and the minimum rate
    /// from the authors' NS-3 code. `artifact`: `EWMA_GAIN`, `RATE_DECREASE_INTERVAL`, `RP_TIMER`,
    /// `FAST_RECOVERY_TIMES`, `RATE_AI`, `RATE_HAI` and `MIN_RATE` from its configuration. The configuration has no
    /// `ALPHA_RESUME_INTERVAL`, so that `RdmaHw`'s default applies.
    pub struct DcqcnConfig by preset = "DCQCN" {
        /// Weight g of a new mark in the moving average α, the estimate of congestion.
        gain: Ratio = ratio(1, 256);
        /// Minimum time between two CNPs of one QP (N).
        cnp_interval_ns: Nanos = micros(50) => { only: Some(Preset::Paper) };
        /// Period K of the timer that updates α. With the preset `paper`, α decays after each such period without a
        /// CNP.
        alpha_interval_ns: Nanos = micros(55);
        /// Minimum time between two rate cuts. Cuts fall on a time grid that starts at the QP's first mark.
        decrease_interval_ns: Nanos = micros(4) => { only: Some(Preset::Artifact) };
        /// Time between two raises of the rate (T).
        increase_interval_ns: Nanos = micros(55), micros(900);
        /// Bytes sent between two raises of the rate (B).
        byte_counter_bytes: Bytes = Bytes::new(10_000_000) => { only: Some(Preset::Paper) };
        /// Number F of raises in fast recovery, each of which halves the gap to the target rate; only later raises
        /// change the target rate.
        fast_recovery: u32 = 5, 1 => { domain: numbers(1, MAX_STAGES) };
        /// Increase of the target rate per raise after fast recovery (R_AI).
        additive_rate_bps: BitsPerSec = megabits(40), megabits(50);
        /// Increase of the target rate per raise in hyper increase, after the additive raises (R_HAI). With the preset
        /// `paper`, hyper increase begins once both the timer and the byte counter are past fast recovery, and the
        /// increase is multiplied by the number of stages by which the slower of the two is past it; with `artifact`,
        /// hyper increase begins with the second raise after fast recovery.
        hyper_rate_bps: BitsPerSec = megabits(200), megabits(100);
        /// Minimum rate of a QP.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts []
}
