//! Results of a cell: what a sweep keeps of a run.

use std::collections::BTreeMap;

use lab_records::{FlowFields, Grade, Mechanism, PolicyEvidence, Reason, RecordsError, RunInfo};
use serde::{Deserialize, Serialize};

use crate::{facts::RunFacts, stats::Statistic};

/// Results of a cell. They depend only on the cell's identity, not on the machine, the number of threads or the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellNumbers {
    /// Name of the cell.
    pub cell: String,
    /// Identity of the cell.
    pub identity: String,
    /// Hash of the plan.
    pub plan: String,
    /// Verdict on the run.
    pub verdict: Grade,
    /// Reasons to distrust the run.
    pub reasons: Vec<Reason>,
    /// Number of measured flows per policy, over all repetitions.
    pub flows: u64,
    /// Number of them with a choice of paths; `None` if all or none have one.
    pub flows_with_choice: Option<u64>,
    /// Properties of the network and its traffic.
    pub network: CellNetwork,
    /// Results of each policy, in the order of the scenario.
    pub policies: Vec<CellPolicy>,
}

/// Properties of a cell's network that may explain its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellNetwork {
    /// Number of datacenters.
    pub dcs: u64,
    /// Number of inter-DC links.
    pub links: u64,
    /// Number of pairs of a source and a destination datacenter between which data flows.
    pub pairs: u64,
    /// Number of them between which some switch has several candidates.
    pub pairs_with_choice: u64,
    /// Largest ÷ smallest delay of the candidates' paths, as the geometric mean over the pairs whose first switch has
    /// several candidates.
    pub delay_spread: f64,
    /// Largest ÷ smallest capacity of the candidates' paths, as the same mean.
    pub capacity_spread: f64,
}

/// Results of a policy in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPolicy {
    /// Label of the policy.
    pub policy: String,
    /// Number of measured flows that did not finish.
    pub unfinished: u64,
    /// Utilisation of the busiest link direction while flows start; `None` if the run did not record it.
    pub busiest: Option<f64>,
    /// Counts of the actions of the policy's own mechanism; `None` if the run did not record them.
    pub mechanism: Option<Mechanism>,
    /// Slowdowns of all measured flows, by repetition.
    pub all: Vec<DrawSlowdowns>,
    /// Slowdowns of the measured flows with a choice of paths, by repetition; empty if all or none have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with_choice: Vec<DrawSlowdowns>,
}

/// Selection of flows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slice {
    /// All measured flows.
    All,
    /// Measured flows with a choice of paths.
    WithChoice,
}

/// FCT slowdowns in one draw of arrivals. A percentile is over all flows, and `None` where it falls on one that did not
/// finish.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawSlowdowns {
    /// Repetition, from 0.
    pub repetition: u32,
    /// Number of flows.
    pub flows: u64,
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    /// Mean; `None` if a flow did not finish.
    pub mean: Option<f64>,
}

/// Slowdowns by repetition; infinite for flows that did not finish.
type Slowdowns = BTreeMap<u32, Vec<f64>>;

/// Flows of a policy while they are read.
#[derive(Default)]
struct Read {
    unfinished: u64,
    all: Slowdowns,
    with_choice: Slowdowns,
}

impl CellNumbers {
    /// Reads the results of the cell `name`, with this identity and `network`, from its ended run.
    ///
    /// # Errors
    /// If the flows cannot be read.
    pub fn read(
        name: &str,
        identity: &str,
        run: &RunFacts,
        network: CellNetwork,
    ) -> Result<Self, RecordsError> {
        let info = run.info();
        let mut read: Vec<Read> = info.policies.iter().map(|_| Read::default()).collect();
        run.visit_measured(|policy, flow| read[policy].add(flow, info))?;
        let flows = read.first().map_or(0, |read| count(&read.all));
        let evidence = run.outcome().map(|outcome| &outcome.end.evidence.policies);
        let policies = info.policies.iter().zip(read).map(|(label, read)| {
            let mut known = evidence.into_iter().flatten();
            let own = known.find(|evidence| evidence.policy == *label);
            read.of_policy(label, own)
        });
        let verdict = run.stored_verdict();
        Ok(Self {
            cell: name.to_owned(),
            identity: identity.to_owned(),
            plan: info.plan_hash.clone(),
            policies: policies.collect(),
            network,
            verdict: verdict.grade,
            reasons: verdict.reasons,
            flows,
            flows_with_choice: info.with_choice.as_ref().map(|choice| choice.flows),
        })
    }

