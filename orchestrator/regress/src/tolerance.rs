//! How far a percentile moves without a change, and the gate between a baseline and a run.
//!
//! A gauge is the mean over repetitions of the logarithm of a policy's p50 or p99 slowdown. A/A runs (the
//! same build, other seeds) give its standard deviation s. Two runs of one build then differ by
//! s · √2 · t, where t is Student's with one degree of freedom less than there were runs. The limit is the
//! quantile that all gauges of a suite together exceed in 1 % of suites (Bonferroni), on the slow side
//! alone: a run that is faster is no regression.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{Check, Samples, Verdict};

/// A gated percentile of a policy: `lcmp.p99`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Gauge(pub String);

/// Movement of a gauge without a change.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tolerance {
    /// Number of A/A runs.
    pub runs: usize,
    /// Standard deviation of the gauge over them, as a logarithm.
    pub deviation: f64,
    /// Largest relative increase between two runs that counts as none: 0.05 is 5 %.
    pub limit: f64,
    /// Relative increase that is found in nine of ten cases.
    pub detects: f64,
}

/// Tolerances of a suite's cases and gauges.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Tolerances {
    /// By name of the case.
    pub cases: BTreeMap<String, BTreeMap<Gauge, Tolerance>>,
}

/// Returns the gauges of a run: means of logarithms over repetitions, of p50 and p99.
#[must_use]
pub fn gauges(samples: &Samples) -> BTreeMap<Gauge, f64> {
    let mut gauges = BTreeMap::new();
    for policy in &samples.policies {
        for percent in PERCENTS {
            let logs = policy.repetitions.values().filter_map(|slowdowns| {
                let mut sorted = slowdowns.clone();
                sorted.sort_by(f64::total_cmp);
                lab_reports::nearest_rank(&sorted, percent).map(f64::ln)
            });
            let logs: Vec<f64> = logs.collect();
            if !logs.is_empty() {
                let gauge = Gauge(format!("{}.p{percent}", policy.policy));
                gauges.insert(gauge, mean(&logs));
            }
        }
    }
    gauges
}

impl Tolerance {
    /// Returns the tolerance of a gauge from its values in A/A runs, one of `gauges` of its suite;
    /// `None` for fewer than three runs.
    #[must_use]
    pub fn of(values: &[f64], gauges: usize) -> Option<Self> {
        if values.len() < 3 {
            return None;
        }
        let freedom = float(values.len() - 1);
        let center = mean(values);
        let squares = values.iter().map(|value| (value - center).powi(2));
        let deviation = (squares.sum::<f64>() / freedom).sqrt();
        let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let quantile = |rate: f64| 2f64.sqrt() * deviation * student.inverse_cdf(1.0 - rate);
        let limit = quantile(FALSE_ALARMS / float(gauges.max(1)));
        Some(Self {
            runs: values.len(),
            deviation,
            limit: limit.exp() - 1.0,
            detects: (limit + quantile(MISSED)).exp() - 1.0,
        })
    }

    /// Judges the change of a gauge from a baseline.
    ///
    /// An increase over the limit fails. One that a change of [`MIN_EFFECT`] would exceed in nine of ten cases
    /// passes; one between is inconclusive.
    #[must_use]
    pub fn judge(&self, base: f64, current: f64) -> Verdict {
        // Of runs that repeat exactly, any increase counts but rounding's.
        let rounding = 1e-9;
        let increase = current - base;
        let (limit, margin) = (
            self.limit.ln_1p(),
            self.detects.ln_1p() - self.limit.ln_1p(),
        );
        if increase > limit + rounding {
            Verdict::Fail
        } else if increase + margin <= MIN_EFFECT.ln_1p() {
            Verdict::Pass
        } else {
            Verdict::Inconclusive
        }
    }
}

/// Gates the run of a case against its baseline.
#[must_use]
pub fn gate(case: &str, tolerances: &Tolerances, base: &Samples, current: &Samples) -> Vec<Check> {
    let (base, current) = (gauges(base), gauges(current));
    let learnt = tolerances.cases.get(case);
    let check = |(gauge, &now): (&Gauge, &f64)| {
        let before = *base.get(gauge)?;
        let change = (now - before).exp() - 1.0;
        let values = format!(
            "{:.3} → {:.3} ({:+.2} %)",
            before.exp(),
            now.exp(),
            change * 100.0
        );
        let (verdict, detail) = match learnt.and_then(|it| it.get(gauge)) {
            Some(tolerance) => (
                tolerance.judge(before, now),
                format!(
                    "{values}, tolerance +{:.2} %, finds +{:.1} %",
                    tolerance.limit * 100.0,
                    tolerance.detects * 100.0
                ),
            ),
            None => (
                Verdict::Inconclusive,
                format!("{values}, no tolerance (hint: lcmp-lab regress calibrate)"),
            ),
        };
        Some(Check {
            name: format!("{} against baseline", gauge.0),
            verdict,
            detail,
        })
    };
    let checks: Vec<Check> = current.iter().filter_map(check).collect();
    if checks.is_empty() {
        return vec![Check {
            name: "against baseline".to_owned(),
            verdict: Verdict::Inconclusive,
            detail: "the runs have no policy in common".to_owned(),
        }];
    }
    checks
}

