//! Times at which the scenario's faults leave pairs of datacenters without a next hop.

use std::collections::{BTreeMap, BTreeSet};

use lab_scenario::Fault;
use lab_units::{DcId, LinkId, Nanos};
use serde::Serialize;

use super::{choice, routing::Routing, timeline::Timeline};
use crate::{model::Plan, network::Network};

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

/// Time span in which the same pairs of datacenters with flows have no next hop.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OutageSpan {
    /// Start of the span, in paper time from the start of each repetition.
    pub from_ns: Nanos,
    /// End of the span; `None` if it lasts.
    pub to_ns: Option<Nanos>,
    /// Ordered pairs of the source and the destination of data or ACKs.
    pub pairs: Vec<(DcId, DcId)>,
}

impl Plan {
    /// Returns the time spans in which pairs of datacenters with flows have no next hop, in order of start and end. They
    /// depend on faults and reconvergences, not on the policy.
    #[must_use]
    pub fn outages(&self) -> Vec<OutageSpan> {
        if self.faults.is_empty() {
            return Vec::new();
        }
        let network = Network::of(self);
        let timeline = Timeline {
            network: &network,
            switches: &self.switches,
            faults: &self.faults,
            reconvergences: &self.reconvergences,
        };
        let pairs = choice::both_ways(&choice::pairs(&network, &self.flows));
        spans(timeline, &pairs)
    }
}

/// Returns the outages in order of time. `lines` are the lines of the scenario's `faults`.
pub(crate) fn of_faults(
    timeline: Timeline<'_>,
    pairs: &BTreeSet<(DcId, DcId)>,
    (faults, lines): (&[Fault], &[usize]),
) -> Vec<Outage> {
    let name = |dc: DcId| timeline.network.dcs[dc.index()].name.clone();
    let outage = |span: OutageSpan| {
        let begin = faults.iter().filter(|fault| fault.at == span.from_ns);
        let mut entries: Vec<usize> = begin.map(|fault| fault.entry).collect();
        entries.dedup();
        let pairs = span.pairs.into_iter();
        Outage {
            from_ns: span.from_ns,
            to_ns: span.to_ns,
            pairs: pairs.map(|(from, to)| [name(from), name(to)]).collect(),
            lines: (entries.iter())
                .filter_map(|entry| lines.get(*entry).copied())
                .collect(),
        }
    };
    spans(timeline, pairs).into_iter().map(outage).collect()
}

/// Start and end of an outage; no end if it lasts.
type Span = (Nanos, Option<Nanos>);

/// Returns the spans in order of start and end; among spans with the same start, those without an end come
/// first.
fn spans(timeline: Timeline<'_>, pairs: &BTreeSet<(DcId, DcId)>) -> Vec<OutageSpan> {
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
    for (pair, since) in open {
        spans.entry((since, None)).or_default().push(pair);
    }
    let span = |((from_ns, to_ns), pairs): (Span, Vec<(DcId, DcId)>)| OutageSpan {
        from_ns,
        to_ns,
        pairs,
    };
    spans.into_iter().map(span).collect()
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
