//! Rates and delays of links in each interval between two faults.

use std::{cmp::Reverse, collections::BTreeMap};

use lab_units::{DcId, Nanos, NodeId};

use crate::{
    faults::PlannedFault,
    ideal::{self, Hop, HostPath, TransferPaths},
    network::Network,
    paths::{self, Paths},
    table_paths::TablePaths,
};

/// States of the network during a run; a new period with a constant state (epoch) begins with each change of a link's
/// rate or delay, and with the first reconvergence. Paths are kept for one destination at a time, so they should be
/// asked for by destination.
pub(crate) struct Networks {
    /// Epochs in order of time; the first begins at 0.
    epochs: Vec<Epoch>,
    /// Next hops over which ideal paths lead: first the [`Paths::references`], then those that count only from the first
    /// reconvergence on.
    references: Vec<Paths>,
    /// Number of references that count before any reconvergence.
    initial: usize,
    /// True if the flows are READs, whose requests go from their destinations to their sources.
    has_requests: bool,
    /// Cache of networks in which each link has its best (maximum) rate and best (minimum) delay over a range of
    /// epochs; the key is the first and the last epoch.
    best: BTreeMap<(usize, usize), Combined>,
}

struct Epoch {
    /// Emulated time at which the epoch begins.
    at: Nanos,
    network: Network,
    /// True if switches have had new candidates by then.
    is_reconverged: bool,
}

/// Network with each link's best (maximum) rate and best (minimum) delay over a range of epochs, and the paths to one
/// host in it: those between all pairs would take gigabytes with hundreds of datacenters.
struct Combined {
    network: Network,
    references: Vec<Paths>,
    /// Paths to the datacenter that was asked for last, over each of the references.
    to_dc: Option<(DcId, Vec<TablePaths>)>,
    /// Paths to the host that was asked for last, by the sending host.
    to_host: Option<(NodeId, BTreeMap<NodeId, TransferPaths>)>,
    /// Least times of an ACK to each datacenter's DCI switch, see [`least_acks`].
    acks: BTreeMap<DcId, Vec<u128>>,
}

impl Networks {
    /// Returns the states of a network that starts as `network`, with the next hops in `paths` and, after each
    /// reconvergence, those in `later` with their emulated time, and then undergoes `changes`. `has_requests` says whether
    /// the flows are READs.
    pub fn new(
        network: &Network,
        paths: &Paths,
        later: impl Iterator<Item = (Nanos, Paths)>,
        changes: &[PlannedFault],
        has_requests: bool,
    ) -> Self {
        let mut later = later.peekable();
        let reconvergence = later.peek().map(|(at, _)| *at);
        let mut references = paths.references(network);
        let initial = references.len();
        paths.add_later_references(network, &mut references, later.map(|(_, paths)| paths));
        Self {
            epochs: epochs(network, changes, reconvergence),
            references,
            initial,
            has_requests,
            best: BTreeMap::new(),
        }
    }

    /// Returns the path with the least delay between two hosts, before any fault.
    pub fn first(&mut self, src: NodeId, dst: NodeId) -> &[Hop] {
        &self.all((0, 0), src, dst).data[0].hops
    }

    /// Returns the ideal FCT of a flow between two hosts that starts at `start`. `alone` computes the FCT of the flow
    /// alone in a network without faults, given all paths between the hosts, the path with the least delay first.
    ///
    /// A flow that ends before the next fault uses the network as it is at the flow's start. A flow that is still
    /// running at a fault takes at least the time until the fault, and at least the FCT that it would have if each link
    /// had the better rate and the better delay of the states before and after. The ideal FCT is the minimum over these
    /// cases, a lower bound for every change while the flow runs. The first reconvergence counts as such a change, after
    /// which the paths by the tables after every reconvergence are allowed.
    pub fn ideal(
        &mut self,
        (src, dst): (NodeId, NodeId),
        start: Nanos,
        alone: impl Fn(&TransferPaths) -> Nanos,
    ) -> Nanos {
        let first = self.epochs.partition_point(|epoch| epoch.at <= start) - 1;
        let mut ideal = alone(self.all((first, first), src, dst));
        for last in first + 1..self.epochs.len() {
            let until = self.epochs[last].at.saturating_sub(start);
            if until >= ideal {
                break;
            }
            ideal = ideal.min(until.max(alone(self.all((first, last), src, dst))));
        }
        ideal
    }

    /// Returns the paths that the references' tables allow between two hosts, with each link's best rate and delay over
    /// an epoch range; the path that has the least delay before any reconvergence is first.
    fn all(&mut self, (first, last): (usize, usize), src: NodeId, dst: NodeId) -> &TransferPaths {
        let epochs = &self.epochs[first..=last];
        let references = match epochs {
            [.., epoch] if epoch.is_reconverged => &self.references[..],
            _ => &self.references[..self.initial],
        };
        let combined = self.best.entry((first, last)).or_insert_with(|| {
            let network = best_of(epochs);
            Combined {
                references: references.iter().map(|paths| paths.on(&network)).collect(),
                network,
                to_dc: None,
                to_host: None,
                acks: BTreeMap::new(),
            }
        });
        combined.between(src, dst, self.has_requests)
    }
}

