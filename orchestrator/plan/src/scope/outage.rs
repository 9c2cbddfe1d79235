//! Times at which the scenario's faults leave pairs of datacenters without a next hop.

use std::collections::{BTreeMap, BTreeSet};

use lab_scenario::Fault;
use lab_units::{DcId, Nanos};
use serde::Serialize;

use super::{
    choice,
    routing::Routing,
    timeline::{Dead, Timeline},
};
use crate::{model::Plan, network::Network};

/// Time span in which pairs have no next hop: their traffic can reach a switch whose candidates' links are all cut. Also if it
/// can reach a loop, which a switch without an agent makes by its old tables.
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
    /// What ends the span.
    pub end: OutageEnd,
}

/// Event that gives pairs a next hop again.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutageEnd {
    /// New next hops after a reconvergence.
    Reconvergence,
    /// Repair of a link.
    Repair,
    /// Start of an agent, which makes the changes that its switch has missed.
    AgentStart,
    /// None: the span lasts.
    Never,
}

impl OutageEnd {
    /// Returns what the user can change to end the span sooner, as a hint.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Reconvergence => "a smaller `routing.reconverge.after` ends the time sooner",
            Self::Repair => "only an earlier repair ends the time sooner",
            Self::AgentStart => "an earlier `up: true` of the switch's agent ends the time sooner",
            Self::Never => {
                "let `up: true` repair a link, or start the agent of a switch that missed a repair"
            }
        }
    }

    fn of(timeline: Timeline<'_>, to: Option<Nanos>) -> Self {
        let Some(to) = to else {
            return Self::Never;
        };
        let mut starts = timeline.crashes.iter().filter_map(|it| it.restart);
        if starts.any(|start| start.paper_at_ns == to) {
            return Self::AgentStart;
        }
        let mut changes = timeline.reconvergences.iter();
        if changes.any(|change| change.paper_at_ns == to) {
            return Self::Reconvergence;
        }
        Self::Repair
    }
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
            crashes: &self.agent_crashes,
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
            end: OutageEnd::of(timeline, span.to_ns),
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
    timeline.walk(|at, dead, routing| {
        let hit = without_a_next_hop(routing, pairs, dead);
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

/// Returns the pairs whose traffic can reach a switch all of whose candidates are dead, or a loop.
fn without_a_next_hop(
    routing: Routing<'_>,
    pairs: &BTreeSet<(DcId, DcId)>,
    dead: &Dead,
) -> BTreeSet<(DcId, DcId)> {
    let mut hit = BTreeSet::new();
    for (to, sources) in choice::by_destination(pairs.iter().copied()) {
        let is_stranded = routing.stranded(&routing.farthest_first(to), |port| dead.is_dead(port));
        let stranded = sources.into_iter().filter(|from| is_stranded[from.index()]);
        hit.extend(stranded.map(|from| (from, to)));
    }
    hit
}
