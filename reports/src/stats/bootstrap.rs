//! Bootstrap percentile intervals.
//!
//! Flows are drawn with replacement in windows of consecutive arrivals ([`Blocks`]), whole: for a
//! comparison a flow is drawn with its slowdowns under both policies or in both runs, since both had the
//! same schedule. The interval is the 2.5th to the 97.5th percentile of the statistic over the samples.

use super::{
    Change, Estimate, Slowdowns,
    blocks::{Blocks, MAX_CELLS, Resampler},
    values::{Statistics, Values},
};
use crate::frames::Pair;

/// Returns the mean of `sorted` values; `None` if there are none. The interval of many values is the normal
/// one, which the bootstrap's approaches.
pub fn mean(sorted: &[f64]) -> Option<Estimate> {
    // Cells of sorted values would be of equal ones.
    if sorted.len() > MAX_CELLS {
        return Some(normal_mean(sorted));
    }
    let blocks = Blocks::single(sorted.len());
    let values = Values::new(sorted.to_vec(), blocks);
    let measured = values.measured()?;
    let [.., mean] = intervals(measured, blocks, |counts| values.statistics(counts));
    Some(mean)
}

/// Returns the mean of many values with its interval by the central limit theorem.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
fn normal_mean(values: &[f64]) -> Estimate {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half = NORMAL_975 * (squares / count / count).sqrt();
    Estimate {
        value: mean,
        low: mean - half,
        high: mean + half,
    }
}

/// Returns the statistics of slowdowns in the order of the flows' arrival; `None` if there are none.
pub fn slowdowns(in_order: &[f64]) -> Option<Slowdowns> {
    let blocks = Blocks::of(&[in_order]);
    let values = Values::new(in_order.to_vec(), blocks);
    let measured = values.measured()?;
    let [p50, p95, p99, mean] = intervals(measured, blocks, |counts| values.statistics(counts));
    Some(Slowdowns {
        flows: in_order.len(),
        block: blocks.length,
        p50,
        p95,
        p99,
        mean,
    })
}

/// Returns the median and mean of values in the order of the flows' arrival; `None` if there are none.
pub fn center(in_order: &[f64]) -> Option<[Estimate; 2]> {
    let found = slowdowns(in_order)?;
    Some([found.p50, found.mean])
}

/// Returns the other policy's statistics against the baseline's, of pairs in the order of the flows'
/// arrival; `None` if there are no pairs.
pub fn change(pairs: &[Pair]) -> Option<Change> {
    let base: Vec<f64> = pairs.iter().map(|pair| pair.base).collect();
    let other: Vec<f64> = pairs.iter().map(|pair| pair.other).collect();
    let blocks = Blocks::of(&[&base, &other]);
    let [base, other] = [base, other].map(|values| Values::new(values, blocks));
    let measured = relative(base.measured()?, other.measured()?);
    let [p50, p95, p99, mean] = intervals(measured, blocks, |counts| {
        Some(relative(
            base.statistics(counts)?,
            other.statistics(counts)?,
        ))
    });
    Some(Change {
        pairs: pairs.len(),
        p50,
        p95,
        p99,
        mean,
    })
}

/// Returns the other run's statistics against the base's, of flows that are not the same in both, in the
/// order of their arrival; `None` if one has none.
pub fn change_between(base: &[f64], other: &[f64]) -> Option<Change> {
    let blocks = [Blocks::of(&[base]), Blocks::of(&[other])];
    let base = Values::new(base.to_vec(), blocks[0]);
    let other = Values::new(other.to_vec(), blocks[1]);
    let measured = relative(base.measured()?, other.measured()?);
    let mut of_base = Resampler::new(blocks[0]);
    let mut of_other = Resampler::independent(blocks[1], 0);
    let samples = (0..SAMPLES).filter_map(|_| {
        let (base, other) = (
            base.statistics(of_base.draw())?,
            other.statistics(of_other.draw())?,
        );
        Some(relative(base, other))
    });
    let [p50, p95, p99, mean] = ends(measured, &samples.collect::<Vec<_>>());
    Some(Change {
        pairs: 0,
        p50,
        p95,
        p99,
        mean,
    })
}

/// Statistics of several series, each p50, p95, p99 and mean, with samples of a block bootstrap.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Statistics of each series.
    pub measured: Vec<Statistics>,
    /// Statistics of each series in each sample.
    pub samples: Vec<Vec<Statistics>>,
}

impl Joint {
    /// Returns the statistics of `series`, values in the order of the flows' arrival; `None` if one is
    /// empty. Series of one length are of the same flows, and a sample draws the same ones of each.
    #[must_use]
    pub fn of(series: &[Vec<f64>]) -> Option<Self> {
        let is_same = series.windows(2).all(|pair| pair[0].len() == pair[1].len());
        let all: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
        let together = Blocks::of(&all);
        let mut samplers: Vec<(Values, Resampler)> = Vec::new();
        for (number, values) in (0..).zip(series) {
            let (blocks, resampler) = match is_same {
                true => (together, Resampler::new(together)),
                false => {
                    let blocks = Blocks::of(&[values]);
                    (blocks, Resampler::independent(blocks, number))
                }
            };
            samplers.push((Values::new(values.clone(), blocks), resampler));
        }
        let measured = samplers.iter().map(|(values, _)| values.measured());
        let measured = measured.collect::<Option<Vec<_>>>()?;
        let samples = (0..SAMPLES).filter_map(|_| {
            let statistics = samplers
                .iter_mut()
                .map(|(values, resampler)| values.statistics(resampler.draw()));
            statistics.collect()
        });
        Some(Self {
            measured,
            samples: samples.collect(),
        })
    }
}

/// Returns other ÷ base, less 1, of each statistic.
fn relative(base: Statistics, other: Statistics) -> Statistics {
    std::array::from_fn(|at| other[at] / base[at] - 1.0)
}

fn intervals(
    measured: Statistics,
    blocks: Blocks,
    statistics: impl Fn(&[u32]) -> Option<Statistics>,
) -> [Estimate; 4] {
    let mut resampler = Resampler::new(blocks);
    let samples = (0..SAMPLES).filter_map(|_| statistics(resampler.draw()));
    ends(measured, &samples.collect::<Vec<_>>())
}

/// Returns the interval of each statistic over `samples`.
fn ends(measured: Statistics, samples: &[Statistics]) -> [Estimate; 4] {
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

/// Quantile of the normal distribution for 97.5 %.
const NORMAL_975: f64 = 1.959_963_985;

/// Number of samples: a multiple of 40, so that 2.5 % of it is a whole number.
const SAMPLES: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Both intervals of a mean agree to a twentieth of their width where one takes over from the other.
    #[test]
    fn the_normal_interval_is_the_bootstraps() {
        let skewed = |at: usize| f64::from(u32::try_from(at % 997).unwrap()).powi(3) / 1e6;
        let values: Vec<f64> = (0..MAX_CELLS).map(skewed).collect();
        let (bootstrap, normal) = (mean(&values).unwrap(), normal_mean(&values));
        let width = normal.high - normal.low;
        for (a, b) in [
            (bootstrap.low, normal.low),
            (bootstrap.high, normal.high),
            (bootstrap.value, normal.value),
        ] {
            assert!((a - b).abs() < width / 20.0, "{bootstrap:?} {normal:?}");
        }
    }
}
