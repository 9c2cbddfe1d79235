//! Coverage of intervals: how often they contain the true value.
//!
//! A run of many repetitions stands for all draws of arrivals: its values are taken as the true ones. Groups of its
//! repetitions, drawn without replacement, stand for the runs that a user makes. The study counts three things: how
//! often the groups' intervals contain the true value; how often the interval of the change between two groups of one
//! policy contains zero (A/A); and how often a group is found better if its slowdowns are reduced by 10 or 20 % (A/B).

use std::path::Path;

use lab_records::Grade;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::{
    error::ReportError,
    facts::RunFacts,
    frames::Flows,
    parallel,
    route::Routes,
    stats::{self, Change, Estimate, Meaning, Slowdowns},
};

/// Number and size of the groups of repetitions in a coverage study.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Study {
    /// Number of repetitions in a group, at least 2.
    pub repetitions: usize,
    /// Number of groups; each is paired with another, disjoint group.
    pub groups: usize,
}

/// Coverage of the confidence intervals (share that contains the true value) for a run's policies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Name of the run's scenario.
    pub scenario: String,
    /// Number of repetitions in a group.
    pub repetitions: usize,
    /// Number of groups; each is paired with another, disjoint group.
    pub groups: usize,
    /// Number of repetitions in the run.
    pub of: usize,
    /// Statistics of each policy, in the order of the run.
    pub rows: Vec<CoverageRow>,
}

/// Coverage of the intervals for one statistic of a policy's slowdowns. Shares refer to groups or to pairs of groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoverageRow {
    /// Label of the policy.
    pub policy: String,
    /// Statistic: `p50`, `p99` or `mean`.
    pub statistic: &'static str,
    /// Value over all repetitions, which is taken as the true value.
    pub value: f64,
    /// Share of groups whose interval contains the true value.
    pub held: f64,
    /// Share of group pairs whose interval of the change contains zero. Both groups are from the same policy, so the
    /// true change is zero.
    pub same: f64,
    /// Verdicts on pairs of groups in which the second group's slowdowns are reduced by 10 %.
    pub less_10: Found,
    /// Verdicts on pairs of groups in which the second group's slowdowns are reduced by 20 %.
    pub less_20: Found,
    /// Coverage of the change against the run's first policy with the same flows; `None` for the first policy.
    pub change: Option<ChangeHeld>,
}

/// Verdicts on pairs of groups of which the second has lower slowdowns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    /// Share of pairs that are found better, which is correct.
    pub better: f64,
    /// Share of pairs that are found worse, which is wrong.
    pub worse: f64,
}

/// Coverage of the change between two policies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangeHeld {
    /// Change over all repetitions, which is taken as the true change.
    pub value: f64,
    /// Share of groups whose interval contains the true change.
    pub held: f64,
    /// Share of groups whose interval lies entirely on the wrong side of zero.
    pub wrong: f64,
}

/// Failure of a coverage study.
#[derive(Debug, thiserror::Error)]
pub enum CoverageError {
    /// The run cannot be read.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A group has a single repetition, from which no interval can be computed.
    #[error("a group of {0} repetitions has no interval (hint: `--group 2` or more)")]
    SmallGroup(usize),
    /// The run has too few repetitions for two disjoint groups.
    #[error(
        "`{directory}` has {found} repetitions, but two disjoint groups of {group} need {needed} (hint: \
         `sim --repetitions 100`, or a smaller `--group`)"
    )]
    FewRepetitions {
        /// Directory of the run.
        directory: String,
        /// Number of repetitions in the run.
        found: usize,
        /// Number of repetitions in a group.
        group: usize,
        /// Number of repetitions that are needed.
        needed: usize,
    },
    /// The groups have too few flows for any statistic.
    #[error(
        "`{directory}`: {group} repetitions have too few flows for a p50 (hint: a larger `--group`)"
    )]
    FewFlows {
        /// Directory of the run.
        directory: String,
        /// Number of repetitions in a group.
        group: usize,
    },
    /// The run is not valid, so its values cannot be taken as the true values.
    #[error("the run `{directory}` is {grade}, so its values cannot be taken as the true values")]
    NotValid {
        /// Directory of the run.
        directory: String,
        /// Verdict on the run, as a word.
        grade: &'static str,
    },
}

