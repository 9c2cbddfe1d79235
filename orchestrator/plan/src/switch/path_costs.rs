//! Updates of path costs after a fault changes a link's rate or delay.
//!
//! The control plane fills the switches' tables at bootstrap and updates them after a change. The set of candidates
//! stays the same: with `fewest-hops`, because it depends only on hop counts, and with `downhill-delay`, because it is
//! that of the scenario's delays. Only [reconvergence](crate::reconvergence) after cuts and repairs changes the set. The
//! candidates' order (by increasing one-way delay), scores and buckets change. Traffic engineering has no updates here, because its controller observes links and installs splits
//! itself.

use lab_policy::{LcmpConfig, Preset, UcmpConfig};
use lab_units::{BitsPerSec, LinkId, Nanos, PortId};

use crate::{
    error::PlanError,
    model::{
        Destination, EbpfPlan, NewRow, PathCostUpdate, Plan, PolicyPlan, PolicyRun, Reconvergence,
        ScoredCandidate, Switch,
    },
    network::Network,
    paths::{self, Paths},
    policy,
};

/// Candidate tables of all policies, updated after each link change.
pub(crate) struct PathCosts<'a> {
    /// Network with all changes applied so far.
    network: Network,
    /// Next hops in force.
    paths: Paths,
    /// Tables of the switches at the start of a run.
    start: &'a [Switch],
    /// Tables of the switches in force, the same for every policy.
    switches: Vec<Switch>,
    policies: &'a [PolicyRun],
    /// Candidate rows by policy, switch and destination.
    tables: Vec<Vec<Vec<Vec<ScoredCandidate>>>>,
}

impl<'a> PathCosts<'a> {
    /// Computes the tables as they are at the start of a run.
    pub fn new(
        network: &Network,
        paths: &Paths,
        switches: &'a [Switch],
        policies: &'a [PolicyRun],
    ) -> Self {
        Self {
            network: network.clone(),
            paths: paths.clone(),
            start: switches,
            switches: switches.to_vec(),
            policies,
            tables: policies.iter().map(|run| tables(switches, run)).collect(),
        }
    }

    /// Sets the `rate` and `delay` of `link`, at the paper's scale, and returns the table rows that change.
    pub fn provision(
        &mut self,
        link: LinkId,
        rate: BitsPerSec,
        delay: Nanos,
    ) -> Result<Vec<PathCostUpdate>, PlanError> {
        let paper = &mut self.network.links[link.index()].paper;
        (paper.rate_bps, paper.delay_ns) = (rate, delay);
        let switches = paths::switches(&self.network, &self.paths.on(&self.network))?;
        let mut changes = Vec::new();
        for (policy, run) in self.policies.iter().enumerate() {
            let after = tables(&switches, run);
            // A legacy switch has no table of paths: it hashes over its kernel routes, which do not change.
            let with_agent = |(switch, _): &(usize, _)| !self.network.dcs[*switch].legacy;
            for (switch, rows) in after.iter().enumerate().filter(with_agent) {
                let before = &self.tables[policy][switch];
                let changed = rows.iter().enumerate().filter(|(at, candidates)| {
                    decision_inputs(&run.policy, &before[*at])
                        != decision_inputs(&run.policy, candidates)
                });
                changes.extend(changed.map(|(destination, candidates)| {
                    let hops = switches[switch].destinations[destination].hops;
                    PathCostUpdate {
                        policy,
                        switch,
                        destination,
                        hops: changed_hops(self.start, (switch, destination), hops),
                        candidates: candidates.clone(),
                    }
                }));
            }
            self.tables[policy] = after;
        }
        self.switches = switches;
        Ok(changes)
    }

