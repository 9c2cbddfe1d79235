//! Evaluation of assertions on a run, with the uncertainty of the run's percentiles.
//!
//! A comparison `L op R` is evaluated with Student's 95 % interval of L − R over the repetitions. It passes if the
//! assertion holds at both ends of the interval, fails if it holds at neither end, and is inconclusive otherwise. For
//! a run of one repetition, the values themselves are compared, so the result only applies to this draw of arrivals.
//! Counts of flows and the largest slowdown have no uncertainty.

use std::collections::BTreeMap;

use lab_records::DcPath;
use lab_reports::{
    Interval, Statistic,
    check::{Check, Judgement},
    replicates, student,
};
use lab_scenario::{
    Expectation,
    expect::{Claim, Expr, Metric, Operator, Relation},
};

use crate::{Samples, samples::PolicySamples};

/// Evaluates an assertion on a run.
#[must_use]
pub fn check(expectation: &Expectation, samples: &Samples) -> Check {
    let known = |label: &&str| samples.policy(label).is_some();
    let unknown = expectation.policies().into_iter().find(|it| !known(it));
    let (grade, [found, bound], reason) = match (unknown, &expectation.claim) {
        (Some(label), _) => unknown_value(&format!("the run has no policy `{label}`")),
        (
            None,
            Claim::Compare {
                left,
                relation,
                right,
            },
        ) => compare(left, *relation, right, expectation, samples),
        (
            None,
            Claim::Uses {
                policy,
                from,
                to,
                via,
                share,
            },
        ) => uses(policy.as_deref(), [from, to, via], *share, samples),
    };
    Check {
        code: expectation.text.clone(),
        grade,
        found,
        bound,
        reason,
    }
}

/// Verdict on an assertion, the values of its two sides (`None` if undefined), and the reason for the verdict.
type Judged = (Judgement, [Option<f64>; 2], String);

fn unknown_value(reason: &str) -> Judged {
    (Judgement::Inconclusive, [None; 2], reason.to_owned())
}

fn compare(
    left: &Expr,
    relation: Relation,
    right: &Expr,
    expectation: &Expectation,
    samples: &Samples,
) -> Judged {
    let Some(values) = AssertionValues::of(&expectation.policies(), samples) else {
        return unknown_value("a policy in the assertion has no finished flow");
    };
    let sides = [left, right].map(|side| values.value(side, &SlowdownSeries::pooled));
    let [Some(a), Some(b)] = sides else {
        return unknown_value(
            "a side of the assertion has no finite value, as after a division by 0",
        );
    };
    let numbers = [Some(a), Some(b)];
    let sides = format!("left {}, right {}", short(a), short(b));
    let draws = usize::try_from(samples.info.repetitions).unwrap_or(usize::MAX);
    if draws < 2 {
        let verdict = if relation_holds(relation, a - b) {
            Judgement::Pass
        } else {
            Judgement::Fail
        };
        return (
            verdict,
            numbers,
            format!("{sides}, in a single repetition, so without an interval"),
        );
    }
    let differences: Option<Vec<f64>> = (0..draws)
        .map(|draw| {
            let of_draw = |series: &SlowdownSeries, statistic| series.of_draw(statistic, draw);
            Some(values.value(left, &of_draw)? - values.value(right, &of_draw)?)
        })
        .collect();
    let Some(Interval { low, high }) = differences.and_then(|it| student(a - b, &it)) else {
        let none = format!("{sides}; no interval, because a side is undefined in some repetitions");
        return (Judgement::Inconclusive, numbers, none);
    };
    let holds = [low, high].map(|difference| relation_holds(relation, difference));
    let verdict = match holds {
        [true, true] => Judgement::Pass,
        [false, false] if !is_between(relation, low, high) => Judgement::Fail,
        _ => Judgement::Inconclusive,
    };
    let interval = if low < high {
        format!(
            ", left minus right {}, 95 % interval [{}, {}]",
            short(a - b),
            short(low),
            short(high)
        )
    } else {
        String::new()
    };
    (verdict, numbers, sides + &interval)
}

fn relation_holds(relation: Relation, difference: f64) -> bool {
    match relation {
        Relation::AtMost => difference <= 0.0,
        Relation::Less => difference < 0.0,
        Relation::AtLeast => difference >= 0.0,
        Relation::More => difference > 0.0,
        Relation::Equal => difference == 0.0,
    }
}

/// Returns true if the relation holds inside the 95 % interval of left minus right but at neither end: `==`, if the
/// interval contains zero.
fn is_between(relation: Relation, low: f64, high: f64) -> bool {
    relation == Relation::Equal && low < 0.0 && high > 0.0
}

/// Slowdowns of one policy.
struct SlowdownSeries {
    /// Sorted slowdowns per repetition.
    repetitions: Vec<Vec<f64>>,
    /// Sorted slowdowns of all repetitions together.
    all: Vec<f64>,
}

