//! Thresholds of a port's levels (section 3.1.2), computed at start-up and whenever the port's link changes.

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use super::{LEVEL_SCORES, LEVELS, LcmpConfig, Preset};

/// Rate and buffer of a port, at the scale at which its queue is observed: the paper's (before scaling), or a lab's
/// (after scaling).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PortProvision {
    /// Rate of the port's link.
    pub rate: BitsPerSec,
    /// Size limit of the egress queue.
    pub buffer: Bytes,
    /// Duration, on the clock of the observer, of 1 ms at the paper's scale; the trend interval in `artifact`.
    pub millisecond: Nanos,
    /// Ratio of observed bytes to bytes at the paper's scale; only `artifact` uses it, because its buffer size is a
    /// constant.
    pub size_scale: Ratio,
}

impl PortProvision {
    /// Returns the provisioning of a port that is observed at the paper's scale.
    #[must_use]
    pub const fn paper_units(rate: BitsPerSec, buffer: Bytes) -> Self {
        Self {
            rate,
            buffer,
            millisecond: MILLISECOND,
            size_scale: Ratio::ONE,
        }
    }

    /// Returns the provisioning of a port in a scaled lab, with `rate` and `buffer` given after scaling.
    #[must_use]
    pub fn emulated(rate: BitsPerSec, buffer: Bytes, time_scale: Ratio, size_scale: Ratio) -> Self {
        Self {
            rate,
            buffer,
            millisecond: Nanos::new(time_scale.scale_nearest(MILLISECOND.get())),
            size_scale,
        }
    }
}

/// Thresholds of one port's queue and trend levels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PortThresholds {
    queue_bytes: [u64; LEVELS],
    rate: BitsPerSec,
    interval: Nanos,
}

impl PortThresholds {
    /// Computes the thresholds of a port.
    ///
    /// Queue level i of N begins at buffer·i/N. The buffer is `level_buffer` if that is set, otherwise the port's own.
    /// `artifact` assumes a 5 GB buffer for every port and stores the products in 32 bits, so that the last level wraps
    /// and begins at 205,032,704 B.
    ///
    /// Trend level i begins at rate/8/1000·(i+1)/N bytes per millisecond. A trend, which is the growth in one sample
    /// interval, is compared with that rate times the interval: `sample_interval`, or 1 ms in `artifact`. The product
    /// scales with bytes, so a scaled lab has the same levels.
    ///
    /// Times and sizes in `config` are at the scale at which the port's queue is observed.
    #[must_use]
    pub fn new(port: &PortProvision, config: &LcmpConfig) -> Self {
        let tenth = |buffer: u64, index: u64| {
            let bytes = u128::from(buffer) * u128::from(index) / LEVELS as u128;
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        let buffer = config.level_buffer_bytes.unwrap_or(port.buffer);
        let mut queue_bytes = [0; LEVELS];
        for (threshold, index) in queue_bytes.iter_mut().zip(0..) {
            *threshold = match config.preset {
                Preset::Paper => tenth(buffer.get(), index),
                Preset::Artifact => {
                    let wrapped = tenth(ARTIFACT_BUFFER, index) & u64::from(u32::MAX);
                    port.size_scale.scale_nearest(wrapped)
                }
            };
        }
        Self {
            queue_bytes,
            rate: port.rate,
            interval: match config.preset {
                Preset::Paper => config.sample_interval_ns.max(Nanos::new(1)),
                Preset::Artifact => port.millisecond,
            },
        }
    }

    /// Returns Q (section 3.3): 0 for an empty queue, otherwise the score of the highest level reached.
    #[must_use]
    pub fn queue_level(&self, queue: Bytes) -> u8 {
        if queue == Bytes::ZERO {
            return 0;
        }
        highest(|index| queue.get() >= self.queue_bytes[index])
    }

    /// Returns T (section 3.3): 0 unless the queue grows, otherwise the score of the highest level that the growth in
    /// one interval reaches.
    #[must_use]
    pub fn trend_level(&self, trend_bytes: i32) -> u8 {
        let Ok(growth) = u128::try_from(trend_bytes) else {
            return 0;
        };
        if growth == 0 {
            return 0;
        }
        // growth ≥ rate/8/10⁹ · interval · (i+1)/N, rearranged to avoid rounding in divisions.
        let grown = growth * 8 * 1_000_000_000 * LEVELS as u128;
        let tenth = u128::from(self.rate.get()) * u128::from(self.interval.get());
        let begins = |index: usize| tenth.saturating_mul(index as u128 + 1);
        highest(|index| grown >= begins(index))
    }

    /// Returns the interval that trends refer to.
    #[must_use]
    pub const fn interval(&self) -> Nanos {
        self.interval
    }
}

fn highest(is_reached: impl Fn(usize) -> bool) -> u8 {
    (0..LEVELS)
        .rev()
        .find(|&index| is_reached(index))
        .map_or(0, |index| LEVEL_SCORES[index])
}

/// Trend interval in `artifact`, at the paper's scale.
const MILLISECOND: Nanos = Nanos::from_millis(1);

/// Buffer that the authors' code assumes for every port: 5 GB.
const ARTIFACT_BUFFER: u64 = 5_000_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gbit(rate: u64) -> BitsPerSec {
        BitsPerSec::new(rate * 1_000_000_000).expect("a rate above zero")
    }

