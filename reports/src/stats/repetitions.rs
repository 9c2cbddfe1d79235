//! Intervals over repetitions.
//!
//! Flows of one repetition share queues, so they are not independent, and an interval computed over flows would be too
//! narrow to cover other random arrivals. Repetitions are drawn independently, so they are the sample. An interval is
//! centred on the value of all flows together; its half width is Student's t (Biometrika 6, 1908) times the standard
//! error of the [`replicates`]. For two runs with different flows, Welch's interval is used (Biometrika 34, 1947).
//! Slowdowns and their ratios are estimated by their natural logarithms. A single repetition has no spread, so there is
//! no interval.

use serde::Serialize;
use statrs::{
    distribution::{ContinuousCDF, StudentsT},
    statistics::Statistics,
};

use super::{Statistic, statistic::float};

/// 95 % interval of a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    pub(super) fn around(value: f64, half: f64) -> Self {
        Self {
            low: value - half,
            high: value + half,
        }
    }

    /// Applies an increasing function to both ends.
    pub(crate) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            low: f(self.low),
            high: f(self.high),
        }
    }
}

/// Returns a statistic of each repetition's sorted values, the sample for [`student`] and [`welch`]. Repetitions
/// without values are left out.
#[must_use]
pub fn replicates(repetitions: &[Vec<f64>], statistic: Statistic) -> Vec<f64> {
    let values = repetitions.iter().map(|sorted| statistic.of(sorted));
    values.flatten().collect()
}

/// Returns the standard error of the pooled value, computed from its replicates.
fn standard_error(replicates: &[f64]) -> f64 {
    replicates.std_dev() / float(replicates.len()).sqrt()
}

/// Returns Student's 95 % interval around `value`; `None` if there are fewer than two replicates, or if a replicate is
/// not finite.
#[must_use]
pub fn student(value: f64, replicates: &[f64]) -> Option<Interval> {
    let half = student_margin(replicates, UPPER_END)?;
    Some(Interval::around(value, half))
}

/// Returns the one-sided margin of error of the replicates' mean at the probability `level`: Student's quantile times
/// the standard error. `None` if there are fewer than two replicates, or if a replicate is not finite.
#[must_use]
pub fn student_margin(replicates: &[f64], level: f64) -> Option<f64> {
    let quantile = quantile(freedom(replicates)?, level)?;
    Some(quantile * standard_error(replicates))
}

/// Returns Welch's 95 % interval around `value`, a difference of two runs with independent replicates; `None` if a run
/// has fewer than two replicates, or if a replicate is not finite.
#[must_use]
pub fn welch(value: f64, base: &[f64], other: &[f64]) -> Option<Interval> {
    let freedoms = [freedom(base)?, freedom(other)?];
    let variances = [base, other].map(|replicates| standard_error(replicates).powi(2));
    let variance = variances[0] + variances[1];
    // This is the Welch–Satterthwaite equation. If the replicates of each run are equal, the interval has zero width,
    // whatever the degrees of freedom.
    let parts = [0, 1].map(|at| variances[at].powi(2) / freedoms[at]);
    let freedom = if variance > 0.0 {
        variance.powi(2) / (parts[0] + parts[1])
    } else {
        freedoms[0] + freedoms[1]
    };
    let half = quantile(freedom, UPPER_END)? * variance.sqrt();
    Some(Interval::around(value, half))
}

/// Returns the degrees of freedom of a sample; `None` if it has fewer than two values, or one that is not finite.
fn freedom(replicates: &[f64]) -> Option<f64> {
    let is_sample = replicates.len() > 1 && replicates.iter().all(|it| it.is_finite());
    is_sample.then(|| float(replicates.len() - 1))
}

/// Returns the half width of Student's 95 % interval in standard errors; `None` without degrees of freedom.
#[must_use]
pub fn student_half_width(freedom: usize) -> Option<f64> {
    quantile(float(freedom), UPPER_END)
}

/// Returns a quantile of Student's distribution.
pub(super) fn quantile(freedom: f64, level: f64) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(student.inverse_cdf(level))
}

/// Returns the probability of values below `value` in Student's distribution.
pub(super) fn probability_below(freedom: f64, value: f64) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(student.cdf(value))
}

/// Probability of values below the upper end of an interval.
pub(super) const UPPER_END: f64 = 0.975;

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: Option<Interval>, low: f64, high: f64) {
        let found = found.unwrap();
        let apart = (found.low - low).abs().max((found.high - high).abs());
        assert!(apart < 1e-3, "{found:?}, expected {low} to {high}");
    }

    /// The mean is 2, s = 1, and the standard error is 1 / √3 = 0.5774; t(0.975; 2) = 4.3027 in Student's table.
    #[test]
    fn three_replicates_have_students_interval() {
        assert_near(student(2.0, &[1.0, 2.0, 3.0]), 2.0 - 2.484, 2.0 + 2.484);
    }

    /// s² = 20 / 3, standard error √(20 / 3 / 4) = 1.2910; t(0.975; 3) = 3.1824. The interval is centred on the value
    /// of all flows, not on the replicates' mean.
    #[test]
    fn an_interval_is_around_the_pooled_value() {
        assert_near(student(10.0, &[1.0, 3.0, 5.0, 7.0]), 5.892, 14.108);
    }

    /// Two samples of three replicates have variances 1 and 4. The squares of the standard errors are 1/3 and 4/3,
    /// their sum is 5/3; ν = (25/9) ÷ ((1/9)/2 + (16/9)/2) = 50/17 = 2.941. t(0.975; 2.941) = 3.2188 (scipy:
    /// `t.ppf(.975, 50/17)`), half width 3.2188 · √(5/3) = 4.1554.
    #[test]
    fn two_runs_of_different_flows_have_welchs_interval() {
        let found = welch(1.0, &[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap();
        let half = (found.high - found.low) / 2.0;
        assert!((half - 4.1554).abs() < 1e-3, "{found:?}");
        assert!((f64::midpoint(found.low, found.high) - 1.0).abs() < 1e-12);
    }

    /// Equal variances and counts: ν = 2 (n − 1) = 4, t(0.975; 4) = 2.7764; standard error √(2/3).
    #[test]
    fn welch_of_equal_spreads_is_students_of_both() {
        let half = 2.7764 * (2.0f64 / 3.0).sqrt();
        let found = welch(0.0, &[1.0, 2.0, 3.0], &[5.0, 6.0, 7.0]);
        assert_near(found, -half, half);
    }

    #[test]
    fn equal_replicates_leave_no_doubt() {
        let sure = Interval {
            low: 2.0,
            high: 2.0,
        };
        assert_eq!(student(2.0, &[2.0; 4]), Some(sure));
        assert_eq!(welch(2.0, &[1.0; 4], &[3.0; 2]), Some(sure));
    }

    #[test]
    fn one_draw_or_an_infinite_one_has_no_interval() {
        assert_eq!(student(2.0, &[2.0]), None);
        assert_eq!(student(2.0, &[2.0, f64::NEG_INFINITY]), None);
        assert_eq!(welch(2.0, &[2.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(welch(2.0, &[1.0, 2.0], &[]), None);
    }
}
