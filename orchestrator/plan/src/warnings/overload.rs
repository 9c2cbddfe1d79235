//! Demands above capacity.

use std::collections::{BTreeMap, BTreeSet};

use lab_units::show::about_rate;
use lab_units::{DcId, NodeId, PortId};

use super::{Inspection, warning};
use crate::{demand::Demand, model::Warning};

/// Hosts whose demands exceed their NICs.
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

/// Datacenters whose demands exceed their inter-DC links: those towards one destination, or all.
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

/// Loads that one datacenter offers to the links towards each destination, then to all.
fn egress_loads<'a>(inspection: &Inspection<'a>, from: DcId, demands: &[&Demand]) -> Vec<Load<'a>> {
    let network = inspection.network;
    let name = |dc: DcId| network.dcs[dc.index()].name.as_str();
    let mut offered: BTreeMap<DcId, u64> = BTreeMap::new();
    for demand in demands {
        let shares = u64::try_from(demand.to.len()).unwrap_or(u64::MAX);
        for &to in &demand.to {
            add(&mut offered, to, demand.mean_bps() / shares);
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

/// Mean offered rate and capacity.
struct Load<'a> {
    who: &'a str,
    offered: u64,
    carried: u64,
    /// Name of the carrying links.
    by: String,
}

impl Load<'_> {
    fn is_too_much(&self) -> bool {
        self.offered > self.carried
    }

    /// Returns the load that exceeds its capacity more, or the first.
    fn worse(self, other: Self) -> Self {
        let cross = |a: &Self, b: &Self| u128::from(a.offered) * u128::from(b.carried);
        if cross(&other, &self) > cross(&self, &other) {
            other
        } else {
            self
        }
    }

    /// Offered rate in hundredths of the capacity, rounded up.
    fn hundredths(&self) -> u128 {
        (u128::from(self.offered) * 100).div_ceil(u128::from(self.carried.max(1)))
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
         arrive, and FCTs tell of that more than of the policy (hint: a `load` {}.{:02} times lower \
         fits)",
        worst.who,
        about_rate(worst.offered),
        worst.by,
        about_rate(worst.carried),
        worst.hundredths() / 100,
        worst.hundredths() % 100,
    );
    Some(warning("overload", text))
}

fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, key: K, bps: u64) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(bps);
}
