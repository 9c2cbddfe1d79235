//! Cuts of the inter-DC network that limit every policy, because all traffic between two sides must cross them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use lab_units::{DcId, PortId};
use serde::Serialize;

use super::{
    max_flow::FlowGraph,
    routing::Routing,
    spread::{self, PortRates},
    utilisation::Utilisation,
};
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

/// Returns the cut with the highest utilisation, the first among equals. The cuts are: the links out of each
/// datacenter, each direction of a link that some traffic cannot avoid, and the tightest cut between each destination
/// and its senders or, with tunnels, among the tunnels' last links before the destination. Only links of candidates and
/// tunnels count, because no policy takes others. `lines` are the lines of the scenario's inter-DC links.
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
    let tighter = |tightest: Cut, next: Cut| {
        let is_tighter = load(&next).exceeds(load(&tightest));
        if is_tighter { next } else { tightest }
    };
    let mut cuts = out_of_each(routing, &by_destination);
    cuts.extend(of_each_link(routing, &by_destination));
    let mut tightest = cuts.into_iter().reduce(tighter)?;
    for (&to, offered) in &by_destination {
        let rows = routing.farthest_first(to);
        let graph = if have_tunnels(&rows) {
            CutGraph::last_links(routing, to, &rows, offered)
        } else if fits(routing, &rows, offered, load(&tightest)) {
            continue;
        } else {
            CutGraph::candidates(routing, &rows)
        };
        if let Some(cut) = towards(routing, to, &graph, offered) {
            tightest = tighter(tightest, cut);
        }
    }
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
///
/// All traffic that crosses a datacenter comes together again at its meeting, the first datacenter that all paths from
/// there share. So the traffic that cannot avoid a datacenter is its own and that of each datacenter whose meeting it
/// is, and a link is unavoidable for this traffic if it is the only one that leaves the datacenter.
fn of_each_link(routing: Routing<'_>, by_destination: &Offered) -> Vec<Cut> {
    let mut forced = PortRates::none(routing.network);
    for (&to, sources) in by_destination {
        let rows = routing.farthest_first(to);
        if have_tunnels(&rows) {
            for (dc, row) in rows {
                if let ([only], Some(&bps)) = (row.tunnels.as_slice(), sources.get(&dc)) {
                    only.iter().for_each(|&port| forced.add(port, bps));
                }
            }
            continue;
        }
        let meetings = meetings(routing.switches.len(), &rows);
        let mut crossing = vec![0_u64; routing.switches.len()];
        for (dc, bps) in sources {
            crossing[dc.index()] = *bps;
        }
        for (dc, row) in rows {
            let bps = crossing[dc.index()];
            if let ([only], 1..) = (row.candidates.as_slice(), bps) {
                forced.add(only.port, bps);
            }
            let met = &mut crossing[meetings[dc.index()].dc.index()];
            *met = met.saturating_add(bps);
        }
    }
    let cut = |(port, offered)| Cut {
        kind: CutKind::OneLink,
        offered,
        ports: vec![port],
    };
    forced.loaded().map(cut).collect()
}

/// First datacenter that all paths from a datacenter share.
#[derive(Clone, Copy)]
struct Meeting {
    dc: DcId,
    /// Number of meetings from the datacenter to the destination.
    steps: usize,
}

