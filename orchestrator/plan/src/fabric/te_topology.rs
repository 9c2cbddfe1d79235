//! The switches' next hops as traffic engineering and trained policies see them.

use lab_te::{Egress, NextHops, Topology};
use lab_units::BitsPerSec;

use crate::model::{LinkKind, Plan};

impl Plan {
    /// Returns the next hops of all DCI switches. Switches are numbered by datacenter, and directed links by the port
    /// through which they leave.
    #[must_use]
    pub fn te_topology(&self) -> Topology {
        let rows = self.switches.iter().map(|switch| {
            let is_alike = self.dcs[self.nodes[switch.node.index()].dc.index()].legacy;
            switch
                .destinations
                .iter()
                .map(|row| NextHops {
                    to: row.dc.index(),
                    hops: row
                        .candidates
                        .iter()
                        .map(|candidate| Egress {
                            link: candidate.port.index(),
                            next: candidate.next_dc.index(),
                        })
                        .collect(),
                    is_alike,
                })
                .collect()
        });
        Topology::new(rows.collect())
    }

    /// Returns the capacity of every directed link of [`Plan::te_topology`], in paper units; `None` for a link inside a
    /// datacenter.
    #[must_use]
    pub fn paper_te_capacities(&self) -> Vec<Option<BitsPerSec>> {
        let both = self.links.iter().flat_map(|link| {
            let rate = (link.kind == LinkKind::InterDc).then_some(link.paper.rate_bps);
            [rate; 2]
        });
        both.collect()
    }
}
