//! Statistics of slowdowns and their changes, with intervals over repetitions.
//!
//! - `statistic`: percentiles and means, and the number of flows that each needs
//! - `repetitions`: intervals by Student and Welch
//! - `paired`: ratios of the same flows in two runs, and effect sizes
//! - `paper`: reductions computed as in the paper
//! - `uncertainty`: intervals of a mean over a few draws and windows of time in each

mod paired;
mod paper;
mod repetitions;
mod statistic;
mod uncertainty;

use serde::Serialize;
use statrs::statistics::{Data, Median};

pub use paired::{Effect, Pair, Paired, paired};
pub use paper::{PaperReductions, bins as paper_bins, reductions};
pub use repetitions::{Interval, replicates, student, student_half_width, student_margin, welch};
pub use statistic::{Statistic, nearest_rank};
pub use uncertainty::{DrawValue, Uncertainty, UncertaintyMethod, WINDOWS};

/// Value with its 95 % interval over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Value over all repetitions together.
    pub value: f64,
    /// 95 % interval; `None` for a single repetition, or if the value is a lower bound.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Returns an estimate of a value without an interval.
    pub(crate) const fn exact(value: f64) -> Self {
        Self {
            value,
            interval: None,
        }
    }

    /// Returns the meaning of this estimate of a relative change in slowdown; `None` without an interval.
    #[must_use]
    pub fn meaning(&self) -> Option<Meaning> {
        let Interval { low, high } = self.interval?;
        Some(match () {
            () if low > -SAME && high < SAME => Meaning::Same,
            () if low <= 0.0 && high >= 0.0 => Meaning::Unknown,
            () if high < 0.0 => Meaning::Better,
            () => Meaning::Worse,
        })
    }
}

/// Meaning of a relative change in slowdown, derived from its interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Meaning {
    /// The interval lies below zero.
    Better,
    /// The interval lies above zero.
    Worse,
    /// The interval lies within 1 % of zero.
    Same,
    /// The interval contains zero.
    Unknown,
}

impl Meaning {
    /// All meanings.
    pub const ALL: [Self; 4] = [Self::Better, Self::Worse, Self::Same, Self::Unknown];

    /// Returns the meaning as text.
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

/// Relative change below which two slowdowns count as the same.
pub const SAME: f64 = 0.01;

/// Method by which intervals are computed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum Intervals {
    /// Student's t: both sides of a change have the same flows in each repetition.
    #[serde(rename = "student-t over repetitions")]
    Student,
    /// Welch's t: the two runs have different flows.
    #[serde(rename = "welch-t over the repetitions of both runs")]
    Welch,
    /// Student's t: the repetitions have the same listed flows, so that they are no draws.
    #[serde(rename = "student-t over repetitions of the same flows")]
    SameFlows,
    /// No intervals: a single repetition is only one draw of arrivals.
    #[serde(rename = "none: one draw of arrivals")]
    OneDraw,
}

impl Intervals {
    /// Returns the method for the intervals of a run.
    #[must_use]
    pub const fn of(repetitions: u32) -> Self {
        match repetitions {
            0 | 1 => Self::OneDraw,
            _ => Self::Student,
        }
    }

    /// Returns the method for changes between two runs, given their numbers of repetitions; `is_paired` means that both
    /// runs have the same flows.
    #[must_use]
    pub const fn between([base, other]: [u32; 2], is_paired: bool) -> Self {
        match (base, other) {
            (0 | 1, _) | (_, 0 | 1) => Self::OneDraw,
            _ if is_paired => Self::Student,
            _ => Self::Welch,
        }
    }

    /// Returns this method, or that for the same flows again if `is_same` and there are intervals over repetitions.
    #[must_use]
    pub const fn over_same_flows(self, is_same: bool) -> Self {
        match self {
            Self::Student if is_same => Self::SameFlows,
            _ => self,
        }
    }

