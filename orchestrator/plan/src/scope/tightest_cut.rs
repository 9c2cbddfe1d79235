//! Cuts of the inter-DC network that limit every policy, because all traffic between two sides must cross them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use lab_units::{DcId, PortId};
use serde::Serialize;

use super::{max_flow::FlowGraph, routing::Routing, spread, utilisation::Utilisation};
use crate::{demand::Demand, model::Destination};

/// Set of link directions with the mean rate that must cross them under every policy, in paper units.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LoadedCut {
    #[serde(flatten)]
    pub traffic: CutTraffic,
    #[serde(flatten)]
    pub load: Utilisation,
    /// Names of the links.
    pub links: Vec<String>,
    /// Lines of the links in the scenario, from 1.
    pub lines: Vec<usize>,
}

/// Traffic that must cross a cut.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "traffic", rename_all = "kebab-case")]
pub enum CutTraffic {
    /// All traffic of a datacenter to other datacenters.
    Out { dc: String },
    /// Traffic of some datacenters to one destination.
    Towards { to: String, from: Vec<String> },
    /// Traffic whose every path takes one direction of a link.
    OneLink { from: String, to: String },
}

impl fmt::Display for LoadedCut {
    /// Writes the traffic, the links that it must cross, and their utilisation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.traffic {
            CutTraffic::Out { dc } => write!(f, "from `{dc}` to other datacenters")?,
            CutTraffic::Towards { to, from } => match from.as_slice() {
                [only] => write!(f, "from `{only}` to `{to}`")?,
                several => write!(f, "from {} datacenters to `{to}`", several.len())?,
            },
            CutTraffic::OneLink { from, to } => {
                write!(
                    f,
                    "between all pairs whose every path leads from `{from}` to `{to}`"
                )?;
            }
        }
        let named = self
            .links
            .iter()
            .take(NAMED)
            .map(|link| format!("`{link}`"));
        write!(f, ", over {}", named.collect::<Vec<_>>().join(", "))?;
        match self.links.len().saturating_sub(NAMED) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        write!(f, ": {}", self.load)
    }
}

/// Maximum number of links that the text of a cut names.
const NAMED: usize = 4;

/// Cut with ids instead of names.
struct Cut {
    kind: CutKind,
    offered: u64,
    ports: Vec<PortId>,
}

enum CutKind {
    Out(DcId),
    Towards(DcId, Vec<DcId>),
    OneLink,
}

/// Returns the cut with the highest utilisation, the first among equals. The cuts are: the links out of each datacenter,
/// each direction of a link that some traffic cannot avoid, and the tightest cut between each destination and its
/// senders. Only links of candidates count, because no policy takes others. `lines` are the lines of
/// the scenario's inter-DC links.
pub(crate) fn tightest(
    routing: Routing<'_>,
    demands: &[Demand],
    lines: &[usize],
) -> Option<LoadedCut> {
    let by_destination = spread::by_destination(routing, demands);
    let load = |cut: &Cut| Utilisation {
        offered_bps: cut.offered,
        capacity_bps: routing.network.rate_of(cut.ports.iter().copied()),
    };
    let mut cuts = out_of_each(routing, &by_destination);
    cuts.extend(of_each_link(routing, &by_destination));
    for (&to, offered) in &by_destination {
        cuts.extend(towards(routing, to, offered));
    }
    let tightest = cuts.into_iter().reduce(|tightest, next| {
        let is_tighter = load(&next).exceeds(load(&tightest));
        if is_tighter { next } else { tightest }
    })?;
    let load = load(&tightest);
    let links: BTreeSet<_> = tightest.ports.iter().map(|port| port.link()).collect();
    let traffic = match tightest.kind {
        CutKind::Out(dc) => CutTraffic::Out {
            dc: routing.name(dc),
        },
        CutKind::Towards(to, from) => CutTraffic::Towards {
            to: routing.name(to),
            from: from.into_iter().map(|dc| routing.name(dc)).collect(),
        },
        CutKind::OneLink => {
            let [from, to] = routing.direction(*tightest.ports.first()?);
            CutTraffic::OneLink { from, to }
        }
    };
    Some(LoadedCut {
        traffic,
        load,
        links: links
            .iter()
            .map(|link| routing.network.link(*link).name.clone())
            .collect(),
        lines: links
            .iter()
            .filter_map(|link| lines.get(link.index()).copied())
            .collect(),
    })
}

/// Switch's datacenter with its row for a destination.
type SwitchRow<'a> = (DcId, &'a Destination);

/// Mean rates by destination, then by source.
type Offered = BTreeMap<DcId, BTreeMap<DcId, u64>>;