    /// Returns the results of the policy `label`; `None` if the cell does not have it.
    #[must_use]
    pub fn policy(&self, label: &str) -> Option<&CellPolicy> {
        self.policies.iter().find(|it| it.policy == label)
    }
}

impl Slice {
    /// Returns the name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::WithChoice => "with a choice",
        }
    }
}

impl CellPolicy {
    /// Returns the draws of the flows in `slice`.
    #[must_use]
    pub fn draws(&self, slice: Slice) -> &[DrawSlowdowns] {
        match slice {
            Slice::All => &self.all,
            Slice::WithChoice => &self.with_choice,
        }
    }
}

impl Read {
    fn add(&mut self, flow: FlowFields<'_>, info: &RunInfo) {
        self.unfinished += u64::from(flow.slowdown.is_none());
        let slowdown = flow.slowdown.unwrap_or(f64::INFINITY);
        self.all.entry(flow.repetition).or_default().push(slowdown);
        let choice = info.with_choice.as_ref();
        let to = choice.and_then(|choice| choice.pairs.get(flow.src_dc));
        if to.is_some_and(|to| to.contains(flow.dst_dc)) {
            let of_repetition = self.with_choice.entry(flow.repetition);
            of_repetition.or_default().push(slowdown);
        }
    }

    fn of_policy(self, label: &str, evidence: Option<&PolicyEvidence>) -> CellPolicy {
        let busiest = evidence.and_then(|it| it.met.busiest.as_ref());
        CellPolicy {
            policy: label.to_owned(),
            unfinished: self.unfinished,
            busiest: busiest.map(|link| link.utilisation),
            mechanism: evidence.map(|it| it.mechanism.clone()),
            all: draws(self.all),
            with_choice: draws(self.with_choice),
        }
    }
}

fn count(slowdowns: &Slowdowns) -> u64 {
    slowdowns.values().map(|flows| flows.len() as u64).sum()
}

fn draws(slowdowns: Slowdowns) -> Vec<DrawSlowdowns> {
    let draw = |(repetition, flows)| DrawSlowdowns::new(repetition, flows);
    slowdowns.into_iter().map(draw).collect()
}

impl DrawSlowdowns {
    /// Returns true if all numbers are the same as those of `other`, a draw of the same policy.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        let repetition = other.repetition;
        *other
            == Self {
                repetition,
                ..*self
            }
    }

    fn new(repetition: u32, mut slowdowns: Vec<f64>) -> Self {
        slowdowns.sort_unstable_by(f64::total_cmp);
        let of = |statistic: Statistic| statistic.of(&slowdowns).filter(|it| it.is_finite());
        Self {
            repetition,
            flows: slowdowns.len() as u64,
            p50: of(Statistic::P50),
            p99: of(Statistic::P99),
            mean: of(Statistic::Mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_all_flows_and_unknown_where_flows_did_not_finish() {
        let draw = DrawSlowdowns::new(3, vec![4.0, f64::INFINITY, 1.0, 2.0]);
        let expected = DrawSlowdowns {
            repetition: 3,
            flows: 4,
            p50: Some(2.0),
            p99: None,
            mean: None,
        };
        assert_eq!(draw, expected);
        assert_eq!(DrawSlowdowns::new(0, vec![1.0, 3.0]).mean, Some(2.0));
    }
}
