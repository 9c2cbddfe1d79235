//! Uncertainty of a mean over a few draws of arrivals.
//!
//! Student's t knows only the draws, so with three of them its interval is wide. The hierarchical bootstrap (Davison and
//! Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8) resamples the draws and, in each of them,
//! windows: flows that start one after another. A draw's statistic is replaced by the mean of its windows' pseudo-values
//! (Efron and Stein, *Ann. Stat.* 9, 1981: the jackknife, which leaves out one window at a time). The variance of such a
//! mean is known in closed form, so nothing is resampled by chance. `STATISTICS.md` compares the coverage of both.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{Interval, repetitions::UPPER_END, statistic::float};

/// Number of windows of a draw. Windows must be long against the time for which a queue stays full: with 20 instead of
/// 10, intervals of three draws contain a p99 effect in 86 % of cases instead of 97 %.
pub const WINDOWS: usize = 10;

/// Statistic of a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawValue {
    /// Value over all flows of the draw.
    pub value: f64,
    /// Values without the flows of one window each; `None` if unknown.
    pub without_window: Option<[f64; WINDOWS]>,
}

/// UncertaintyMethod by which the uncertainty of a mean is computed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum UncertaintyMethod {
    /// Hierarchical bootstrap over draws and windows.
    #[serde(rename = "hierarchical bootstrap over draws and windows")]
    Hierarchical,
    /// Student's t over draws.
    #[serde(rename = "student-t over draws")]
    Student,
}

/// Uncertainty of a mean over draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertainty {
    mean: f64,
    standard_error: f64,
    /// Degrees of freedom of Student's t; `None` for the normal distribution.
    freedom: Option<f64>,
}

impl Uncertainty {
    /// Computes the uncertainty of the mean of `draws`; `None` with fewer than two. The method is the hierarchical
    /// bootstrap if the windows of all draws are known, and Student's t otherwise.
    pub fn of(draws: &[DrawValue]) -> Option<Self> {
        let freedom = draws.len().checked_sub(1).filter(|&it| it > 0)?;
        let number = float(draws.len());
        let mean = draws.iter().map(|draw| draw.value).sum::<f64>() / number;
        let between: f64 = draws.iter().map(|draw| (draw.value - mean).powi(2)).sum();
        let of_windows: Option<Vec<f64>> = draws.iter().map(DrawValue::window_variance).collect();
        let (variance, freedom) = match of_windows {
            Some(within) => (between / number + within.iter().sum::<f64>() / number, None),
            None => (between / float(freedom), Some(float(freedom))),
        };
        Some(Self {
            mean,
            standard_error: (variance / number).sqrt(),
            freedom,
        })
    }

    /// Returns the method by which the uncertainty was computed.
    pub const fn method(&self) -> UncertaintyMethod {
        match self.freedom {
            Some(_) => UncertaintyMethod::Student,
            None => UncertaintyMethod::Hierarchical,
        }
    }

    /// Returns the 95 % interval of the mean.
    pub fn interval(&self) -> Interval {
        let quantile = match self.freedom {
            Some(freedom) => student(freedom).inverse_cdf(UPPER_END),
            None => Normal::standard().inverse_cdf(UPPER_END),
        };
        Interval::around(self.mean, quantile * self.standard_error)
    }

    /// Returns the probability of a mean at least as far from zero if the true one were zero.
    pub fn p_value(&self) -> f64 {
        if self.standard_error == 0.0 {
            return if self.mean == 0.0 { 1.0 } else { 0.0 };
        }
        let below = -(self.mean / self.standard_error).abs();
        2.0 * match self.freedom {
            Some(freedom) => student(freedom).cdf(below),
            None => Normal::standard().cdf(below),
        }
    }
}

impl DrawValue {
    /// Returns the variance of the mean of as many pseudo-values as there are windows, drawn with replacement. A
    /// pseudo-value is W · value − (W − 1) · value without the window.
    fn window_variance(&self) -> Option<f64> {
        let values = self.without_window?;
        let number = float(WINDOWS);
        let mean = values.iter().sum::<f64>() / number;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(squares * ((number - 1.0) / number).powi(2))
    }
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("at least one degree of freedom")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-4,
            "{found}, expected {expected}"
        );
    }

    fn draw(value: f64, without_window: Option<[f64; WINDOWS]>) -> DrawValue {
        DrawValue {
            value,
            without_window,
        }
    }

    /// Mean 2, s = 1, standard error 1 / √3; t(0.975; 2) = 4.3027 in Student's table, and t = 3.4641 has p = 0.0742.
    #[test]
    fn draws_without_windows_have_students_interval() {
        let found = Uncertainty::of(&[1.0, 2.0, 3.0].map(|value| draw(value, None))).unwrap();
        let Interval { low, high } = found.interval();
        assert_near(low, 2.0 - 4.3027 / 3.0_f64.sqrt());
        assert_near(high, 2.0 + 4.3027 / 3.0_f64.sqrt());
        assert_near(found.p_value(), 0.0742);
        assert_eq!(found.method(), UncertaintyMethod::Student);
    }

    /// Five of the ten values are 0.1 above their mean and five below: the squares add up to 0.1, and the window variance
    /// is 0.1 · 0.81 = 0.081 in the first draw and 0 in the second. The draws 1 and 3 have a variance of 1, so that of
    /// their mean is (1 + 0.0405) / 2, the standard error 0.72128 and z 2.7728. A table of the normal distribution gives
    /// a two-sided probability of 0.0056.
    #[test]
    fn windows_add_the_mean_of_their_variances_to_that_of_the_draws() {
        let values = [1.4, 1.2, 1.4, 1.2, 1.4, 1.2, 1.4, 1.2, 1.4, 1.2];
        let draws = [draw(1.0, Some(values)), draw(3.0, Some([3.0; WINDOWS]))];
        let found = Uncertainty::of(&draws).unwrap();
        let Interval { low, high } = found.interval();
        assert_near(low, 2.0 - 1.95996 * 0.72128);
        assert_near(high, 2.0 + 1.95996 * 0.72128);
        assert_near(found.p_value(), 0.0056);
        assert_eq!(found.method(), UncertaintyMethod::Hierarchical);
    }

    #[test]
    fn a_draw_without_windows_leaves_students_t() {
        let draws = [draw(1.0, Some([1.0; WINDOWS])), draw(3.0, None)];
        assert_eq!(
            Uncertainty::of(&draws).unwrap().method(),
            UncertaintyMethod::Student
        );
    }

    #[test]
    fn one_draw_says_nothing_and_equal_draws_leave_no_doubt() {
        assert_eq!(Uncertainty::of(&[draw(1.0, Some([1.0; WINDOWS]))]), None);
        assert_eq!(Uncertainty::of(&[]), None);
        for (value, p_value) in [(0.0, 1.0), (0.5, 0.0)] {
            let found = Uncertainty::of(&[draw(value, None); 3]).unwrap();
            assert_eq!(found.p_value(), p_value);
            assert_eq!(found.interval(), Interval::around(value, 0.0));
        }
    }
}
