//! All paths that the switches' tables allow: each switch on a path may choose any of its candidates.

use std::collections::BTreeMap;

use lab_units::{DcId, Nanos, PortId};

use crate::{
    ideal::{self, Hop},
    network::Network,
    paths::Paths,
};

/// Paths from all DCI switches to one, by source; a path is left out if another one is at least as fast for every
/// transfer.
pub(crate) struct TablePaths {
    to: DcId,
    from: BTreeMap<DcId, Vec<TablePath>>,
}

/// A path between two DCI switches, as its egress ports and links.
#[derive(Clone, Debug)]
struct TablePath {
    ports: Vec<PortId>,
    hops: Vec<Hop>,
}

impl TablePaths {
    /// Creates the paths to the DCI switch of `to`, which are found when they are asked for.
    pub const fn to(to: DcId) -> Self {
        Self {
            to,
            from: BTreeMap::new(),
        }
    }

    /// Returns the egress ports of the DCI switches on each path from `from`.
    pub fn from<'a>(
        &'a mut self,
        network: &Network,
        paths: &Paths,
        from: DcId,
    ) -> impl Iterator<Item = &'a [PortId]> + 'a {
        let found = self.find(network, paths, from);
        found.iter().map(|path| path.ports.as_slice())
    }

    fn find(&mut self, network: &Network, paths: &Paths, from: DcId) -> &[TablePath] {
        if !self.from.contains_key(&from) {
            let mut found = Vec::new();
            for tunnel in paths.tunnels(from, self.to) {
                TablePath::over(network, tunnel.clone()).join(&mut found);
            }
            // Where there are tunnels, the switches on the way do not choose.
            let choices = if found.is_empty() {
                paths.next_ports(from, self.to)
            } else {
                &[]
            };
            for &port in choices {
                let next = network.neighbour(port).dc;
                let start = TablePath::over(network, vec![port]);
                if next == self.to {
                    start.join(&mut found);
                    continue;
                }
                for rest in self.find(network, paths, next) {
                    start.followed_by(rest).join(&mut found);
                }
            }
            self.from.insert(from, found);
        }
        &self.from[&from]
    }
}

impl TablePath {
    fn over(network: &Network, ports: Vec<PortId>) -> Self {
        let hops = ideal::hops(network, &ports);
        Self { ports, hops }
    }

    fn followed_by(&self, rest: &Self) -> Self {
        Self {
            ports: [&*self.ports, &*rest.ports].concat(),
            hops: [&*self.hops, &*rest.hops].concat(),
        }
    }

    fn delay(&self) -> Nanos {
        self.hops.iter().map(|hop| hop.delay).sum()
    }

    /// Returns true if every transfer ends at least as soon on this path as on `other`: this path's total delay is not
    /// longer, and each of its links has a link of `other` that is not faster, in the same order. Each packet then waits
    /// and is sent on `other` for at least as long, and the links of `other` that are left over only add time.
    fn beats(&self, other: &Self) -> bool {
        let mut others = other.hops.iter();
        self.delay() <= other.delay()
            && (self.hops.iter()).all(|hop| others.any(|other| hop.rate >= other.rate))
    }

    /// Adds this path to `paths` unless one of `paths` beats this path; removes the paths that this path beats.
    fn join(self, paths: &mut Vec<Self>) {
        if !paths.iter().any(|path| path.beats(&self)) {
            paths.retain(|path| !self.beats(path));
            paths.push(self);
        }
    }
}