impl Coverage {
    /// Returns the smallest share, over all rows, of intervals that contain the true value.
    #[must_use]
    pub fn least_held(&self) -> f64 {
        let shares = self.rows.iter().flat_map(|row| {
            let change = row.change.map_or(1.0, |change| change.held);
            [row.held, row.same, change]
        });
        shares.fold(1.0, f64::min)
    }
}

/// Studies the coverage of intervals in the run directory at `path`.
///
/// The groups are drawn with a fixed seed, so that a run always has the same result.
///
/// # Errors
/// If the run cannot be read, is not valid, or has too few repetitions for the groups.
pub fn coverage(path: &Path, study: Study) -> Result<Coverage, CoverageError> {
    let run = RunFacts::open(path).map_err(ReportError::from)?;
    let flows = Flows::read(&run, &Routes::new(run.info()))?;
    let verdict = run.verdict_of_rows(&flows.total());
    if verdict.grade != Grade::Valid {
        return Err(CoverageError::NotValid {
            directory: path.display().to_string(),
            grade: verdict.grade.name(),
        });
    }
    if study.repetitions < 2 {
        return Err(CoverageError::SmallGroup(study.repetitions));
    }
    let policies: Vec<Vec<Vec<f64>>> = (0..flows.policies.len())
        .map(|policy| flows.slowdowns_by_repetition(policy))
        .collect();
    let of = policies.iter().map(Vec::len).min().unwrap_or(0);
    let needed = 2 * study.repetitions;
    if of < needed {
        return Err(CoverageError::FewRepetitions {
            directory: path.display().to_string(),
            found: of,
            group: study.repetitions,
            needed,
        });
    }
    let pairs = pairs_of_groups(of, study);
    let rows = parallel::map(0..policies.len(), |at| {
        let base = (at > 0).then(|| policies[0].as_slice());
        rows(&flows.policies[at], &policies[at], base, &pairs)
    })
    .concat();
    if rows.is_empty() {
        return Err(CoverageError::FewFlows {
            directory: path.display().to_string(),
            group: study.repetitions,
        });
    }
    Ok(Coverage {
        scenario: run.info().scenario.clone(),
        repetitions: study.repetitions,
        groups: study.groups,
        of,
        rows,
    })
}

/// Indices of the repetitions in two disjoint groups.
type GroupPair = [Vec<usize>; 2];

/// Draws pairs of disjoint groups from the indices `0..of`.
fn pairs_of_groups(of: usize, study: Study) -> Vec<GroupPair> {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut order: Vec<usize> = (0..of).collect();
    let mut pair = |_| {
        // These are the first steps of a Fisher–Yates shuffle.
        for place in 0..2 * study.repetitions {
            order.swap(place, place + below(random.next_u64(), of - place));
        }
        let group = |from: usize| order[from..from + study.repetitions].to_vec();
        [group(0), group(study.repetitions)]
    };
    (0..study.groups).map(&mut pair).collect()
}

/// Scales `random` to `0..len`. The bias, at most `len / 2^64`, is far below the shares to be estimated.
fn below(random: u64, len: usize) -> usize {
    let product = u128::from(random) * (len as u128);
    usize::try_from(product >> 64).unwrap_or(0)
}

