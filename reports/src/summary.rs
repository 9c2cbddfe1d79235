//! A run's results in a few numbers.

use serde::Serialize;

use crate::{
    run::Run,
    stats::{self, Change, Slowdown},
};

/// A run's results: what the closing table of `up` shows, and `--json` gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// True if the run can be trusted.
    pub clean: bool,
    /// Reasons not to trust the run.
    pub reasons: Vec<String>,
    /// The policies, in the order of the scenario.
    pub policies: Vec<PolicySummary>,
}

/// One policy's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicySummary {
    /// Label of the policy.
    pub policy: String,
    /// Flows recorded.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Finished flows with a slowdown under 1, which is an error.
    pub below_one: u64,
    /// FCT slowdown of the finished flows; none if no flow finished.
    pub slowdown: Option<Slowdown>,
    /// Change against the first policy, of the flows that finished under both; none for the first.
    pub change: Option<Change>,
}

impl Summary {
    /// Returns the summary of `run`.
    pub(crate) fn new(run: &Run) -> polars::error::PolarsResult<Self> {
        let flows = &run.flows;
        let slowdowns = flows.slowdowns()?;
        let mut policies = Vec::new();
        for (index, policy) in flows.policies.iter().enumerate() {
            let counts = flows.counts[index];
            let change = match index {
                0 => None,
                _ => stats::change(&flows.pairs(0, index)?),
            };
            policies.push(PolicySummary {
                policy: policy.clone(),
                flows: counts.flows,
                finished: counts.finished,
                unfinished: counts.unfinished,
                below_one: counts.below_one,
                slowdown: stats::slowdown(&slowdowns[index]),
                change,
            });
        }
        Ok(Self {
            scenario: run.info.scenario.clone(),
            clean: run.verdict.clean,
            reasons: run.verdict.reasons.clone(),
            policies,
        })
    }
}
