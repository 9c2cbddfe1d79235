//! Times at which the scenario's faults leave pairs of datacenters without a next hop.

use std::collections::{BTreeMap, BTreeSet};

use lab_scenario::Fault;
use lab_units::{DcId, LinkId, Nanos};
use serde::Serialize;

use super::{choice, routing::Routing};
use crate::model::{FaultChange, FaultPlan};

/// Time span in which pairs have no next hop: their traffic can reach a switch whose candidates' links are all cut.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Outage {
    /// Start of the span, in paper time from the start of each repetition.
    pub from_ns: Nanos,
    /// End of the span; `None` if it lasts.
    pub to_ns: Option<Nanos>,
    /// Ordered pairs of the source and the destination of data or ACKs, by name.
    pub pairs: Vec<[String; 2]>,
    /// Lines of the faults at the start of the span, from 1.
    pub lines: Vec<usize>,
}

/// Start and end of an outage; no end if it lasts.
type Span = (Nanos, Option<Nanos>);

/// Returns the outages in order of time. `lines` are the lines of the scenario's `faults`.
pub(crate) fn of_faults(
    routing: Routing<'_>,
    pairs: &BTreeSet<(DcId, DcId)>,
    planned: &[FaultPlan],
    (faults, lines): (&[Fault], &[usize]),
) -> Vec<Outage> {
    let mut down: BTreeSet<LinkId> = BTreeSet::new();
    let mut open: BTreeMap<(DcId, DcId), Nanos> = BTreeMap::new();
    let mut spans: BTreeMap<Span, Vec<(DcId, DcId)>> = BTreeMap::new();
    for together in planned.chunk_by(|a, b| a.paper_at_ns == b.paper_at_ns) {
        let at = together[0].paper_at_ns;
        for fault in together {
            match fault.change {
                FaultChange::Down => down.insert(fault.link),
                FaultChange::Up => down.remove(&fault.link),
                FaultChange::Wire(_) => false,
            };
        }
        let hit = without_a_next_hop(routing, pairs, &down);
        for (pair, since) in open.extract_if(.., |pair, _| !hit.contains(pair)) {
            spans.entry((since, Some(at))).or_default().push(pair);
        }
        for pair in hit {
            open.entry(pair).or_insert(at);
        }
    }
    for (pair, since) in open {
        spans.entry((since, None)).or_default().push(pair);
    }
    let outage = |((from_ns, to_ns), pairs): (Span, Vec<(DcId, DcId)>)| {
        let begin = faults
            .iter()
            .zip(lines)
            .filter(|(fault, _)| fault.at == from_ns);
        Outage {
            from_ns,
            to_ns,
            pairs: pairs
                .into_iter()
                .map(|(from, to)| [routing.name(from), routing.name(to)])
                .collect(),
            lines: begin.map(|(_, line)| *line).collect(),
        }
    };
    spans.into_iter().map(outage).collect()
}

/// Returns the pairs whose traffic can reach a switch all of whose candidates are in `down`.
fn without_a_next_hop(
    routing: Routing<'_>,
    pairs: &BTreeSet<(DcId, DcId)>,
    down: &BTreeSet<LinkId>,
) -> BTreeSet<(DcId, DcId)> {
    let mut hit = BTreeSet::new();
    for (to, sources) in choice::by_destination(pairs.iter().copied()) {
        let is_lost = lost(routing, to, down);
        let lost = sources.into_iter().filter(|from| is_lost[from.index()]);
        hit.extend(lost.map(|from| (from, to)));
    }
    hit
}

/// Returns for each datacenter whether its traffic to `to` can reach a switch without a live candidate. A switch does
/// not send to a candidate whose link is cut.
fn lost(routing: Routing<'_>, to: DcId, down: &BTreeSet<LinkId>) -> Vec<bool> {
    let mut lost = vec![false; routing.switches.len()];
    for (dc, row) in routing.farthest_first(to).into_iter().rev() {
        let is_live = |link: LinkId| !down.contains(&link);
        let mut live = row
            .candidates
            .iter()
            .filter(|it| is_live(it.port.link()))
            .peekable();
        lost[dc.index()] = live.peek().is_none() || live.any(|it| lost[it.next_dc.index()]);
    }
    lost
}
