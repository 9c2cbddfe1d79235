//! Path quality C_path (section 3.2): one byte per candidate path, which the control plane computes.

use lab_units::{BitsPerSec, Nanos};

use super::{LEVEL_SCORES, LEVELS, LcmpConfig, MAX_DELAY_SHIFT, Preset, saturate};

/// Returns C_path (Eq. 2): min((w_dl·delayScore + w_lc·linkCapScore) >> S_path, 255).
///
/// `delay` is the sum of the path's one-way delays and `capacity` its lowest link rate, at the paper's scale. (The
/// authors' code uses only the path's first link; a plan for the preset `artifact` passes the values of that link.)
#[must_use]
pub fn path_score(delay: Nanos, capacity: BitsPerSec, config: &LcmpConfig) -> u8 {
    let weighted = u32::from(config.w_dl) * u32::from(delay_score(delay, config))
        + u32::from(config.w_lc) * u32::from(link_cap_score(capacity, config));
    saturate(weighted >> config.s_path)
}

/// Returns delayScore (Alg. 1): (d·255) >> shift, and 255 for delays of 2^shift or more.
///
/// `paper` counts whole microseconds, so that paths with delays below a millisecond differ; `artifact` counts whole
/// milliseconds in 16 bits.
#[must_use]
pub fn delay_score(delay: Nanos, config: &LcmpConfig) -> u8 {
    delay_score_at(delay, config.preset, config.max_delay_shift())
}

/// Returns linkCapScore (Alg. 2): 255 minus the level score of the highest capacity class that the path reaches.
///
/// Class i of N begins at max_capacity·(i+1)/N; below all classes the score is 255.
#[must_use]
pub fn link_cap_score(capacity: BitsPerSec, config: &LcmpConfig) -> u8 {
    let reached = u128::from(capacity.get()) * LEVELS as u128;
    let step = u128::from(config.max_capacity_bps.get());
    let mut score = u8::MAX;
    let mut threshold = step;
    for level in LEVEL_SCORES {
        if reached >= threshold {
            score = u8::MAX - level;
        }
        threshold += step;
    }
    score
}

/// Returns the smallest e for which, with a `max_delay` of 2^e µs (`artifact`: ms), all `delays` are below saturation
/// and unequal delays have unequal scores; `None` if some delays are too close for any e.
#[must_use]
pub fn separating_shift(delays: &[Nanos], preset: Preset) -> Option<u8> {
    (0..=MAX_DELAY_SHIFT).find(|&shift| {
        let score = |delay| delay_score_at(delay, preset, shift);
        delays.iter().enumerate().all(|(index, &delay)| {
            delay_units(delay, preset) < 1 << shift
                && delays[..index]
                    .iter()
                    .all(|&other| delay == other || score(delay) != score(other))
        })
    })
}

fn delay_units(delay: Nanos, preset: Preset) -> u64 {
    match preset {
        Preset::Paper => delay.whole_micros_trunc(),
        Preset::Artifact => delay.whole_millis_trunc() & u64::from(u16::MAX),
    }
}

