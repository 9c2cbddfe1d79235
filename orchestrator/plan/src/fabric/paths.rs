//! Paths between datacenters: candidate next hops, the best path through each of them, and paths between hosts.
//!
//! As in the paper's testbed, the next hops of a destination are all neighbours that are one hop nearer to it, found by
//! breadth-first search over the DCI switches. Delay and rate only order the next hops. Paths never cross hosts.

use std::{cmp::Reverse, collections::VecDeque};

use lab_policy::MAX_CANDIDATES;
use lab_units::{BitsPerSec, DcId, Nanos, NodeId, PortId};

use crate::{
    error::PlanError,
    model::{Candidate, Destination, Role, Switch},
    network::Network,
};

/// Best path between each pair of datacenters, among the paths with the fewest hops.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// Best paths by destination, then by source; `None` if the source cannot reach the destination.
    towards: Vec<Vec<Option<BestPath>>>,
}

/// Best path from a datacenter to a destination.
#[derive(Clone, Copy, Debug)]
struct BestPath {
    hops: u32,
    delay: Nanos,
    /// Smallest link capacity on the path; `None` at the destination itself.
    bottleneck: Option<BitsPerSec>,
    /// First egress port of the path; `None` at the destination itself.
    port: Option<PortId>,
}

impl BestPath {
    const ARRIVED: Self = Self {
        hops: 0,
        delay: Nanos::ZERO,
        bottleneck: None,
        port: None,
    };

    /// Returns this path, extended at its start by the link of `port`.
    fn behind(&self, network: &Network, port: PortId) -> Self {
        let wire = &network.link(port.link()).paper;
        let ahead = self.bottleneck.unwrap_or(wire.rate_bps);
        Self {
            hops: self.hops + 1,
            delay: self.delay.saturating_add(wire.delay_ns),
            bottleneck: Some(ahead.min(wire.rate_bps)),
            port: Some(port),
        }
    }

    /// Returns a sort key that orders paths from best to worst: least delay, then most capacity, then lowest port
    /// number.
    fn rank(&self) -> (Nanos, Reverse<Option<BitsPerSec>>, Option<PortId>) {
        (self.delay, Reverse(self.bottleneck), self.port)
    }
}

impl Paths {
    pub fn find(network: &Network) -> Self {
        let towards = (0u32..)
            .map(DcId)
            .take(network.dcs.len())
            .map(|to| best_paths(network, to))
            .collect();
        Self { towards }
    }

    fn best(&self, at: DcId, to: DcId) -> Option<&BestPath> {
        self.towards[to.index()][at.index()].as_ref()
    }

    /// Returns the number of inter-DC links on the shortest path from `from` to `to`; `None` if there is no path.
    pub fn hops(&self, from: DcId, to: DcId) -> Option<u32> {
        self.best(from, to).map(|path| path.hops)
    }

    /// Returns the ports of `from` towards the neighbours that are one hop nearer to `to`.
    pub fn next_ports<'a>(
        &'a self,
        network: &'a Network,
        from: DcId,
        to: DcId,
    ) -> impl Iterator<Item = PortId> + 'a {
        let hops = self.hops(from, to);
        let ports = network.ports_to(network.dcs[from.index()].dci, Role::DciSwitch);
        ports.filter(move |&port| {
            let ahead = self.hops(network.neighbour(port).dc, to);
            ahead.is_some() && ahead.map(|ahead| ahead + 1) == hops
        })
    }

    /// Returns the next hops from `from` to `to`, by increasing delay of the best path through them, then by port.
    pub fn candidates(
        &self,
        network: &Network,
        from: DcId,
        to: DcId,
    ) -> Result<Vec<Candidate>, PlanError> {
        self.best(from, to).ok_or_else(|| {
            let name = |dc: DcId| network.dcs[dc.index()].name.clone();
            PlanError::Unreachable {
                from: name(from),
                to: name(to),
            }
        })?;
        let candidate = |port: PortId| {
            let next_dc = network.neighbour(port).dc;
            let path = self.best(next_dc, to)?.behind(network, port);
            let first = &network.link(port.link()).paper;
            Some(Candidate {
                port,
                next_dc,
                paper_delay_ns: path.delay,
                paper_bottleneck_bps: path.bottleneck?,
                paper_first_link_delay_ns: first.delay_ns,
                paper_first_link_bps: first.rate_bps,
            })
        };
        let ports = self.next_ports(network, from, to);
        let mut candidates: Vec<_> = ports.filter_map(candidate).collect();
        candidates.sort_by_key(|candidate| (candidate.paper_delay_ns, candidate.port));
        Ok(candidates)
    }

    /// Returns the DCI switches' egress ports on the best path from `from` to `to`, in order.
    pub fn ports(&self, network: &Network, from: DcId, to: DcId) -> Vec<PortId> {
        let best = |at| self.best(at, to).and_then(|path| path.port);
        let mut next = best(from);
        let mut ports = Vec::new();
        while let Some(port) = next {
            ports.push(port);
            next = best(network.neighbour(port).dc);
        }
        ports
    }
}

