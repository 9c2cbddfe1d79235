//! Why there is no split.

/// Why an interval's demands gave no tables.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TeError {
    /// What was measured is not of this topology.
    #[error("there are {found} {what}, the topology has {expected}")]
    Shape {
        /// What there should be one of for each.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The solver gave up; every program that is built here has a solution.
    #[error("the linear program was not solved: {why}")]
    Solver {
        /// In the solver's words.
        why: String,
    },
}
