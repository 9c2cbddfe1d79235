//! Paths between datacenters: candidate next hops, the best path through each of them, and paths between hosts.
//!
//! Which neighbours are next hops towards a destination is a [`CandidateSet`]. With `fewest-hops`, as in the paper's
//! testbed, they are all neighbours that are one hop nearer, found by breadth-first search over the DCI switches; delay
//! and rate only order them. With `downhill-delay`, they are all neighbours that are strictly nearer by least delay:
//! let d be the least one-way delay to the destination, then neighbour n of s is a next hop if
//!
//! ```text
//! n comes before s, by (d, largest capacity on such a path, fewest links, id)
//! delay(s, n) + d(n) ≤ stretch · d(s)
//! ```
//!
//! and at most `max` of them are kept, those on the best paths. The order is strict also where links without delay make
//! datacenters equally near, and the best next hop always comes before its switch, because its path has one link less.
//! Under these two rules each hop goes to an earlier datacenter in one order of all datacenters, so that packets cannot
//! loop, whatever the switches choose and whichever links are down.
//!
//! With `tunnels`, the next hops are the first links of up to `k` paths to the destination: the best path by the rank
//! above, then the best path over the links that are left, and so on. The other switches follow the path that the first
//! switch has chosen. No two tunnels of a pair share a link, so the link over which a packet arrives names its tunnel
//! (see [`transits`](crate::transits)).
//!
//! The next hops are those at the delays of the scenario's topology: a fault changes the paths' attributes, but not the
//! set, which only [reconvergence](crate::reconvergence) changes. Paths never cross hosts.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use fixedbitset::FixedBitSet;
use lab_policy::MAX_CANDIDATES;
use lab_units::{BitsPerSec, CandidateSet, DcId, LinkId, Nanos, NodeId, PortId, Ratio};

use crate::{
    error::PlanError,
    model::{Candidate, Destination, Role, Switch},
    network::Network,
};

/// Next hops between all datacenters, with the best path over them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paths {
    set: CandidateSet,
    /// Paths by destination.
    towards: Vec<Towards>,
}

/// Paths to one destination.
#[derive(Clone, Debug, PartialEq)]
struct Towards {
    /// Datacenters that can reach the destination: the destination itself, then each after all its next hops.
    order: Vec<DcId>,
    /// Egress ports to the next hops, by source.
    ports: Vec<Vec<PortId>>,
    /// Numbers of next hops beyond the set's maximum, by source.
    left_out: Vec<usize>,
    /// Egress ports of each tunnel, by source; empty with other candidate sets.
    tunnels: Vec<Vec<Vec<PortId>>>,
    /// Best paths over the next hops, by source; `None` if the source cannot reach the destination.
    best: Vec<Option<BestPath>>,
}

/// Best path from a datacenter to a destination.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BestPath {
    hops: u32,
    delay: Nanos,
    /// Smallest link capacity on the path; `None` at the destination itself.
    bottleneck: Option<BitsPerSec>,
    /// First egress port of the path; `None` at the destination itself.
    port: Option<PortId>,
}

/// Sort key that orders paths from best to worst: least delay, then most capacity, then fewest links. A path comes after
/// every path that it extends.
type Rank = (Nanos, Option<Reverse<BitsPerSec>>, u32);

impl BestPath {
    const ARRIVED: Self = Self {
        hops: 0,
        delay: Nanos::ZERO,
        bottleneck: None,
        port: None,
    };

    /// Returns the path over the links of `ports`.
    fn along(network: &Network, ports: &[PortId]) -> Self {
        let links = ports.iter().rev();
        links.fold(Self::ARRIVED, |ahead, &port| ahead.behind(network, port))
    }

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

    fn rank(&self) -> Rank {
        (self.delay, self.bottleneck.map(Reverse), self.hops)
    }

    /// Returns a sort key that differs between any two paths from one datacenter: the rank, then the port number.
    fn order(&self) -> (Rank, Option<PortId>) {
        (self.rank(), self.port)
    }
}

