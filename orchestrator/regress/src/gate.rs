//! Regression gate: compares a run with a baseline run of the same plan by another build.
//!
//! Both runs have the same arrivals, so the gate compares them repetition by repetition. A gauge is the logarithm of
//! a policy's p50 or p99 slowdown; its change is the mean d̄ of the R differences between the builds. The noise of d̄
//! is estimated only from these differences. A build with the same computation repeats the simulator's numbers
//! exactly. A build with other hashes for the same arrivals shifts each repetition up or down, and so does a busy
//! machine in the lab. Runs with other seeds would show how much arrivals differ, but this does not affect d̄.
//!
//! An increase fails if it exceeds t · s / √R, where s is the standard deviation of the differences. t is a quantile
//! of Student's distribution with R − 1 degrees of freedom, chosen so that in 1 % of suites at least one gauge
//! exceeds the limit by chance (Bonferroni). The test is one-sided: a faster run is not a regression.

use std::collections::BTreeMap;

use lab_reports::{
    check::{Check, Judgement},
    nearest_rank, student_margin,
};
use serde::{Deserialize, Serialize};

use crate::Samples;

/// Name of a percentile of a policy's slowdowns that the gate checks, such as `lcmp.p99`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Gauge(pub String);

/// Change of a gauge between two runs with the same arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaugeChange {
    /// Number of repetitions that both runs have.
    pub repetitions: usize,
    /// Mean over the repetitions of the difference in log slowdown, current run minus baseline; positive if the current
    /// run is slower.
    pub mean: f64,
    /// Largest mean that noise can explain, as a logarithm; `None` for a single repetition.
    pub limit: Option<f64>,
    /// Distance above `limit`, as a logarithm: a true increase of `limit` plus `margin` is detected in nine of ten
    /// cases.
    pub margin: f64,
}

/// Returns the logarithms of each policy's p50 and p99 slowdown in each repetition.
fn by_repetition(samples: &Samples) -> BTreeMap<Gauge, BTreeMap<u32, f64>> {
    let mut gauges = BTreeMap::new();
    for policy in &samples.policies {
        for percent in PERCENTS {
            let logs: BTreeMap<u32, f64> = policy
                .repetitions
                .iter()
                .filter_map(|(&number, sorted)| {
                    let percentile = nearest_rank(sorted, percent)?;
                    Some((number, percentile.ln()))
                })
                .collect();
            if !logs.is_empty() {
                gauges.insert(Gauge(format!("{}.p{percent}", policy.policy)), logs);
            }
        }
    }
    gauges
}

/// Returns a run's gauges: the means of log p50 and log p99 over the repetitions.
#[must_use]
pub fn gauges(samples: &Samples) -> BTreeMap<Gauge, f64> {
    by_repetition(samples)
        .into_iter()
        .map(|(gauge, logs)| {
            let logs: Vec<f64> = logs.into_values().collect();
            (gauge, mean(&logs))
        })
        .collect()
}

/// Returns the number of gauges in a run: two percentiles for each of `policies` policies.
#[must_use]
pub const fn gauges_of(policies: usize) -> usize {
    policies * PERCENTS.len()
}

impl GaugeChange {
    /// Returns a gauge's change, given each repetition's difference in log slowdown and the number of gauges in the
    /// suite; `None` without repetitions.
    #[must_use]
    pub fn of(differences: &[f64], gauges: usize) -> Option<Self> {
        let exceeded_by_chance = |rate: f64| student_margin(differences, 1.0 - rate);
        (!differences.is_empty()).then(|| Self {
            repetitions: differences.len(),
            mean: mean(differences),
            limit: exceeded_by_chance(FALSE_ALARMS / float(gauges.max(1))),
            margin: exceeded_by_chance(MISSED).unwrap_or(0.0),
        })
    }

