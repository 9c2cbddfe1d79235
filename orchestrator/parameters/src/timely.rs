//! TIMELY's parameters (Mittal et al., SIGCOMM '15; Zhu et al., "ECN or Delay", CoNEXT '16).

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    limits::{MAX_STAGES, megabits, micros, ratio},
    set::{ParameterError, Preset, parameters},
    value::{Value, numbers},
};

parameters! {
    /// TIMELY's parameters. With the preset `paper` the rate steps once a segment, with `artifact`
    /// once a round trip.
    ///
    /// `paper`: β, T_low, T_high, δ, and 5 raises before raises of 5 δ, of section 4.3; α and the
    /// minimum round trip as in "ECN or Delay", table 2, with the shortest segment there. `artifact`:
    /// `RATE_AI`, `RATE_HAI` and `MIN_RATE` of its configuration, and `RdmaHw`'s defaults.
    pub struct TimelyConfig by preset = "TIMELY" {
        /// Bytes acknowledged between two steps.
        segment_bytes: Bytes = Bytes::new(16_000) => { only: Some(Preset::Paper) };
        /// Weight of a new difference of round trips (α).
        difference_weight: Ratio = ratio(875, 1_000);
        /// Share by which a rate is cut (β).
        decrease: Ratio = ratio(8, 10);
        /// Round trip below which the rate is always raised (T_low); at most `t_high`.
        t_low_ns: Nanos = micros(50);
        /// Round trip above which the rate is always cut (T_high); at least `t_low`.
        t_high_ns: Nanos = micros(500);
        /// Unit of the gradient: a round trip of an empty network.
        min_rtt_ns: Nanos = micros(20);
        /// Raise (δ).
        additive_rate_bps: BitsPerSec = megabits(10), megabits(50);
        /// Raise after `hyper_after` raises in a row.
        hyper_rate_bps: BitsPerSec = megabits(50), megabits(100);
        /// Number of raises before the larger ones.
        hyper_after: u32 = 5 => { domain: numbers(0, MAX_STAGES) };
        /// Minimum rate.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts [thresholds]
}

/// No round trip is both below the lower threshold and above the upper one.
fn thresholds(config: &TimelyConfig) -> Option<ParameterError> {
    let low = config.t_low_ns;
    let high = config.t_high_ns;
    (low > high).then_some(ParameterError::Order {
        low: ("t_low", Value::Time(low)),
        high: ("t_high", Value::Time(high)),
        may_meet: true,
    })
}
