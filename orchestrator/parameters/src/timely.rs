//! TIMELY's parameters (Mittal et al., SIGCOMM '15; Zhu et al., "ECN or Delay", CoNEXT '16).

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    limits::{MAX_STAGES, megabits, micros, ratio},
    set::{ParameterError, Preset, parameters},
    value::{Value, numbers},
};

parameters! {
    /// TIMELY's parameters. With the preset `paper`, the rate is updated once per segment; with `artifact`, once per
    /// round trip.
    ///
    /// `paper`: β, T_low, T_high, δ and the number of raises by δ (5) before raises by 5 δ are from section 4.3; α
    /// and the minimum round trip are from "ECN or Delay", table 2, with the shortest segment given there.
    /// `artifact`: `RATE_AI`, `RATE_HAI` and `MIN_RATE` from its configuration, and the defaults of `RdmaHw`.
    pub struct TimelyConfig by preset = "TIMELY" {
        /// Number of acknowledged bytes between two updates of the rate.
        segment_bytes: Bytes = Bytes::new(16_000) => { only: Some(Preset::Paper) };
        /// Weight of a new round-trip difference in the average (α).
        difference_weight: Ratio = ratio(875, 1_000);
        /// Share by which a rate is cut (β).
        decrease: Ratio = ratio(8, 10);
        /// Round-trip time below which the rate is always raised (T_low); at most `t_high`.
        t_low_ns: Nanos = micros(50);
        /// Round-trip time above which the rate is always cut (T_high); at least `t_low`.
        t_high_ns: Nanos = micros(500);
        /// Round-trip time of an empty network, the unit of the gradient.
        min_rtt_ns: Nanos = micros(20);
        /// Regular increase of the rate (δ).
        additive_rate_bps: BitsPerSec = megabits(10), megabits(50);
        /// Increase of the rate after `hyper_after` consecutive raises.
        hyper_rate_bps: BitsPerSec = megabits(50), megabits(100);
        /// Number of consecutive raises before the larger ones.
        hyper_after: u32 = 5 => { domain: numbers(0, MAX_STAGES) };
        /// Minimum rate.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts [thresholds]
}

/// Checks that no round-trip time is both below the lower threshold and above the upper one.
fn thresholds(config: &TimelyConfig) -> Option<ParameterError> {
    let low = config.t_low_ns;
    let high = config.t_high_ns;
    (low > high).then_some(ParameterError::Order {
        low: ("t_low", Value::Time(low)),
        high: ("t_high", Value::Time(high)),
        may_meet: true,
    })
}
