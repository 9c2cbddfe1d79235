//! Tables once links are provisioned otherwise than at the start.
//!
//! The control plane fills the switches' tables at bootstrap, and again when a link's provisioning
//! changes. Which candidates there are stays, as next hops are chosen by hops alone; their order,
//! by increasing one-way delay, their scores and their buckets do not. Traffic engineering is not
//! told: its controller sees what links are, and tells the switches itself.

use lab_policy::{LcmpConfig, Preset, UcmpConfig};
use lab_units::{BitsPerSec, LinkId, Nanos, PortId};

use crate::{
    error::PlanError,
    model::{
        Destination, EbpfPlan, PathCostUpdate, PolicyPlan, PolicyRun, ScoredCandidate, Switch,
    },
    network::Network,
    paths::{self, Paths},
    policy,
};

/// The scored candidates of all policies, link change by link change.
pub(crate) struct PathCosts<'a> {
    /// The network as the changes so far made it.
    network: Network,
    policies: &'a [PolicyRun],
    /// By policy, switch and destination.
    tables: Vec<Vec<Vec<Vec<ScoredCandidate>>>>,
}

impl<'a> PathCosts<'a> {
    /// As the plan begins.
    pub fn new(network: &Network, switches: &[Switch], policies: &'a [PolicyRun]) -> Self {
        Self {
            network: network.clone(),
            policies,
            tables: policies.iter().map(|run| tables(switches, run)).collect(),
        }
    }

    /// What changes when `link` becomes one of `rate` and `delay`, in paper units.
    pub fn provision(
        &mut self,
        link: LinkId,
        rate: BitsPerSec,
        delay: Nanos,
    ) -> Result<Vec<PathCostUpdate>, PlanError> {
        let paper = &mut self.network.links[link.index()].paper;
        (paper.rate_bps, paper.delay_ns) = (rate, delay);
        let switches = paths::switches(&self.network, &Paths::find(&self.network))?;
        let mut changes = Vec::new();
        for (policy, run) in self.policies.iter().enumerate() {
            let after = tables(&switches, run);
            for (switch, rows) in after.iter().enumerate() {
                let before = &self.tables[policy][switch];
                let changed = rows.iter().enumerate();
                let changed = changed.filter(|(at, candidates)| {
                    told(&run.policy, &before[*at]) != told(&run.policy, candidates)
                });
                changes.extend(changed.map(|(destination, candidates)| PathCostUpdate {
                    policy,
                    switch,
                    destination,
                    candidates: candidates.clone(),
                }));
            }
            self.tables[policy] = after;
        }
        Ok(changes)
    }
}

/// The scored candidates of every switch and destination; none under a policy that has nothing of
/// links' provisioning in its tables.
fn tables(switches: &[Switch], run: &PolicyRun) -> Vec<Vec<Vec<ScoredCandidate>>> {
    match run.policy {
        PolicyPlan::Ecmp | PolicyPlan::Te(_) => Vec::new(),
        PolicyPlan::Wcmp
        | PolicyPlan::Ucmp(_)
        | PolicyPlan::UcmpArtifact
        | PolicyPlan::Lcmp(_)
        | PolicyPlan::Own(_)
        | PolicyPlan::Ebpf(_) => {
            let by_switch = switches.iter().map(|switch| {
                let rows = switch.destinations.iter();
                rows.map(|row| scored(&run.policy, row)).collect()
            });
            by_switch.collect()
        }
    }
}

fn scored(policy: &PolicyPlan, row: &Destination) -> Vec<ScoredCandidate> {
    let buckets = policy::buckets_of(policy, row);
    let rows = row.candidates.iter().zip(buckets);
    rows.map(|(candidate, buckets)| ScoredCandidate {
        candidate: *candidate,
        c_path: policy::path_score_of(policy, candidate),
        buckets,
    })
    .collect()
}

/// What of a table the policy's decisions depend on.
fn told(policy: &PolicyPlan, candidates: &[ScoredCandidate]) -> Vec<(PortId, u64, u64)> {
    let rows = candidates.iter();
    let path = |row: &ScoredCandidate, preset| {
        let (delay, capacity) = policy::scored(&row.candidate, preset);
        (row.candidate.port, delay.get(), capacity.get())
    };
    match policy {
        PolicyPlan::Ecmp | PolicyPlan::Te(_) => Vec::new(),
        // Not the score: it may be the same by these weights and another by those of `tune`.
        PolicyPlan::Lcmp(LcmpConfig { preset, .. })
        | PolicyPlan::Ebpf(EbpfPlan {
            parameters: LcmpConfig { preset, .. },
            ..
        }) => rows.map(|row| path(row, *preset)).collect(),
        PolicyPlan::Own(_) | PolicyPlan::Ucmp(UcmpConfig { ageing: true, .. }) => {
            rows.map(|row| path(row, Preset::Paper)).collect()
        }
        // In another order the same next hops have the same buckets.
        PolicyPlan::Wcmp | PolicyPlan::Ucmp(_) | PolicyPlan::UcmpArtifact => {
            let mut rows: Vec<_> = rows
                .map(|row| (row.candidate.port, row.buckets.into(), 0))
                .collect();
            rows.sort_unstable();
            rows
        }
    }
}
