//! Changes between runs by repetition: each has flows of its own, so repetitions are independent.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Estimate;

/// Relative change of a percentile over repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeedChange {
    /// Number of repetitions.
    pub repetitions: usize,
    /// Geometric mean of the repetitions' changes, −0.4 for 40 % less, with its 95 % interval.
    pub change: Estimate,
}

/// Returns the change from the percentiles of each repetition, base and other; `None` for fewer than two.
///
/// The interval is Student's on the logarithms of the ratios. A bootstrap of the few repetitions that a
/// run has is too narrow: of three, the widest interval is their range, which holds the true value three
/// times of four.
pub fn by_seed(repetitions: &[[f64; 2]]) -> Option<SeedChange> {
    let ratios = repetitions.iter().map(|[base, other]| (other / base).ln());
    let ratios: Vec<f64> = ratios.filter(|log| log.is_finite()).collect();
    let interval = mean_interval(&ratios)?;
    let change = |log: f64| log.exp() - 1.0;
    Some(SeedChange {
        repetitions: ratios.len(),
        change: Estimate {
            value: change(interval.value),
            low: change(interval.low),
            high: change(interval.high),
        },
    })
}

/// Returns the mean of independent values with Student's 95 % interval; `None` for fewer than two.
fn mean_interval(values: &[f64]) -> Option<Estimate> {
    let count = float(values.len());
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (count - 1.0)).sqrt();
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let half = student.inverse_cdf(0.975) * deviation / count.sqrt();
    Some(Estimate {
        value: mean,
        low: mean - half,
        high: mean + half,
    })
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 repetitions")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repetition_says_nothing_of_another_seed() {
        assert_eq!(by_seed(&[[2.0, 1.0]]), None);
        assert_eq!(by_seed(&[[2.0, 1.0], [0.0, 1.0]]), None);
    }

    /// t(0.975) with two degrees of freedom is 4.303.
    #[test]
    fn the_interval_is_students() {
        let found = mean_interval(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(found.value, 2.0);
        assert!(
            (found.high - 2.0 - 4.303 / 3f64.sqrt()).abs() < 1e-3,
            "{found:?}"
        );
    }

    #[test]
    fn equal_changes_leave_no_doubt() {
        let found = by_seed(&[[2.0, 1.0], [10.0, 5.0], [4.0, 2.0]]).unwrap();
        assert_eq!(found.repetitions, 3);
        let all = [found.change.value, found.change.low, found.change.high];
        assert!(all.iter().all(|it| (it + 0.5).abs() < 1e-12), "{all:?}");
    }
}