    /// Returns one or two sentences that explain the intervals in brackets, or why there are none.
    #[must_use]
    pub const fn note(self) -> &'static str {
        match self {
            Self::Student => {
                "Brackets are 95 % intervals: Student's t over the repetitions, each of which is \
                 another draw of arrivals."
            }
            Self::Welch => {
                "Brackets are 95 % intervals over the repetitions, each of which is another draw of \
                 arrivals: Student's t for values and, because the two runs have different flows, \
                 Welch's t for changes."
            }
            Self::SameFlows => {
                "Brackets are 95 % intervals: Student's t over the repetitions. All have the same listed \
                 flows, so the intervals say nothing about other flows."
            }
            Self::OneDraw => {
                "These values are from a single draw of the flow arrivals; repetitions give 95 % intervals \
                 over several draws."
            }
        }
    }
}

/// Slowdowns of a policy's scheduled flows. A statistic is `None` if there are fewer flows than the statistic needs
/// ([`Statistic::min_values`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdowns {
    /// Number of scheduled flows.
    pub flows: usize,
    /// True if the statistics are lower bounds, because unfinished flows are included with a lower bound on their
    /// slowdown.
    pub at_least: bool,
    pub p50: Option<Estimate>,
    pub p95: Option<Estimate>,
    pub p99: Option<Estimate>,
    pub mean: Option<Estimate>,
    /// Largest slowdown of a flow.
    pub max: f64,
}

/// Returns the statistics of a policy's slowdowns, given the sorted slowdowns of each repetition's finished flows, and
/// a lower bound for each unfinished flow; `None` if no flow finished.
#[must_use]
pub fn slowdowns(repetitions: &[Vec<f64>], unfinished: &[f64]) -> Option<Slowdowns> {
    let mut all = repetitions.concat();
    if all.is_empty() {
        return None;
    }
    all.extend(unfinished);
    all.sort_by(f64::total_cmp);
    let estimate = |statistic| match unfinished {
        [] => estimate(&all, repetitions, statistic),
        _ => shown(&all, statistic).map(|value| Estimate {
            value,
            interval: None,
        }),
    };
    Some(Slowdowns {
        flows: all.len(),
        at_least: !unfinished.is_empty(),
        p50: estimate(Statistic::P50),
        p95: estimate(Statistic::P95),
        p99: estimate(Statistic::P99),
        mean: estimate(Statistic::Mean),
        max: *all.last()?,
    })
}

/// Relative changes of slowdown, other ÷ base − 1, such as −0.4 for a reduction by 40 %. A change is `None` if either
/// side has fewer flows than the statistic needs ([`Statistic::min_values`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Number of flows on each side; the smaller number if they differ.
    pub flows: usize,
    pub p50: Option<Estimate>,
    pub p95: Option<Estimate>,
    pub p99: Option<Estimate>,
    pub mean: Option<Estimate>,
}

/// Returns the changes between slowdowns of the same flows, with Student's intervals over the changes in each
/// repetition. The slowdowns are sorted in each repetition.
#[must_use]
pub fn change(base: &[Vec<f64>], other: &[Vec<f64>]) -> Change {
    change_by(base, other, |value, [base, other]| {
        let differences = base.iter().zip(other).map(|(base, other)| other - base);
        student(value, &differences.collect::<Vec<_>>())
    })
}

/// Returns the changes between slowdowns of different flows, with Welch's intervals. The slowdowns are sorted in each
/// repetition.
#[must_use]
pub fn change_between(base: &[Vec<f64>], other: &[Vec<f64>]) -> Change {
    change_by(base, other, |value, [base, other]| {
        welch(value, base, other)
    })
}

/// Returns the changes of all statistics from `base` to `other`. `interval` computes the interval around the logarithm
/// of a ratio, from the logarithms of both sides' replicates.
fn change_by(
    base: &[Vec<f64>],
    other: &[Vec<f64>],
    interval: impl Fn(f64, [&[f64]; 2]) -> Option<Interval>,
) -> Change {
    let all = [base, other].map(pooled);
    let change = |statistic| {
        let [before, after] = [shown(&all[0], statistic)?, shown(&all[1], statistic)?];
        let ratio = after / before;
        let logs = [base, other].map(|it| log_replicates(it, statistic));
        let interval = interval(ratio.ln(), logs.each_ref().map(Vec::as_slice));
        Some(Estimate {
            value: ratio - 1.0,
            interval: interval.map(|it| it.map(f64::exp_m1)),
        })
    };
    Change {
        flows: all[0].len().min(all[1].len()),
        p50: change(Statistic::P50),
        p95: change(Statistic::P95),
        p99: change(Statistic::P99),
        mean: change(Statistic::Mean),
    }
}

