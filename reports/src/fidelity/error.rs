//! Errors when two runs of one plan are compared.

use crate::error::ReportError;

/// Failure to compare two runs of one plan.
#[derive(Debug, thiserror::Error)]
pub enum FidelityError {
    /// A run cannot be read, or the comparison cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The simulator's run is given before the kernel's run.
    #[error(
        "the first run is the simulator's and the second the kernel's (hint: lcmp-lab fidelity \
         RUN_KERNEL RUN_SIM)"
    )]
    Swapped,
    /// The runs do not have the same plan.
    #[error(
        "the runs are not of one plan: {what} is `{first}` in the first run and `{second}` in the \
         second (hint: lcmp-lab sim SCENARIO --scaled --scale RUN_KERNEL, with the first run's scenario, seed and flags)"
    )]
    OtherPlan {
        /// Fact that differs, such as `the seed`.
        what: String,
        /// Value of the fact in the first run.
        first: String,
        /// Value of the fact in the second run.
        second: String,
    },
    /// A bound names a policy that is not compared.
    #[error("a bound names policy `{policy}`, but the compared policies are {known}")]
    UnknownPolicy {
        /// Policy that the bound names.
        policy: String,
        /// Labels of the policies that both runs have.
        known: String,
    },
}
