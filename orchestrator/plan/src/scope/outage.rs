//! Times at which the scenario's faults leave pairs of datacenters without a next hop.

use std::collections::{BTreeMap, BTreeSet};

use lab_scenario::Fault;
use lab_units::{DcId, LinkId, Nanos};
use serde::Serialize;

use super::{choice, routing::Routing, timeline::Timeline};

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
    timeline: Timeline<'_>,
    pairs: &BTreeSet<(DcId, DcId)>,
    (faults, lines): (&[Fault], &[usize]),
) -> Vec<Outage> {
    let mut open: BTreeMap<(DcId, DcId), Nanos> = BTreeMap::new();
    let mut spans: BTreeMap<Span, Vec<(DcId, DcId)>> = BTreeMap::new();
    timeline.walk(|at, down, routing| {
        let hit = without_a_next_hop(routing, pairs, down);
        for (pair, since) in open.extract_if(.., |pair, _| !hit.contains(pair)) {
            spans.entry((since, Some(at))).or_default().push(pair);
        }
        for pair in hit {
            open.entry(pair).or_insert(at);
        }
    });
    let name = |dc: DcId| timeline.network.dcs[dc.index()].name.clone();
    for (pair, since) in open {
        spans.entry((since, None)).or_default().push(pair);
    }
    let outage = |((from_ns, to_ns), pairs): (Span, Vec<(DcId, DcId)>)| {
        let begin = faults.iter().filter(|fault| fault.at == from_ns);
        let mut entries: Vec<usize> = begin.map(|fault| fault.entry).collect();
        entries.dedup();
        Outage {
            from_ns,
            to_ns,
            pairs: pairs
                .into_iter()
                .map(|(from, to)| [name(from), name(to)])
                .collect(),
            lines: (entries.iter())
                .filter_map(|entry| lines.get(*entry).copied())
                .collect(),
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
        let is_stranded =
            routing.stranded(&routing.farthest_first(to), |link| down.contains(&link));
        let stranded = sources.into_iter().filter(|from| is_stranded[from.index()]);
        hit.extend(stranded.map(|from| (from, to)));
    }
    hit
}