impl SlowdownSeries {
    fn of(policy: &PolicySamples) -> Self {
        let repetitions: Vec<Vec<f64>> = policy.repetitions.values().cloned().collect();
        let mut all = repetitions.concat();
        all.sort_by(f64::total_cmp);
        Self { repetitions, all }
    }

    fn pooled(&self, statistic: Statistic) -> Option<f64> {
        statistic.of(&self.all)
    }

    fn of_draw(&self, statistic: Statistic, draw: usize) -> Option<f64> {
        let draws = replicates(&self.repetitions, statistic);
        draws.get(draw).copied()
    }
}

/// Function that returns a statistic of a policy's slowdowns, either pooled over all repetitions or for one of them.
type Lookup<'a> = &'a dyn Fn(&SlowdownSeries, Statistic) -> Option<f64>;

/// Slowdowns of the policies that an assertion names.
struct AssertionValues<'a> {
    samples: &'a Samples,
    series: BTreeMap<&'a str, SlowdownSeries>,
}

impl<'a> AssertionValues<'a> {
    /// Collects the slowdowns of `policies`; `None` if one of them has no finished flow.
    fn of(policies: &[&'a str], samples: &'a Samples) -> Option<Self> {
        let series = policies.iter().map(|&label| {
            let series = SlowdownSeries::of(samples.policy(label)?);
            (!series.all.is_empty()).then_some((label, series))
        });
        Some(Self {
            samples,
            series: series.collect::<Option<_>>()?,
        })
    }

    /// Evaluates an expression with statistics from `lookup`; `None` if a statistic is undefined.
    fn value(&self, expr: &Expr, lookup: Lookup<'_>) -> Option<f64> {
        let value = match expr {
            Expr::Number(number) => *number,
            Expr::Minus(inner) => -self.value(inner, lookup)?,
            Expr::Pair(left, operator, right) => {
                let left = self.value(left, lookup)?;
                let right = self.value(right, lookup)?;
                match operator {
                    Operator::Add => left + right,
                    Operator::Subtract => left - right,
                    Operator::Multiply => left * right,
                    Operator::Divide => left / right,
                }
            }
            Expr::Metric {
                policy: Some(label),
                metric,
            } => {
                let of = |statistic| lookup(self.series.get(label.as_str())?, statistic);
                match metric {
                    Metric::Percentile(percent) => of(Statistic::Percentile(*percent))?,
                    Metric::Mean => of(Statistic::Mean)?,
                    other => fixed(*other, std::slice::from_ref(self.samples.policy(label)?))?,
                }
            }
            Expr::Metric {
                policy: None,
                metric,
            } => fixed(*metric, &self.samples.policies)?,
        };
        value.is_finite().then_some(value)
    }
}

/// Returns a metric that is a count or a maximum over `policies`; `None` for a percentile or mean, which applies to a
/// single policy.
fn fixed(metric: Metric, policies: &[PolicySamples]) -> Option<f64> {
    let sum = |of: fn(&PolicySamples) -> u64| Some(float(policies.iter().map(of).sum()));
    match metric {
        Metric::Flows => sum(|it| it.counts.flows),
        Metric::Finished => sum(|it| it.counts.finished),
        Metric::Unfinished => sum(|it| it.counts.unfinished),
        Metric::BelowOne => sum(|it| it.counts.below_one),
        Metric::Max => {
            let slowdowns = policies
                .iter()
                .flat_map(|it| it.repetitions.values().flatten());
            slowdowns.copied().max_by(f64::total_cmp)
        }
        Metric::Percentile(_) | Metric::Mean => None,
    }
}

/// Checks that at least `share` of the flows from one datacenter to another send data through the datacenter `via`, and
/// reports how many do.
fn uses(
    policy: Option<&str>,
    [from, to, via]: [&String; 3],
    share: f64,
    samples: &Samples,
) -> Judged {
    let dcs = samples.info.dc_names();
    let mut verdict = Judgement::Pass;
    let mut least = None;
    let mut details = Vec::new();
    let asked = |it: &&PolicySamples| policy.is_none_or(|label| it.policy == label);
    for policy in samples.policies.iter().filter(asked) {
        let paths = policy.paths.get(&(from.clone(), to.clone()));
        let known: Vec<_> = paths.into_iter().flatten().flatten().collect();
        let crosses = |path: &&&DcPath| {
            let steps = path.steps(&dcs).unwrap_or_default();
            steps.iter().any(|&(dc, _)| dcs.name(dc) == via)
        };
        let crossing = known.iter().filter(crosses).count();
        let found = float(crossing as u64) / float(known.len() as u64);
        least = Some(found)
            .filter(|it| least.is_none_or(|least| *it < least))
            .or(least);
        verdict = verdict.max(match known.len() {
            0 => Judgement::Inconclusive,
            _ if found >= share => Judgement::Pass,
            _ => Judgement::Fail,
        });
        details.push(format!(
            "{}: {crossing} of {} flows via {via}",
            policy.policy,
            known.len()
        ));
    }
    if details.is_empty() {
        return unknown_value("the run has no policy");
    }
    (verdict, [least, Some(share)], details.join(", "))
}

/// Formats a value with four significant digits, or with all digits before the decimal point if there are more.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1_000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 flows")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use lab_records::{FlowStatus, RunInfo, RunWriter};
    use lab_sample as sample;
    use lab_units::FlowId;

