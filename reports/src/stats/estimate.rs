//! What statistics give.

use serde::Serialize;

/// A value and its 95 % bootstrap percentile interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Of the flows measured.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// FCT slowdown of a policy's finished flows; percentiles by the nearest-rank rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// The median.
    pub p50: Estimate,
    /// The 95th percentile.
    pub p95: Estimate,
    /// The 99th percentile.
    pub p99: Estimate,
    /// The arithmetic mean.
    pub mean: Estimate,
}

/// A policy's slowdown ÷ another's, less 1: −0.4 is 40 % less. Each percentile is of the flows that
/// finished under both policies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Flows that finished under both.
    pub pairs: usize,
    /// Of the medians.
    pub p50: Estimate,
    /// Of the 95th percentiles.
    pub p95: Estimate,
    /// Of the 99th percentiles.
    pub p99: Estimate,
    /// Of the means.
    pub mean: Estimate,
}
