//! Rows of the history of suites.

use super::row;

row! {
    /// One gauge of a case in one run of its suite.
    pub struct HistoryRow in "history.csv", required: false {
        /// Name of the suite.
        pub suite: String,
        /// Name of the case.
        pub case: String,
        /// Policy and percentile: `lcmp.p99`.
        pub gauge: String,
        /// Time of the run's start.
        pub at: String,
        /// Commit that lcmp-lab was built from.
        pub commit: String,
        /// Geometric mean over repetitions of the percentile of FCT slowdown.
        pub value: f64,
        /// Name of the run directory.
        pub run: String,
    }
}