/// Returns for each sending datacenter the cut of all its candidates.
fn out_of_each(routing: Routing<'_>, by_destination: &Offered) -> Vec<Cut> {
    let mut out: BTreeMap<DcId, (u64, BTreeSet<PortId>)> = BTreeMap::new();
    for (&to, sources) in by_destination {
        for (&from, &bps) in sources {
            let (offered, ports) = out.entry(from).or_default();
            *offered = offered.saturating_add(bps);
            let candidates = routing.candidates(from, to).iter();
            ports.extend(candidates.map(|candidate| candidate.port));
        }
    }
    let cut = |(from, (offered, ports)): (DcId, (u64, BTreeSet<PortId>))| Cut {
        kind: CutKind::Out(from),
        offered,
        ports: ports.into_iter().collect(),
    };
    out.into_iter().map(cut).collect()
}

/// Returns each direction of an inter-DC link that some traffic cannot avoid, with the rate of this traffic.
fn of_each_link(routing: Routing<'_>, by_destination: &Offered) -> Vec<Cut> {
    let mut forced: BTreeMap<PortId, u64> = BTreeMap::new();
    for (&to, sources) in by_destination {
        let rows = routing.farthest_first(to);
        for port in ports(&rows) {
            let avoids = avoids(routing, to, &rows, port);
            let all = sources.iter().filter(|(from, _)| !avoids[from.index()]);
            for (_, &bps) in all {
                spread::add(&mut forced, port, bps);
            }
        }
    }
    let cut = |(port, offered)| Cut {
        kind: CutKind::OneLink,
        offered,
        ports: vec![port],
    };
    forced.into_iter().map(cut).collect()
}

/// Returns the ports of all candidates in `rows`.
fn ports(rows: &[SwitchRow<'_>]) -> impl Iterator<Item = PortId> {
    let candidates = rows.iter().flat_map(|(_, row)| &row.candidates);
    candidates.map(|candidate| candidate.port)
}

/// Returns for each datacenter whether it has a path to `to` that does not take `port`.
fn avoids(routing: Routing<'_>, to: DcId, rows: &[SwitchRow<'_>], port: PortId) -> Vec<bool> {
    let mut avoids = vec![false; routing.switches.len()];
    avoids[to.index()] = true;
    for (dc, row) in rows.iter().rev() {
        let mut others = row.candidates.iter().filter(|it| it.port != port);
        avoids[dc.index()] = others.any(|it| avoids[it.next_dc.index()]);
    }
    avoids
}

/// Returns the tightest cut between `to` and datacenters that send `offered` to it.
///
/// Dinkelbach's method: if the demands, reduced to the ratio of the tightest cut so far, do not all fit, the minimum cut
/// that stops them is tighter. Ratios are compared as products, so the result is exact.
fn towards(routing: Routing<'_>, to: DcId, offered: &BTreeMap<DcId, u64>) -> Option<Cut> {
    let rows = routing.farthest_first(to);
    let source = routing.switches.len();
    let mut side = vec![true; source + 1];
    side[to.index()] = false;
    loop {
        let cut = cut_of(&rows, to, offered, &side);
        if cut.offered == 0 {
            return None;
        }
        let capacity = u128::from(routing.network.rate_of(cut.ports.iter().copied()));
        let mut graph = FlowGraph::new(source + 1);
        let mut wanted = 0;
        for (dc, &bps) in offered {
            let reduced = u128::from(bps) * capacity;
            wanted += reduced;
            graph.add(source, dc.index(), reduced);
        }
        for (dc, row) in &rows {
            for candidate in &row.candidates {
                let rate = routing.network.link(candidate.port.link()).paper.rate_bps;
                let room = u128::from(rate.get()) * u128::from(cut.offered);
                graph.add(dc.index(), candidate.next_dc.index(), room);
            }
        }
        let (sent, next) = graph.run(source, to.index());
        if sent >= wanted {
            return Some(cut);
        }
        side = next;
    }
}

/// Returns the cut between the datacenters in `side`, which is indexed by datacenter, and the others.
fn cut_of(rows: &[SwitchRow<'_>], to: DcId, offered: &BTreeMap<DcId, u64>, side: &[bool]) -> Cut {
    let inside = rows.iter().filter(|(dc, _)| side[dc.index()]);
    let across = inside.flat_map(|(_, row)| &row.candidates);
    let ports = across
        .filter(|candidate| !side[candidate.next_dc.index()])
        .map(|candidate| candidate.port);
    let senders = offered
        .iter()
        .filter(|(dc, bps)| side[dc.index()] && **bps > 0);
    Cut {
        ports: ports.collect(),
        offered: senders
            .clone()
            .map(|(_, bps)| bps)
            .fold(0, |a, b| a.saturating_add(*b)),
        kind: CutKind::Towards(to, senders.map(|(dc, _)| *dc).collect()),
    }
}
