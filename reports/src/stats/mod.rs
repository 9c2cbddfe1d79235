//! Percentiles with confidence intervals.
//!
//! - `order`: percentiles of flows taken for independent, by order statistics
//! - `blocks`, `values`, `bootstrap`: flows that share queues, in windows of arrivals
//! - `paired`: ratios of the same flows in two runs, and effect sizes
//! - `seeds`, `spread`: repetitions, which are independent
//! - `paper`: the reductions that the paper reports

mod blocks;
mod bootstrap;
pub mod order;
mod paired;
mod paper;
mod seeds;
mod spread;
mod values;

use serde::Serialize;

pub use bootstrap::{Joint, change, change_between, slowdowns};
pub use paired::{Effect, Paired, paired};
pub use paper::{PaperReductions, bins as paper_bins, reductions};
pub use seeds::{SeedChange, by_seed};
pub use spread::{Range, Spread, spread};

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

impl Estimate {
    /// Returns the meaning of a relative change of slowdown.
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        match (self.low, self.high) {
            (low, high) if low > -SAME && high < SAME => Meaning::Same,
            (low, high) if low <= 0.0 && high >= 0.0 => Meaning::Unknown,
            (_, high) if high < 0.0 => Meaning::Better,
            _ => Meaning::Worse,
        }
    }
}

/// Meaning of a relative change of slowdown, by its interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Meaning {
    /// The interval is below zero.
    Better,
    /// The interval is above zero.
    Worse,
    /// The interval is within 1 %.
    Same,
    /// The interval holds zero.
    Unknown,
}

impl Meaning {
    /// Every meaning.
    pub const ALL: [Self; 4] = [Self::Better, Self::Worse, Self::Same, Self::Unknown];

    /// Returns the words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "the same within 1 %",
            Self::Unknown => "no difference shown",
        }
    }
}

/// Relative change under which two slowdowns are the same in practice.
const SAME: f64 = 0.01;

/// A percentile by the nearest-rank rule and its distribution-free 95 % interval by order statistics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// Value of the measured flows.
    pub value: f64,
    /// Lower end of the interval; none if there are too few values for one.
    pub low: Option<f64>,
    /// Upper end of the interval; none if there are too few values for one.
    pub high: Option<f64>,
    /// Number of values beyond the percentile's.
    pub beyond: u64,
}

impl Percentile {
    /// True if the percentile is the largest value: another name for it says more than it knows.
    #[must_use]
    pub const fn is_largest(&self) -> bool {
        self.beyond == 0
    }

    /// True if the percentile stands on fewer than ten values beyond it.
    #[must_use]
    pub const fn is_thin(&self) -> bool {
        self.beyond < MIN_BEYOND
    }

    /// True if the intervals of both have a value in common; an end that is not known is infinite.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let low = |one: &Self| one.low.unwrap_or(f64::NEG_INFINITY);
        let high = |one: &Self| one.high.unwrap_or(f64::INFINITY);
        low(self) <= high(other) && low(other) <= high(self)
    }
}

/// Values beyond a percentile from which it says something about the distribution.
const MIN_BEYOND: u64 = 10;

/// Slowdowns of a policy's finished flows with block bootstrap intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdowns {
    /// Number of flows.
    pub flows: usize,
    /// Number of consecutive arrivals that were drawn together.
    pub block: usize,
    /// Median.
    pub p50: Estimate,
    /// 95th percentile.
    pub p95: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
    /// Arithmetic mean.
    pub mean: Estimate,
}

/// FCT slowdown of a policy's finished flows, of all repetitions together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// Median.
    pub p50: Percentile,
    /// 95th percentile.
    pub p95: Percentile,
    /// 99th percentile.
    pub p99: Percentile,
    /// Arithmetic mean.
    pub mean: Estimate,
}

/// Returns the slowdown of `sorted` values; `None` if there are none.
pub fn slowdown(sorted: &[f64]) -> Option<Slowdown> {
    Some(Slowdown {
        p50: order::percentile(sorted, 50)?,
        p95: order::percentile(sorted, 95)?,
        p99: order::percentile(sorted, 99)?,
        mean: bootstrap::mean(sorted)?,
    })
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
#[must_use]
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
    fn intervals_with_a_common_value_overlap_and_unknown_ends_are_infinite() {
        let of = |low: Option<f64>, high: Option<f64>| Percentile {
            value: 2.0,
            low,
            high,
            beyond: 20,
        };
        let near = of(Some(1.0), Some(2.0));
        assert!(near.overlaps(&of(Some(2.0), Some(3.0))));
        assert!(!near.overlaps(&of(Some(2.1), Some(3.0))));
        assert!(!of(Some(2.1), None).overlaps(&near));
        assert!(of(Some(2.1), None).overlaps(&of(Some(90.0), Some(99.0))));
        assert!(near.overlaps(&of(None, None)));
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
