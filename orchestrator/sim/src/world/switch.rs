//! DCI switches of a run: policy and candidates.

use lab_plan::{Plan, PolicyPlan, PolicyRun, Transit};
use lab_policy::{LcmpConfig, OwnPolicy, Path, UcmpConfig, own};
use lab_units::{Nanos, NodeId, PortId};
use rustc_hash::FxHashMap;

use super::order::rank;
use crate::{
    error::SimError,
    network::{Network, count},
    semantics::NextHopOrder,
    te::{NextHopRow, SwitchRows},
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
    /// Egress ports of each tunnel, by destination datacenter; empty without tunnels.
    tunnels: Vec<Vec<Vec<u32>>>,
}

/// Egress port of a switch for packets on a tunnel, by their source and destination datacenters and the port at which
/// they arrive.
pub type Transits = FxHashMap<(u32, u32, u32), u32>;

impl SwitchFacts {
    /// Returns the switch's next hops, as the TE controller needs them.
    pub(super) fn te_rows(&self) -> SwitchRows {
        let rows = (0u32..).zip(&self.candidates);
        let reached = rows.filter(|(_, candidates)| !candidates.is_empty());
        let row = |(to_dc, candidates): (u32, &Vec<PortCandidate>)| NextHopRow {
            to_dc,
            ports: candidates.iter().map(|it| it.port).collect(),
            rests: self.rests(to_dc, candidates),
        };
        SwitchRows {
            is_legacy: self.is_legacy,
            rows: reached.map(row).collect(),
        }
    }

    /// Returns the egress ports behind each candidate, on its tunnel; empty without tunnels.
    fn rests(&self, to_dc: u32, candidates: &[PortCandidate]) -> Vec<Vec<u32>> {
        let tunnels = &self.tunnels[to_dc as usize];
        let of = |candidate: &PortCandidate| {
            let mut split = tunnels.iter().filter_map(|ports| ports.split_first());
            let found = split.find(|(first, _)| **first == candidate.port);
            found.map_or(Vec::new(), |(_, behind)| behind.to_vec())
        };
        let rows = candidates.iter().filter(|_| !tunnels.is_empty());
        rows.map(of).collect()
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
    /// New tunnels to the destination; `None` if only the costs change.
    tunnels: Option<Vec<Vec<u32>>>,
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
            let mut tunnels = vec![Vec::new(); plan.dcs.len()];
            for (row, destination) in switch.destinations.iter().enumerate() {
                let candidate = |(index, planned): (usize, &lab_plan::Candidate)| PortCandidate {
                    port: network.port(planned.port),
                    c_path: path_score(run, at, row, index),
                    buckets: run.buckets_of(at, row, index),
                    path: planned.path(destination.hops),
                };
                let planned = destination.candidates.iter().enumerate();
                candidates[destination.dc.index()] = planned.map(candidate).collect();
                tunnels[destination.dc.index()] = sim_ports(network, &destination.tunnels);
            }
            if let Some(order) = order {
                order_candidates(plan, network, switch.node, &mut candidates, order);
            }
            SwitchFacts {
                node: network.node(switch.node),
                is_legacy: dc.legacy,
                candidates,
                tunnels,
            }
        })
        .collect()
}

/// Returns the simulator's numbers of the ports of tunnels.
fn sim_ports(network: &Network, tunnels: &[Vec<PortId>]) -> Vec<Vec<u32>> {
    let ports = |tunnel: &Vec<PortId>| tunnel.iter().map(|port| network.port(*port)).collect();
    tunnels.iter().map(ports).collect()
}

/// Returns the transit rows of all switches, by datacenter, at the start and after each reconvergence, with their times;
/// empty without tunnels.
pub(super) fn transits(plan: &Plan, network: &Network) -> Vec<(SimTime, Vec<Transits>)> {
    let Some(tables) = plan.transit_tables() else {
        return Vec::new();
    };
    let keyed = |row: &Transit| {
        let key = (row.from.0, row.to.0, network.port(row.ingress));
        (key, network.port(row.egress))
    };
    let at_start = tables
        .start
        .iter()
        .map(|rows| rows.iter().map(keyed).collect());
    let mut all = vec![(SimTime::ZERO, at_start.collect::<Vec<Transits>>())];
    for (change, replaced) in plan.reconvergences.iter().zip(&tables.replaced) {
        let mut rows = all[all.len() - 1].1.clone();
        for (dc, row) in replaced {
            rows[dc.index()].extend([keyed(row)]);
        }
        all.push((change.at_ns.into(), rows));
    }
    all
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
    let update = |at: Nanos, row: &lab_plan::PathCostUpdate, tunnels: Option<Vec<Vec<u32>>>| {
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
            tunnels,
        }
    };
    let mut all = Vec::new();
    for fault in &plan.faults {
        let updates = fault.path_cost_updates.iter();
        let rows = updates.filter(|row| row.policy == policy);
        all.extend(rows.map(|row| update(fault.at_ns, row, None)));
    }
    for change in &plan.reconvergences {
        let rows = plan.new_rows(change, policy);
        let tunnels = change
            .rows
            .iter()
            .map(|row| sim_ports(network, &row.tunnels));
        let pairs = rows.iter().zip(tunnels);
        all.extend(pairs.map(|(row, tunnels)| update(change.at_ns, row, Some(tunnels))));
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
            let SwitchFacts {
                candidates,
                tunnels,
                ..
            } = &mut current[update.dc as usize];
            candidates[update.to_dc as usize].clone_from(&update.candidates);
            if let Some(new) = &update.tunnels {
                tunnels[update.to_dc as usize].clone_from(new);
            }
        }
        found.push((at, current.iter().map(SwitchFacts::te_rows).collect()));
    }
    found
}

/// Returns the path cost C_path of a candidate; 0 if the policy has no path costs.
fn path_score(run: &PolicyRun, at: usize, row: usize, index: usize) -> u8 {
    run.path_scores.get(at).map_or(0, |rows| rows[row][index])
}
