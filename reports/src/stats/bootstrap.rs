//! Bootstrap percentile intervals.
//!
//! Flows are drawn with replacement, whole: for a comparison a flow is drawn with its slowdowns
//! under both policies, since both ran the same schedule. The interval is the 2.5th to the 97.5th
//! percentile of the statistic over the samples.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Change, Estimate};
use crate::frames::Pair;

/// p50, p95, p99 and mean.
type Statistics = [f64; 4];

const PERCENTS: [u32; 3] = [50, 95, 99];

/// Returns the mean of `sorted` values; `None` if there are none.
pub fn mean(sorted: &[f64]) -> Option<Estimate> {
    let values = Values::new(sorted.to_vec());
    let once = vec![1; sorted.len()];
    let measured = values.statistics(&once)?;
    let [.., mean] = intervals(measured, sorted.len(), |counts| values.statistics(counts));
    Some(mean)
}

/// Returns the other policy's statistics against the baseline's; `None` if there are no pairs.
pub fn change(pairs: &[Pair]) -> Option<Change> {
    let base = Values::new(pairs.iter().map(|pair| pair.base).collect());
    let other = Values::new(pairs.iter().map(|pair| pair.other).collect());
    let relative = |counts: &[u32]| {
        let (base, other) = (base.statistics(counts)?, other.statistics(counts)?);
        Some(std::array::from_fn(|at| other[at] / base[at] - 1.0))
    };
    let once = vec![1; pairs.len()];
    let measured = relative(&once)?;
    let [p50, p95, p99, mean] = intervals(measured, pairs.len(), relative);
    Some(Change {
        pairs: pairs.len(),
        p50,
        p95,
        p99,
        mean,
    })
}

/// Values, with their order from small to large.
struct Values {
    values: Vec<f64>,
    order: Vec<usize>,
}

impl Values {
    fn new(values: Vec<f64>) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        Self { values, order }
    }

    /// Returns statistics of the values, each taken as often as `counts` says.
    fn statistics(&self, counts: &[u32]) -> Option<Statistics> {
        let drawn: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let ranks = PERCENTS.map(|percent| (drawn * u64::from(percent)).div_ceil(100));
        let mut found = [None; 3];
        let (mut seen, mut sum) = (0, 0.0);
        for &index in &self.order {
            let (value, count) = (self.values[index], counts[index]);
            seen += u64::from(count);
            sum += value * f64::from(count);
            for (found, rank) in found.iter_mut().zip(ranks) {
                if found.is_none() && seen >= rank && drawn > 0 {
                    *found = Some(value);
                }
            }
        }
        let [p50, p95, p99] = found;
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
        let mean = sum / drawn as f64;
        Some([p50?, p95?, p99?, mean])
    }
}

fn intervals(
    measured: Statistics,
    len: usize,
    statistics: impl Fn(&[u32]) -> Option<Statistics>,
) -> [Estimate; 4] {
    let mut resampler = Resampler::new(len);
    let samples = (0..sample_count(len)).filter_map(|_| statistics(resampler.draw()));
    let samples: Vec<Statistics> = samples.collect();
    std::array::from_fn(|at| {
        let mut values: Vec<f64> = samples.iter().map(|sample| sample[at]).collect();
        values.sort_by(f64::total_cmp);
        let tail = values.len() / 40;
        let low = tail.checked_sub(1).and_then(|rank| values.get(rank));
        let high = values.len().checked_sub(tail + 1);
        let high = high.and_then(|rank| values.get(rank));
        Estimate {
            value: measured[at],
            low: low.copied().unwrap_or(measured[at]),
            high: high.copied().unwrap_or(measured[at]),
        }
    })
}

/// Samples with replacement, each with as many items as there are.
struct Resampler {
    rng: Pcg64Mcg,
    counts: Vec<u32>,
}

impl Resampler {
    /// Returns the same samples of `len` items each time.
    fn new(len: usize) -> Self {
        Self {
            rng: Pcg64Mcg::seed_from_u64(SEED),
            counts: vec![0; len],
        }
    }

