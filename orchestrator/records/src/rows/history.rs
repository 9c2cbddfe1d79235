//! Rows of a suite's history.

use super::row;

row! {
    /// Value of a case's gauge in one run of the suite.
    pub struct HistoryRow in "history.csv", required: false {
        /// Name of the suite.
        pub suite: String,
        /// Name of the case.
        pub case: String,
        /// Name of the gauge, policy and percentile: `lcmp.p99`.
        pub gauge: String,
        /// Time of the run's start.
        pub at: String,
        /// Commit that lcmp-lab was built from.
        pub commit: String,
        /// Percentile of FCT slowdown, geometric mean over repetitions.
        pub value: f64,
        /// Name of the run directory.
        pub run: String,
    }
}