impl Paths {
    /// Finds the next hops that `set` selects at the delays and rates of `network`.
    pub fn find(network: &Network, set: CandidateSet) -> Self {
        let destinations = (0u32..).map(DcId).take(network.dcs.len());
        let towards = match set {
            CandidateSet::FewestHops => destinations.map(|to| fewest_hops(network, to)).collect(),
            CandidateSet::DownhillDelay { stretch, max } => destinations
                .map(|to| downhill(network, to, stretch, max))
                .collect(),
            CandidateSet::Tunnels { k } => tunnels(network, k),
        };
        Self { set, towards }
    }

    /// Returns the paths over the same next hops at the delays and rates of `network`, the network after faults.
    pub fn on(&self, network: &Network) -> Self {
        let mut paths = self.clone();
        for towards in &mut paths.towards {
            towards.best = towards.best_paths(network);
        }
        paths
    }

    /// Returns the next hops in `network` without the links in `down`. A datacenter that cannot reach a destination any
    /// more keeps its next hops in `self`, those before the cuts.
    pub fn without(&self, network: &Network, down: &BTreeSet<LinkId>) -> Self {
        let mut paths = Self::find(&network.without(down), self.set);
        for (towards, before) in paths.towards.iter_mut().zip(&self.towards) {
            towards.keep_unreached(before, network);
        }
        paths
    }

    /// Returns all paths at the start among which the ideal FCT is the least, the first with the least delay: the
    /// candidate set's own for `fewest-hops`, and those of both sets of next hops for `downhill-delay`, so that its ideal
    /// FCTs depend neither on `stretch` nor on `max` and are never above those with `fewest-hops`. With `tunnels`, which
    /// may lead over faster links than any of these paths, the tunnels are added.
    pub fn references(&self, network: &Network) -> Vec<Self> {
        match self.set {
            CandidateSet::FewestHops => vec![self.clone()],
            CandidateSet::DownhillDelay { .. } => vec![
                Self::find(network, UNBOUNDED),
                Self::find(network, CandidateSet::FewestHops),
            ],
            CandidateSet::Tunnels { .. } => vec![
                Self::find(network, UNBOUNDED),
                Self::find(network, CandidateSet::FewestHops),
                self.clone(),
            ],
        }
    }

    /// Adds to `references`, those at the start, the paths that reconvergences allow. `later` are the next hops after each
    /// reconvergence. A path over them can have less delay than all paths at the start, as can all paths that are nearer
    /// by delay.
    pub fn add_later_references(
        &self,
        network: &Network,
        references: &mut Vec<Self>,
        later: impl Iterator<Item = Self>,
    ) {
        let mut later = later.peekable();
        if self.set == CandidateSet::FewestHops && later.peek().is_some() {
            references.push(Self::find(network, UNBOUNDED));
        }
        for paths in later {
            if !references.contains(&paths) {
                references.push(paths);
            }
        }
    }

    pub const fn set(&self) -> CandidateSet {
        self.set
    }

    fn best(&self, at: DcId, to: DcId) -> Option<&BestPath> {
        self.towards[to.index()].best[at.index()].as_ref()
    }

    /// Returns for each datacenter the maximum cost over all its paths to `to`; `None` without a path. A path costs
    /// nothing at its end, and each link before it adds to the cost: `behind` returns the cost of a path that is
    /// extended at its start by the link of a port.
    pub fn max_costs<C: Copy + Default + Ord>(
        &self,
        network: &Network,
        to: DcId,
        behind: impl Fn(C, PortId) -> C,
    ) -> Vec<Option<C>> {
        let towards = &self.towards[to.index()];
        let mut worst: Vec<Option<C>> = vec![None; network.dcs.len()];
        for &at in &towards.order {
            let through = |&port: &PortId| match towards.tunnel(at, port) {
                Some(tunnel) => Some(along(tunnel, &behind)),
                None => Some(behind(worst[network.neighbour(port).dc.index()]?, port)),
            };
            let most = towards.ports[at.index()].iter().filter_map(through).max();
            worst[at.index()] = Some(most.unwrap_or_default());
        }
        worst
    }

    /// Checks that every datacenter can reach `to`.
    ///
    /// # Errors
    /// If a datacenter cannot.
    pub fn check_all_reach(&self, network: &Network, to: DcId) -> Result<(), PlanError> {
        let mut all = (0u32..).map(DcId).take(network.dcs.len());
        all.try_for_each(|from| self.check_reaches(network, from, to))
    }

