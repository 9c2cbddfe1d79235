//! The same flows in two runs: ratios of their slowdowns, and effect sizes.

use serde::Serialize;

use super::{Estimate, bootstrap};
use crate::frames::Pair;

/// Comparison of flows with themselves in another run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// Number of flows that finished in both.
    pub pairs: usize,
    /// Median of the flows' ratios, other ÷ base.
    pub median_ratio: Estimate,
    /// Geometric mean of the flows' ratios.
    pub mean_ratio: Estimate,
    /// Share of flows that are faster in the other run by more than [`SAME`].
    pub faster: f64,
    /// Share of flows that are slower in the other run by more than [`SAME`].
    pub slower: f64,
    /// Cliff's delta: probability that a flow of the other run is slower than a flow of the base, less
    /// that it is faster; −1 to 1, negative if the other run is faster.
    pub cliffs_delta: f64,
    /// Size of Cliff's delta in a word.
    pub effect: Effect,
}

/// Size of an effect by Cliff's delta, with the bounds of Romano and others (2006): 0.147, 0.33, 0.474.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Less than 0.147.
    Negligible,
    /// Less than 0.33.
    Small,
    /// Less than 0.474.
    Medium,
    /// 0.474 or more.
    Large,
}

/// Compares `pairs` in the order of the flows' arrival; `None` if there are none.
pub fn paired(pairs: &[Pair]) -> Option<Paired> {
    let logs: Vec<f64> = pairs.iter().map(|it| (it.other / it.base).ln()).collect();
    let [median, mean] = bootstrap::center(&logs)?;
    let share = |is: &dyn Fn(&f64) -> bool| {
        let count = logs.iter().filter(|log| is(log)).count();
        float(count) / float(logs.len())
    };
    let delta = cliffs_delta(pairs);
    Some(Paired {
        pairs: pairs.len(),
        median_ratio: median.map(f64::exp),
        mean_ratio: mean.map(f64::exp),
        faster: share(&|log| *log < (1.0 - SAME).ln()),
        slower: share(&|log| *log > (1.0 + SAME).ln()),
        cliffs_delta: delta,
        effect: Effect::of(delta),
    })
}

impl Effect {
    fn of(delta: f64) -> Self {
        match delta.abs() {
            size if size < 0.147 => Self::Negligible,
            size if size < 0.33 => Self::Small,
            size if size < 0.474 => Self::Medium,
            _ => Self::Large,
        }
    }

    /// Returns the word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Negligible => "negligible",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

impl Estimate {
    /// Returns the estimate of a function of the value that grows with it.
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            value: f(self.value),
            low: f(self.low),
            high: f(self.high),
        }
    }
}

fn cliffs_delta(pairs: &[Pair]) -> f64 {
    let mut base: Vec<f64> = pairs.iter().map(|pair| pair.base).collect();
    base.sort_by(f64::total_cmp);
    let more = |pair: &Pair| {
        let under = base.partition_point(|&value| value < pair.other);
        let over = base.len() - base.partition_point(|&value| value <= pair.other);
        float(under) - float(over)
    };
    let sum: f64 = pairs.iter().map(more).sum();
    sum / (float(pairs.len()) * float(pairs.len()))
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 flows")]
fn float(count: usize) -> f64 {
    count as f64
}

/// Relative difference up to which a flow is as fast in both runs.
pub const SAME: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(rows: &[(f64, f64)]) -> Vec<Pair> {
        let pair = |&(base, other): &(f64, f64)| Pair { base, other };
        rows.iter().map(pair).collect()
    }

    #[test]
    fn a_run_compared_with_itself_has_no_effect() {
        let same: Vec<_> = (1..=50).map(|it| (f64::from(it), f64::from(it))).collect();
        let found = paired(&pairs(&same)).unwrap();
        assert_eq!((found.median_ratio.value, found.cliffs_delta), (1.0, 0.0));
        assert_eq!((found.faster, found.slower), (0.0, 0.0));
        assert_eq!(found.effect, Effect::Negligible);
        assert_eq!(paired(&[]), None);
    }

    #[test]
    fn flows_twice_as_slow_have_a_ratio_of_two() {
        let rows: Vec<_> = (1..=50)
            .map(|it| (f64::from(it), f64::from(2 * it)))
            .collect();
        let found = paired(&pairs(&rows)).unwrap();
        for ratio in [found.median_ratio, found.mean_ratio] {
            assert!(
                (ratio.value - 2.0).abs() < 1e-9 && ratio.low > 1.99,
                "{ratio:?}"
            );
        }
        assert_eq!((found.faster, found.slower), (0.0, 1.0));
        assert!(found.cliffs_delta > 0.4, "{}", found.cliffs_delta);
    }

    /// Of the nine pairs of a base of 1, 2, 3 and others of 2, 3, 4, six are slower and one is faster.
    #[test]
    fn cliffs_delta_counts_all_pairs() {
        let found = paired(&pairs(&[(1.0, 2.0), (2.0, 3.0), (3.0, 4.0)])).unwrap();
        assert!((found.cliffs_delta - 5.0 / 9.0).abs() < 1e-12);
        assert_eq!(found.effect, Effect::Large);
    }
}
