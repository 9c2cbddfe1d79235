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
    /// rates are cut at ticks, and no byte counter raises the rate.
    ///
    /// `paper`: N, K, T, B, F and R_AI from sections 3 and 5; R_HAI, which is five times R_AI, and the minimum rate
    /// from the authors' NS-3 code. `artifact`: `EWMA_GAIN`, `RATE_DECREASE_INTERVAL`, `RP_TIMER`,
    /// `FAST_RECOVERY_TIMES`, `RATE_AI`, `RATE_HAI` and `MIN_RATE` from its configuration. The configuration has no
    /// `ALPHA_RESUME_INTERVAL`, so that `RdmaHw`'s default applies.
    pub struct DcqcnConfig by preset = "DCQCN" {
        /// Weight of a new mark in α (g).
        gain: Ratio = ratio(1, 256);
        /// Minimum time between two CNPs of one QP (N).
        cnp_interval_ns: Nanos = micros(50) => { only: Some(Preset::Paper) };
        /// Time between two updates of α (K): with the preset `paper`, time without a CNP after which
        /// α decays.
        alpha_interval_ns: Nanos = micros(55);
        /// Minimum time between two rate cuts, on a time grid that starts at the first mark.
        decrease_interval_ns: Nanos = micros(4) => { only: Some(Preset::Artifact) };
        /// Time between two raises of the rate (T).
        increase_interval_ns: Nanos = micros(55), micros(900);
        /// Bytes sent between two raises of the rate (B).
        byte_counter_bytes: Bytes = Bytes::new(10_000_000) => { only: Some(Preset::Paper) };
        /// Number of raises that halve the gap to the target rate before the target itself is raised (F).
        fast_recovery: u32 = 5, 1 => { domain: numbers(1, MAX_STAGES) };
        /// Increase of the target rate per raise after fast recovery (R_AI).
        additive_rate_bps: BitsPerSec = megabits(40), megabits(50);
        /// Increase of the target rate per raise after the additive raises (R_HAI). With the preset `paper`, it
        /// applies once both timer and byte counter are past fast recovery, multiplied by the smaller number of
        /// stages past it; with `artifact`, it applies from the second raise on.
        hyper_rate_bps: BitsPerSec = megabits(200), megabits(100);
        /// Minimum rate.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts []
}