    /// Checks that `from` can reach `to`.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_reaches(&self, network: &Network, from: DcId, to: DcId) -> Result<(), PlanError> {
        let name = |dc: DcId| network.dcs[dc.index()].name.clone();
        let unreachable = || PlanError::Unreachable {
            from: name(from),
            to: name(to),
        };
        self.best(from, to).map(|_| ()).ok_or_else(unreachable)
    }

    /// Returns the ports of `from` to its next hops towards `to`.
    pub fn next_ports(&self, from: DcId, to: DcId) -> &[PortId] {
        &self.towards[to.index()].ports[from.index()]
    }

    /// Returns the egress ports of each tunnel from `from` to `to`, the best tunnel first; empty with other candidate
    /// sets.
    pub fn tunnels(&self, from: DcId, to: DcId) -> &[Vec<PortId>] {
        let tunnels = self.towards[to.index()].tunnels.get(from.index());
        tunnels.map_or(&[], Vec::as_slice)
    }

    /// Returns the best path from `from` to `to` that starts at `port`.
    fn through(
        &self,
        network: &Network,
        (from, to): (DcId, DcId),
        port: PortId,
    ) -> Option<BestPath> {
        match self.towards[to.index()].tunnel(from, port) {
            Some(tunnel) => Some(BestPath::along(network, tunnel)),
            None => Some(
                self.best(network.neighbour(port).dc, to)?
                    .behind(network, port),
            ),
        }
    }

    /// Returns the number of next hops from `from` to `to` that the set's maximum leaves out.
    pub fn left_out(&self, from: DcId, to: DcId) -> usize {
        self.towards[to.index()].left_out[from.index()]
    }

    /// Returns the row of the switch of `from` for `to`.
    ///
    /// # Errors
    /// If there is no path.
    fn row(&self, network: &Network, from: DcId, to: DcId) -> Result<Destination, PlanError> {
        self.check_reaches(network, from, to)?;
        let ports = self.next_ports(from, to).iter();
        let path = |&port: &PortId| Some((port, self.through(network, (from, to), port)?));
        let paths: Vec<(PortId, BestPath)> = ports.filter_map(path).collect();
        let fewest = paths.iter().map(|(_, path)| path.hops).min().unwrap_or(0);
        let candidate = |&(port, path): &(PortId, BestPath)| {
            let first = &network.link(port.link()).paper;
            Some(Candidate {
                port,
                next_dc: network.neighbour(port).dc,
                extra_hops: path.hops.saturating_sub(fewest),
                paper_delay_ns: path.delay,
                paper_bottleneck_bps: path.bottleneck?,
                paper_first_link_delay_ns: first.delay_ns,
                paper_first_link_bps: first.rate_bps,
            })
        };
        let mut candidates: Vec<Candidate> = paths.iter().filter_map(candidate).collect();
        candidates.sort_by_key(|candidate| (candidate.paper_delay_ns, candidate.port));
        Ok(Destination {
            dc: to,
            hops: fewest,
            candidates,
            tunnels: self.tunnels(from, to).to_vec(),
        })
    }

    /// Returns the DCI switches' egress ports on the best path from `from` to `to`, in order.
    pub fn ports(&self, network: &Network, from: DcId, to: DcId) -> Vec<PortId> {
        let best = |at| self.best(at, to).and_then(|path| path.port);
        let mut next = best(from);
        let tunnel = next.and_then(|port| self.towards[to.index()].tunnel(from, port));
        if let Some(tunnel) = tunnel {
            return tunnel.to_vec();
        }
        let mut ports = Vec::new();
        while let Some(port) = next {
            ports.push(port);
            next = best(network.neighbour(port).dc);
        }
        ports
    }
}

/// Downhill set that leaves out no neighbour that is nearer by delay.
const UNBOUNDED: CandidateSet = CandidateSet::DownhillDelay {
    stretch: Ratio::new(u64::MAX, 1).expect("one is not zero"),
    max: u8::MAX,
};