/// Returns the meeting of each of `dcs` datacenters: the immediate dominator, as seen from the destination (Cooper,
/// Harvey and Kennedy, A Simple, Fast Dominance Algorithm, 2001). That of the destination is the destination.
fn meetings(dcs: usize, rows: &[SwitchRow<'_>]) -> Vec<Meeting> {
    let all = (0u32..).map(DcId).take(dcs);
    let mut meetings: Vec<Meeting> = all.map(|dc| Meeting { dc, steps: 0 }).collect();
    for (dc, row) in rows.iter().rev() {
        let next = row.candidates.iter().map(|candidate| candidate.next_dc);
        let met = next.reduce(|mut a, mut b| {
            while a != b {
                let [at_a, at_b] = [a, b].map(|dc| meetings[dc.index()]);
                if at_a.steps >= at_b.steps {
                    a = at_a.dc;
                }
                if at_b.steps >= at_a.steps {
                    b = at_b.dc;
                }
            }
            a
        });
        if let Some(met) = met {
            let steps = meetings[met.index()].steps + 1;
            meetings[dc.index()] = Meeting { dc: met, steps };
        }
    }
    meetings
}

fn have_tunnels(rows: &[SwitchRow<'_>]) -> bool {
    rows.iter().any(|(_, row)| !row.tunnels.is_empty())
}

/// Directed graph from the senders to one destination. The first nodes are the datacenters.
struct CutGraph {
    nodes: usize,
    edges: Vec<Edge>,
}

/// Edge from node to node.
struct Edge {
    from: usize,
    to: usize,
    /// Link direction whose rate limits the edge; `None` without a limit.
    port: Option<PortId>,
}

impl CutGraph {
    /// Returns the candidates' links.
    fn candidates(routing: Routing<'_>, rows: &[SwitchRow<'_>]) -> Self {
        let mut edges = Vec::new();
        for (dc, row) in rows {
            edges.extend(row.candidates.iter().map(|candidate| Edge {
                from: dc.index(),
                to: candidate.next_dc.index(),
                port: Some(candidate.port),
            }));
        }
        Self {
            nodes: routing.switches.len(),
            edges,
        }
    }

    /// Returns a graph with a node for each last link of tunnels to `to`: an unlimited edge leads there from each sender in
    /// `offered` that has such a tunnel, and an edge with the link's rate from there to `to`.
    fn last_links(
        routing: Routing<'_>,
        to: DcId,
        rows: &[SwitchRow<'_>],
        offered: &BTreeMap<DcId, u64>,
    ) -> Self {
        let dcs = routing.switches.len();
        let mut nodes: BTreeMap<PortId, usize> = BTreeMap::new();
        let mut edges = Vec::new();
        for (dc, row) in rows.iter().filter(|(dc, _)| offered.contains_key(dc)) {
            for &port in row.tunnels.iter().filter_map(|ports| ports.last()) {
                let next = dcs + nodes.len();
                edges.push(Edge {
                    from: dc.index(),
                    to: *nodes.entry(port).or_insert(next),
                    port: None,
                });
            }
        }
        let to = to.index();
        let of_link = |(&port, &from): (&PortId, &usize)| Edge {
            from,
            to,
            port: Some(port),
        };
        edges.extend(nodes.iter().map(of_link));
        Self {
            nodes: dcs + nodes.len(),
            edges,
        }
    }
}

/// Returns true if an even split over candidates keeps each link's utilisation by `offered`, the rates to one
/// destination, at or below `bound`: then each cut before the destination is at or below it, too.
fn fits(
    routing: Routing<'_>,
    rows: &[SwitchRow<'_>],
    offered: &BTreeMap<DcId, u64>,
    bound: Utilisation,
) -> bool {
    let mut at = vec![0_u64; routing.switches.len()];
    for (dc, bps) in offered {
        at[dc.index()] = *bps;
    }
    let mut by_port = PortRates::none(routing.network);
    for (dc, row) in rows {
        let count = u64::try_from(row.candidates.len()).unwrap_or(u64::MAX);
        // Rounded up, so that no rate is lost.
        let each = at[dc.index()].div_ceil(count.max(1));
        for candidate in &row.candidates {
            by_port.add(candidate.port, each);
            let next = &mut at[candidate.next_dc.index()];
            *next = next.saturating_add(each);
        }
    }
    by_port.loaded().all(|(port, offered_bps)| {
        let capacity_bps = routing.network.rate_of(std::iter::once(port));
        let load = Utilisation {
            offered_bps,
            capacity_bps,
        };
        !load.exceeds(bound)
    })
}

/// Returns the tightest cut of the graph between `to` and datacenters that send `offered` to it.
///
/// Dinkelbach's method: if the demands, reduced to the ratio of the tightest cut so far, do not all fit, the minimum cut
/// that stops them is tighter. Ratios are compared as products, so the result is exact.
fn towards(
    routing: Routing<'_>,
    to: DcId,
    CutGraph { nodes, edges }: &CutGraph,
    offered: &BTreeMap<DcId, u64>,
) -> Option<Cut> {
    let source = *nodes;
    let mut side = vec![true; source + 1];
    side[to.index()] = false;
    loop {
        let cut = cut_of(edges, to, offered, &side);
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
        for edge in edges {
            // An edge without a limit has room for all that is wanted, so no cut below that crosses it.
            let room = edge.port.map_or(wanted, |port| {
                let rate = routing.network.link(port.link()).paper.rate_bps;
                u128::from(rate.get()) * u128::from(cut.offered)
            });
            graph.add(edge.from, edge.to, room);
        }
        let (sent, next) = graph.run(source, to.index());
        if sent >= wanted {
            return Some(cut);
        }
        side = next;
    }
}

/// Returns the cut between the nodes in `side`, which is indexed by node, and the others.
fn cut_of(edges: &[Edge], to: DcId, offered: &BTreeMap<DcId, u64>, side: &[bool]) -> Cut {
    let across = edges
        .iter()
        .filter(|edge| side[edge.from] && !side[edge.to]);
    let senders = offered
        .iter()
        .filter(|(dc, bps)| side[dc.index()] && **bps > 0);
    Cut {
        ports: across.filter_map(|edge| edge.port).collect(),
        offered: senders
            .clone()
            .map(|(_, bps)| bps)
            .fold(0, |a, b| a.saturating_add(*b)),
        kind: CutKind::Towards(to, senders.map(|(dc, _)| *dc).collect()),
    }
}

#[cfg(test)]
mod tests {
    use lab_units::{BitsPerSec, Nanos};

    use super::*;
    use crate::model::Candidate;

    /// Returns the row for datacenter 0 of a switch with these next datacenters.
    fn row(next: &[u32]) -> Destination {
        let candidate = |&next: &u32| Candidate {
            port: PortId(next),
            next_dc: DcId(next),
            extra_hops: 0,
            paper_delay_ns: Nanos::ZERO,
            paper_bottleneck_bps: BitsPerSec::new(1).unwrap(),
            paper_first_link_delay_ns: Nanos::ZERO,
            paper_first_link_bps: BitsPerSec::new(1).unwrap(),
        };
        Destination {
            tunnels: Vec::new(),
            dc: DcId(0),
            hops: 1,
            candidates: next.iter().map(candidate).collect(),
        }
    }

    /// Towards 0, datacenter 3 has two paths, over 1 and over 2, which meet at 0 only. All paths of 4 and of 5 lead
    /// over 3, those of 5 directly and over 4. The paths of 6 lead over 1 and 5, which are one and two meetings from 0,
    /// where they meet.
    #[test]
    fn paths_meet_at_the_first_datacenter_that_all_share() {
        let next: [&[u32]; 6] = [&[0], &[0], &[1, 2], &[3], &[4, 3], &[1, 5]];
        let rows = next.map(row);
        let mut farthest_first: Vec<SwitchRow<'_>> = (1u32..).map(DcId).zip(&rows).collect();
        farthest_first.reverse();
        let meetings = meetings(7, &farthest_first);
        let found: Vec<u32> = meetings.iter().map(|meeting| meeting.dc.0).collect();
        assert_eq!(found, [0, 0, 0, 0, 3, 3, 0]);
    }
}
