//! Comparison of the same flows in two runs: ratios of slowdowns, and effect sizes.

use serde::Serialize;

use super::{Estimate, Statistic, estimate, pooled, statistic::float};

/// Slowdowns of one flow in two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Slowdown in the base run.
    pub base: f64,
    /// Slowdown in the other run.
    pub other: f64,
}

/// Comparison of two runs of the same flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// Number of flows that both runs have.
    pub pairs: usize,
    /// Median of the flows' ratios, other ÷ base; `None` if a median needs more flows.
    pub median_ratio: Option<Estimate>,
    /// Geometric mean of the flows' ratios, other ÷ base.
    pub mean_ratio: Estimate,
    /// Share of flows that are faster in the other run by more than [`SAME`].
    pub faster: f64,
    /// Share of flows that are slower in the other run by more than [`SAME`].
    pub slower: f64,
    /// Cliff's delta: probability that a flow of the other run is slower than a flow of the base, minus the probability
    /// that it is faster. Range −1 to 1; negative if the other run is faster.
    pub cliffs_delta: f64,
    /// Effect size that corresponds to Cliff's delta.
    pub effect: Effect,
}

/// Effect size by the absolute value of Cliff's delta; the bounds are those of Romano and others (2006).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// |δ| below 0.147.
    Negligible,
    /// |δ| from 0.147 to below 0.33.
    Small,
    /// |δ| from 0.33 to below 0.474.
    Medium,
    /// |δ| of at least 0.474.
    Large,
}

/// Compares the slowdowns of the same flows, by repetition; `None` if there are fewer flows than a mean needs.
pub fn paired(repetitions: &[Vec<Pair>]) -> Option<Paired> {
    let ratios: Vec<Vec<f64>> = repetitions
        .iter()
        .map(|pairs| {
            let mut ratios: Vec<f64> = pairs.iter().map(|it| it.other / it.base).collect();
            ratios.sort_by(f64::total_cmp);
            ratios
        })
        .collect();
    let all = pooled(&ratios);
    let share = |count: usize| float(count) / float(all.len());
    let faster = all.partition_point(|&ratio| ratio < 1.0 - SAME);
    let not_slower = all.partition_point(|&ratio| ratio <= 1.0 + SAME);
    let delta = cliffs_delta(&repetitions.concat());
    Some(Paired {
        pairs: all.len(),
        median_ratio: estimate(&all, &ratios, Statistic::P50),
        mean_ratio: estimate(&all, &ratios, Statistic::GeometricMean)?,
        faster: share(faster),
        slower: share(all.len() - not_slower),
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

    /// Returns the effect size as a word.
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

/// Relative difference up to which a flow counts as equally fast in both runs.
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
        let found = paired(&[pairs(&same)]).unwrap();
        let median = found.median_ratio.unwrap();
        assert_eq!((median.value, found.cliffs_delta), (1.0, 0.0));
        assert_eq!((found.faster, found.slower), (0.0, 0.0));
        assert_eq!(found.effect, Effect::Negligible);
        assert_eq!(paired(&[]), None);
        assert_eq!(paired(&[pairs(&same[..9])]), None);
        let ten = paired(&[pairs(&same[..10])]).unwrap();
        assert_eq!((ten.pairs, ten.median_ratio), (10, None));
    }

    #[test]
    fn flows_twice_as_slow_have_a_ratio_of_two() {
        let rows: Vec<_> = (1..=50)
            .map(|it| (f64::from(it), f64::from(2 * it)))
            .collect();
        let found = paired(&[pairs(&rows[..25]), pairs(&rows[25..])]).unwrap();
        for ratio in [found.median_ratio.unwrap(), found.mean_ratio] {
            let interval = ratio.interval.unwrap();
            for value in [ratio.value, interval.low, interval.high] {
                assert!((value - 2.0).abs() < 1e-9, "{ratio:?}");
            }
        }
        assert_eq!((found.faster, found.slower), (0.0, 1.0));
        assert!(found.cliffs_delta > 0.4, "{}", found.cliffs_delta);
    }

    /// A base of 1, 2, 3 and another run of 2, 3, 4 form nine pairs. The other run is slower in six of them and faster
    /// in one.
    #[test]
    fn cliffs_delta_counts_all_pairs() {
        let delta = cliffs_delta(&pairs(&[(1.0, 2.0), (2.0, 3.0), (3.0, 4.0)]));
        assert!((delta - 5.0 / 9.0).abs() < 1e-12);
        assert_eq!(Effect::of(delta), Effect::Large);
    }
}