fn delay_score_at(delay: Nanos, preset: Preset, shift: u8) -> u8 {
    let units = delay_units(delay, preset);
    if units >= 1 << shift {
        return u8::MAX;
    }
    // Below 2^shift the quotient is less than 255.
    u8::try_from((units * 255) >> shift).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::delay_of_shift, *};

    const MS: u64 = 1_000_000;

    fn gbit(rate: u64) -> BitsPerSec {
        BitsPerSec::new(rate * 1_000_000_000).expect("a rate above zero")
    }

    /// Returns the configuration of the paper's testbed, where each path has two links; the maximum delay is 2^19 µs.
    fn testbed() -> LcmpConfig {
        LcmpConfig {
            max_delay_ns: delay_of_shift(19, Preset::Paper),
            ..LcmpConfig::paper(gbit(200))
        }
    }

    #[test]
    fn the_testbed_by_hand() {
        // C_path is (3·delayScore + linkCapScore) >> 2. For example, over DC2: 50,000 µs · 255 >> 19 = 24; 200 Gb/s is
        // in the top class and scores 0; so 72 >> 2 = 18.
        let expected = [
            ("dc2", 200, 25, 18),
            ("dc3", 200, 250, 182),
            ("dc4", 100, 10, 38),
            ("dc5", 100, 100, 104),
            ("dc6", 40, 5, 54),
            ("dc7", 40, 50, 87),
        ];
        for (via, rate, link_ms, score) in expected {
            let delay = Nanos::from_millis(2 * link_ms);
            assert_eq!(path_score(delay, gbit(rate), &testbed()), score, "{via}");
        }
    }

    #[test]
    fn the_artifacts_path_costs_by_hand() {
        // First links of the published topology at the shift of 5 in the authors' HEAD, before α and the final shift.
        // 5 ms scores 39 and 25 Gb/s scores 255: (117 + 255) >> 2 = 93.
        let config = LcmpConfig::artifact();
        let costs = [
            (25, 5, 93),
            (100, 10, 110),
            (200, 25, 181),
            (200, 250, 223),
            (100, 100, 242),
            (25, 50, 255),
        ];
        for (rate, ms, score) in costs {
            let cost = path_score(Nanos::from_millis(ms), gbit(rate), &config);
            assert_eq!(cost, score, "{rate} Gb/s {ms} ms");
        }
    }

    #[test]
    fn capacity_classes_are_reached_at_their_bound() {
        let config = LcmpConfig::artifact();
        let bounds = [
            (25, 255),
            (39, 255),
            (40, 230),
            (100, 204),
            (200, 128),
            (400, 0),
        ];
        for (rate, score) in bounds {
            assert_eq!(link_cap_score(gbit(rate), &config), score, "{rate} Gb/s");
        }
    }

    #[test]
    fn delays_saturate_at_the_limit_and_not_before() {
        let config = LcmpConfig::paper(gbit(200));
        assert_eq!(delay_score(Nanos::new(32_768_000), &config), 255);
        assert_eq!(delay_score(Nanos::new(32_767_999), &config), 254);
        assert_eq!(delay_score(Nanos::new(u64::MAX), &config), 255);
    }

    #[test]
    fn the_artifact_counts_whole_milliseconds_in_sixteen_bits() {
        let config = LcmpConfig::artifact();
        assert_eq!(delay_score(Nanos::new(MS - 1), &config), 0);
        assert_eq!(delay_score(Nanos::new(31 * MS), &config), 247);
        assert_eq!(delay_score(Nanos::new(32 * MS), &config), 255);
        assert_eq!(delay_score(Nanos::new(65_536 * MS), &config), 0);
    }

    #[test]
    fn the_testbeds_delays_need_half_a_second() {
        let delays = [50, 500, 20, 200, 10, 100].map(Nanos::from_millis);
        assert_eq!(separating_shift(&delays, Preset::Paper), Some(19));
        assert_eq!(separating_shift(&[], Preset::Paper), Some(0));
    }

    /// A delay of 2^shift units or longer scores 255, so such a delay needs the next larger shift.
    #[test]
    fn a_separating_limit_is_above_the_longest_delay() {
        let of = |units: u64, unit: u64, preset| {
            separating_shift(&[Nanos::new(units * unit)], preset)
                .expect("a single delay is separable")
        };
        let units = [0, 1, 2, 3, 4, 7, 8, 1_023, 1_024];
        let shifts = [0, 1, 2, 2, 3, 3, 4, 10, 11];
        assert_eq!(units.map(|it| of(it, 1_000, Preset::Paper)), shifts);
        assert_eq!(units.map(|it| of(it, MS, Preset::Artifact)), shifts);
    }

    #[test]
    fn delays_closer_than_a_step_have_no_separating_shift() {
        let delays = [Nanos::from_millis(100), Nanos::new(100 * MS + 1)];
        assert_eq!(separating_shift(&delays, Preset::Paper), None);
    }

    prop_compose! {
        fn any_config()(
            artifact: bool,
            w_dl: u8,
            w_lc: u8,
            s_path in 0..=16u8,
            shift in 0..=MAX_DELAY_SHIFT,
            capacity in 1..=u64::MAX,
        ) -> LcmpConfig {
            let capacity = BitsPerSec::new(capacity).expect("a rate above zero");
            let preset = if artifact { Preset::Artifact } else { Preset::Paper };
            LcmpConfig {
                preset,
                w_dl,
                w_lc,
                s_path,
                max_delay_ns: delay_of_shift(shift, preset),
                ..LcmpConfig::paper(capacity)
            }
        }
    }

    proptest! {
        #[test]
        fn cost_never_falls_with_delay(
            config in any_config(),
            capacity in 1..=u64::MAX,
            a in 0..65_535 * MS,
            b in 0..65_535 * MS,
        ) {
            let capacity = BitsPerSec::new(capacity).expect("a rate above zero");
            let short = Nanos::new(a.min(b));
            let long = Nanos::new(a.max(b));
            prop_assert!(
                path_score(short, capacity, &config) <= path_score(long, capacity, &config)
            );
        }

        #[test]
        fn cost_never_rises_with_capacity(
            config in any_config(),
            delay: u64,
            a in 1..=u64::MAX,
            b in 1..=u64::MAX,
        ) {
            let rate = |bits| BitsPerSec::new(bits).expect("a rate above zero");
            let delay = Nanos::new(delay);
            let thin = rate(a.min(b));
            let fat = rate(a.max(b));
            prop_assert!(path_score(delay, fat, &config) <= path_score(delay, thin, &config));
        }

        #[test]
        fn the_separating_shift_separates_and_no_smaller_one_does(
            delays in prop::collection::vec(0..2_000 * MS, 0..6),
        ) {
            let delays: std::vec::Vec<_> = delays.into_iter().map(Nanos::new).collect();
            let separated = |shift| {
                let mut scores: std::vec::Vec<_> = delays
                    .iter()
                    .map(|&delay| (delay_score_at(delay, Preset::Paper, shift), delay))
                    .collect();
                scores.sort();
                scores.dedup();
                let covered = delays.iter().all(|delay| delay.whole_micros_trunc() < 1 << shift);
                covered && scores.windows(2).all(|pair| pair[0].0 != pair[1].0)
            };
            match separating_shift(&delays, Preset::Paper) {
                Some(shift) => {
                    prop_assert!(separated(shift));
                    prop_assert!((0..shift).all(|smaller| !separated(smaller)));
                }
                None => prop_assert!((0..=MAX_DELAY_SHIFT).all(|shift| !separated(shift))),
            }
        }
    }
}
