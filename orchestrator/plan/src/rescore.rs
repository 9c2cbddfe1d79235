//! Path scores once links are provisioned otherwise than at the start.
//!
//! The control plane fills the switches' tables at bootstrap, and again when a link's provisioning
//! changes. Which candidates there are stays, as next hops are chosen by hops alone; their order,
//! by increasing one-way delay, and their scores do not.

use lab_policy::lcmp::path_score;
use lab_units::{BitsPerSec, LinkId, Nanos};

use crate::{
    error::PlanError,
    model::{Candidate, PolicyRun, Rescored, ScoredCandidate, Switch},
    network::Network,
    policy::scored,
    ways::{self, Ways},
};

/// The scored candidates of all policies, link change by link change.
pub(crate) struct Scores<'a> {
    /// The network as the changes so far made it.
    network: Network,
    policies: &'a [PolicyRun],
    /// By policy, switch and destination.
    tables: Vec<Vec<Vec<Vec<ScoredCandidate>>>>,
}

impl<'a> Scores<'a> {
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
    ) -> Result<Vec<Rescored>, PlanError> {
        let paper = &mut self.network.links[link.index()].paper;
        (paper.rate_bps, paper.delay_ns) = (rate, delay);
        let switches = ways::switches(&self.network, &Ways::find(&self.network))?;
        let mut changes = Vec::new();
        for (policy, run) in self.policies.iter().enumerate() {
            let after = tables(&switches, run);
            for (switch, rows) in after.iter().enumerate() {
                let before = &self.tables[policy][switch];
                let changed = rows.iter().enumerate();
                let changed = changed.filter(|(at, candidates)| before[*at] != **candidates);
                changes.extend(changed.map(|(destination, candidates)| Rescored {
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

/// The scored candidates of every switch and destination; none under a policy without scores.
fn tables(switches: &[Switch], run: &PolicyRun) -> Vec<Vec<Vec<ScoredCandidate>>> {
    let Some(config) = run.policy.lcmp() else {
        return Vec::new();
    };
    let candidate = |candidate: &Candidate| {
        let (delay, capacity) = scored(candidate, config.preset);
        ScoredCandidate {
            port: candidate.port,
            c_path: path_score(delay, capacity, config),
        }
    };
    let by_switch = switches.iter().map(|switch| {
        let rows = switch.destinations.iter();
        rows.map(|row| row.candidates.iter().map(candidate).collect())
            .collect()
    });
    by_switch.collect()
}
