//! DCI switches of a run: policy and candidates.

use lab_plan::{Plan, PolicyPlan, PolicyRun};
use lab_policy::{LcmpConfig, OwnPolicy, Path, UcmpConfig, own};
use lab_units::{Nanos, NodeId};

use super::order::rank;
use crate::{
    error::SimError,
    network::{Network, count},
    semantics::NextHopOrder,
    te::SwitchRows,
    time::SimTime,
};

/// Policy that the DCI switches run.
#[derive(Clone, Debug)]
pub enum RunPolicy {
    /// Flow hash over buckets, which are provisioned or installed by traffic engineering.
    Buckets,
    /// UCMP with flow ageing: the buckets depend on the flow's size.
    FlowAgeing(UcmpConfig),
    Lcmp(LcmpConfig),
    /// User-defined policy that is compiled in.
    Own(&'static dyn OwnPolicy),
}

impl RunPolicy {
    pub(super) fn of(plan: &PolicyPlan) -> Result<Self, SimError> {
        Ok(match plan {
            PolicyPlan::Ucmp(config @ UcmpConfig { ageing: true, .. }) => Self::FlowAgeing(*config),
            PolicyPlan::Buckets(_)
            | PolicyPlan::Ucmp(_)
            | PolicyPlan::Te(_)
            | PolicyPlan::Trained(_) => Self::Buckets,
            PolicyPlan::Lcmp(config) => Self::Lcmp(config.clone()),
            PolicyPlan::Ebpf(plan) => {
                let object = plan.object.clone();
                return Err(SimError::SwitchProgram { object });
            }
            PolicyPlan::Own(name) => Self::Own(
                own::find(name).ok_or_else(|| SimError::NoOwnPolicy { name: name.clone() })?,
            ),
        })
    }
}

/// Static data of a datacenter's DCI switch.
#[derive(Clone, Debug)]
pub struct SwitchFacts {
    /// Node number of the switch.
    pub node: u32,
    /// True for a switch without an agent, which uses plain ECMP.
    pub is_legacy: bool,
    /// Candidates by destination datacenter.
    pub candidates: Vec<Vec<PortCandidate>>,
}

impl SwitchFacts {
    /// Returns the switch's next hops, as the TE controller needs them.
    pub(super) fn te_rows(&self) -> SwitchRows {
        let rows = (0u32..).zip(&self.candidates);
        let reached = rows.filter(|(_, candidates)| !candidates.is_empty());
        let ports = |candidates: &[PortCandidate]| candidates.iter().map(|row| row.port).collect();
        SwitchRows {
            is_legacy: self.is_legacy,
            rows: reached
                .map(|(to_dc, candidates)| (to_dc, ports(candidates)))
                .collect(),
        }
    }
}

/// New path costs or new candidates from a DCI switch to a destination datacenter, after a fault.
#[derive(Clone, Debug)]
pub struct PathCostUpdate {
    /// Virtual time of the update.
    pub at: SimTime,
    /// Datacenter of the switch.
    pub dc: u32,
    /// Destination datacenter.
    pub to_dc: u32,
    /// All candidates for the destination, with their new costs.
    pub candidates: Vec<PortCandidate>,
}

/// Next hop that a DCI switch may choose, with its path's attributes.
#[derive(Clone, Copy, Debug)]
pub struct PortCandidate {
    /// Number of the egress port.
    pub port: u32,
    /// Path cost C_path, 0 to 255; 0 if the policy has no path costs.
    pub c_path: u8,
    /// Number of hash buckets.
    pub buckets: u16,
    /// Attributes of the best path through the port.
    pub path: Path,
}

/// Returns the static data of all DCI switches.
pub(super) fn switches(
    plan: &Plan,
    network: &Network,
    run: &PolicyRun,
    order: Option<&NextHopOrder>,
) -> Vec<SwitchFacts> {
    plan.dcs
        .iter()
        .zip(&plan.switches)
        .enumerate()
        .map(|(at, (dc, switch))| {
            let mut candidates = vec![Vec::new(); plan.dcs.len()];
            for (row, destination) in switch.destinations.iter().enumerate() {
                let candidate = |(index, planned): (usize, &lab_plan::Candidate)| PortCandidate {
                    port: network.port(planned.port),
                    c_path: path_score(run, at, row, index),
                    buckets: run.buckets_of(at, row, index),
                    path: planned.path(destination.hops),
                };
                let planned = destination.candidates.iter().enumerate();
                candidates[destination.dc.index()] = planned.map(candidate).collect();
            }
            if let Some(order) = order {
                order_candidates(plan, network, switch.node, &mut candidates, order);
            }
            SwitchFacts {
                node: network.node(switch.node),
                is_legacy: dc.legacy,
                candidates,
            }
        })
        .collect()
}

/// Sorts the candidates to each datacenter in the order of next hops towards its first host.
fn order_candidates(
    plan: &Plan,
    network: &Network,
    node: NodeId,
    candidates: &mut [Vec<PortCandidate>],
    order: &NextHopOrder,
) {
    for (candidates, dc) in candidates.iter_mut().zip(&plan.dcs) {
        let Some(host) = dc.hosts.first() else {
            continue;
        };
        if let Some(wanted) = order.neighbours.get(&(node, *host)) {
            candidates.sort_by_key(|candidate| rank(wanted, network.neighbour(candidate.port)));
        }
    }
}

/// Returns the path costs that faults change, then the candidates that reconvergences change, under the plan's policy with
/// index `policy`.
pub(super) fn path_cost_updates(
    plan: &Plan,
    network: &Network,
    policy: usize,
) -> Vec<PathCostUpdate> {
    let update = |at: Nanos, row: &lab_plan::PathCostUpdate| {
        let destination = &plan.switches[row.switch].destinations[row.destination];
        let hops = row.hops.unwrap_or(destination.hops);
        let candidate = |scored: &lab_plan::ScoredCandidate| PortCandidate {
            port: network.port(scored.candidate.port),
            c_path: scored.c_path,
            buckets: scored.buckets,
            path: scored.candidate.path(hops),
        };
        PathCostUpdate {
            at: at.into(),
            dc: count(row.switch),
            to_dc: destination.dc.0,
            candidates: row.candidates.iter().map(candidate).collect(),
        }
    };
    let mut all = Vec::new();
    for fault in &plan.faults {
        let updates = fault.path_cost_updates.iter();
        let rows = updates.filter(|row| row.policy == policy);
        all.extend(rows.map(|row| update(fault.at_ns, row)));
    }
    for change in &plan.reconvergences {
        let rows = plan.new_rows(change, policy);
        all.extend(rows.iter().map(|row| update(change.at_ns, row)));
    }
    all
}

/// Returns the times of the reconvergences with the next hops of all switches from then on, as the TE controller needs
/// them. `switches` have the candidates at the start, and `updates` are all updates of the run.
pub(super) fn te_rows_over_time(
    plan: &Plan,
    switches: &[SwitchFacts],
    updates: &[PathCostUpdate],
) -> Vec<(SimTime, Vec<SwitchRows>)> {
    let mut current = switches.to_vec();
    let mut found = Vec::new();
    for change in &plan.reconvergences {
        let at: SimTime = change.at_ns.into();
        for update in updates.iter().filter(|update| update.at == at) {
            let rows = &mut current[update.dc as usize].candidates;
            rows[update.to_dc as usize].clone_from(&update.candidates);
        }
        found.push((at, current.iter().map(SwitchFacts::te_rows).collect()));
    }
    found
}

/// Returns the path cost C_path of a candidate; 0 if the policy has no path costs.
fn path_score(run: &PolicyRun, at: usize, row: usize, index: usize) -> u8 {
    run.path_scores.get(at).map_or(0, |rows| rows[row][index])
}
