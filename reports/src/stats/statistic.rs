//! Slowdown statistics, and the number of flows that each statistic needs.

/// Statistic of a list of values.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Statistic {
    /// Percentile, from 1 to 99, by nearest rank.
    Percentile(u32),
    /// Arithmetic mean.
    Mean,
    /// Geometric mean; all values must be positive.
    GeometricMean,
}

impl Statistic {
    /// Median, the 50th percentile.
    pub const P50: Self = Self::Percentile(50);
    /// 95th percentile.
    pub const P95: Self = Self::Percentile(95);
    /// 99th percentile.
    pub const P99: Self = Self::Percentile(99);

    /// Returns the minimum number of values for which the statistic is shown: a percentile needs ten values beyond it,
    /// and a mean needs ten in total.
    #[must_use]
    pub const fn min_values(self) -> usize {
        match self {
            Self::Percentile(percent) => {
                let beyond = 100_u32.saturating_sub(percent);
                let beyond = if beyond == 0 { 1 } else { beyond };
                (MIN_BEYOND * 100).div_ceil(beyond) as usize
            }
            Self::Mean | Self::GeometricMean => MIN_BEYOND as usize,
        }
    }

    /// Returns the statistic of `sorted`, even if there are few values; `None` if there are none.
    #[must_use]
    pub fn of(self, sorted: &[f64]) -> Option<f64> {
        match self {
            Self::Percentile(percent) => nearest_rank(sorted, percent),
            Self::Mean => mean(sorted.iter().copied()),
            Self::GeometricMean => mean(sorted.iter().map(|value| value.ln())).map(f64::exp),
        }
    }
}

/// Returns the `percent`th percentile of `sorted` by the nearest-rank rule: the smallest value in `sorted` that at
/// least `percent` % of the values do not exceed. `None` if there are no values, or if `percent` is not within 1 to
/// 100.
///
/// The rank ⌈percent · n / 100⌉ is computed in integers: with floats, 7 % of 100 values would give rank 8.
#[must_use]
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: u32) -> Option<T> {
    if !(1..=100).contains(&percent) {
        return None;
    }
    let percent = usize::try_from(percent).ok()?;
    let rank = sorted.len().checked_mul(percent)?.div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// Returns the arithmetic mean; `None` if there are no values.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / float(count))
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

/// Minimum number of values beyond a percentile for which the percentile is meaningful.
const MIN_BEYOND: u32 = 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ten_values_are_beyond_the_smallest_set_of_each_percentile_and_nine_beyond_one_less() {
        for (statistic, percent, fewest) in [
            (Statistic::P50, 50, 20),
            (Statistic::P95, 95, 200),
            (Statistic::P99, 99, 1_000),
        ] {
            assert_eq!(statistic.min_values(), fewest);
            let beyond = |count: usize| {
                let ranks: Vec<usize> = (1..=count).collect();
                count - nearest_rank(&ranks, percent).unwrap()
            };
            assert_eq!((beyond(fewest - 1), beyond(fewest)), (9, 10), "p{percent}");
        }
        assert_eq!(Statistic::Mean.min_values(), 10);
    }

    #[test]
    fn means_of_small_sets() {
        assert_eq!(Statistic::Mean.of(&[1.0, 2.0, 6.0]), Some(3.0));
        let geometric = Statistic::GeometricMean.of(&[1.0, 2.0, 4.0]).unwrap();
        assert!((geometric - 2.0).abs() < 1e-12, "{geometric}");
        assert_eq!(Statistic::Mean.of(&[]), None);
    }

    #[test]
    fn percentiles_of_small_sets() {
        let values = [10, 20, 30, 40, 50];
        let expected = [(1, 10), (20, 10), (21, 20), (50, 30), (99, 50), (100, 50)];
        for (percent, value) in expected {
            assert_eq!(nearest_rank(&values, percent), Some(value), "p{percent}");
        }
        assert_eq!(nearest_rank::<u32>(&[], 50), None);
        assert_eq!(nearest_rank(&[1], 0), None);
        assert_eq!(nearest_rank(&[1], 101), None);
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(nearest_rank(&hundred, 7), Some(7));
    }

    proptest! {
        #[test]
        fn it_is_the_smallest_value_that_enough_do_not_exceed(
            mut values in prop::collection::vec(0u32..50, 1..200),
            percent in 1u32..=100,
        ) {
            values.sort_unstable();
            let found = nearest_rank(&values, percent).unwrap();
            let enough = |value: u32| {
                let not_above = values.iter().filter(|&&other| other <= value).count();
                not_above * 100 >= values.len() * percent as usize
            };
            prop_assert!(enough(found));
            let smaller = values.iter().filter(|&&value| value < found);
            prop_assert!(smaller.into_iter().all(|&value| !enough(value)));
        }
    }
}