impl Tolerances {
    /// Returns the tolerances from the gauges of each case's A/A runs.
    #[must_use]
    pub fn learn(cases: &BTreeMap<String, Vec<BTreeMap<Gauge, f64>>>) -> Self {
        let first = |runs: &Vec<BTreeMap<Gauge, f64>>| runs.first().map_or(0, BTreeMap::len);
        let gauges: usize = cases.values().map(first).sum();
        let of_case = |runs: &Vec<BTreeMap<Gauge, f64>>| {
            let names = runs.first().into_iter().flat_map(BTreeMap::keys);
            let tolerance = |gauge: &Gauge| {
                let values = runs.iter().filter_map(|run| run.get(gauge).copied());
                let values: Vec<f64> = values.collect();
                Some((gauge.clone(), Tolerance::of(&values, gauges)?))
            };
            names.filter_map(tolerance).collect()
        };
        let cases = cases
            .iter()
            .map(|(name, runs)| (name.clone(), of_case(runs)));
        Self {
            cases: cases.collect(),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len())
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 runs")]
fn float(count: usize) -> f64 {
    count as f64
}

/// Gated percentiles.
const PERCENTS: [u32; 2] = [50, 99];

/// Share of suites without a change that raise a false alarm.
pub const FALSE_ALARMS: f64 = 0.01;

/// Share of increases of [`Tolerance::detects`] that do not fail, and of those of [`MIN_EFFECT`] that pass.
const MISSED: f64 = 0.1;

/// Relative increase that a gate must rule out, or else it is inconclusive.
pub const MIN_EFFECT: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random values that are normal enough: sums of twelve uniform ones.
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f64 {
            let mut uniform = || {
                self.0 = self
                    .0
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1u32 << 31)
            };
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        }
    }

    /// Over 2,000 calibrations of 20 runs each: false alarms of a suite of four gauges, and increases of
    /// the size that each calibration says it finds.
    #[test]
    fn the_limit_keeps_its_rate_of_false_alarms_and_its_power() {
        let (mut noise, deviation) = (Noise(1), 0.01);
        let (mut alarms, mut found, mut suites) = (0, 0, 0);
        for _ in 0..2_000 {
            let mut is_alarm = false;
            for gauge in 0..4 {
                let values: Vec<f64> = (0..20).map(|_| deviation * noise.next()).collect();
                let tolerance = Tolerance::of(&values, 4).unwrap();
                let (a, b) = (deviation * noise.next(), deviation * noise.next());
                is_alarm |= tolerance.judge(a, b) == Verdict::Fail;
                if gauge == 0 {
                    let slower = b + tolerance.detects.ln_1p();
                    found += u32::from(tolerance.judge(a, slower) == Verdict::Fail);
                }
            }
            alarms += u32::from(is_alarm);
            suites += 1;
        }
        // 1 % of 2,000 are 20; a binomial count is under 32 but once in 200 times.
        assert!(alarms <= 32, "{alarms} of {suites}");
        assert!(found >= 1_740, "{found} of {suites}");
    }

    /// Over 2,000 calibrations of a gauge that finds 13 % in nine of ten cases: increases of 10 %.
    #[test]
    fn an_increase_of_the_minimum_passes_in_one_of_ten_cases_whatever_the_noise() {
        let (mut noise, deviation) = (Noise(2), 0.02);
        let passes = (0..2_000).filter(|_| {
            let values: Vec<f64> = (0..20).map(|_| deviation * noise.next()).collect();
            let (a, b) = (deviation * noise.next(), deviation * noise.next());
            let tolerance = Tolerance::of(&values, 4).unwrap();
            tolerance.judge(a, b + MIN_EFFECT.ln_1p()) == Verdict::Pass
        });
        let passes = passes.count();
        // A binomial count of one in ten is 160 to 240 but three times in 1,000.
        assert!((160..=240).contains(&passes), "{passes}");
    }

    #[test]
    fn between_no_increase_and_one_over_the_limit_a_gauge_cannot_tell() {
        let tolerance = Tolerance {
            runs: 20,
            deviation: 0.016,
            limit: 0.086,
            detects: 0.12,
        };
        let judge = |increase: f64| tolerance.judge(0.0, increase.ln_1p());
        // 1.1 · 1.086 ÷ 1.12 is 1.0666.
        for (increase, expected) in [
            (-0.2, Verdict::Pass),
            (0.066, Verdict::Pass),
            (0.067, Verdict::Inconclusive),
            (0.0859, Verdict::Inconclusive),
            (0.0861, Verdict::Fail),
        ] {
            assert_eq!(judge(increase), expected, "{increase}");
        }
    }

    #[test]
    fn a_noisy_gauge_is_inconclusive_and_an_exact_one_finds_everything() {
        let noisy = Tolerance::of(&[0.0, 0.1, -0.1, 0.05], 1).unwrap();
        assert!(noisy.detects > MIN_EFFECT);
        assert_eq!(noisy.judge(0.0, 0.0), Verdict::Inconclusive);
        let exact = Tolerance::of(&[1.0; 5], 1).unwrap();
        assert_eq!(exact.judge(1.0, 1.0), Verdict::Pass);
        assert_eq!(exact.judge(1.0, 1.000_001), Verdict::Fail);
        assert_eq!(exact.judge(1.0, 0.5), Verdict::Pass);
        assert_eq!(Tolerance::of(&[1.0, 1.1], 1), None);
    }
}