impl Combined {
    /// Returns the paths that the references' tables allow between two hosts; the path that has the least delay before any
    /// reconvergence is first.
    fn between(&mut self, src: NodeId, dst: NodeId, has_requests: bool) -> &TransferPaths {
        let Self {
            network,
            references,
            to_dc,
            to_host,
            acks,
        } = self;
        let from = network.node(src).dc;
        let to = network.node(dst).dc;
        to_dc.take_if(|(latest, _)| *latest != to);
        to_host.take_if(|(latest, _)| *latest != dst);
        let tables_to = |dc| references.iter().map(|_| TablePaths::to(dc)).collect();
        let (_, tables) = to_dc.get_or_insert_with(|| (to, tables_to(to)));
        let (_, paths) = to_host.get_or_insert_with(|| (dst, BTreeMap::new()));
        paths.entry(src).or_insert_with(|| {
            let data = host_paths(network, references, tables, (src, dst));
            let requests = if has_requests {
                host_paths(network, references, &mut tables_to(from), (dst, src))
            } else {
                Vec::new()
            };
            let acks = acks
                .entry(from)
                .or_insert_with(|| least_acks(network, references, from));
            // All paths between two hosts have the same links inside datacenters.
            let local = ideal::hops(network, &paths::host_path_over(network, src, dst, &[]));
            let local_ack: u128 = local.iter().map(ideal::ack_time).sum();
            TransferPaths {
                data,
                ack: local_ack + acks[to.index()],
                requests,
            }
        })
    }
}

/// Returns the epochs of a network that starts as `network` and undergoes `changes`, with the time of the first
/// reconvergence.
fn epochs(network: &Network, changes: &[PlannedFault], reconvergence: Option<Nanos>) -> Vec<Epoch> {
    let epoch = |at, network: &Network| Epoch {
        at,
        network: network.clone(),
        is_reconverged: false,
    };
    let mut epochs = vec![epoch(Nanos::ZERO, network)];
    let mut now = network.clone();
    for change in changes {
        if !change.apply(&mut now) {
            continue;
        }
        match epochs.last_mut() {
            Some(last) if last.at == change.at() => last.network.clone_from(&now),
            _ => epochs.push(epoch(change.at(), &now)),
        }
    }
    if let Some(at) = reconvergence {
        let first = epochs.partition_point(|epoch| epoch.at < at);
        if epochs.get(first).is_none_or(|epoch| epoch.at > at) {
            let before = epoch(at, &epochs[first - 1].network);
            epochs.insert(first, before);
        }
        for epoch in &mut epochs[first..] {
            epoch.is_reconverged = true;
        }
    }
    epochs
}

/// Returns the paths that the references' tables allow between two hosts; the path that has the least delay by the first
/// reference is first. `tables` holds the paths to the receiving host's datacenter, over each of the references.
fn host_paths(
    network: &Network,
    references: &[Paths],
    tables: &mut [TablePaths],
    (src, dst): (NodeId, NodeId),
) -> Vec<HostPath> {
    let from = network.node(src).dc;
    let best = paths::host_path(network, &references[0], src, dst);
    let mut all = vec![best];
    for (paths, tables) in references.iter().zip(tables) {
        let allowed = tables.from(network, paths, from);
        for ports in allowed.map(|it| paths::host_path_over(network, src, dst, it)) {
            if !all.contains(&ports) {
                all.push(ports);
            }
        }
    }
    let host_path = |ports: &Vec<_>| HostPath::new(ideal::hops(network, ports));
    all.iter().map(host_path).collect()
}

/// Returns the least time of an ACK in picoseconds from each DCI switch to that of `to`; 0 from `to` itself and where there is
/// no path.
fn least_acks(network: &Network, references: &[Paths], to: DcId) -> Vec<u128> {
    let mut least: Vec<Option<u128>> = vec![None; network.dcs.len()];
    for paths in references {
        // The largest reversed cost is the least cost.
        let costs = paths.max_costs(network, to, |Reverse(ahead): Reverse<u128>, port| {
            Reverse(ahead + ideal::ack_time(&ideal::hop(network, port)))
        });
        for (least, cost) in least.iter_mut().zip(costs) {
            let cost = cost.map(|Reverse(cost)| cost);
            *least = [*least, cost].into_iter().flatten().min();
        }
    }
    least.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns a network in which each link has its maximum rate and minimum delay over `epochs`.
fn best_of(epochs: &[Epoch]) -> Network {
    let mut best = epochs[0].network.clone();
    for epoch in &epochs[1..] {
        for (link, other) in best.links.iter_mut().zip(&epoch.network.links) {
            for (wire, other) in [(&mut link.paper, &other.paper), (&mut link.emu, &other.emu)] {
                wire.rate_bps = wire.rate_bps.max(other.rate_bps);
                wire.delay_ns = wire.delay_ns.min(other.delay_ns);
            }
        }
    }
    best
}
