//! Warning about link cuts that the first switch of a path cannot detect.
//!
//! A DCI switch detects only the carrier loss of its own ports, and the lab has no routing protocol that reconverges.
//! So under every policy, a switch can choose a candidate whose own link is up although the path behind it is cut.
//! Packets on that path are lost until a link is repaired.

use std::collections::{BTreeMap, BTreeSet};

use lab_units::{DcId, LinkId, Nanos, PortId};

use super::inspection::{Inspection, warning};
use crate::{
    model::{Candidate, Warning},
    scope::{choice, routing::Routing},
};

/// Candidate for a destination: the switch's datacenter, the destination and the port to the next hop.
type Unseen = (DcId, DcId, PortId);

/// Returns a warning for each time span in which the first switch of data or ACKs has live candidates whose path is cut
/// beyond the switch's own link.
pub(super) fn unseen(inspection: &Inspection<'_>) -> Vec<Warning> {
    let pairs = choice::both_ways(&inspection.pairs);
    // For each candidate that leads to a cut: the time since when, and the cut links.
    let mut open: BTreeMap<Unseen, (Nanos, BTreeSet<LinkId>)> = BTreeMap::new();
    let mut spans: BTreeMap<CutSpan, Vec<Unseen>> = BTreeMap::new();
    inspection.timeline().walk(|at, down, routing| {
        let mut before = std::mem::take(&mut open);
        for &(from, to) in &pairs {
            for candidate in routing.candidates(from, to) {
                let unseen = (from, to, candidate.port);
                let links = dead_ends(routing, candidate, to, down);
                if !links.is_empty() {
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
    spans
        .into_iter()
        .map(|(span, found)| warning("unseen-cut", sentence(inspection, &span, &found)))
        .collect()
}

/// Time span with cut links: start, end (`None` if the links stay down), and the cut links.
type CutSpan = (Nanos, Option<Nanos>, BTreeSet<LinkId>);

/// Returns the cut links at which packets to `to` are lost if they take `candidate`. The list is empty if the
/// candidate's own link is cut, because its switch detects that cut.
fn dead_ends(
    routing: Routing<'_>,
    candidate: &Candidate,
    to: DcId,
    down: &BTreeSet<LinkId>,
) -> BTreeSet<LinkId> {
    let is_cut = |candidate: &Candidate| down.contains(&candidate.port.link());
    if is_cut(candidate) || candidate.next_dc == to {
        return BTreeSet::new();
    }
    let mut lost = BTreeSet::new();
    let mut seen = BTreeSet::from([candidate.next_dc]);
    let mut open = vec![candidate.next_dc];
    while let Some(at) = open.pop() {
        let next = routing.candidates(at, to);
        if next.iter().all(is_cut) {
            lost.extend(next.iter().map(|next| next.port.link()));
            continue;
        }
        let live = next.iter().filter(|next| !is_cut(next));
        let ahead = live.map(|next| next.next_dc).filter(|dc| *dc != to);
        open.extend(ahead.filter(|dc| seen.insert(*dc)));
    }
    lost
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
    let (span, repair) = match until {
        Some(until) => (format!("from {since} to {until}"), "until then"),
        None => (format!("from {since} on"), "for good"),
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
