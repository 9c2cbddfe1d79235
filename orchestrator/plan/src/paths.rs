//! Paths between datacenters: candidate next hops, what is behind them, paths between hosts.
//!
//! As in the paper's testbed, the next hops of a destination are all neighbours one hop nearer to
//! it, found by breadth-first search over the DCI switches; delay and rate play no part in which
//! there are, only in their order. Hosts never transit.

use std::{cmp::Reverse, collections::VecDeque};

use lab_units::{BitsPerSec, DcId, Nanos, NodeId, PortId};

use crate::{
    error::PlanError,
    model::{Candidate, Destination, Role, Switch},
    network::Network,
};

/// Equal-hop ways between all datacenters.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// By destination, then by the DC one is in.
    towards: Vec<Vec<Option<Stage>>>,
}

/// What is ahead of a DC on its best way to a destination.
#[derive(Clone, Copy, Debug)]
struct Stage {
    hops: u32,
    delay: Nanos,
    /// `None` at the destination itself: nothing limits.
    bottleneck: Option<BitsPerSec>,
    /// `None` at the destination itself.
    port: Option<PortId>,
}

impl Stage {
    const ARRIVED: Self = Self {
        hops: 0,
        delay: Nanos::ZERO,
        bottleneck: None,
        port: None,
    };

    /// This stage, reached over `port`'s link.
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

    /// Less is better: delay, then capacity, then the port's number.
    fn rank(&self) -> (Nanos, Reverse<Option<BitsPerSec>>, Option<PortId>) {
        (self.delay, Reverse(self.bottleneck), self.port)
    }
}

impl Paths {
    pub fn find(network: &Network) -> Self {
        let towards = (0u32..)
            .map(DcId)
            .take(network.dcs.len())
            .map(|to| stages(network, to))
            .collect();
        Self { towards }
    }

    fn stage(&self, at: DcId, to: DcId) -> Option<&Stage> {
        self.towards[to.index()][at.index()].as_ref()
    }

    /// Links between DCI switches from `from` to `to`.
    pub fn hops(&self, from: DcId, to: DcId) -> Option<u32> {
        self.stage(from, to).map(|stage| stage.hops)
    }

    /// Next hops from `from` to `to`, by increasing delay, then port.
    pub fn candidates(
        &self,
        network: &Network,
        from: DcId,
        to: DcId,
    ) -> Result<Vec<Candidate>, PlanError> {
        let hops = self.stage(from, to).ok_or_else(|| {
            let name = |dc: DcId| network.dcs[dc.index()].name.clone();
            PlanError::Unreachable {
                from: name(from),
                to: name(to),
            }
        })?;
        let dci = network.dcs[from.index()].dci;
        let candidate = |port: PortId| {
            let next_dc = network.neighbour(port).dc;
            let stage = self.stage(next_dc, to)?.behind(network, port);
            let first = &network.link(port.link()).paper;
            (stage.hops == hops.hops).then_some(Candidate {
                port,
                next_dc,
                paper_delay_ns: stage.delay,
                paper_bottleneck_bps: stage.bottleneck?,
                paper_first_link_delay_ns: first.delay_ns,
                paper_first_link_bps: first.rate_bps,
            })
        };
        let ports = network.ports_to(dci, Role::DciSwitch);
        let mut candidates: Vec<_> = ports.filter_map(candidate).collect();
        candidates.sort_by_key(|candidate| (candidate.paper_delay_ns, candidate.port));
        Ok(candidates)
    }

    /// Egress ports of DCI switches on the best way from `from` to `to`, first over `first` if
    /// given.
    pub fn ports(
        &self,
        network: &Network,
        from: DcId,
        to: DcId,
        first: Option<PortId>,
    ) -> Vec<PortId> {
        let best = |at| self.stage(at, to).and_then(|stage| stage.port);
        let mut next = first.or_else(|| best(from));
        let mut ports = Vec::new();
        while let Some(port) = next {
            ports.push(port);
            next = best(network.neighbour(port).dc);
        }
        ports
    }
}

/// The best stage at every DC that can reach `to`.
fn stages(network: &Network, to: DcId) -> Vec<Option<Stage>> {
    let mut stages: Vec<Option<Stage>> = vec![None; network.dcs.len()];
    stages[to.index()] = Some(Stage::ARRIVED);
    let mut queue = VecDeque::from([to]);
    while let Some(at) = queue.pop_front() {
        // Breadth first: whoever reaches `at` in fewer hops has been here, so its stage is final.
        let Some(ahead) = stages[at.index()] else {
            continue;
        };
        for inbound in network.ports_to(network.dcs[at.index()].dci, Role::DciSwitch) {
            let from = network.neighbour(inbound).dc;
            let stage = ahead.behind(network, inbound.peer());
            match &mut stages[from.index()] {
                unseen @ None => {
                    *unseen = Some(stage);
                    queue.push_back(from);
                }
                Some(known) if known.hops == stage.hops && stage.rank() < known.rank() => {
                    *known = stage;
                }
                Some(_) => {}
            }
        }
    }
    stages
}

/// The routing state of every DCI switch.
pub(crate) fn switches(network: &Network, paths: &Paths) -> Result<Vec<Switch>, PlanError> {
    let all = || (0u32..).map(DcId).zip(&network.dcs);
    all()
        .map(|(from, dc)| {
            let others = all().filter(|(to, dc)| *to != from && !dc.hosts.is_empty());
            let destinations = others.map(|(to, _)| {
                let candidates = paths.candidates(network, from, to)?;
                Ok(Destination {
                    dc: to,
                    hops: paths.hops(from, to).unwrap_or(0),
                    candidates,
                })
            });
            Ok(Switch {
                node: dc.dci,
                // As in the artifact: the switch's node id, so that switches hash apart.
                hash_seed: dc.dci.0,
                destinations: destinations.collect::<Result<_, PlanError>>()?,
            })
        })
        .collect()
}

/// Egress ports from `src` to `dst`, over the best way between their DCs, first over `first` if
/// given. Inside a DC all ways are alike, so the first of each tier stands for them.
pub(crate) fn host_path(
    network: &Network,
    paths: &Paths,
    src: NodeId,
    dst: NodeId,
    first: Option<PortId>,
) -> Vec<PortId> {
    let (from, to) = (network.node(src).dc, network.node(dst).dc);
    let up = climb(network, src);
    let down = climb(network, dst);
    let turn = (from == to).then(|| meeting(network, &up, &down));
    let steps = turn.unwrap_or(up.len());
    let mut path: Vec<_> = up[..steps].to_vec();
    path.extend(paths.ports(network, from, to, first.filter(|_| from != to)));
    let steps = turn.unwrap_or(down.len());
    path.extend(down[..steps].iter().rev().map(|port| port.peer()));
    path
}

/// Egress ports from a host up to its DCI switch.
pub(crate) fn climb(network: &Network, host: NodeId) -> Vec<PortId> {
    let mut path = Vec::new();
    let mut at = host;
    while network.node(at).role != Role::DciSwitch {
        let mut ports = network.node(at).ports.iter().copied();
        let up = ports.find(|port| network.link(port.link()).b == at);
        let up = up.expect("every node below a DCI switch is linked upwards");
        path.push(up);
        at = network.far_end(up);
    }
    path
}

/// After how many steps up two hosts of one DC meet.
fn meeting(network: &Network, up: &[PortId], down: &[PortId]) -> usize {
    let together = |(a, b): (&PortId, &PortId)| network.far_end(*a) == network.far_end(*b);
    let met = up.iter().zip(down).position(together);
    met.expect("hosts of one DC meet at its DCI switch at the latest") + 1
}