impl Towards {
    /// Returns the paths over the next hops at `ports`; the parameters are the fields of the same names.
    fn new(
        network: &Network,
        order: Vec<DcId>,
        ports: Vec<Vec<PortId>>,
        left_out: Vec<usize>,
    ) -> Self {
        let mut towards = Self {
            order,
            ports,
            left_out,
            tunnels: Vec::new(),
            best: Vec::new(),
        };
        towards.best = towards.best_paths(network);
        towards
    }

    /// Returns the tunnel from `from` that starts at `port`; `None` with other candidate sets.
    fn tunnel(&self, from: DcId, port: PortId) -> Option<&[PortId]> {
        let tunnels = self.tunnels.get(from.index())?;
        let found = tunnels.iter().find(|tunnel| tunnel.first() == Some(&port));
        found.map(Vec::as_slice)
    }

    /// Copies the next hops of the datacenters that reach the destination only in `before`.
    ///
    /// They come last in the order: none of them is a next hop of a datacenter that still reaches the destination.
    fn keep_unreached(&mut self, before: &Self, network: &Network) {
        let reached: BTreeSet<DcId> = self.order.iter().copied().collect();
        for &at in before.order.iter().filter(|at| !reached.contains(at)) {
            self.order.push(at);
            self.ports[at.index()].clone_from(&before.ports[at.index()]);
            self.left_out[at.index()] = before.left_out[at.index()];
            if let Some(tunnels) = self.tunnels.get_mut(at.index()) {
                tunnels.clone_from(&before.tunnels[at.index()]);
            }
        }
        self.best = self.best_paths(network);
    }

    /// Computes the best path from every datacenter over the next hops.
    fn best_paths(&self, network: &Network) -> Vec<Option<BestPath>> {
        let mut best: Vec<Option<BestPath>> = vec![None; network.dcs.len()];
        for &at in &self.order {
            let through = self.ports[at.index()].iter().filter_map(|&port| {
                if let Some(tunnel) = self.tunnel(at, port) {
                    return Some(BestPath::along(network, tunnel));
                }
                let ahead = best[network.neighbour(port).dc.index()]?;
                Some(ahead.behind(network, port))
            });
            let found = through.min_by_key(BestPath::order);
            best[at.index()] = Some(found.unwrap_or(BestPath::ARRIVED));
        }
        best
    }
}

/// Returns the least one-way delay from each datacenter to `to` over any number of links; `None` without a path.
pub(crate) fn least_delays(network: &Network, to: DcId) -> Vec<Option<Nanos>> {
    let (_, best) = search(network, to, |_, path| path.rank());
    delays(&best)
}

fn delays(best: &[Option<BestPath>]) -> Vec<Option<Nanos>> {
    best.iter().map(|path| Some(path.as_ref()?.delay)).collect()
}

/// Returns the paths to `to` over all neighbours that are one hop nearer.
fn fewest_hops(network: &Network, to: DcId) -> Towards {
    let (order, best) = search(network, to, |_, path| path.hops);
    let hops = |at: DcId| best[at.index()].map(|path| path.hops);
    let is_nearer =
        |at: DcId, next: DcId| hops(next).is_some() && hops(next).map(|it| it + 1) == hops(at);
    let ports = neighbours_that(network, is_nearer);
    Towards::new(network, order, ports, vec![0; network.dcs.len()])
}

/// Returns the paths to `to` over neighbours that are nearer by delay: those whose best path has at most `stretch` times
/// the least delay, and at most `max` of them per datacenter.
fn downhill(network: &Network, to: DcId, stretch: Ratio, max: u8) -> Towards {
    let (order, best) = search(network, to, |_, path| path.rank());
    let mut position = vec![usize::MAX; network.dcs.len()];
    for (place, dc) in order.iter().enumerate() {
        position[dc.index()] = place;
    }
    let mut ports = neighbours_that(network, |at, next| {
        position[next.index()] < position[at.index()]
    });
    let mut left_out = vec![0; network.dcs.len()];
    for (at, ports) in ports.iter_mut().enumerate() {
        let through = |&port: &PortId| {
            let ahead = best[network.neighbour(port).dc.index()]?;
            Some(ahead.behind(network, port))
        };
        let mut paths: Vec<BestPath> = ports.iter().filter_map(through).collect();
        paths.retain(|path| best[at].is_some_and(|own| is_within(path.delay, stretch, own.delay)));
        paths.sort_by_key(BestPath::order);
        left_out[at] = paths.len().saturating_sub(max.into());
        paths.truncate(max.into());
        *ports = paths.iter().filter_map(|path| path.port).collect();
        ports.sort_unstable();
    }
    Towards::new(network, order, ports, left_out)
}