    use super::*;

    /// Returns a run in which `lcmp` has half the slowdowns of `ecmp`, and one unfinished flow. In repetition r, all
    /// slowdowns are higher by r %, and those of `lcmp` by another r ‰.
    fn samples(repetitions: u32) -> Samples {
        let files = tempfile::tempdir().unwrap();
        let info = RunInfo {
            scheduled_flows: 400,
            repetitions,
            ..sample::info()
        };
        let mut writer = RunWriter::create(files.path(), sample::now(), &info).unwrap();
        for id in 0..400u32 {
            // The noise is a hash of the flow's number, so that neighbouring flows are independent.
            let noise = f64::from(id.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
            for (policy, factor, more) in [("ecmp", 2.0, 0.0), ("lcmp", 1.0, 0.001)] {
                let mut row = sample::flow(policy);
                row.repetition = id % repetitions;
                let draw = f64::from(row.repetition);
                row.flow_id = FlowId(id);
                row.slowdown =
                    Some(factor * (1.0 + 9.0 * noise) * (1.0 + 0.01 * draw) * (1.0 + more * draw));
                if policy == "lcmp" && id == 7 {
                    (row.slowdown, row.status) = (None, FlowStatus::TimedOut);
                }
                writer.append_flows([&row]).unwrap();
            }
        }
        let dir = writer.dir().to_owned();
        Samples::read(&lab_reports::facts::RunFacts::open(&dir).unwrap()).unwrap()
    }

    #[track_caller]
    fn assert_verdict(samples: &Samples, text: &str, expected: Judgement) -> String {
        let expectation: Expectation = text.parse().unwrap();
        let check = check(&expectation, samples);
        assert_eq!(check.grade, expected, "{text}: {}", check.reason);
        check.reason
    }

    #[test]
    fn assertions_pass_fail_or_are_inconclusive() {
        let samples = samples(4);
        for (text, expected) in [
            ("lcmp.p99 <= 0.6 * ecmp.p99", Judgement::Pass),
            ("lcmp.p99 <= 0.4 * ecmp.p99", Judgement::Fail),
            ("lcmp.p50 <= 50.01% * ecmp.p50", Judgement::Inconclusive),
            ("lcmp.p50 / ecmp.p50 > 0.45", Judgement::Pass),
            ("unfinished == 0", Judgement::Fail),
            ("ecmp.unfinished == 0", Judgement::Pass),
            ("unfinished <= 1", Judgement::Pass),
            ("flows == 800", Judgement::Pass),
            ("lcmp.max < 11", Judgement::Pass),
            ("-lcmp.max < 0", Judgement::Pass),
            ("p99 <= 3", Judgement::Inconclusive),
            ("wcmp.p99 <= 3", Judgement::Inconclusive),
            ("path(dc1,dc8) uses dc8", Judgement::Pass),
            ("path(dc1,dc8) uses dc4", Judgement::Fail),
            ("path(dc8,dc1) uses dc8", Judgement::Inconclusive),
        ] {
            let detail = assert_verdict(&samples, text, expected);
            assert!(!detail.contains("single repetition"), "{text}: {detail}");
        }
    }

    #[test]
    fn a_relation_is_that_of_the_difference_to_zero() {
        for (relation, holds) in [
            (Relation::AtMost, [true, true, false]),
            (Relation::Less, [true, false, false]),
            (Relation::AtLeast, [false, true, true]),
            (Relation::More, [false, false, true]),
            (Relation::Equal, [false, true, false]),
        ] {
            let found = [-1.0, 0.0, 1.0].map(|difference| relation_holds(relation, difference));
            assert_eq!(found, holds, "{relation:?}");
        }
    }

    #[test]
    fn a_value_has_four_digits_or_all_before_the_point() {
        for (value, text) in [
            (0.0, "0"),
            (9.8766, "9.877"),
            (10.0, "10.00"),
            (98.767, "98.77"),
            (100.0, "100.0"),
            (987.64, "987.6"),
            (1_000.0, "1000"),
            (-98_765.4, "-98765"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn one_repetition_is_judged_as_it_stands_and_says_so() {
        let samples = samples(1);
        for (text, expected) in [
            ("lcmp.mean <= 51% * ecmp.mean", Judgement::Pass),
            ("lcmp.mean <= 49% * ecmp.mean", Judgement::Fail),
            ("unfinished == 1", Judgement::Pass),
        ] {
            let detail = assert_verdict(&samples, text, expected);
            assert!(
                detail.ends_with(", in a single repetition, so without an interval"),
                "{detail}"
            );
        }
    }
}