/// Returns the coverage for each statistic of a policy, over pairs of groups from its repetitions. `base` has the
/// repetitions of the run's first policy.
fn rows(
    policy: &str,
    repetitions: &[Vec<f64>],
    base: Option<&[Vec<f64>]>,
    pairs: &[GroupPair],
) -> Vec<CoverageRow> {
    let truth = stats::slowdowns(repetitions, &[]);
    let change = base.map(|base| stats::change(base, repetitions));
    let groups: Vec<Group> = pairs
        .iter()
        .map(|pair| Group::of(repetitions, base, pair))
        .collect();
    let row = |&(name, value_of, change_of): &Accessors| {
        let value = truth.as_ref().and_then(value_of)?.value;
        let values: Vec<Option<Estimate>> = groups
            .iter()
            .map(|it| value_of(it.slowdowns.as_ref()?))
            .collect();
        // A group without the statistic has no interval, so the row is left out.
        if values.contains(&None) {
            return None;
        }
        let changes = |of: fn(&Group) -> Option<&Change>| -> Vec<Option<Estimate>> {
            groups.iter().map(|group| change_of(of(group)?)).collect()
        };
        let change = change.as_ref().and_then(change_of);
        Some(CoverageRow {
            policy: policy.to_owned(),
            statistic: name,
            value,
            held: share(&values, |it| holds(it, value)),
            same: share(&changes(|it| Some(&it.same)), |it| holds(it, 0.0)),
            less_10: Found::of(&changes(|it| Some(&it.less_10))),
            less_20: Found::of(&changes(|it| Some(&it.less_20))),
            change: change
                .map(|it| ChangeHeld::of(it.value, &changes(|group| group.against_first.as_ref()))),
        })
    };
    STATISTICS.iter().filter_map(row).collect()
}

impl Found {
    fn of(changes: &[Option<Estimate>]) -> Self {
        let meant = |meaning| share(changes, |it| it.meaning() == Some(meaning));
        Self {
            better: meant(Meaning::Better),
            worse: meant(Meaning::Worse),
        }
    }
}

impl ChangeHeld {
    /// Returns the shares of `changes` whose interval contains `value`, or lies on the wrong side of zero. `value` is
    /// the change over all repetitions.
    fn of(value: f64, changes: &[Option<Estimate>]) -> Self {
        Self {
            value,
            held: share(changes, |it| holds(it, value)),
            wrong: share(changes, |it| match it.meaning() {
                Some(Meaning::Better) => value > 0.0,
                Some(Meaning::Worse) => value < 0.0,
                _ => false,
            }),
        }
    }
}

/// Statistics that a user would see for a group, and changes from the group to another one.
struct Group {
    slowdowns: Option<Slowdowns>,
    /// Change from the first group to the second, of the same policy.
    same: Change,
    /// Change from the first group to the second, if the second group's slowdowns were reduced by 10 %.
    less_10: Change,
    /// Change from the first group to the second, if the second group's slowdowns were reduced by 20 %.
    less_20: Change,
    /// Change from the run's first policy to this one within the first group.
    against_first: Option<Change>,
}

impl Group {
    fn of(repetitions: &[Vec<f64>], base: Option<&[Vec<f64>]>, pair: &GroupPair) -> Self {
        let take = |from: &[Vec<f64>], group: &[usize], factor: f64| -> Vec<Vec<f64>> {
            let scaled = |at: &usize| from[*at].iter().map(|it| it * factor).collect();
            group.iter().map(scaled).collect()
        };
        let [first, second] = pair;
        let own = take(repetitions, first, 1.0);
        let to = |factor| stats::change_between(&own, &take(repetitions, second, factor));
        Self {
            same: to(1.0),
            less_10: to(0.9),
            less_20: to(0.8),
            against_first: base.map(|base| stats::change(&take(base, first, 1.0), &own)),
            slowdowns: stats::slowdowns(&own, &[]),
        }
    }
}

/// Returns the share of `estimates` that satisfy `is`; a missing estimate counts as not satisfying it.
fn share(estimates: &[Option<Estimate>], is: impl Fn(&Estimate) -> bool) -> f64 {
    let count = estimates.iter().flatten().filter(|it| is(it)).count();
    float(count) / float(estimates.len().max(1))
}

