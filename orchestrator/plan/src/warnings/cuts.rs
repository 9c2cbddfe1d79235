//! Warning about link cuts that the first switch of a path cannot detect.
//!
//! A DCI switch detects only the carrier loss of its own ports, and the lab has no routing protocol that reconverges.
//! So under every policy, a switch can choose a candidate whose own link is up although the path behind it is cut.
//! Packets on that path are lost until a link is repaired.

use std::collections::{BTreeMap, BTreeSet};

use lab_units::{DcId, LinkId, Nanos, PortId, show::window};

use super::inspection::{Inspection, warning};
use crate::{
    model::{Candidate, Destination, Warning},
    scope::{choice, routing::Routing},
};

/// Candidate for a destination: the switch's datacenter, the destination and the port to the next hop.
type Unseen = (DcId, DcId, PortId);

/// Returns a warning for each time span in which the first switch of data or ACKs has live candidates whose path is cut
/// beyond the switch's own link.
pub(super) fn unseen(inspection: &Inspection<'_>) -> Vec<Warning> {
    let sources = choice::by_destination(choice::both_ways(&inspection.pairs));
    // For each candidate that leads to a cut: the time since when, and the cut links.
    let mut open: BTreeMap<Unseen, (Nanos, BTreeSet<LinkId>)> = BTreeMap::new();
    let mut spans: BTreeMap<CutSpan, Vec<Unseen>> = BTreeMap::new();
    inspection.timeline().walk(|at, dead, routing| {
        let down = &dead.links;
        let mut before = std::mem::take(&mut open);
        for (&to, sources) in &sources {
            let lost = dead_ends(routing, to, down);
            for &from in sources {
                let Some(row) = routing.switches[from.index()].towards(to) else {
                    continue;
                };
                for candidate in &row.candidates {
                    let links = lost_behind(row, candidate, &lost, down);
                    if is_cut(candidate, down) || links.is_empty() {
                        continue;
                    }
                    let unseen = (from, to, candidate.port);
                    let since = before.remove(&unseen);
                    open.insert(unseen, since.unwrap_or((at, links)));
                }
            }
        }
        for (unseen, (since, links)) in before {
            let span = (since, Some(at), links);
            spans.entry(span).or_default().push(unseen);
        }
    });
    for (unseen, (since, links)) in open {
        spans.entry((since, None, links)).or_default().push(unseen);
    }
    let has_traffic = inspection.has_traffic();
    spans
        .into_iter()
        .filter(|((since, until, _), _)| has_traffic(*since, *until))
        .map(|(span, found)| warning("unseen-cut", sentence(inspection, &span, &found)))
        .collect()
}

/// Time span with cut links: start, end (`None` if the links stay down), and the cut links.
type CutSpan = (Nanos, Option<Nanos>, BTreeSet<LinkId>);

/// Returns for each datacenter the cut links at which packets that it forwards to `to` are lost; empty for `to`. A switch
/// detects cuts of its own links and avoids those candidates, unless all its candidates are cut.
fn dead_ends(routing: Routing<'_>, to: DcId, down: &BTreeSet<LinkId>) -> Vec<BTreeSet<LinkId>> {
    let mut lost = vec![BTreeSet::new(); routing.switches.len()];
    // From the nearest to the farthest, because where a switch loses packets depends on where its next hops lose them.
    for (dc, row) in routing.farthest_first(to).into_iter().rev() {
        let mut links = BTreeSet::new();
        for candidate in row.candidates.iter().filter(|it| !is_cut(it, down)) {
            links.extend(lost_behind(row, candidate, &lost, down));
        }
        if row.candidates.iter().all(|it| is_cut(it, down)) {
            links = row.candidates.iter().map(|it| it.port.link()).collect();
        }
        lost[dc.index()] = links;
    }
    lost
}

/// Returns the cut links at which packets to a candidate of `row` are lost: those of its tunnel, or those at which the
/// next switch loses packets, which `lost` has by datacenter.
fn lost_behind(
    row: &Destination,
    candidate: &Candidate,
    lost: &[BTreeSet<LinkId>],
    down: &BTreeSet<LinkId>,
) -> BTreeSet<LinkId> {
    let Some(behind) = row.rest_of_tunnel(candidate.port) else {
        return lost[candidate.next_dc.index()].clone();
    };
    let links = behind.iter().map(|port| port.link());
    links.filter(|link| down.contains(link)).take(1).collect()
}

fn is_cut(candidate: &Candidate, down: &BTreeSet<LinkId>) -> bool {
    down.contains(&candidate.port.link())
}

fn sentence(
    inspection: &Inspection<'_>,
    (since, until, links): &CutSpan,
    found: &[Unseen],
) -> String {
    let network = inspection.network;
    let name = |dc: &DcId| network.dcs[dc.index()].name.as_str();
    let cut: Vec<_> = links
        .iter()
        .map(|link| format!("`{}`", network.link(*link).name))
        .collect();
    let named: Vec<_> = found
        .iter()
        .take(NAMED)
        .map(|(from, to, next)| {
            format!(
                "`{}` to `{}` via `{}`",
                name(from),
                name(to),
                network.next_hop(*next)
            )
        })
        .collect();
    let more = match found.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let span = window(*since, *until);
    let repair = if until.is_some() {
        "until then"
    } else {
        "for good"
    };
    format!(
        "{span} no source datacenter's switch detects the cut of {}: under every policy, flows (also new ones) are \
         still sent from {}{more}, and packets are lost at the cut {repair} (hint: a switch detects only cuts of its \
         own links; cut the first link, too, to make flows fail over)",
        cut.join(" and "),
        named.join(", "),
    )
}

/// Maximum number of candidates that a warning names.
const NAMED: usize = 3;
