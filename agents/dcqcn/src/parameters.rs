//! Conversion of a plan's DCQCN parameters to those that the reaction and notification points use.

use lab_abi::dcqcn::{DcqcnParams, MAX_RATE_BPS, ONE_Q30};
use lab_parameters::{DcqcnConfig, Preset};
use lab_units::{BitsPerSec, Nanos, Ratio};

/// Returns DCQCN's parameters for `config`, with times in units of 1/`ticks_per_nano` ns.
///
/// In the artifact's variant there is a minimum time between rate cuts, and none between CNPs. The variant's first
/// check for a cut is one nanosecond late, so that it follows the update of α, as in `RdmaHw`'s
/// `ScheduleDecreaseRateMlx(q, 1)`.
///
/// The gain is rounded to a multiple of 2^-30. Rate increases are capped at [`MAX_RATE_BPS`], 4.4 Tbit/s, because
/// neither line rates nor targets exceed it.
#[must_use]
pub fn of(config: &DcqcnConfig, ticks_per_nano: u64) -> DcqcnParams {
    let ticks = |time: Nanos| time.get().saturating_mul(ticks_per_nano);
    let rate = |rate: BitsPerSec| rate.get().min(MAX_RATE_BPS);
    let (cnp_interval, decrease_interval) = match config.preset {
        Preset::Paper => (ticks(config.cnp_interval_ns), 0),
        Preset::Artifact => (0, ticks(config.decrease_interval_ns).max(1)),
    };
    DcqcnParams {
        cnp_interval,
        alpha_interval: ticks(config.alpha_interval_ns).max(1),
        increase_interval: ticks(config.increase_interval_ns).max(1),
        byte_counter: config.byte_counter_bytes.get().max(1),
        additive_bps: rate(config.additive_rate_bps),
        hyper_bps: rate(config.hyper_rate_bps),
        min_bps: rate(config.min_rate_bps),
        gain_q30: q30(config.gain),
        fast_recovery: config.fast_recovery,
        decrease_interval,
        first_decrease: decrease_interval.saturating_add(ticks_per_nano),
    }
}

/// Returns a fraction of at most 1 in Q30, rounded to nearest.
fn q30(fraction: Ratio) -> u32 {
    let scaled = fraction.scale_nearest(u64::from(ONE_Q30));
    u32::try_from(scaled).map_or(ONE_Q30, |scaled| scaled.min(ONE_Q30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_gain_is_exact_and_times_are_in_the_callers_unit() {
        let params = of(&DcqcnConfig::PAPER, 1_000);
        assert_eq!(params.gain_q30, 1 << 22);
        assert_eq!(params.alpha_interval, 55_000_000);
        assert_eq!((params.additive_bps, params.fast_recovery), (40_000_000, 5));
        assert_eq!(
            (params.cnp_interval, params.decrease_interval),
            (50_000_000, 0)
        );
    }

    #[test]
    fn the_artifact_answers_every_mark_and_cuts_at_intervals() {
        let params = of(&DcqcnConfig::ARTIFACT, 1_000);
        assert_eq!(
            (params.cnp_interval, params.decrease_interval),
            (0, 4_000_000)
        );
        assert_eq!(params.first_decrease, 4_001_000);
    }
}