/// Returns true if the interval of `estimate` contains `value`, within rounding.
fn holds(estimate: &Estimate, value: f64) -> bool {
    let slack = 1e-12 * value.abs().max(1.0);
    estimate
        .interval
        .is_some_and(|it| it.low <= value + slack && it.high >= value - slack)
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 groups")]
fn float(count: usize) -> f64 {
    count as f64
}

type Accessors = (
    &'static str,
    fn(&Slowdowns) -> Option<Estimate>,
    fn(&Change) -> Option<Estimate>,
);

const STATISTICS: [Accessors; 3] = [
    ("p50", |it| it.p50, |it| it.p50),
    ("p99", |it| it.p99, |it| it.p99),
    ("mean", |it| it.mean, |it| it.mean),
];

/// Seed for drawing the groups.
const SEED: u64 = 0x1c4b;

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: Study = Study {
        repetitions: 8,
        groups: 200,
    };

    /// Returns standard normal values, by the method of Box and Muller.
    fn normal(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut uniform = || float(below(random.next_u64(), 1 << 40)) / float(1 << 40);
        let value = |_| {
            let a = 1.0 - uniform();
            let b = uniform();
            (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        };
        (0..count).map(value).collect()
    }

    /// Returns repetitions whose flows share a random level, like flows that share queues: slowdowns are e^(level +
    /// spread).
    fn repetitions(count: usize, spread: f64, seed: u64) -> Vec<Vec<f64>> {
        let levels = normal(count, seed);
        let repetition = |(at, level): (u64, f64)| {
            let mut slowdowns: Vec<f64> = normal(1_100, seed + 1_000 + at)
                .iter()
                .map(|it| (spread * level + 0.3 * it).exp())
                .collect();
            slowdowns.sort_by(f64::total_cmp);
            slowdowns
        };
        (0..).zip(levels).map(repetition).collect()
    }

    #[test]
    fn intervals_of_normal_levels_hold_as_often_as_they_say() {
        let all = repetitions(120, 0.05, 1);
        let pairs = pairs_of_groups(all.len(), STUDY);
        for row in rows("a", &all, None, &pairs) {
            for share in [row.held, row.same] {
                assert!((0.91..=0.99).contains(&share), "{row:?}");
            }
            // The standard deviation is 5 %, over 8 repetitions on each side, so a reduction by 10 % is 4 standard
            // errors.
            assert!(
                row.less_10.better > 0.9 && row.less_20.better > 0.99,
                "{row:?}"
            );
            assert_eq!((row.less_20.worse, row.change), (0.0, None));
        }
    }

    /// The change differs between repetitions, around −30 %, and their levels differ by a factor of e^0.5. The slowest
    /// hundredth of all flows belongs to the few highest levels, which most groups do not contain.
    #[test]
    fn a_study_tells_intervals_that_hold_from_those_that_are_too_narrow() {
        let base = repetitions(120, 0.5, 2);
        let factors = normal(120, 3);
        let other: Vec<Vec<f64>> = (base.iter().zip(&factors))
            .map(|(base, factor)| {
                let factor = 0.7 * (0.02 * factor).exp();
                base.iter().map(|it| it * factor).collect()
            })
            .collect();
        let pairs = pairs_of_groups(base.len(), STUDY);
        let rows = rows("b", &other, Some(&base), &pairs);
        for row in &rows {
            let change = row.change.unwrap();
            assert!((change.value + 0.3).abs() < 0.03, "{row:?}");
            assert_eq!(change.wrong, 0.0, "{row:?}");
            // Between different flows, the spread of levels hides a reduction by 10 %.
            assert!(row.less_10.better < 0.3, "{row:?}");
        }
        let held = |at: usize| (rows[at].held, rows[at].change.unwrap().held);
        let median = held(0);
        let tail = held(1);
        assert!(median.0 > 0.9 && median.1 > 0.9, "{rows:?}");
        assert!(tail.0 < 0.85 && tail.1 < 0.85, "{rows:?}");
    }

    #[test]
    fn groups_of_a_pair_have_no_repetition_in_common() {
        for pair in pairs_of_groups(16, STUDY) {
            let mut all = pair.concat();
            all.sort_unstable();
            assert_eq!(all, (0..16).collect::<Vec<_>>());
        }
    }
}