/// Returns up to `k` tunnels for each pair of datacenters, by destination.
fn tunnels(network: &Network, k: u8) -> Vec<Towards> {
    let destinations = (0u32..).map(DcId).take(network.dcs.len());
    let first: Vec<_> = destinations
        .map(|to| search(network, to, |_, path| path.rank()))
        .collect();
    let delays: Vec<Vec<Option<Nanos>>> = first.iter().map(|(_, best)| delays(best)).collect();
    let searched = (0u32..).map(DcId).zip(first);
    let towards = searched.map(|(to, (order, best))| {
        let mut tunnels = vec![Vec::new(); network.dcs.len()];
        for &from in order.iter().filter(|from| **from != to) {
            let path = follow(network, &best, from);
            tunnels[from.index()] =
                tunnels_between(network, [from, to], path, k, &delays[from.index()]);
        }
        of_tunnels(network, order, tunnels)
    });
    towards.collect()
}

/// Returns up to `k` tunnels from `from` to `to`, the first of which is `path`. `least` has the least delay between `from`
/// and each datacenter if no link is taken.
fn tunnels_between(
    network: &Network,
    [from, to]: [DcId; 2],
    mut path: Vec<PortId>,
    k: u8,
    least: &[Option<Nanos>],
) -> Vec<Vec<PortId>> {
    let mut taken = FixedBitSet::with_capacity(network.links.len());
    let mut tunnels = Vec::new();
    while !path.is_empty() {
        taken.extend(path.iter().map(|port| port.link().index()));
        tunnels.push(path);
        let is_left = |link: LinkId| !taken.contains(link.index());
        let has_exit = |dc: DcId| {
            let mut ports = network.ports_to(network.dcs[dc.index()].dci, Role::DciSwitch);
            ports.any(|port| is_left(port.link()))
        };
        if tunnels.len() == usize::from(k) || !has_exit(from) || !has_exit(to) {
            break;
        }
        // A*: the search prefers datacenters towards `from`. `least` never overestimates the rest of a path, because a
        // link has one delay for both directions, and taking links away shortens no path.
        let nearness = |at: DcId, path: &BestPath| {
            let ahead = least[at.index()].unwrap_or(Nanos::new(u64::MAX));
            (path.delay.saturating_add(ahead), path.rank())
        };
        let (_, best) = search_among(network, to, nearness, is_left, Some(from));
        path = follow(network, &best, from);
    }
    tunnels
}

/// Returns the paths over `tunnels`, by source, to one destination.
fn of_tunnels(network: &Network, order: Vec<DcId>, tunnels: Vec<Vec<Vec<PortId>>>) -> Towards {
    let first_ports = |tunnels: &Vec<Vec<PortId>>| {
        let first = tunnels.iter().filter_map(|it| it.first().copied());
        let mut ports: Vec<PortId> = first.collect();
        ports.sort_unstable();
        ports
    };
    let ports = tunnels.iter().map(first_ports).collect();
    let mut towards = Towards {
        order,
        ports,
        left_out: vec![0; network.dcs.len()],
        tunnels,
        best: Vec::new(),
    };
    towards.best = towards.best_paths(network);
    towards
}

/// Returns the egress ports on the path that `best` gives from `from`; empty if there is none.
fn follow(network: &Network, best: &[Option<BestPath>], from: DcId) -> Vec<PortId> {
    let port_at = |at: DcId| best[at.index()].and_then(|path| path.port);
    let next = |port: &PortId| port_at(network.neighbour(*port).dc);
    std::iter::successors(port_at(from), next).collect()
}

