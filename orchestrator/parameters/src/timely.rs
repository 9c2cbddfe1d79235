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
        /// Weight of the newest round-trip difference in the moving average (α).
        difference_weight: Ratio = ratio(875, 1_000);
        /// Multiplicative decrease factor (β): the weight of the gradient, or of the excess over `t_high`, in a rate
        /// cut.
        decrease: Ratio = ratio(8, 10);
        /// Round-trip time below which the rate is always raised (T_low); at most `t_high`.
        t_low_ns: Nanos = micros(50);
        /// Round-trip time above which the rate is always cut (T_high); at least `t_low`.
        t_high_ns: Nanos = micros(500);
        /// Round-trip time of an empty network, the unit of the gradient.
        min_rtt_ns: Nanos = micros(20);
        /// Increase of the rate per regular raise (δ).
        additive_rate_bps: BitsPerSec = megabits(10), megabits(50);
        /// Increase of the rate per raise after `hyper_after` consecutive raises (hyperactive increase).
        hyper_rate_bps: BitsPerSec = megabits(50), megabits(100);
        /// Number of consecutive raises by δ before raises by `hyper_rate`.
        hyper_after: u32 = 5 => { domain: numbers(0, MAX_STAGES) };
        /// Minimum rate of a QP.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts [thresholds]
}

/// Checks that `t_low` is at most `t_high`.
fn thresholds(config: &TimelyConfig) -> Option<ParameterError> {
    let low = config.t_low_ns;
    let high = config.t_high_ns;
    (low > high).then_some(ParameterError::Order {
        low: ("t_low", Value::Time(low)),
        high: ("t_high", Value::Time(high)),
        may_meet: true,
    })
}