    /// Returns how often each item is in the next sample.
    fn draw(&mut self) -> &[u32] {
        self.counts.fill(0);
        let len = self.counts.len();
        for _ in 0..len {
            let index = below(self.rng.next_u64(), len);
            self.counts[index] += 1;
        }
        &self.counts
    }
}

/// Returns the number of samples to draw of `len` items: 2,000, or fewer if they would take more
/// than about a second. It is a multiple of 40, so that 2.5 % of it is a whole number.
fn sample_count(len: usize) -> usize {
    let affordable = MAX_DRAWS / len.max(1);
    affordable.clamp(MIN_SAMPLES, MAX_SAMPLES) / 40 * 40
}

/// Returns `random` scaled to `0..len`. The bias, at most `len / 2^64`, is far below the estimated quantities.
fn below(random: u64, len: usize) -> usize {
    let product = u128::from(random) * (len as u128);
    usize::try_from(product >> 64).unwrap_or(0)
}

/// Seed of the samples; fixed, so that the report of a run is always the same.
const SEED: u64 = 0x1c4b;

const MAX_SAMPLES: usize = 2_000;
const MIN_SAMPLES: usize = 200;
const MAX_DRAWS: usize = 100_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::nearest_rank, *};

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(mean(&[]), None);
        assert_eq!(change(&[]), None);
    }

    #[test]
    fn equal_values_leave_no_doubt() {
        let sure = Estimate {
            value: 2.0,
            low: 2.0,
            high: 2.0,
        };
        assert_eq!(mean(&[2.0; 50]).unwrap(), sure);
    }

    #[test]
    fn a_flow_compared_with_its_own_half_is_exactly_half_less() {
        let pair = |base: u32| Pair {
            base: f64::from(base),
            other: f64::from(base) / 2.0,
        };
        let pairs: Vec<Pair> = (1..=60).map(pair).collect();
        let change = change(&pairs).unwrap();
        for estimate in [change.p50, change.p95, change.p99, change.mean] {
            let all = [estimate.value, estimate.low, estimate.high];
            assert!(all.iter().all(|x| (x + 0.5).abs() < 1e-12), "{all:?}");
        }
    }

    /// The mean of n values of deviation s is known to 1.96 · s / √n.
    #[test]
    fn the_interval_of_a_mean_has_the_width_of_the_central_limit() {
        let values: Vec<f64> = (1..=400).map(f64::from).collect();
        let mean = mean(&values).unwrap();
        assert_eq!(mean.value, 200.5);
        let expected = 1.96 * 115.5 / 20.0;
        for side in [mean.value - mean.low, mean.high - mean.value] {
            assert!((side / expected - 1.0).abs() < 0.1, "{mean:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn statistics_of_a_sample_are_those_of_its_values(
            rows in prop::collection::vec((1.0..100.0f64, 0u32..4), 1..80),
        ) {
            let (values, counts): (Vec<f64>, Vec<u32>) = rows.into_iter().unzip();
            let mut drawn: Vec<f64> = values
                .iter()
                .zip(&counts)
                .flat_map(|(&value, &count)| std::iter::repeat_n(value, count as usize))
                .collect();
            drawn.sort_by(f64::total_cmp);
            let found = Values::new(values).statistics(&counts);
            let expected = PERCENTS.map(|percent| nearest_rank(&drawn, percent));
            prop_assert_eq!(found.map(|found| found[..3].to_vec()), expected.into_iter().collect());
        }
    }

    #[test]
    fn a_sample_has_as_many_items_as_there_are() {
        let mut resampler = Resampler::new(44);
        for _ in 0..100 {
            assert_eq!(resampler.draw().iter().sum::<u32>(), 44);
        }
    }

    #[test]
    fn the_draws_are_these_on_every_machine() {
        assert_eq!(Resampler::new(10).draw(), GOLDEN);
    }

    #[test]
    fn sample_counts_are_multiples_of_40_within_bounds() {
        assert_eq!(sample_count(44), 2_000);
        assert_eq!(sample_count(100_000), 1_000);
        assert_eq!(sample_count(10_000_000), 200);
    }

    const GOLDEN: [u32; 10] = [0, 2, 2, 1, 0, 0, 1, 2, 2, 0];
}
