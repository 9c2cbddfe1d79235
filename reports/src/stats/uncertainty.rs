//! Uncertainty of a mean over a few draws of arrivals.
//!
//! Student's t knows only the draws, so with two or three of them its interval is wide. A draw also has windows, flows that
//! start one after another, whose differences show how much the draw's own value varies. As in the hierarchical bootstrap
//! (Davison and Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8), draws are resampled with
//! replacement, and windows within them: the variance of a mean is then the sum of a part between the draws and a part
//! within them. A window's share in a draw's value is its pseudo-value by the jackknife (Efron and Stein, *Ann. Stat.* 9,
//! 1981), so that both parts are known in closed form, and nothing is resampled by chance. The degrees of freedom follow
//! from both parts (Satterthwaite, *Biometrics Bulletin* 2, 1946).
//!
//! The part between the draws contains the part within them, so the sum is too large rather than too small. If windows do
//! not differ, it is Student's. From five draws on, Student's interval is the narrower one. `STATISTICS.md` has the
//! coverage of both.

use serde::Serialize;
use statrs::statistics::Statistics;

use super::{
    Interval,
    repetitions::{UPPER_END, probability_below, quantile},
    statistic::float,
};

/// Number of windows of a draw. A window must be long against the time for which a queue stays full, because windows are
/// taken as independent.
pub const WINDOWS: usize = 10;

/// Maximum number of draws for which windows make the interval narrower.
const MAX_DRAWS: usize = 4;

/// Statistic of a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawValue {
    /// Value over all flows of the draw.
    pub value: f64,
    /// Values without the flows of one window each; `None` if unknown.
    pub without_window: Option<[f64; WINDOWS]>,
}

/// Method by which the uncertainty of a mean is computed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum UncertaintyMethod {
    /// Variance between draws and between windows within them.
    #[serde(rename = "hierarchical: draws and windows")]
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
    /// Degrees of freedom of the standard error.
    freedom: f64,
    pub method: UncertaintyMethod,
}

impl Uncertainty {
    /// Computes the uncertainty of the mean of `draws`; `None` with fewer than two. The method is Student's if there are
    /// more than four draws, or the windows of one are unknown.
    pub fn of(draws: &[DrawValue]) -> Option<Self> {
        let freedom = float(draws.len().checked_sub(1).filter(|&it| it > 0)?);
        let number = float(draws.len());
        let values = || draws.iter().map(|draw| draw.value);
        let between = values().variance() / number;
        let of_windows: Option<Vec<f64>> = draws.iter().map(DrawValue::window_variance).collect();
        let within = of_windows.filter(|_| draws.len() <= MAX_DRAWS);
        let method = match within {
            Some(_) => UncertaintyMethod::Hierarchical,
            None => UncertaintyMethod::Student,
        };
        let within = within.map_or(0.0, |it| it.iter().sum::<f64>() / number.powi(2));
        let variance = between + within;
        let inverse = between.powi(2) / freedom + within.powi(2) / (number * float(WINDOWS - 1));
        Some(Self {
            mean: values().mean(),
            standard_error: variance.sqrt(),
            freedom: if inverse > 0.0 {
                variance.powi(2) / inverse
            } else {
                freedom
            },
            method,
        })
    }

    /// Returns the 95 % interval of the mean.
    pub fn interval(&self) -> Interval {
        let half = if self.standard_error > 0.0 {
            quantile(self.freedom, UPPER_END).unwrap_or(f64::INFINITY) * self.standard_error
        } else {
            0.0
        };
        Interval::around(self.mean, half)
    }

    /// Returns the probability of a mean at least as far from zero if the true one were zero.
    pub fn p_value(&self) -> f64 {
        if self.standard_error == 0.0 {
            return if self.mean == 0.0 { 1.0 } else { 0.0 };
        }
        let distance = (self.mean / self.standard_error).abs();
        2.0 * probability_below(self.freedom, -distance).unwrap_or(0.5)
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
        assert_eq!(found.method, UncertaintyMethod::Student);
    }

    /// Five of a draw's ten values are 0.496904 above their mean and five below: the squares add up to 2.469136, and the
    /// window variance is 0.81 times that, 2. Both parts of the variance of the mean are then 1: (1 + 1) / 2 between the
    /// draws 1 and 3, and (2 + 2) / 4 within them. The standard error is √2, with 4 / (1/1 + 1/18) = 3.7895 degrees of
    /// freedom, for which the density of Student's distribution, integrated numerically, has the quantile 2.83835 and
    /// twice the tail 0.23395 at 2 / √2.
    #[test]
    fn windows_add_a_part_within_the_draws() {
        let values = |mean: f64| {
            Some(std::array::from_fn(|at| {
                mean + if at % 2 == 0 { 0.496_904 } else { -0.496_904 }
            }))
        };
        let found = Uncertainty::of(&[draw(1.0, values(1.0)), draw(3.0, values(3.0))]).unwrap();
        let Interval { low, high } = found.interval();
        assert_near(low, 2.0 - 2.83835 * 2.0_f64.sqrt());
        assert_near(high, 2.0 + 2.83835 * 2.0_f64.sqrt());
        assert_near(found.p_value(), 0.23395);
        assert_eq!(found.method, UncertaintyMethod::Hierarchical);
    }

    #[test]
    fn windows_that_do_not_differ_leave_students_interval() {
        let same = [1.0, 2.0, 4.0].map(|value| draw(value, Some([value; WINDOWS])));
        let unknown = [1.0, 2.0, 4.0].map(|value| draw(value, None));
        let [same, unknown] = [same, unknown].map(|draws| Uncertainty::of(&draws).unwrap());
        assert_eq!(same.interval(), unknown.interval());
        assert_eq!(same.p_value(), unknown.p_value());
    }

    #[test]
    fn unknown_windows_and_many_draws_leave_students_t() {
        let known = draw(1.0, Some([1.0; WINDOWS]));
        let method = |draws: &[DrawValue]| Uncertainty::of(draws).unwrap().method;
        assert_eq!(method(&[known; 4]), UncertaintyMethod::Hierarchical);
        assert_eq!(method(&[known; 5]), UncertaintyMethod::Student);
        assert_eq!(
            method(&[known, draw(3.0, None)]),
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