/// Returns the cost of the path over the links of `ports`; see [`Paths::max_costs`].
fn along<C: Default>(ports: &[PortId], behind: impl Fn(C, PortId) -> C) -> C {
    ports
        .iter()
        .rev()
        .fold(C::default(), |ahead, &port| behind(ahead, port))
}

/// Returns true if `delay` is at most `stretch` times `least`.
fn is_within(delay: Nanos, stretch: Ratio, least: Nanos) -> bool {
    u128::from(delay.get()) * u128::from(stretch.denominator())
        <= u128::from(least.get()) * u128::from(stretch.numerator())
}

/// Returns the ports of each datacenter to the neighbours for which `is_next` is true, given datacenter and neighbour.
fn neighbours_that(network: &Network, is_next: impl Fn(DcId, DcId) -> bool) -> Vec<Vec<PortId>> {
    let dcs = (0u32..).map(DcId).zip(&network.dcs);
    let ports = dcs.map(|(at, dc)| {
        let ports = network.ports_to(dc.dci, Role::DciSwitch);
        ports
            .filter(|&port| is_next(at, network.neighbour(port).dc))
            .collect()
    });
    ports.collect()
}

/// Returns the datacenters that can reach `to`, from the nearest to the farthest, and the best path from each
/// (Dijkstra's algorithm). `nearness` must increase with each link that is added at a path's start; datacenters that
/// are equally near come in the order of ids.
fn search<N: Ord>(
    network: &Network,
    to: DcId,
    nearness: impl Fn(DcId, &BestPath) -> N,
) -> (Vec<DcId>, Vec<Option<BestPath>>) {
    search_among(network, to, nearness, |_| true, None)
}

/// Searches as [`search`] does, over the links for which `is_open` is true. With `last`, the search ends once the best
/// path from there is known, and paths from farther datacenters are not final.
fn search_among<N: Ord>(
    network: &Network,
    to: DcId,
    nearness: impl Fn(DcId, &BestPath) -> N,
    is_open: impl Fn(LinkId) -> bool,
    last: Option<DcId>,
) -> (Vec<DcId>, Vec<Option<BestPath>>) {
    let mut best: Vec<Option<BestPath>> = vec![None; network.dcs.len()];
    best[to.index()] = Some(BestPath::ARRIVED);
    let mut is_done = vec![false; network.dcs.len()];
    let mut open = BinaryHeap::from([Reverse((nearness(to, &BestPath::ARRIVED), to))]);
    let mut order = Vec::new();
    while let Some(Reverse((_, at))) = open.pop() {
        // The heap can hold several paths of one datacenter: the best comes first, and the others are skipped.
        let Some(ahead) = best[at.index()].filter(|_| !is_done[at.index()]) else {
            continue;
        };
        is_done[at.index()] = true;
        order.push(at);
        if last == Some(at) {
            break;
        }
        let inbound = network.ports_to(network.dcs[at.index()].dci, Role::DciSwitch);
        for inbound in inbound.filter(|port| is_open(port.link())) {
            let from = network.neighbour(inbound).dc;
            if is_done[from.index()] {
                continue;
            }
            let path = ahead.behind(network, inbound.peer());
            let found = (nearness(from, &path), path.order());
            let known = best[from.index()].map(|known| (nearness(from, &known), known.order()));
            if known.is_none_or(|known| found < known) {
                best[from.index()] = Some(path);
                open.push(Reverse((found.0, from)));
            }
        }
    }
    (order, best)
}

/// Returns the routing state of every DCI switch.
pub(crate) fn switches(network: &Network, paths: &Paths) -> Result<Vec<Switch>, PlanError> {
    let all = || (0u32..).map(DcId).zip(&network.dcs);
    all()
        .map(|(from, dc)| {
            let others = all().filter(|(to, dc)| *to != from && !dc.hosts.is_empty());
            let destinations = others.map(|(to, _)| {
                let row = paths.row(network, from, to)?;
                let found = row.candidates.len();
                if found > MAX_CANDIDATES {
                    return Err(PlanError::TooManyNextHops {
                        from: dc.name.clone(),
                        to: network.dcs[to.index()].name.clone(),
                        found,
                        max: MAX_CANDIDATES,
                    });
                }
                Ok(row)
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