    /// Replaces the next hops by those of `paths`, and returns the table rows that change.
    ///
    /// # Errors
    /// If a switch has more next hops to a destination than it can choose among.
    pub fn reconverge(&mut self, paths: Paths) -> Result<Vec<NewRow>, PlanError> {
        let switches = paths::switches(&self.network, &paths.on(&self.network))?;
        let mut rows = Vec::new();
        for (switch, (before, after)) in self.switches.iter().zip(&switches).enumerate() {
            let pairs = before.destinations.iter().zip(&after.destinations);
            let changed = pairs
                .enumerate()
                .filter(|(_, (before, after))| before != after);
            rows.extend(changed.map(|(destination, (_, after))| NewRow {
                switch,
                destination,
                hops: after.hops,
                candidates: after.candidates.clone(),
                tunnels: after.tunnels.clone(),
            }));
        }
        let runs = self.policies.iter();
        self.tables = runs.map(|run| tables(&switches, run)).collect();
        self.switches = switches;
        self.paths = paths;
        Ok(rows)
    }
}

impl Plan {
    /// Returns the rows that `reconvergence` changes under the policy at index `policy`, with path costs and buckets.
    #[must_use]
    pub fn new_rows(&self, reconvergence: &Reconvergence, policy: usize) -> Vec<PathCostUpdate> {
        let Some(run) = self.policies.get(policy) else {
            return Vec::new();
        };
        let update = |row: &NewRow| {
            let start = &self.switches[row.switch].destinations[row.destination];
            let destination = Destination {
                dc: start.dc,
                hops: row.hops,
                candidates: row.candidates.clone(),
                tunnels: row.tunnels.clone(),
            };
            PathCostUpdate {
                policy,
                switch: row.switch,
                destination: row.destination,
                hops: changed_hops(&self.switches, (row.switch, row.destination), row.hops),
                candidates: scored(&run.policy, &destination),
            }
        };
        reconvergence.rows.iter().map(update).collect()
    }
}

/// Returns the number `hops` of a row at `switch` and `destination`; `None` if it is that of the tables `start`.
fn changed_hops(start: &[Switch], (switch, destination): (usize, usize), hops: u32) -> Option<u32> {
    (start[switch].destinations[destination].hops != hops).then_some(hops)
}

/// Returns each switch's candidates by destination.
fn tables(switches: &[Switch], run: &PolicyRun) -> Vec<Vec<Vec<ScoredCandidate>>> {
    switches
        .iter()
        .map(|switch| {
            switch
                .destinations
                .iter()
                .map(|row| scored(&run.policy, row))
                .collect()
        })
        .collect()
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

/// Returns each candidate's port and two numbers on which the policy's decisions depend (such as the path's delay and
/// capacity), so that rows can be compared.
fn decision_inputs(policy: &PolicyPlan, candidates: &[ScoredCandidate]) -> Vec<(PortId, u64, u64)> {
    let rows = candidates.iter();
    let path = |row: &ScoredCandidate, preset| {
        let (delay, capacity) = policy::scored(&row.candidate, preset);
        (row.candidate.port, delay.get(), capacity.get())
    };
    match policy {
        PolicyPlan::Te(_) | PolicyPlan::Trained(_) => Vec::new(),
        // Paths are compared rather than scores, because scores that are equal under these weights may differ once
        // `tune` sets other weights.
        PolicyPlan::Lcmp(LcmpConfig { preset, .. })
        | PolicyPlan::Ebpf(EbpfPlan {
            parameters: LcmpConfig { preset, .. },
            ..
        }) => rows.map(|row| path(row, *preset)).collect(),
        PolicyPlan::Own(_) | PolicyPlan::Ucmp(UcmpConfig { ageing: true, .. }) => {
            rows.map(|row| path(row, Preset::Paper)).collect()
        }
        // The order of next hops does not affect their buckets.
        PolicyPlan::Buckets(_) | PolicyPlan::Ucmp(_) => {
            let mut rows: Vec<_> = rows
                .map(|row| (row.candidate.port, row.buckets.into(), 0))
                .collect();
            rows.sort_unstable();
            rows
        }
    }
}
