//! Congestion at a port (section 3.3): level, trend and duration of its queue, fused to C_cong.

use lab_units::{Bytes, Nanos};

use super::{LcmpConfig, PortThresholds, Preset, saturate};

/// State of a port between samples: 24 bytes, as the paper counts (Sec. 4).
///
/// For the trend, the queue length saturates at 32 bits (4.3 GB), and so does the trend itself; the queue level uses
/// the full queue length. The authors' code reaches neither bound in any run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PortState {
    queue_cur: u32,
    queue_prev: u32,
    trend: i32,
    duration: u32,
    last_sample: u64,
}

const _: () = assert!(size_of::<PortState>() == 24);

/// Congestion of a port at one sample.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Levels {
    /// Q: level of the queue.
    pub queue: u8,
    /// T: level of the queue's growth.
    pub trend: u8,
    /// D: level of the duration counter, which samples raise at the high-water mark and lower at the low-water mark.
    pub duration: u8,
    /// C_cong: congestion cost, fused from Q, T and D.
    pub congestion: u8,
}

impl Levels {
    /// Computes the levels of a port from its `queue_level`, its `trend` in bytes per interval, and its duration
    /// counter, which samples raise at the high-water mark and lower at the low-water mark.
    #[must_use]
    pub fn of(
        queue_level: u8,
        trend: i32,
        full_samples: u32,
        thresholds: &PortThresholds,
        config: &LcmpConfig,
    ) -> Self {
        let duration = saturate(full_samples >> config.duration_shift);
        Self::fuse(queue_level, thresholds.trend_level(trend), duration, config)
    }

    /// Fuses three levels into C_cong (Eq. 4, 5): min((w_ql·Q + w_tl·T + w_dp·D) >> S_cong, 255).
    #[must_use]
    pub fn fuse(queue: u8, trend: u8, duration: u8, config: &LcmpConfig) -> Self {
        let weighted = u32::from(config.w_ql) * u32::from(queue)
            + u32::from(config.w_tl) * u32::from(trend)
            + u32::from(config.w_dp) * u32::from(duration);
        Self {
            queue,
            trend,
            duration,
            congestion: saturate(weighted >> config.s_cong),
        }
    }
}

impl PortState {
    /// Returns the state of an empty port, first observed at `now`.
    #[must_use]
    pub const fn new(now: Nanos) -> Self {
        Self {
            queue_cur: 0,
            queue_prev: 0,
            trend: 0,
            duration: 0,
            last_sample: now.get(),
        }
    }

    /// Returns the state of a port whose queue holds `queue` when it is first observed at `now`; no growth has been
    /// observed yet.
    #[must_use]
    pub fn holding(now: Nanos, queue: Bytes) -> Self {
        Self {
            queue_cur: saturating_queue(queue),
            ..Self::new(now)
        }
    }

    /// Samples the port's queue: observes it, then computes the levels.
    ///
    /// In `paper`, a port is sampled every interval, and at a decision if its latest sample is older.
    pub fn sample(
        &mut self,
        now: Nanos,
        queue: Bytes,
        thresholds: &PortThresholds,
        config: &LcmpConfig,
    ) -> Levels {
        self.observe(now, queue, thresholds, config);
        self.levels_after(queue, thresholds, config)
    }

    /// Observes the queue at `now` and updates the trend, the smoothed growth in one interval of
    /// `thresholds` (Eq. 3): t += (Δq >> K) − (t >> K).
    ///
    /// The paper compares the trend with thresholds times the observed interval. Here each Δq is related to
    /// the time τ that it took, so that a sample that comes late or early does not change the trend of a
    /// queue that grows steadily. With the interval i of the thresholds,
    ///
    /// t += (Δq · i / max(τ, i) >> K) − (t · min(τ, i) / i >> K),
    ///
    /// which is Eq. 3 for τ = i. Divisions round down. Growth by g bytes per interval gives the trend g; at regular
    /// samples the trend is up to 2^K − 1 bytes lower, because `>>` drops bits of Δq.
    ///
    /// In `artifact`, τ is i at every sample, and every candidate of a decision observes every port: with m
    /// candidates the trend decays m−1 times more than in the paper.
    pub fn observe(
        &mut self,
        now: Nanos,
        queue: Bytes,
        thresholds: &PortThresholds,
        config: &LcmpConfig,
    ) {
        self.queue_prev = self.queue_cur;
        self.queue_cur = saturating_queue(queue);
        let interval = i128::from(thresholds.interval().get());
        let elapsed = match config.preset {
            Preset::Paper => i128::from(now.get().saturating_sub(self.last_sample)),
            Preset::Artifact => interval,
        };
        let delta = i128::from(self.queue_cur) - i128::from(self.queue_prev);
        let trend = i128::from(self.trend);
        let grown = (delta * interval).div_euclid(elapsed.max(interval));
        let aged = (trend * elapsed.min(interval)).div_euclid(interval);
        let shift = config.trend_shift;
        let trend = trend - (aged >> shift) + (grown >> shift);
        let bounds = i128::from(i32::MIN)..=i128::from(i32::MAX);
        self.trend = i32::try_from(trend.clamp(*bounds.start(), *bounds.end())).unwrap_or(i32::MAX);
        self.last_sample = now.get();
    }

