//! Percentiles with confidence intervals.

mod bootstrap;

use serde::Serialize;

pub use bootstrap::{change, slowdown};

/// A value and its 95 % bootstrap percentile interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Value of the measured flows.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// FCT slowdown of a policy's finished flows; percentiles by the nearest-rank rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// Median.
    pub p50: Estimate,
    /// 95th percentile.
    pub p95: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
    /// Arithmetic mean.
    pub mean: Estimate,
}

/// A policy's slowdown ÷ the baseline's, less 1: −0.4 is 40 % less. Each percentile is of the flows
/// that finished under both policies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Number of flows that finished under both.
    pub pairs: usize,
    /// Change of the median.
    pub p50: Estimate,
    /// Change of the 95th percentile.
    pub p95: Estimate,
    /// Change of the 99th percentile.
    pub p99: Estimate,
    /// Change of the mean.
    pub mean: Estimate,
}

/// Returns the `percent`th percentile of `sorted` by the nearest-rank rule: the smallest value that
/// at least `percent` % of the values do not exceed, so always one of the values. `None` if there
/// are no values, or if `percent` is not within 1 to 100.
///
/// The rank is ⌈percent · n / 100⌉ in integers: in floats 7 % of 100 values would be the eighth.
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: u32) -> Option<T> {
    if !(1..=100).contains(&percent) {
        return None;
    }
    let percent = usize::try_from(percent).ok()?;
    let rank = sorted.len().checked_mul(percent)?.div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