    fn paper(rate: u64, buffer: u64) -> PortThresholds {
        let port = PortProvision::paper_units(gbit(rate), Bytes::new(buffer));
        PortThresholds::new(&port, &LcmpConfig::paper(gbit(200)))
    }

    #[test]
    fn queue_levels_begin_at_tenths_of_the_buffer() {
        let port = paper(100, 6_000);
        let levels = [
            (0, 0),
            (1, 25),
            (599, 25),
            (600, 51),
            (4_800, 229),
            (5_399, 229),
            (5_400, 255),
            (60_000, 255),
        ];
        for (queue, level) in levels {
            assert_eq!(port.queue_level(Bytes::new(queue)), level, "{queue} B");
        }
    }

    /// A level buffer of 1 GB, a sixth of the port's 6 GB, gives one level per 100 MB, although the port can hold 6
    /// GB.
    #[test]
    fn queue_levels_are_tenths_of_the_buffer_that_a_parameter_gives() {
        let port = PortProvision::paper_units(gbit(100), Bytes::new(6_000_000_000));
        let config = LcmpConfig {
            level_buffer_bytes: Some(Bytes::new(1_000_000_000)),
            ..LcmpConfig::paper(gbit(200))
        };
        let port = PortThresholds::new(&port, &config);
        let levels = [
            (99_999_999, 25),
            (100_000_000, 51),
            (899_999_999, 229),
            (900_000_000, 255),
        ];
        for (queue, level) in levels {
            assert_eq!(port.queue_level(Bytes::new(queue)), level, "{queue} B");
        }
    }

    #[test]
    fn the_artifacts_top_queue_level_wraps_to_205_megabytes() {
        let port = PortProvision::paper_units(gbit(100), Bytes::new(128_000_000));
        let port = PortThresholds::new(&port, &LcmpConfig::artifact());
        assert_eq!(port.queue_level(Bytes::new(1)), 25);
        assert_eq!(port.queue_level(Bytes::new(205_032_703)), 25);
        assert_eq!(port.queue_level(Bytes::new(205_032_704)), 255);
    }

    #[test]
    fn trend_levels_begin_at_tenths_of_what_the_link_carries() {
        // 100 Gb/s is 12,500,000 B per millisecond.
        let port = paper(100, 6_000_000_000);
        let levels = [
            (-1, 0),
            (0, 0),
            (1_249_999, 0),
            (1_250_000, 25),
            (12_499_999, 229),
            (12_500_000, 255),
        ];
        for (trend, level) in levels {
            assert_eq!(port.trend_level(trend), level, "{trend} B");
        }
    }

