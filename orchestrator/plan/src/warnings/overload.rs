//! Warnings about traffic demands that exceed capacities.

use std::collections::{BTreeMap, BTreeSet};

use lab_units::show::about_rate;
use lab_units::{DcId, LinkId, NodeId, PortId};

use super::inspection::{Inspection, warning};
use crate::{
    demand::Demand,
    model::{PolicyPlan, Warning},
};

/// Returns a warning about hosts whose demands exceed their NIC rate.
pub(super) fn nics(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let mut offered: BTreeMap<NodeId, u64> = BTreeMap::new();
    for demand in inspection.demands {
        add(&mut offered, demand.host, demand.mean_bps());
    }
    let loads = offered.into_iter().map(|(host, offered)| {
        let node = network.node(host);
        Load {
            who: &node.name,
            offered,
            carried: network.rate_of(node.ports.iter().copied()),
            by: "its NIC".to_owned(),
        }
    });
    overload(loads, "host")
}

/// Returns a warning about datacenters whose demands exceed the capacity of their inter-DC links, either towards one
/// destination or in total.
pub(super) fn egress(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let mut by_dc: BTreeMap<DcId, Vec<&Demand>> = BTreeMap::new();
    for demand in inspection.demands {
        let dc = network.node(demand.host).dc;
        by_dc.entry(dc).or_default().push(demand);
    }
    let worst = by_dc.into_iter().filter_map(|(from, demands)| {
        let loads = egress_loads(inspection, from, &demands);
        loads.into_iter().reduce(Load::worse)
    });
    overload(worst, "datacenter")
}

/// Returns a warning about links that are overloaded when ECMP splits demands equally over candidates. The caller uses
/// the warning only if each datacenter's links together can carry the datacenter's demands.
pub(super) fn links(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection
        .policies
        .iter()
        .find(|run| run.policy == PolicyPlan::ECMP)?;
    let network = inspection.network;
    let mut offered: BTreeMap<LinkId, u64> = BTreeMap::new();
    for (port, bps) in equal_split(inspection) {
        let link = offered.entry(port.link()).or_default();
        *link = bps.max(*link);
    }
    let loads = offered.into_iter().map(|(link, offered)| {
        let link = network.link(link);
        Load {
            who: &link.name,
            offered,
            carried: link.paper.rate_bps.get(),
            by: String::new(),
        }
    });
    let over: Vec<Load<'_>> = loads.filter(Load::is_too_much).collect();
    let also = match over.len().saturating_sub(1) {
        0 => String::new(),
        1 => ", and one more link is overloaded".to_owned(),
        more => format!(", and {more} more links are overloaded"),
    };
    let worst = over.into_iter().reduce(Load::worse)?;
    let text = format!(
        "ECMP splits demands equally over candidates, so that link `{}` gets {} on average but can carry {}{also}: \
         under `ecmp`, flows pile up there for as long as they arrive (hint: divide `load` by {}, or use `wcmp`, \
         which \
         splits by capacity)",
        worst.who,
        about_rate(worst.offered),
        about_rate(worst.carried),
        worst.times(),
    );
    Some(warning("link-overload", text))
}

/// Returns the mean rate at each egress port if every switch splits the demands equally over its candidates.
fn equal_split(inspection: &Inspection<'_>) -> BTreeMap<PortId, u64> {
    let mut by_destination: BTreeMap<DcId, BTreeMap<DcId, u64>> = BTreeMap::new();
    for demand in inspection.demands {
        let from = inspection.network.node(demand.host).dc;
        for (to, bps) in shares(demand) {
            add(by_destination.entry(to).or_default(), from, bps);
        }
    }
    let mut offered = BTreeMap::new();
    for (to, mut at) in by_destination {
        // The farthest switches come first, because a next hop is always nearer to the destination.
        let order = inspection.paths.nearest_first(inspection.network, to);
        for &dc in order.into_iter().flatten().rev() {
            let Some(row) = inspection.switches[dc.index()].towards(to) else {
                continue;
            };
            let candidates = u64::try_from(row.candidates.len()).unwrap_or(u64::MAX);
            let each = at.remove(&dc).unwrap_or(0) / candidates.max(1);
            for candidate in row.candidates.iter().filter(|_| each > 0) {
                add(&mut offered, candidate.port, each);
                add(&mut at, candidate.next_dc, each);
            }
        }
    }
    offered
}