    /// Computes the levels from the latest observation (preset `artifact`); each call advances the duration counter by
    /// one step.
    pub fn judge(&mut self, thresholds: &PortThresholds, config: &LcmpConfig) -> Levels {
        let queue = Bytes::new(u64::from(self.queue_cur));
        self.levels_after(queue, thresholds, config)
    }

    /// Returns the time of the latest observation.
    #[must_use]
    pub const fn last_sample(&self) -> Nanos {
        Nanos::new(self.last_sample)
    }

    /// Advances the duration counter according to the queue's water marks (section 3.3, D) and computes the levels.
    fn levels_after(
        &mut self,
        queue: Bytes,
        thresholds: &PortThresholds,
        config: &LcmpConfig,
    ) -> Levels {
        let queue_level = thresholds.queue_level(queue);
        if queue_level >= config.high_water {
            self.duration = self.duration.saturating_add(1);
        } else if queue_level <= config.low_water {
            self.duration = self.duration.saturating_sub(1);
        }
        Levels::of(queue_level, self.trend, self.duration, thresholds, config)
    }
}

fn saturating_queue(queue: Bytes) -> u32 {
    u32::try_from(queue.get()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use lab_units::BitsPerSec;
    use proptest::prelude::*;

    use super::*;
    use crate::lcmp::PortProvision;

    fn gbit(rate: u64) -> BitsPerSec {
        BitsPerSec::new(rate * 1_000_000_000).expect("not zero")
    }

    fn config() -> LcmpConfig {
        LcmpConfig::paper(gbit(200))
    }

    /// Returns the thresholds of a port with 8 Gb/s, that is 1,000,000 B per millisecond, and a buffer of 10 MB.
    fn thresholds() -> PortThresholds {
        let port = PortProvision::paper_units(gbit(8), Bytes::new(10_000_000));
        PortThresholds::new(&port, &config())
    }

    fn ms(time: u64) -> Nanos {
        Nanos::from_millis(time)
    }

    fn us(time: u64) -> Nanos {
        Nanos::new(time * 1_000)
    }

    /// Eq. 4 with three weights other than 1: 2·51 + 3·102 + 5·204 = 1,428, and 1,428 / 8 = 178.5.
    #[test]
    fn each_level_has_its_weight_in_c_cong() {
        let config = LcmpConfig {
            w_ql: 2,
            w_tl: 3,
            w_dp: 5,
            s_cong: 3,
            ..config()
        };
        let fused = |queue, trend, duration| {
            let levels = Levels::fuse(queue, trend, duration, &config);
            assert_eq!(
                (levels.queue, levels.trend, levels.duration),
                (queue, trend, duration)
            );
            levels.congestion
        };
        assert_eq!(fused(51, 102, 204), 178);
        // One level alone: 510 / 8, 765 / 8, 1,275 / 8. All three: 2,550 / 8, capped at 255.
        assert_eq!(fused(255, 0, 0), 63);
        assert_eq!(fused(0, 255, 0), 95);
        assert_eq!(fused(0, 0, 255), 159);
        assert_eq!(fused(255, 255, 255), 255);
    }

    /// A queue that existed at the first observation has not grown since; the same queue at a port that was empty at
    /// the first observation has grown.
    #[test]
    fn a_queue_at_the_first_observation_is_not_growth() {
        let queue = Bytes::new(8_000_000);
        let trend_of = |mut port: PortState| {
            let levels = port.sample(ms(1), queue, &thresholds(), &config());
            levels.trend
        };
        assert_eq!(trend_of(PortState::holding(ms(0), queue)), 0);
        assert_eq!(trend_of(PortState::new(ms(0))), 255);
    }

    #[test]
    fn a_queue_that_builds_is_seen_in_all_three_signals() {
        let mut port = PortState::new(ms(0));
        // 8 MB arrive at once: the queue has the second highest level, and the trend is an eighth of the growth.
        let levels = port.sample(ms(1), Bytes::new(8_000_000), &thresholds(), &config());
        assert_eq!((levels.queue, levels.trend, levels.duration), (229, 255, 0));
        assert_eq!(levels.congestion, 178, "(2·229 + 255 + 0) >> 2");
        // The queue stays full: the trend decays by an eighth per sample, and the fourth full sample counts as
        // duration.
        for at in 2..=3 {
            port.sample(ms(at), Bytes::new(8_000_000), &thresholds(), &config());
        }
        let levels = port.sample(ms(4), Bytes::new(8_000_000), &thresholds(), &config());
        // The trend has decayed to 1,000,000 · (7/8)³ = 669,921 B, which is level 153.
        assert_eq!((levels.queue, levels.trend, levels.duration), (229, 153, 1));
        assert_eq!(levels.congestion, 153, "(458 + 153 + 1) >> 2");
    }

    #[test]
    fn a_trend_is_related_to_the_time_it_took() {
        let mut port = PortState::new(ms(0));
        let levels = port.sample(ms(10), Bytes::new(8_000_000), &thresholds(), &config());
        assert_eq!(
            levels.trend, 25,
            "800 kB in 1 ms, an eighth of it a tenth of the rate"
        );
        let mut port = PortState::new(ms(0));
        let artifact = LcmpConfig::artifact();
        let levels = port.sample(ms(10), Bytes::new(8_000_000), &thresholds(), &artifact);
        assert_eq!(levels.trend, 255, "the artifact's interval is always 1 ms");
    }

    /// A queue that grows by 950,000 B a millisecond, 95 % of 8 Gb/s, has T = 229, the level from 90 % on, at every
    /// sample interval. From an empty port, the trend rises to (Δq >> 3) << 3:
    ///
    /// | interval | Δq | trend | of the link's bytes |
    /// |---|---|---|---|
    /// | 1 ms | 950,000 B | 950,000 B | 95 % of 1,000,000 B |
    /// | 100 µs | 95,000 B | 95,000 B | 95 % of 100,000 B |
    /// | 10 µs | 9,500 B | 9,496 B | 94.96 % of 10,000 B |
    #[test]
    fn steady_growth_has_one_trend_level_at_every_sample_interval() {
        for (micros, trend) in [(1_000, 950_000), (100, 95_000), (10, 9_496)] {
            let config = LcmpConfig {
                sample_interval_ns: us(micros),
                ..config()
            };
            let provision = PortProvision::paper_units(gbit(8), Bytes::new(10_000_000));
            let thresholds = PortThresholds::new(&provision, &config);
            let mut port = PortState::new(ms(0));
            let mut level = 0;
            for sample in 1..=200 {
                let queue = Bytes::new(950 * micros * sample);
                level = port
                    .sample(us(micros * sample), queue, &thresholds, &config)
                    .trend;
            }
            assert_eq!((port.trend, level), (trend, 229), "every {micros} µs");
        }
    }

    #[test]
    fn duration_rises_when_full_falls_when_drained_and_rests_between() {
        let mut port = PortState::new(ms(0));
        let mut after = |megabytes: u64, samples: u64| {
            let mut last = Levels::default();
            for _ in 0..samples {
                last = port.sample(
                    ms(1),
                    Bytes::new(megabytes * 1_000_000),
                    &thresholds(),
                    &config(),
                );
            }
            last.duration
        };
        assert_eq!(after(7, 40), 10, "level 204 is the high water mark");
        assert_eq!(after(5, 40), 10, "level 153 is between the marks");
        assert_eq!(after(3, 20), 5, "level 102 is the low water mark");
        assert_eq!(after(0, 40), 0, "not below 0");
        assert_eq!(after(9, 2_000), 255, "nor above 255");
    }

    #[test]
    fn the_artifact_decays_the_trend_once_per_candidate() {
        let artifact = LcmpConfig::artifact();
        let mut port = PortState::new(ms(0));
        let port_provision = PortProvision::paper_units(gbit(8), Bytes::new(0));
        let thresholds = PortThresholds::new(&port_provision, &artifact);
        for _ in 0..6 {
            port.observe(ms(1), Bytes::new(8_000_000), &thresholds, &artifact);
        }
        // 1,000,000 · (7/8)⁵, each step rounded up: 512,912.
        assert_eq!(port.judge(&thresholds, &artifact).trend, 127);
    }

    /// The trend of a draining queue is negative and decays in the same way as a rising trend.
    #[test]
    fn a_falling_trend_decays_towards_zero() {
        let mut port = PortState::new(ms(0));
        let mut at = 0;
        let mut trend = |bytes: u64| {
            at += 1;
            port.observe(ms(at), Bytes::new(bytes), &thresholds(), &config());
            port.trend
        };
        // Eq. 3 with K = 3: 8,000,000 >> 3; then 1,000,000 - 125,000 - 1,000,000; then 7/8 of it, up to
        // rounding.
        assert_eq!(trend(8_000_000), 1_000_000);
        let falling = [0, 0, 0].map(&mut trend);
        assert_eq!(falling, [-125_000, -109_375, -95_703]);
        let settled = (0..200).map(|_| trend(0)).last();
        assert_eq!(settled, Some(0), "-1 - (-1 >> 3) is 0");
    }

    /// `>>` shifts arithmetically: shrinking by one byte changes the trend by -1, not 0, and growing by seven bytes by
    /// 0.
    #[test]
    fn the_trend_rounds_towards_minus_infinity() {
        let after = |from: u64, to: u64| {
            let mut port = PortState {
                queue_cur: u32::try_from(from).expect("small"),
                ..PortState::new(ms(0))
            };
            port.observe(ms(1), Bytes::new(to), &thresholds(), &config());
            port.trend
        };
        assert_eq!([after(10, 9), after(10, 2), after(10, 1)], [-1, -1, -2]);
        assert_eq!([after(0, 7), after(0, 8), after(0, 15)], [0, 1, 1]);
    }

    #[test]
    fn queues_past_32_bits_keep_their_level_and_do_not_wrap_the_trend() {
        let port_provision = PortProvision::paper_units(gbit(200), Bytes::new(6_000_000_000));
        let thresholds = PortThresholds::new(&port_provision, &config());
        let mut port = PortState::new(ms(0));
        let levels = port.sample(ms(1), Bytes::new(5_500_000_000), &thresholds, &config());
        assert_eq!((levels.queue, levels.trend), (255, 255));
    }

    proptest! {
        /// At 8 Gb/s a level spans 100,000 B per millisecond, so growth in the middle of a level is 50,000 B from the
        /// next level. Rounding takes at most 8 B from a step's growth and 1 B from its decay, and both errors grow at
        /// most 20-fold when samples come at a twentieth of the interval.
        #[test]
        fn samples_that_come_early_or_late_do_not_change_the_level_of_steady_growth(
            tenths in 1..10u64,
            steps in prop::collection::vec(50..3_000u64, 800),
        ) {
            let growth_per_micro = tenths * 100 + 50;
            let mut port = PortState::new(ms(0));
            let mut micros = 0;
            let mut level = 0;
            for step in steps {
                micros += step;
                let queue = Bytes::new(micros * growth_per_micro);
                let levels = port.sample(us(micros), queue, &thresholds(), &config());
                level = levels.trend;
            }
            let index = usize::try_from(tenths - 1).expect("small");
            prop_assert_eq!(level, crate::lcmp::LEVEL_SCORES[index]);
        }

        #[test]
        fn a_fuller_queue_never_looks_less_congested(
            before in 0..12_000_000u64,
            low in 0..12_000_000u64,
            more in 0..12_000_000u64,
        ) {
            let congestion = |queue| {
                let mut port = PortState::new(ms(0));
                port.sample(ms(1), Bytes::new(before), &thresholds(), &config());
                port.sample(ms(2), Bytes::new(queue), &thresholds(), &config()).congestion
            };
            prop_assert!(congestion(low) <= congestion(low + more));
        }

        #[test]
        fn any_history_keeps_the_state_in_its_ranges(
            samples in prop::collection::vec((any::<u64>(), any::<u64>()), 0..60),
            trend_shift in 0..=31u8,
        ) {
            let config = LcmpConfig { trend_shift, ..config() };
            let mut port = PortState::default();
            for (now, queue) in samples {
                let levels = port.sample(Nanos::new(now), Bytes::new(queue), &thresholds(), &config);
                prop_assert_eq!(levels.queue == 0, queue == 0);
            }
        }
    }
}