    /// Returns the verdict on the change.
    ///
    /// An increase over the limit fails. A change passes if a true change of [`MIN_EFFECT`] would exceed it in nine of
    /// ten cases; otherwise it is inconclusive. A single repetition gives no estimate of the noise, so the change
    /// passes only if the slowdown did not increase.
    #[must_use]
    pub fn verdict(&self) -> Judgement {
        // If both runs repeat exactly, the limit is 0, and any increase above rounding counts.
        let rounding = 1e-9;
        match self.limit {
            _ if self.mean <= rounding && self.margin == 0.0 => Judgement::Pass,
            Some(limit) if self.mean > limit + rounding => Judgement::Fail,
            Some(_) if self.mean + self.margin <= MIN_EFFECT.ln_1p() => Judgement::Pass,
            _ => Judgement::Inconclusive,
        }
    }

    fn sentence(&self) -> String {
        match self.limit {
            None => {
                "a single repetition gives no estimate of the noise (hint: set `repetitions:` for the case)"
                    .to_owned()
            }
            Some(limit) => format!(
                "mean of {} repetitions; noise explains up to +{:.2} %; a true increase of {:.1} % is \
                 detected in nine of ten cases",
                self.repetitions,
                limit.exp_m1() * 100.0,
                (limit + self.margin).exp_m1() * 100.0
            ),
        }
    }
}

/// Checks each percentile of a case's run against a baseline run with the same plan. `gauges` is the number of gauges
/// in the suite.
#[must_use]
pub fn gate(gauges: usize, base: &Samples, current: &Samples) -> Vec<Check> {
    let base = by_repetition(base);
    let current = by_repetition(current);
    let check = |(gauge, now): (&Gauge, &BTreeMap<u32, f64>)| {
        let code = format!("{} against baseline", gauge.0);
        let Some(before) = base.get(gauge) else {
            let reason = "the baseline has no finished flow under this policy";
            return Some(Check::inconclusive(&code, reason.to_owned()));
        };
        let (before, now): (Vec<f64>, Vec<f64>) = now
            .iter()
            .filter_map(|(number, now)| Some((*before.get(number)?, *now)))
            .unzip();
        let differences = before.iter().zip(&now).map(|(before, now)| now - before);
        let change = GaugeChange::of(&differences.collect::<Vec<f64>>(), gauges)?;
        Some(Check {
            code,
            grade: change.verdict(),
            found: Some(change.mean.exp_m1()),
            bound: change.limit.map(f64::exp_m1),
            reason: format!(
                "{:.3} → {:.3} ({:+.2} %), {}",
                mean(&before).exp(),
                mean(&now).exp(),
                change.mean.exp_m1() * 100.0,
                change.sentence()
            ),
        })
    };
    let checks: Vec<Check> = current.iter().filter_map(check).collect();
    if checks.is_empty() {
        let reason = "the runs have no policy in common".to_owned();
        return vec![Check::inconclusive("against baseline", reason)];
    }
    checks
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len())
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 repetitions")]
fn float(count: usize) -> f64 {
    count as f64
}

/// Percentiles of slowdown that are gated.
const PERCENTS: [u32; 2] = [50, 99];

/// Probability that a suite without any true change raises a false alarm.
pub const FALSE_ALARMS: f64 = 0.01;

/// Accepted rate of each kind of miss: a true increase by the detectable size (`limit` plus `margin`) that does not
/// fail, and a true increase by [`MIN_EFFECT`] that passes.
const MISSED: f64 = 0.1;