/// Returns the mean rate that a demand sends to each of its destinations.
fn shares(demand: &Demand) -> impl Iterator<Item = (DcId, u64)> {
    let shares = u64::try_from(demand.to.len()).unwrap_or(u64::MAX);
    let each = demand.mean_bps() / shares.max(1);
    demand.to.iter().map(move |&to| (to, each))
}

/// Returns the loads that a datacenter's `demands` offer: one load per destination, on the links that lead there, then
/// the load on all its links together.
fn egress_loads<'a>(inspection: &Inspection<'a>, from: DcId, demands: &[&Demand]) -> Vec<Load<'a>> {
    let network = inspection.network;
    let name = |dc: DcId| network.dcs[dc.index()].name.as_str();
    let mut offered: BTreeMap<DcId, u64> = BTreeMap::new();
    for demand in demands {
        for (to, bps) in shares(demand) {
            add(&mut offered, to, bps);
        }
    }
    let mut all_ports = BTreeSet::new();
    let mut loads = Vec::new();
    for (&to, &offered) in &offered {
        let ports = ports_towards(inspection, from, to);
        all_ports.extend(ports.iter().copied());
        loads.push(Load {
            who: name(from),
            offered,
            carried: network.rate_of(ports.into_iter()),
            by: format!("its links towards `{}`", name(to)),
        });
    }
    loads.push(Load {
        who: name(from),
        offered: offered.into_values().fold(0, u64::saturating_add),
        carried: network.rate_of(all_ports.into_iter()),
        by: "its inter-DC links".to_owned(),
    });
    loads
}

fn ports_towards(inspection: &Inspection<'_>, from: DcId, to: DcId) -> Vec<PortId> {
    let row = inspection.switches[from.index()].towards(to);
    let candidates = row.into_iter().flat_map(|row| &row.candidates);
    candidates.map(|candidate| candidate.port).collect()
}

/// Mean rate offered to a set of links, and the links' total capacity.
struct Load<'a> {
    who: &'a str,
    offered: u64,
    carried: u64,
    /// Description of the links, for the message.
    by: String,
}

impl Load<'_> {
    fn is_too_much(&self) -> bool {
        self.offered > self.carried
    }

    /// Returns the load that exceeds its capacity by the larger factor; `self` if the factors are equal.
    fn worse(self, other: Self) -> Self {
        let cross = |a: &Self, b: &Self| u128::from(a.offered) * u128::from(b.carried);
        if cross(&other, &self) > cross(&self, &other) {
            other
        } else {
            self
        }
    }

    /// Returns the offered rate divided by the capacity as text with two decimals, rounded up.
    fn times(&self) -> String {
        let hundredths = (u128::from(self.offered) * 100).div_ceil(u128::from(self.carried.max(1)));
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

fn overload<'a>(loads: impl Iterator<Item = Load<'a>>, what: &str) -> Option<Warning> {
    let over: Vec<Load<'a>> = loads.filter(Load::is_too_much).collect();
    let count = over.len();
    let worst = over.into_iter().reduce(Load::worse)?;
    let also = match count - 1 {
        0 => String::new(),
        1 => format!(", and so does one more {what}"),
        more => format!(", and so do {more} more {what}s"),
    };
    let text = format!(
        "`{}` offers {} on average where {} can carry {}{also}: flows pile up for as long as they \
         arrive, and FCTs depend on the overload more than on the policy (hint: divide `load` by {})",
        worst.who,
        about_rate(worst.offered),
        worst.by,
        about_rate(worst.carried),
        worst.times(),
    );
    Some(warning("overload", text))
}

fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, key: K, bps: u64) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(bps);
}
