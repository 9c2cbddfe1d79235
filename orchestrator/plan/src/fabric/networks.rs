//! Rates and delays of links in each interval between two faults.

use std::collections::BTreeMap;

use lab_units::{Nanos, NodeId};

use crate::{
    faults::PlannedFault,
    ideal::{self, Hop, HostPath},
    network::Network,
    paths::{self, Paths},
    table_paths::TablePaths,
};

/// States of the network during a run; a new period with a constant state (epoch) begins with each change of a link's
/// rate or delay.
pub(crate) struct Networks {
    /// Network state of each epoch, with the emulated time at which the epoch begins; the first begins at 0.
    epochs: Vec<(Nanos, Network)>,
    /// Next hops over which ideal paths lead, see [`Paths::references`].
    references: Vec<Paths>,
    /// Cache of networks in which each link has its best (maximum) rate and best (minimum) delay over a range of
    /// epochs; the key is the first and the last epoch.
    best: BTreeMap<(usize, usize), Combined>,
}

/// Network with each link's best (maximum) rate and best (minimum) delay over a range of epochs, and the paths between
/// hosts in it.
struct Combined {
    network: Network,
    /// Paths over each of the references, and all paths that they allow.
    tables: Vec<(Paths, TablePaths)>,
    between: BTreeMap<(NodeId, NodeId), Vec<HostPath>>,
}

impl Networks {
    /// Returns the states of a network that starts as `network`, with the next hops in `paths` and, after each
    /// reconvergence, those in `later`, and then undergoes `changes`.
    pub fn new(
        network: &Network,
        paths: &Paths,
        later: impl Iterator<Item = Paths>,
        changes: &[PlannedFault],
    ) -> Self {
        let mut epochs = vec![(Nanos::ZERO, network.clone())];
        let mut now = network.clone();
        for change in changes {
            if !change.apply(&mut now) {
                continue;
            }
            match epochs.last_mut() {
                Some((at, network)) if *at == change.at() => network.clone_from(&now),
                _ => epochs.push((change.at(), now.clone())),
            }
        }
        Self {
            epochs,
            references: paths.references(network, later),
            best: BTreeMap::new(),
        }
    }

    /// Returns the path with the least delay between two hosts, before any fault.
    pub fn first(&mut self, src: NodeId, dst: NodeId) -> &[Hop] {
        &self.all((0, 0), src, dst)[0].hops
    }

    /// Returns the ideal FCT of a flow between two hosts that starts at `start`. `alone` computes the FCT of the flow
    /// alone in a network without faults, given all paths between the hosts, the path with the least delay first.
    ///
    /// A flow that ends before the next fault uses the network as it is at the flow's start. A flow that is still
    /// running at a fault takes at least the time until the fault, and at least the FCT that it would have if each link
    /// had the better rate and the better delay of the states before and after. The ideal FCT is the minimum over these
    /// cases, a lower bound for every change while the flow runs.
    pub fn ideal(
        &mut self,
        (src, dst): (NodeId, NodeId),
        start: Nanos,
        alone: impl Fn(&[HostPath]) -> Nanos,
    ) -> Nanos {
        let first = self.epochs.partition_point(|(at, _)| *at <= start) - 1;
        let mut ideal = alone(self.all((first, first), src, dst));
        for last in first + 1..self.epochs.len() {
            let until = self.epochs[last].0.saturating_sub(start);
            if until >= ideal {
                break;
            }
            ideal = ideal.min(until.max(alone(self.all((first, last), src, dst))));
        }
        ideal
    }

    /// Returns the paths that the references' tables allow between two hosts, with each link's best rate and delay over
    /// an epoch range; the path with the least delay is first.
    fn all(&mut self, (first, last): (usize, usize), src: NodeId, dst: NodeId) -> &[HostPath] {
        let epochs = &self.epochs;
        let references = &self.references;
        let combined = self.best.entry((first, last)).or_insert_with(|| {
            let network = best_of(&epochs[first..=last]);
            let tables = references
                .iter()
                .map(|paths| (paths.on(&network), TablePaths::default()));
            Combined {
                tables: tables.collect(),
                network,
                between: BTreeMap::new(),
            }
        });
        let network = &combined.network;
        let tables = &mut combined.tables;
        combined.between.entry((src, dst)).or_insert_with(|| {
            let from = network.node(src).dc;
            let to = network.node(dst).dc;
            let best = paths::host_path(network, &tables[0].0, src, dst);
            let mut all = vec![best];
            for (paths, tables) in tables {
                let allowed = tables.between(network, paths, from, to);
                for ports in allowed.map(|it| paths::host_path_over(network, src, dst, it)) {
                    if !all.contains(&ports) {
                        all.push(ports);
                    }
                }
            }
            let host_path = |ports: &Vec<_>| HostPath::new(ideal::hops(network, ports));
            all.iter().map(host_path).collect()
        })
    }
}

/// Returns a network in which each link has its maximum rate and minimum delay over `epochs`.
fn best_of(epochs: &[(Nanos, Network)]) -> Network {
    let mut best = epochs[0].1.clone();
    for (_, network) in &epochs[1..] {
        for (link, other) in best.links.iter_mut().zip(&network.links) {
            for (wire, other) in [(&mut link.paper, &other.paper), (&mut link.emu, &other.emu)] {
                wire.rate_bps = wire.rate_bps.max(other.rate_bps);
                wire.delay_ns = wire.delay_ns.min(other.delay_ns);
            }
        }
    }
    best
}
