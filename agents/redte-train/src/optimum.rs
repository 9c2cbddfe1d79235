//! The clairvoyant optimum of an interval.

use lab_te::{Measurements, TeError, program};
use lab_units::Bytes;

use crate::problem::Problem;

/// Returns the smallest possible largest utilisation of an interval with the `demands` by switch and row, known in
/// advance. Fails if the solver fails.
pub(crate) fn utilisation(problem: &Problem, demands: &[Vec<Bytes>]) -> Result<f64, TeError> {
    let measured = Measurements {
        demands,
        capacities: &problem.capacities,
    };
    let seconds = program::optimum_s(&problem.topology, &measured)?;
    Ok(seconds * 1e9 / interval_ns(problem))
}

#[expect(clippy::cast_precision_loss, reason = "an interval is below 2^53 ns")]
const fn interval_ns(problem: &Problem) -> f64 {
    problem.interval.get() as f64
}