/// Returns the best path to `to` from every DC that can reach it.
fn best_paths(network: &Network, to: DcId) -> Vec<Option<BestPath>> {
    let mut best_paths: Vec<Option<BestPath>> = vec![None; network.dcs.len()];
    best_paths[to.index()] = Some(BestPath::ARRIVED);
    let mut queue = VecDeque::from([to]);
    while let Some(at) = queue.pop_front() {
        // Breadth-first order: every DC with fewer hops has been visited, so this path is final.
        let Some(ahead) = best_paths[at.index()] else {
            continue;
        };
        for inbound in network.ports_to(network.dcs[at.index()].dci, Role::DciSwitch) {
            let from = network.neighbour(inbound).dc;
            let path = ahead.behind(network, inbound.peer());
            match &mut best_paths[from.index()] {
                unseen @ None => {
                    *unseen = Some(path);
                    queue.push_back(from);
                }
                Some(known) if known.hops == path.hops && path.rank() < known.rank() => {
                    *known = path;
                }
                Some(_) => {}
            }
        }
    }
    best_paths
}

/// Returns the routing state of every DCI switch.
pub(crate) fn switches(network: &Network, paths: &Paths) -> Result<Vec<Switch>, PlanError> {
    let all = || (0u32..).map(DcId).zip(&network.dcs);
    all()
        .map(|(from, dc)| {
            let others = all().filter(|(to, dc)| *to != from && !dc.hosts.is_empty());
            let destinations = others.map(|(to, _)| {
                let candidates = paths.candidates(network, from, to)?;
                if candidates.len() > MAX_CANDIDATES {
                    return Err(PlanError::TooManyNextHops {
                        from: dc.name.clone(),
                        to: network.dcs[to.index()].name.clone(),
                        found: candidates.len(),
                        max: MAX_CANDIDATES,
                    });
                }
                Ok(Destination {
                    dc: to,
                    hops: paths.hops(from, to).unwrap_or(0),
                    candidates,
                })
            });
            Ok(Switch {
                node: dc.dci,
                // As in the artifact, the seed is the switch's node id, so that the switches' hashes differ.
                hash_seed: dc.dci.0,
                destinations: destinations.collect::<Result<_, PlanError>>()?,
            })
        })
        .collect()
}

/// Returns the egress ports from host `src` to host `dst`, over the best path between their DCs.
pub(crate) fn host_path(network: &Network, paths: &Paths, src: NodeId, dst: NodeId) -> Vec<PortId> {
    let from = network.node(src).dc;
    let to = network.node(dst).dc;
    host_path_over(network, src, dst, &paths.ports(network, from, to))
}

/// Returns the egress ports from host `src` to host `dst`; `between` lists the ports from the source's DCI switch to
/// the destination's DCI switch. Paths inside a DC are equivalent, so the first port up is used at each node.
pub(crate) fn host_path_over(
    network: &Network,
    src: NodeId,
    dst: NodeId,
    between: &[PortId],
) -> Vec<PortId> {
    let from = network.node(src).dc;
    let to = network.node(dst).dc;
    let up = climb(network, src);
    let down = climb(network, dst);
    let turn = (from == to).then(|| meeting(network, &up, &down));
    let mut path = up[..turn.unwrap_or(up.len())].to_vec();
    path.extend(between);
    let steps = turn.unwrap_or(down.len());
    path.extend(down[..steps].iter().rev().map(|port| port.peer()));
    path
}

/// Returns the egress ports on the way from a host up to its DCI switch.
pub(crate) fn climb(network: &Network, host: NodeId) -> Vec<PortId> {
    let mut path = Vec::new();
    let mut at = host;
    while network.node(at).role != Role::DciSwitch {
        let up = network
            .node(at)
            .ports
            .iter()
            .copied()
            .find(|port| network.link(port.link()).b == at)
            .expect("every node below a DCI switch is linked upwards");
        path.push(up);
        at = network.far_end(up);
    }
    path
}

/// Returns the number of links from a host up to the first switch that it shares with another host in the same DC. `up`
/// and `down` are the two hosts' ports up to the DCI switch.
fn meeting(network: &Network, up: &[PortId], down: &[PortId]) -> usize {
    let together = |(a, b): (&PortId, &PortId)| network.far_end(*a) == network.far_end(*b);
    let met = up.iter().zip(down).position(together);
    met.expect("hosts of one DC meet at its DCI switch at the latest") + 1
}
