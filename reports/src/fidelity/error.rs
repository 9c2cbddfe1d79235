//! Errors of comparing two runs.

use crate::error::ReportError;

/// Error of comparing two runs.
#[derive(Debug, thiserror::Error)]
pub enum FidelityError {
    /// A run cannot be read, or the comparison cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The runs stand in the other order.
    #[error(
        "the first run is the simulator's and the second the kernel's (hint: lcmp-lab fidelity \
         RUN_KERNEL RUN_SIM)"
    )]
    Swapped,
    /// The runs are of different plans.
    #[error(
        "the runs are not of one plan: {what} is `{first}` in the first run and `{second}` in the \
         second (hint: lcmp-lab sim SCENARIO --scaled --scale RUN_KERNEL, with the first run's scenario, seed and flags)"
    )]
    OtherPlan {
        /// What differs.
        what: String,
        /// Its value in the first run.
        first: String,
        /// Its value in the second run.
        second: String,
    },
    /// A bound is for a policy that is not compared.
    #[error("a bound names policy `{policy}`, the runs have {known}")]
    UnknownPolicy {
        /// The policy.
        policy: String,
        /// The policies of both runs.
        known: String,
    },
}