    #[test]
    fn trend_levels_follow_the_interval_of_the_samples() {
        // 100 Gb/s is 125 kB in 10 µs and 25 MB in 2 ms; the artifact always uses 1 ms.
        let every = |interval: Nanos, preset: LcmpConfig| {
            let config = LcmpConfig {
                sample_interval_ns: interval,
                ..preset
            };
            let port = PortProvision::paper_units(gbit(100), Bytes::new(6_000_000_000));
            PortThresholds::new(&port, &config)
        };
        let short = Nanos::new(10_000);
        let long = Nanos::from_millis(2);
        let [paper, artifact] = [LcmpConfig::paper(gbit(200)), LcmpConfig::artifact()];
        assert_eq!(every(short, paper.clone()).trend_level(12_499), 0);
        assert_eq!(every(short, paper.clone()).trend_level(12_500), 25);
        assert_eq!(every(long, paper).trend_level(2_500_000), 25);
        assert_eq!(every(short, artifact.clone()).trend_level(1_249_999), 0);
        assert_eq!(every(long, artifact).trend_level(1_250_000), 25);
    }

    proptest! {
        #[test]
        fn levels_do_not_depend_on_the_scale(
            queue in 0..6_000_000u64,
            trend in -100_000..100_000i32,
            interval_us in 1..100_000u64,
            artifact: bool,
        ) {
            // In emulated units, the rate is 1/1000, the time 10 times and the size 1/100 of the paper's.
            let preset = if artifact { LcmpConfig::artifact() } else { LcmpConfig::paper(gbit(200)) };
            let every = |micros: u64| LcmpConfig {
                sample_interval_ns: Nanos::new(micros * 1_000),
                ..preset.clone()
            };
            let unscaled = PortProvision::paper_units(gbit(100), Bytes::new(600_000_000));
            let ratio = |n, d| Ratio::new(n, d).expect("a positive ratio");
            let scaled = PortProvision::emulated(
                BitsPerSec::new(100_000_000).expect("a rate above zero"),
                Bytes::new(6_000_000),
                ratio(10, 1),
                ratio(1, 100),
            );
            let unscaled = PortThresholds::new(&unscaled, &every(interval_us));
            let scaled = PortThresholds::new(&scaled, &every(interval_us * 10));
            prop_assert_eq!(scaled.trend_level(trend), unscaled.trend_level(trend * 100));
            // The artifact's wrapped level is not a multiple of 100 bytes, so skip the queue length that is rounded.
            prop_assume!(queue != 2_050_327);
            prop_assert_eq!(
                scaled.queue_level(Bytes::new(queue)),
                unscaled.queue_level(Bytes::new(queue * 100))
            );
        }

        #[test]
        fn levels_never_fall_when_queue_or_trend_rise(
            rate in 1..=1_000_000_000_000u64,
            buffer: u64,
            queues: (u64, u64),
            trends: (i32, i32),
            sample_interval_ns in any::<u64>().prop_map(Nanos::new),
        ) {
            let rate = BitsPerSec::new(rate).expect("a rate above zero");
            let port = PortProvision::paper_units(rate, Bytes::new(buffer));
            let config = LcmpConfig { sample_interval_ns, ..LcmpConfig::paper(gbit(200)) };
            let port = PortThresholds::new(&port, &config);
            let low = queues.0.min(queues.1);
            let high = queues.0.max(queues.1);
            prop_assert!(port.queue_level(Bytes::new(low)) <= port.queue_level(Bytes::new(high)));
            let low = trends.0.min(trends.1);
            let high = trends.0.max(trends.1);
            prop_assert!(port.trend_level(low) <= port.trend_level(high));
        }
    }
}
