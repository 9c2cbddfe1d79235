//! Warnings about traffic demands that exceed capacities.

use std::collections::{BTreeMap, BTreeSet};

use lab_units::show::about_rate;
use lab_units::{DcId, LinkId, NodeId, PortId};

use super::inspection::{Inspection, of_lines, warning};
use crate::{
    demand::Demand,
    model::{PolicyPlan, Warning},
    scope::{spread, tightest_cut, utilisation::Utilisation},
};

/// Returns a warning about hosts whose demands exceed their NIC rate.
pub(super) fn nics(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let mut offered: BTreeMap<NodeId, u64> = BTreeMap::new();
    for demand in inspection.demands {
        spread::add(&mut offered, demand.host, demand.mean_bps());
    }
    let loads = offered.into_iter().map(|(host, offered)| {
        let node = network.node(host);
        Load {
            who: &node.name,
            load: Utilisation {
                offered_bps: offered,
                capacity_bps: network.rate_of(node.ports.iter().copied()),
            },
            by: "its NIC".to_owned(),
        }
    });
    overload(inspection, loads, "host")
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
    overload(inspection, worst, "datacenter")
}

/// Returns a warning if the demands exceed a cut, so that every policy overloads it. The caller uses the warning only if
/// each datacenter's links can carry the datacenter's demands.
pub(super) fn cut(inspection: &Inspection<'_>) -> Option<Warning> {
    let lines = lab_scenario::item_lines(inspection.source, "topology.links");
    let cut = tightest_cut::tightest(inspection.routing(), inspection.demands, &lines)?;
    let load = cut.load;
    let is_of_senders = inspection.load.network.is_empty() && inspection.load_key() == "`load`";
    let base = if is_of_senders {
        ", which is a share of the senders' capacity, not of the network's"
    } else {
        ""
    };
    load.is_overload().then(|| {
        let text = format!(
            "demands exceed a cut of the network under every policy: {cut}{}; flows pile up there for as long as they \
             arrive, and FCTs depend on the overload more than on the policy (hint: divide {} by {}{base})",
            of_lines(&cut.lines),
            inspection.load_key(),
            load.times(),
        );
        warning("cut-overload", text)
    })
}

/// Returns a warning about links that are overloaded when ECMP splits demands equally over candidates. The caller uses
/// the warning only if no cut is overloaded under every policy.
pub(super) fn links(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection
        .policies
        .iter()
        .find(|run| run.policy == PolicyPlan::ECMP)?;
    let network = inspection.network;
    let mut offered: BTreeMap<LinkId, u64> = BTreeMap::new();
    for (port, bps) in spread::even(inspection.routing(), inspection.demands).loaded() {
        let link = offered.entry(port.link()).or_default();
        *link = bps.max(*link);
    }
    let loads = offered.into_iter().map(|(link, offered)| {
        let link = network.link(link);
        Load {
            who: &link.name,
            load: Utilisation {
                offered_bps: offered,
                capacity_bps: link.paper.rate_bps.get(),
            },
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
         under `ecmp`, flows pile up there for as long as they arrive (hint: divide {} by {}, or use `wcmp`, \
         which \
         splits by capacity)",
        worst.who,
        about_rate(worst.load.offered_bps),
        about_rate(worst.load.capacity_bps),
        inspection.load_key(),
        worst.load.times(),
    );
    Some(warning("link-overload", text))
}

/// Returns the loads that a datacenter's `demands` offer: one load per destination, on the links that lead there, then
/// the load on all its links together.
fn egress_loads<'a>(inspection: &Inspection<'a>, from: DcId, demands: &[&Demand]) -> Vec<Load<'a>> {
    let network = inspection.network;
    let name = |dc: DcId| network.dcs[dc.index()].name.as_str();
    let mut offered: BTreeMap<DcId, u64> = BTreeMap::new();
    for demand in demands {
        for (to, bps) in demand.shares() {
            spread::add(&mut offered, to, bps);
        }
    }
    let mut all_ports = BTreeSet::new();
    let mut loads = Vec::new();
    for (&to, &offered) in &offered {
        let ports = ports_towards(inspection, from, to);
        all_ports.extend(ports.iter().copied());
        loads.push(Load {
            who: name(from),
            load: Utilisation {
                offered_bps: offered,
                capacity_bps: network.rate_of(ports.into_iter()),
            },
            by: format!("its links towards `{}`", name(to)),
        });
    }
    loads.push(Load {
        who: name(from),
        load: Utilisation {
            offered_bps: offered.into_values().fold(0, u64::saturating_add),
            capacity_bps: network.rate_of(all_ports.into_iter()),
        },
        by: "its inter-DC links".to_owned(),
    });
    loads
}

fn ports_towards(inspection: &Inspection<'_>, from: DcId, to: DcId) -> Vec<PortId> {
    let candidates = inspection.routing().candidates(from, to).iter();
    candidates.map(|candidate| candidate.port).collect()
}

/// Load of a set of links, with its cause.
struct Load<'a> {
    who: &'a str,
    load: Utilisation,
    /// Description of the links, for the message.
    by: String,
}

impl Load<'_> {
    fn is_too_much(&self) -> bool {
        self.load.is_overload()
    }

    /// Returns the load that exceeds its capacity by the larger factor; `self` if the factors are equal.
    fn worse(self, other: Self) -> Self {
        if other.load.exceeds(self.load) {
            other
        } else {
            self
        }
    }
}

fn overload<'a>(
    inspection: &Inspection<'_>,
    loads: impl Iterator<Item = Load<'a>>,
    what: &str,
) -> Option<Warning> {
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
         arrive, and FCTs depend on the overload more than on the policy (hint: divide {} by {})",
        worst.who,
        about_rate(worst.load.offered_bps),
        worst.by,
        about_rate(worst.load.capacity_bps),
        inspection.load_key(),
        worst.load.times(),
    );
    Some(warning("overload", text))
}
