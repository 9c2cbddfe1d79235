//! Distribution-free intervals of percentiles by order statistics.
//!
//! Of n independent values of any distribution, the number that is under its p-quantile is binomial
//! with n and p. So the quantile is between the l-th and the u-th smallest value with probability
//! P(l ≤ B < u): no shape is assumed, and ties only make the interval surer.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::{Percentile, nearest_rank};

/// Returns the `percent`th percentile of `sorted` with its 95 % interval; `None` if there are no values.
pub fn percentile(sorted: &[f64], percent: u32) -> Option<Percentile> {
    let value = nearest_rank(sorted, percent)?;
    let ranks = Ranks::of(count(sorted.len()), percent);
    let at = |rank: u64| {
        sorted
            .get(usize::try_from(rank).ok()?.checked_sub(1)?)
            .copied()
    };
    let rank = (count(sorted.len()) * u64::from(percent)).div_ceil(100);
    Some(Percentile {
        value,
        low: ranks.low.and_then(at),
        high: ranks.high.and_then(at),
        beyond: count(sorted.len()) - rank,
    })
}

/// Ranks of the values that bound a quantile, from 1; none where no value is sure enough to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Ranks {
    low: Option<u64>,
    high: Option<u64>,
}

impl Ranks {
    /// Returns the narrowest ranks that leave at most 2.5 % on either side, of `len` values.
    fn of(len: u64, percent: u32) -> Self {
        let Ok(under) = Binomial::new(f64::from(percent) / 100.0, len) else {
            return Self {
                low: None,
                high: None,
            };
        };
        // The smallest number of values whose probability passes the tail, on either side.
        let first = |share: f64| first_true(0, len, |number| under.cdf(number) > share);
        let first_at = |share: f64| first_true(0, len, |number| under.cdf(number) >= share);
        let low = first(TAIL);
        let high = first_at(1.0 - TAIL) + 1;
        Self {
            low: (low > 0).then_some(low),
            high: (high <= len).then_some(high),
        }
    }
}

/// Returns the smallest number of `low..=high` that `holds`, which is monotone, or `high`.
fn first_true(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Probability that the quantile is beyond one end of its interval.
const TAIL: f64 = 0.025;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// P(B ≤ number) by adding up, for `len` whose first term a float still holds.
    fn summed(len: u64, p: f64, number: u64) -> f64 {
        let mut term = (1.0 - p).powi(i32::try_from(len).unwrap());
        let mut sum = term;
        for k in 1..=number {
            let (len, k) = (u32::try_from(len).unwrap(), u32::try_from(k).unwrap());
            term *= f64::from(len - k + 1) / f64::from(k) * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    /// Conover, Practical Nonparametric Statistics: of 100 values the median is between the 40th and
    /// the 61st.
    #[test]
    fn a_median_has_the_ranks_of_the_tables() {
        let ranks = |low, high| Ranks {
            low: Some(low),
            high: Some(high),
        };
        assert_eq!(Ranks::of(100, 50), ranks(40, 61));
        assert_eq!(Ranks::of(20, 50), ranks(6, 15));
        assert_eq!(Ranks::of(6, 50), ranks(1, 6));
    }

    /// All of 367 values are under the 99th percentile with a probability of 0.99^367 = 0.0250.
    #[test]
    fn a_high_percentile_of_few_values_has_no_upper_bound() {
        assert_eq!(Ranks::of(44, 99).high, None);
        assert_eq!(Ranks::of(367, 99).high, None);
        assert_eq!(Ranks::of(368, 99).high, Some(368));
        assert_eq!(
            Ranks::of(5, 50),
            Ranks {
                low: None,
                high: None
            }
        );
        let values: Vec<f64> = (1..=44).map(f64::from).collect();
        let p99 = percentile(&values, 99).unwrap();
        assert_eq!((p99.value, p99.high, p99.beyond), (44.0, None, 0));
        assert!(p99.is_largest() && p99.is_thin());
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn ten_values_beyond_a_percentile_are_enough() {
        let of = |len: u32| {
            let values: Vec<f64> = (1..=len).map(f64::from).collect();
            percentile(&values, 99).unwrap()
        };
        assert_eq!((of(999).beyond, of(1_000).beyond), (9, 10));
        assert!(of(999).is_thin() && !of(1_000).is_thin());
        assert!(of(99).is_largest() && !of(101).is_largest());
    }

    proptest! {
        #[test]
        fn the_ranks_hold_95_percent_and_no_narrower_ones_do(len in 1u64..150, percent in 1u32..100) {
            let ranks = Ranks::of(len, percent);
            let p = f64::from(percent) / 100.0;
            let under = |rank: u64| rank.checked_sub(1).map_or(0.0, |number| summed(len, p, number));
            let slack = 1e-9;
            if let Some(low) = ranks.low {
                prop_assert!(under(low) <= TAIL + slack);
            }
            prop_assert!(under(ranks.low.unwrap_or(0) + 1) > TAIL - slack);
            if let Some(high) = ranks.high {
                prop_assert!(under(high) >= 1.0 - TAIL - slack);
                prop_assert!(under(high - 1) < 1.0 - TAIL + slack);
            } else {
                prop_assert!(under(len) < 1.0 - TAIL + slack);
            }
        }
    }
}
