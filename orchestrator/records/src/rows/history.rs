//! Rows of a suite's history.

use super::row;

row! {
    /// Value that one run of the suite measured for a case, such as a percentile.
    pub struct HistoryRow in "history.csv", required: false {
        /// Name of the suite.
        pub suite: String,
        /// Name of the case.
        pub case: String,
        /// Name of the measured value, policy and percentile, such as `lcmp.p99`.
        pub gauge: String,
        /// Time at which the run started, as text.
        pub at: String,
        /// Commit from which lcmp-lab was built.
        pub commit: String,
        /// Percentile of FCT slowdown, as the geometric mean over repetitions.
        pub value: f64,
        /// Name of the run directory.
        pub run: String,
    }
}
