//! Next hops and capacities of the DCI switches, as traffic engineering and trained policies see them.

use lab_te::{Egress, NextHops, Topology};
use lab_units::{BitsPerSec, PortId};

use super::network::Network;
use crate::model::{Destination, Link, LinkKind, Plan, Switch};

impl Plan {
    /// Returns the next hops of all DCI switches. Switches are numbered by datacenter, and directed links by the port
    /// through which they leave.
    #[must_use]
    pub fn te_topology(&self) -> Topology {
        te_topology(&Network::of(self), &self.switches)
    }

    /// Returns the next hops of all DCI switches after the first `count` reconvergences, numbered as in
    /// [`Plan::te_topology`].
    #[must_use]
    pub fn te_topology_after(&self, count: usize) -> Topology {
        let mut switches = self.switches.clone();
        for change in self.reconvergences.iter().take(count) {
            change.apply(&mut switches);
        }
        te_topology(&Network::of(self), &switches)
    }

    /// Returns the capacity of every directed link of [`Plan::te_topology`] before scaling; `None` for a link inside a
    /// datacenter.
    #[must_use]
    pub fn paper_te_capacities(&self) -> Vec<Option<BitsPerSec>> {
        paper_capacities(&self.links)
    }

    /// Returns the capacity of every directed link of [`Plan::te_topology`], emulated; `None` for a link inside a
    /// datacenter.
    #[must_use]
    pub fn te_capacities(&self) -> Vec<Option<BitsPerSec>> {
        capacities(&self.links, |link| link.emu.rate_bps)
    }

    /// Returns the largest rate of an inter-DC link, emulated, to which trained weights relate demands; `None` without
    /// inter-DC links.
    #[must_use]
    pub fn largest_te_rate(&self) -> Option<BitsPerSec> {
        self.te_capacities().into_iter().flatten().max()
    }
}

pub(crate) fn te_topology(network: &Network, switches: &[Switch]) -> Topology {
    let rows = switches.iter().map(|switch| {
        let is_alike = network.dcs[network.nodes[switch.node.index()].dc.index()].legacy;
        let egress = |port: PortId| Egress {
            link: port.index(),
            next: network.neighbour(port).dc.index(),
        };
        let next_hops = |row: &Destination| NextHops {
            to: row.dc.index(),
            hops: row.candidates.iter().map(|it| egress(it.port)).collect(),
            rests: {
                let behind = row
                    .candidates
                    .iter()
                    .filter_map(|it| row.rest_of_tunnel(it.port));
                behind
                    .map(|ports| ports.iter().copied().map(egress).collect())
                    .collect()
            },
            is_alike,
        };
        switch.destinations.iter().map(next_hops).collect()
    });
    Topology::new(rows.collect())
}

pub(crate) fn paper_capacities(links: &[Link]) -> Vec<Option<BitsPerSec>> {
    capacities(links, |link| link.paper.rate_bps)
}

fn capacities(links: &[Link], rate: impl Fn(&Link) -> BitsPerSec) -> Vec<Option<BitsPerSec>> {
    let both = links.iter().flat_map(|link| {
        let rate = (link.kind == LinkKind::InterDc).then(|| rate(link));
        [rate; 2]
    });
    both.collect()
}
