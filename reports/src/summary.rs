//! A run's results in a few numbers.

use serde::Serialize;

use crate::{
    frames::FlowFrame,
    run::Run,
    stats::{self, Change, Slowdown},
};

/// A run's results: what the closing table of `up` shows, and `--json` gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// Whether the run can be trusted.
    pub clean: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// The policies, in the order of the scenario.
    pub policies: Vec<PolicySummary>,
}

/// One policy's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicySummary {
    /// Its label.
    pub policy: String,
    /// Flows recorded.
    pub flows: usize,
    /// Flows that finished.
    pub finished: usize,
    /// Flows that did not.
    pub unfinished: usize,
    /// Finished flows with a slowdown under 1, which cannot be.
    pub below_one: usize,
    /// FCT slowdown of the finished flows; nothing if none finished.
    pub slowdown: Option<Slowdown>,
    /// Against the first policy, by the flows that finished under both; nothing for the first.
    pub change: Option<Change>,
}

impl Summary {
    /// Sums up `run`, whose flows are in `frame`.
    pub(crate) fn new(run: &Run, frame: &FlowFrame) -> polars::error::PolarsResult<Self> {
        let slowdowns = frame.slowdowns()?;
        let mut policies = Vec::new();
        for policy in &run.policies {
            let sorted = slowdowns.get(policy).map_or(&[][..], Vec::as_slice);
            let rows = run.flows.iter().filter(|flow| flow.policy == *policy);
            let flows = rows.clone().count();
            let below_one = rows.clone().filter(|flow| flow.is_too_fast()).count();
            let finished = rows.filter(|flow| flow.status.is_finished()).count();
            let first = &run.policies[0];
            let change = if policy == first {
                None
            } else {
                stats::change(&frame.pairs(first, policy)?)
            };
            policies.push(PolicySummary {
                policy: policy.clone(),
                flows,
                finished,
                unfinished: flows - finished,
                below_one,
                slowdown: stats::slowdown(sorted),
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