/// Returns a statistic of positive values with Student's interval; `None` if there are fewer values than the statistic
/// needs. Values are sorted, both in each repetition and in `all`, which has the values of all repetitions.
pub fn estimate(all: &[f64], repetitions: &[Vec<f64>], statistic: Statistic) -> Option<Estimate> {
    let value = shown(all, statistic)?;
    let interval = student(value.ln(), &log_replicates(repetitions, statistic));
    Some(Estimate {
        value,
        interval: interval.map(|it| it.map(f64::exp)),
    })
}

/// Returns the median of `values`; `None` if there are none. Between two middle values, it is their mean.
pub fn median(values: Vec<f64>) -> Option<f64> {
    let is_empty = values.is_empty();
    (!is_empty).then(|| Data::new(values).median())
}

/// Returns a statistic of `sorted`; `None` if there are fewer values than the statistic needs.
#[must_use]
pub fn shown(sorted: &[f64], statistic: Statistic) -> Option<f64> {
    let is_enough = sorted.len() >= statistic.min_values();
    statistic.of(sorted).filter(|_| is_enough)
}

/// Returns the values of all repetitions together, sorted.
fn pooled(repetitions: &[Vec<f64>]) -> Vec<f64> {
    let mut all = repetitions.concat();
    all.sort_by(f64::total_cmp);
    all
}

