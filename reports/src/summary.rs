//! Results of a run in a few numbers.

use lab_records::{Departure, Evidence, Grade, Reason};
use lab_units::show::{commas, counted};
use serde::Serialize;

use crate::stats::{Change, Intervals, Slowdowns};

/// Results of a run, as shown in the closing table and printed by `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// Verdict on the run.
    pub verdict: Grade,
    /// Reasons to distrust the run.
    pub reasons: Vec<Reason>,
    /// Warnings that limit how far the run can rank policies.
    pub unexercised: Vec<String>,
    /// Method by which intervals are computed.
    pub intervals: Intervals,
    /// Time window and number of the measured flows; `None` if all flows are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Maximum number of packets in a train; `None` if packets were not simulated in trains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trains: Option<u32>,
    /// Results of each policy, in the order of the scenario.
    pub policies: Vec<PolicySummary>,
    /// Results of the flows with a choice of paths; `None` if all measured flows or none have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_choice: Option<WithChoice>,
    /// Evidence that the run exercised the policies that it ranks.
    pub evidence: Evidence,
    /// Headline: the run's results in a few sentences.
    #[serde(skip)]
    pub headline: String,
}

/// Results of the measured flows whose data can reach a switch with several next hops and a policy. All other flows take
/// the same path under every policy, and hide differences between policies in percentiles over all flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WithChoice {
    /// Number of scheduled flows with a choice per policy.
    pub scheduled: u64,
    /// Number of scheduled flows per policy, with a choice or not.
    pub scheduled_in_all: u64,
    /// Results of each policy, in the order of the scenario, without parameters.
    pub policies: Vec<PolicySummary>,
}

impl WithChoice {
    /// Returns a sentence on the number of flows.
    pub(crate) fn words(&self) -> String {
        format!(
            "With a choice: {} of {}, whose data can reach a switch with several next hops; all others take the same \
             path under every policy.",
            commas(self.scheduled),
            counted(self.scheduled_in_all, "flow"),
        )
    }
}

/// Results of one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicySummary {
    /// Label of the policy.
    pub policy: String,
    /// Parameters that differ from the policy's publication; empty for records of an earlier lcmp-lab, which do not
    /// have them.
    pub departures: Vec<Departure>,
    /// Number of recorded flows.
    pub flows: u64,
    /// Number of flows that finished.
    pub finished: u64,
    /// Number of flows that did not finish.
    pub unfinished: u64,
    /// Number of finished flows that were impossibly fast, which shows an error.
    pub below_one: u64,
    /// FCT slowdowns of the scheduled flows; `None` if no flow finished.
    pub slowdown: Option<Slowdowns>,
    /// Change against the first policy. `None` for the first policy, and for a run that is not valid, because its
    /// finished flows are not those that should be compared.
    pub change: Option<Change>,
}