/// Relative increase in slowdown that the gate must be able to exclude before a change passes.
pub const MIN_EFFECT: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    fn verdict(differences: &[f64]) -> Judgement {
        GaugeChange::of(differences, 4).unwrap().verdict()
    }

    /// Differences 0.01, 0.02 and 0.03 have s = 0.01 and a standard error of 0.0057735. The quantiles of Student's t
    /// with two degrees of freedom are 6.9646 at 0.99 and 1.8856 at 0.9 (Fisher and Yates).
    #[test]
    fn the_limit_is_students_of_the_differences() {
        let change = GaugeChange::of(&[0.01, 0.02, 0.03], 1).unwrap();
        assert!((change.mean - 0.02).abs() < 1e-12);
        assert!(
            (change.limit.unwrap() - 0.040_210).abs() < 1e-6,
            "{change:?}"
        );
        assert!((change.margin - 0.010_887).abs() < 1e-6, "{change:?}");
        assert_eq!(GaugeChange::of(&[], 1), None);
    }

    #[test]
    fn an_increase_must_exceed_the_limit_by_more_than_rounding() {
        for (over, expected) in [(1e-9, Judgement::Inconclusive), (3e-9, Judgement::Fail)] {
            let change = GaugeChange {
                repetitions: 2,
                mean: 0.5 + over,
                limit: Some(0.5),
                margin: 0.0,
            };
            assert_eq!(change.verdict(), expected, "{over}");
        }
    }

    /// Simulates 2,000 suites of four gauges and 16 repetitions with 5 % normal noise, and counts false alarms without
    /// a change and detections of a 10 % increase.
    #[test]
    fn the_gate_keeps_its_rate_of_false_alarms_and_its_power() {
        let mut noise = Noise::new(1);
        let mut differences =
            |slower: f64| -> Vec<f64> { (0..16).map(|_| slower + 0.05 * noise.normal()).collect() };
        let mut alarms = 0;
        let mut found = 0;
        for _ in 0..2_000 {
            let gauges = [(); 4].map(|()| verdict(&differences(0.0)));
            alarms += u32::from(gauges.contains(&Judgement::Fail));
            found += u32::from(verdict(&differences(MIN_EFFECT.ln_1p())) == Judgement::Fail);
        }
        // 1 % of 2,000 is 20; a binomial count with that mean lies within 8 to 32 in 99 of 100 cases.
        assert!((8..=32).contains(&alarms), "{alarms} of 2,000");
        assert!(found >= 1_980, "{found} of 2,000");
    }

    /// Simulates 2,000 gauges with 16 repetitions and 20 % noise, at which the gate rarely detects an increase of 10 %.
    #[test]
    fn an_increase_of_the_minimum_passes_in_one_of_ten_cases_whatever_the_noise() {
        let mut noise = Noise::new(2);
        let passes = (0..2_000)
            .filter(|_| {
                let slower = |_| MIN_EFFECT.ln_1p() + 0.2 * noise.normal();
                verdict(&(0..16).map(slower).collect::<Vec<f64>>()) == Judgement::Pass
            })
            .count();
        // A binomial count with mean 200 lies within 160 to 240 in 997 of 1,000 cases.
        assert!((160..=240).contains(&passes), "{passes}");
    }

    #[test]
    fn between_no_increase_and_one_over_the_limit_a_gauge_cannot_tell() {
        // Expected values divide by the noise: 1.1 ÷ e^0.03 is 1.0675.
        for (increase, expected) in [
            (-0.2, Judgement::Pass),
            (0.067, Judgement::Pass),
            (0.068, Judgement::Inconclusive),
            (0.0859, Judgement::Inconclusive),
            (0.0861, Judgement::Fail),
        ] {
            let change = GaugeChange {
                repetitions: 16,
                mean: f64::ln_1p(increase),
                limit: Some(f64::ln_1p(0.086)),
                margin: 0.03,
            };
            assert_eq!(change.verdict(), expected, "{increase}");
        }
    }

    #[test]
    fn equal_runs_pass_and_an_exact_increase_fails() {
        assert_eq!(verdict(&[0.0; 5]), Judgement::Pass);
        assert_eq!(verdict(&[1e-6; 5]), Judgement::Fail);
        assert_eq!(verdict(&[-0.5; 5]), Judgement::Pass);
    }

    #[test]
    fn one_repetition_passes_only_if_nothing_is_slower() {
        assert_eq!(verdict(&[0.0]), Judgement::Pass);
        assert_eq!(verdict(&[-0.1]), Judgement::Pass);
        assert_eq!(verdict(&[0.001]), Judgement::Inconclusive);
        assert_eq!(verdict(&[0.5]), Judgement::Inconclusive);
    }
}
