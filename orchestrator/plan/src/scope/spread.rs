//! Load of the inter-DC links if every switch splits the demands evenly over its candidates, as ECMP does on average.

use std::collections::BTreeMap;

use lab_units::{DcId, PortId};
use serde::Serialize;

use super::{routing::Routing, utilisation::Utilisation};
use crate::{demand::Demand, network::Network};

/// Direction of an inter-DC link with the mean rate that the workloads offer to it, in paper units.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LoadedLink {
    pub link: String,
    /// Datacenter at which the direction begins.
    pub from: String,
    #[serde(flatten)]
    pub load: Utilisation,
    /// Line of the link in the scenario, from 1.
    pub line: Option<usize>,
}

/// Returns the mean rate that `demands` offer from each source datacenter, by destination.
pub(crate) fn by_destination(
    routing: Routing<'_>,
    demands: &[Demand],
) -> BTreeMap<DcId, BTreeMap<DcId, u64>> {
    let mut by_destination: BTreeMap<DcId, BTreeMap<DcId, u64>> = BTreeMap::new();
    for demand in demands {
        let from = routing.network.node(demand.host).dc;
        for (to, bps) in demand.shares() {
            add(by_destination.entry(to).or_default(), from, bps);
        }
    }
    by_destination
}

/// Mean rate at each port, in bits per second.
pub(crate) struct PortRates(Vec<u64>);

impl PortRates {
    /// Returns a rate of zero for each port of `network`.
    pub fn none(network: &Network) -> Self {
        Self(vec![0; network.ports.len()])
    }

    pub fn add(&mut self, port: PortId, bps: u64) {
        let rate = &mut self.0[port.index()];
        *rate = rate.saturating_add(bps);
    }

    /// Returns the ports with a rate above zero, in the order of ids.
    pub fn loaded(self) -> impl Iterator<Item = (PortId, u64)> {
        let all = (0u32..).map(PortId).zip(self.0);
        all.filter(|(_, bps)| *bps > 0)
    }
}

/// Returns the mean rate at each egress port if every switch splits the demands evenly over its candidates.
pub(crate) fn even(routing: Routing<'_>, demands: &[Demand]) -> PortRates {
    let mut offered = PortRates::none(routing.network);
    for (to, sources) in by_destination(routing, demands) {
        let mut at = vec![0_u64; routing.switches.len()];
        for (from, bps) in sources {
            at[from.index()] = bps;
        }
        for (dc, row) in routing.farthest_first(to) {
            let candidates = u64::try_from(row.candidates.len()).unwrap_or(u64::MAX);
            let each = at[dc.index()] / candidates.max(1);
            for candidate in row.candidates.iter().filter(|_| each > 0) {
                offered.add(candidate.port, each);
                match row.rest_of_tunnel(candidate.port) {
                    Some(behind) => behind.iter().for_each(|&port| offered.add(port, each)),
                    None => {
                        let next = &mut at[candidate.next_dc.index()];
                        *next = next.saturating_add(each);
                    }
                }
            }
        }
    }
    offered
}

/// Returns the direction with the highest utilisation under [`even`]; among equals, the one with the lowest port.
/// `lines` are the lines of the scenario's inter-DC links.
pub(crate) fn busiest(
    routing: Routing<'_>,
    demands: &[Demand],
    lines: &[usize],
) -> Option<LoadedLink> {
    let network = routing.network;
    let loads = even(routing, demands).loaded().map(|(port, offered_bps)| {
        let capacity_bps = network.link(port.link()).paper.rate_bps.get();
        let load = Utilisation {
            offered_bps,
            capacity_bps,
        };
        (port, load)
    });
    let worse = |worst: (PortId, Utilisation), next: (PortId, Utilisation)| {
        if next.1.exceeds(worst.1) { next } else { worst }
    };
    let (port, load) = loads.reduce(worse)?;
    let [from, _] = routing.direction(port);
    Some(LoadedLink {
        link: network.link(port.link()).name.clone(),
        from,
        load,
        line: lines.get(port.link().index()).copied(),
    })
}

/// Adds `bps` to the sum of `key`.
pub(crate) fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, key: K, bps: u64) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(bps);
}
