//! Times at which the scenario's faults leave pairs of datacenters without a next hop.

use std::collections::{BTreeMap, BTreeSet};

use lab_scenario::Fault;
use lab_units::{DcId, Nanos};
use serde::Serialize;

use super::{
    choice,
    routing::Routing,
    timeline::{Dead, Timeline, TimelineChange},
};
use crate::{model::Plan, network::Network};

/// Time span in which pairs have no next hop: their traffic can reach a switch whose candidates are all dead, or a loop that
/// the old tables of a switch without an agent make.
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
    /// End of the span: its cause.
    pub end: OutageEnd,
}

/// Event that gives pairs a next hop again, or reason that none does.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutageEnd {
    /// Start of an agent, which makes the changes that its switch has missed.
    AgentStart,
    /// New next hops after a reconvergence.
    Reconvergence,
    /// Repair of a link.
    Repair,
    /// Cut of another link, after which a switch no longer sends towards the first one.
    FailOver,
    /// Nothing: a switch without an agent waits for one.
    NoAgent,
    /// Nothing: links stay cut.
    NoRepair,
}

impl OutageEnd {
    /// Returns what the user can change to end the span sooner, as a hint.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::AgentStart => "an earlier `up: true` of the switch's agent ends the time sooner",
            Self::Reconvergence => "a smaller `routing.reconverge.after` ends the time sooner",
            Self::Repair => {
                "an earlier repair ends the time sooner, or a shorter `routing.reconverge.after` if another path is up"
            }
            Self::FailOver => {
                "the cut of a switch's own link, after which it fails over, ends the time"
            }
            Self::NoAgent => "let `up: true` start the agent that a switch waits for",
            Self::NoRepair => "let `up: true` repair a link",
        }
    }

    const fn at(change: TimelineChange) -> Self {
        match change {
            TimelineChange::AgentStart => Self::AgentStart,
            TimelineChange::Reconvergence => Self::Reconvergence,
            TimelineChange::Repair => Self::Repair,
            TimelineChange::Cut => Self::FailOver,
        }
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
    /// End of the span: its cause.
    pub end: OutageEnd,
}

impl Plan {
    /// Returns the time spans in which pairs of datacenters with flows have no next hop, in order of start and end. They
    /// depend on faults, reconvergences and crashes of agents, not on the policy.
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
            end: span.end,
        }
    };
    spans(timeline, pairs).into_iter().map(outage).collect()
}

/// Start and end of an outage, no end if it lasts; and what ends it.
type Span = (Nanos, Option<Nanos>, OutageEnd);

/// Returns the spans in order of start and end; among spans with the same start, those without an end come
/// first.
fn spans(timeline: Timeline<'_>, pairs: &BTreeSet<(DcId, DcId)>) -> Vec<OutageSpan> {
    let mut open: BTreeMap<(DcId, DcId), Nanos> = BTreeMap::new();
    let mut spans: BTreeMap<Span, Vec<(DcId, DcId)>> = BTreeMap::new();
    let mut lasting = OutageEnd::NoRepair;
    timeline.walk(|at, dead, routing| {
        let hit = without_a_next_hop(routing, pairs, dead);
        for (pair, since) in open.extract_if(.., |pair, _| !hit.contains(pair)) {
            let span = (since, Some(at), OutageEnd::at(dead.change));
            spans.entry(span).or_default().push(pair);
        }
        for pair in hit {
            open.entry(pair).or_insert(at);
        }
        lasting = if dead.waits_for_agent {
            OutageEnd::NoAgent
        } else {
            OutageEnd::NoRepair
        };
    });
    for (pair, since) in open {
        spans.entry((since, None, lasting)).or_default().push(pair);
    }
    let span = |((from_ns, to_ns, end), pairs): (Span, Vec<(DcId, DcId)>)| OutageSpan {
        from_ns,
        to_ns,
        pairs,
        end,
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