fn log_replicates(repetitions: &[Vec<f64>], statistic: Statistic) -> Vec<f64> {
    replicates(repetitions, statistic)
        .into_iter()
        .map(f64::ln)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the slowdowns of `flows` flows, all equal to `value`.
    fn equal(flows: usize, value: f64) -> Vec<f64> {
        vec![value; flows]
    }

    fn assert_near(found: Estimate, value: f64, low: f64, high: f64) {
        let interval = found.interval.unwrap();
        for (found, expected) in [
            (found.value, value),
            (interval.low, low),
            (interval.high, high),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
        }
    }

    /// The medians 2, 4 and 8 have the logarithms 0.6931, 1.3863 and 2.0794, so s = 0.6931, and the half width is
    /// 4.3027 · 0.6931 / √3 = 1.7219. The pooled median is 4, so the interval is from 4 ÷ e^1.7219 = 0.7148 to 4 ·
    /// e^1.7219 = 22.38.
    #[test]
    fn a_percentile_over_three_repetitions_has_students_interval_of_the_logarithms() {
        let repetitions = [equal(10, 2.0), equal(10, 4.0), equal(10, 8.0)];
        let found = slowdowns(&repetitions, &[]).unwrap();
        assert_near(found.p50.unwrap(), 4.0, 0.7148, 22.38);
        assert_eq!((found.flows, found.at_least, found.max), (30, false, 8.0));
        // A p95 is missing, because it needs more than 30 flows.
        assert_eq!((found.p95, found.p99), (None, None));
        assert_eq!(found.mean.unwrap().value, 14.0 / 3.0);
    }

    /// The ratios of the repetitions are 1/2, 1/4 and 1/2. Their logarithms are −0.6931, −1.3863 and −0.6931, so s =
    /// 0.4002, and the half width is 4.3027 · 0.4002 / √3 = 0.9942. The pooled medians are 4 and 1, a change of −75 %.
    /// The bounds are 0.25 ÷ e^0.9942 − 1 = −0.9075 and 0.25 · e^0.9942 − 1 = −0.3244.
    #[test]
    fn a_change_of_the_same_flows_has_the_interval_of_the_repetitions_own_changes() {
        let base = [equal(10, 2.0), equal(10, 4.0), equal(10, 8.0)];
        let other = [equal(10, 1.0), equal(10, 1.0), equal(10, 4.0)];
        let found = change(&base, &other);
        assert_near(found.p50.unwrap(), -0.75, -0.9075, -0.3244);
        assert_eq!(found.p50.unwrap().meaning(), Some(Meaning::Better));
        assert_eq!((found.flows, found.p99), (30, None));
    }

    /// The logarithms of the medians are 0, 0.6931 and 1.3863 on one side, and 2.0794 twice on the other. The squares
    /// of the standard errors are 0.6931² / 3 and 0, so ν = 2, t = 4.3027, and the half width is 4.3027 · 0.4002 =
    /// 1.7219. The pooled medians are 2 and 8, a change of +300 %, and the lower bound is 4 ÷ e^1.7219 − 1 = −0.2852.
    #[test]
    fn a_change_between_different_flows_has_welchs_interval() {
        let base = [equal(10, 1.0), equal(10, 2.0), equal(10, 4.0)];
        let other = [equal(15, 8.0), equal(15, 8.0)];
        let found = change_between(&base, &other);
        assert_near(found.p50.unwrap(), 3.0, -0.2852, 21.38);
        assert_eq!(found.p50.unwrap().meaning(), Some(Meaning::Unknown));
        assert_eq!(found.flows, 30);
    }

    #[test]
    fn flows_that_did_not_finish_make_lower_bounds_without_intervals() {
        // Twelve of 20 flows finished. The median is the tenth of these values: eight lower bounds of 1, six slowdowns
        // of 2, and six of 3.
        let repetitions = [equal(6, 2.0), equal(6, 3.0)];
        let found = slowdowns(&repetitions, &equal(8, 1.0)).unwrap();
        let bound = Estimate {
            value: 2.0,
            interval: None,
        };
        assert_eq!(found.p50, Some(bound));
        assert_eq!((found.flows, found.at_least), (20, true));
        assert_eq!(slowdowns(&[], &equal(8, 1.0)), None);
    }

    #[test]
    fn statistics_of_fewer_flows_than_they_need_are_not_shown() {
        let found = slowdowns(&[equal(999, 2.0)], &[]).unwrap();
        assert!(found.p95.is_some() && found.p99.is_none());
        let found = change(&[equal(1_000, 2.0)], &[equal(999, 2.0)]);
        assert!(found.p95.is_some() && found.p99.is_none());
        let found = change_between(&[equal(19, 2.0)], &[equal(1_000, 2.0)]);
        assert!(found.p50.is_none() && found.mean.is_some());
    }

    proptest! {
        #[test]
        fn equal_changes_of_all_repetitions_have_no_width(
            base in prop::collection::vec(1.0..100.0f64, 20..60),
            factor in 0.1..10.0f64,
            repetitions in 2usize..6,
        ) {
            let mut base = base;
            base.sort_by(f64::total_cmp);
            let other: Vec<f64> = base.iter().map(|value| value * factor).collect();
            let found = change(&vec![base; repetitions], &vec![other; repetitions]);
            for change in [found.p50.unwrap(), found.mean.unwrap()] {
                let Interval { low, high } = change.interval.unwrap();
                for end in [low, high, change.value] {
                    prop_assert!((end - (factor - 1.0)).abs() < 1e-9, "{change:?}");
                }
            }
        }

        #[test]
        fn one_draw_has_no_interval_and_no_meaning(
            base in prop::collection::vec(1.0..100.0f64, 20..60),
            factor in 0.1..10.0f64,
        ) {
            let mut base = base;
            base.sort_by(f64::total_cmp);
            let other: Vec<f64> = base.iter().map(|value| value * factor).collect();
            let [base, other] = [[base], [other]];
            for found in [change(&base, &other), change_between(&base, &other)] {
                let p50 = found.p50.unwrap();
                prop_assert_eq!((p50.interval, p50.meaning()), (None, None));
            }
        }
    }
}
