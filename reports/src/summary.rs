//! A run's results in a few numbers.

use lab_records::{Departure, Evidence, Grade, Reason};
use serde::Serialize;

use crate::stats::{Change, Intervals, Slowdowns};

/// A run's results: what the closing table of `up` shows, and `--json` gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// Verdict on the run.
    pub verdict: Grade,
    /// Reasons not to trust the run.
    pub reasons: Vec<Reason>,
    /// Warnings about a ranking by the run: limits to what it shows.
    pub unexercised: Vec<String>,
    /// Estimator of the intervals.
    pub intervals: Intervals,
    /// Window of the measured flows and their number; `None` if all flows are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The policies, in the order of the scenario.
    pub policies: Vec<PolicySummary>,
    /// Evidence that the run exercised what it ranks.
    pub evidence: Evidence,
    /// Headline: the run's results in a few sentences.
    #[serde(skip)]
    pub headline: String,
}

/// One policy's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicySummary {
    /// Label of the policy.
    pub policy: String,
    /// Parameters that are not the publication's; empty in records of an earlier lcmp-lab.
    pub departures: Vec<Departure>,
    /// Flows recorded.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Finished flows with a slowdown under 1, which is an error.
    pub below_one: u64,
    /// FCT slowdown of the scheduled flows; `None` if no flow finished.
    pub slowdown: Option<Slowdowns>,
    /// Change against the first policy; `None` for the first policy, and for a run that is not valid, since the
    /// flows that finished are not the flows that were to be compared.
    pub change: Option<Change>,
}
