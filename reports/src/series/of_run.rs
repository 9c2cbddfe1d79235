//! Quantities that a report shows over time, in a run's first repetition.

use std::collections::BTreeMap;

use lab_records::LinkChange;
use lab_units::Nanos;
use serde::Serialize;

use super::values::{Line, Series};
use crate::{
    figure::{FaultMark, attributes},
    frames::{DirectionSeries, FlowsOverTime},
    run::Run,
    text::{self, to_float},
};

/// Quantity over time.
pub struct Quantity {
    /// Name with its unit; without a unit if each value is shown with its own unit.
    pub title: &'static str,
    pub unit: Unit,
    /// Series for the network, each route or each link direction (the busiest first), with a line per policy.
    pub series: Vec<Series>,
}

/// Unit of values in an interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Mean number of flows.
    Flows,
    /// Mean number of ports.
    Ports,
    /// Number of events.
    Count,
    /// Number of events, shown per millisecond because intervals differ in width.
    PerMs,
    Percent,
    /// Number of events, shown as a share of all series' events.
    Share,
    Bytes,
}

pub fn under_way(run: &Run) -> Quantity {
    by_route(run, "flows under way", Unit::Flows, |flows| {
        &flows.under_way
    })
}

pub fn started(run: &Run) -> Quantity {
    by_route(run, "flows that start (%)", Unit::Share, |flows| {
        &flows.started
    })
}

pub fn finished(run: &Run) -> Quantity {
    let lines = run.by_group.iter().map(|flows| known(&flows.finished));
    Quantity::of_network("flows finishing (per ms)", Unit::PerMs, lines.collect())
}

/// Returns the number of repeated decisions over time, each on a flow that already had a next hop.
pub fn again(run: &Run) -> Quantity {
    let again = |policy| run.stories.again.get(policy);
    let line = |policy| again(policy).map_or_else(Vec::new, |counts| known(counts));
    let lines = run.flows.policies.iter().map(line);
    Quantity::of_network(
        "repeated routing decisions per interval",
        Unit::Count,
        lines.collect(),
    )
}

pub fn paused(run: &Run) -> Quantity {
    let mean = |(index, &nanos): (usize, &u64)| {
        let width = run.grid.edge(index + 1) - run.grid.edge(index);
        Some(to_float(nanos) / to_float(width))
    };
    let line = |policy| {
        let pauses = run.pauses.get(policy);
        let nanos = pauses.iter().flat_map(|it| &it.over_time);
        nanos.enumerate().map(mean).collect()
    };
    let lines = run.flows.policies.iter().map(line);
    Quantity::of_network("ports paused by PFC, mean", Unit::Ports, lines.collect())
}

/// Returns the utilisation of link directions: bytes carried ÷ bytes that fit.
pub fn utilisation(run: &Run) -> Quantity {
    let title = "utilisation (% of capacity)";
    by_direction(run, title, Unit::Percent, |one| &one.utilisation)
}

pub fn queues(run: &Run) -> Quantity {
    by_direction(run, "longest queue sampled", Unit::Bytes, |one| &one.queue)
}

pub fn marks(run: &Run) -> Quantity {
    let title = "packets ECN-marked (per ms)";
    by_direction(run, title, Unit::PerMs, |one| &one.marks)
}

pub fn drops(run: &Run) -> Quantity {
    by_direction(run, "packets dropped (per ms)", Unit::PerMs, |one| {
        &one.drops
    })
}

impl Quantity {
    /// Returns a quantity of the whole network, which has a single series.
    pub fn of_network(title: &'static str, unit: Unit, lines: Vec<Line>) -> Self {
        let series = vec![Series::new("", "", lines)];
        Self {
            title,
            unit,
            series,
        }
    }
}

/// Returns a quantity by route; `of` returns a policy's values by route and interval.
fn by_route<T: Copy + Into<f64>>(
    run: &Run,
    title: &'static str,
    unit: Unit,
    of: impl Fn(&FlowsOverTime) -> &Vec<Vec<T>>,
) -> Quantity {
    let series = |(route, (label, _)): (usize, (String, _))| {
        let lines = run.by_group.iter().map(|flows| known(&of(flows)[route]));
        Series::new(label, "", lines.collect())
    };
    let labels = run.groups.labels(&run.routes).into_iter();
    let series = labels.enumerate().map(series).collect();
    Quantity {
        title,
        unit,
        series,
    }
}

/// Returns a quantity by link direction; `of` returns a policy's line for a direction.
fn by_direction(
    run: &Run,
    title: &'static str,
    unit: Unit,
    of: impl Fn(&DirectionSeries) -> &Line,
) -> Quantity {
    let direction =
        |one: &DirectionSeries| [&one.link, &one.from_dc, &one.to_dc].map(String::clone);
    let directions = run.over_time.chunk_by(|a, b| direction(a) == direction(b));
    let one = |policies: &[DirectionSeries]| {
        let [name, from, to] = direction(&policies[0]);
        let link = run.info.links.iter().find(|link| link.name == name);
        let line = |policy: &String| {
            let one = policies.iter().find(|one| one.policy == *policy);
            one.map_or_else(Vec::new, |one| of(one).clone())
        };
        let used = policies.iter().map(|one| run.used_while_arriving(one));
        Series {
            busy: used.fold(0.0, f64::max),
            ..Series::new(
                format!("{from} → {to}"),
                link.map_or_else(String::new, attributes),
                run.flows.policies.iter().map(line).collect(),
            )
        }
    };
    let mut series: Vec<Series> = directions.map(one).collect();
    series.sort_by(|a, b| b.busy.total_cmp(&a.busy));
    Quantity {
        title,
        unit,
        series,
    }
}

fn known<T: Copy + Into<f64>>(values: &[T]) -> Line {
    values.iter().map(|&value| Some(value.into())).collect()
}

/// Returns marks for the faults of `run` that occurred before its end; faults at the same time share a mark.
pub fn fault_marks(run: &Run) -> Vec<FaultMark> {
    let mut changes: BTreeMap<Nanos, Vec<String>> = BTreeMap::new();
    for fault in run.faults() {
        let change = match fault.change {
            LinkChange::Down => "cut",
            LinkChange::Up => "back",
            LinkChange::Changed => "changed",
        };
        let change = format!("{} {change}", fault.link);
        changes.entry(fault.time_ns).or_default().push(change);
    }
    let mark = |(time, changes): (Nanos, Vec<String>)| FaultMark {
        at: text::seconds(time),
        label: format!("{} at {}", listed(&changes), text::time(time)),
    };
    changes.into_iter().map(mark).collect()
}

fn listed(changes: &[String]) -> String {
    let shown = changes.iter().take(MAX_CHANGES).map(String::as_str);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if let more @ 1.. = changes.len().saturating_sub(MAX_CHANGES) {
        text += &format!(" and {}", text::count(more, "more change"));
    }
    text
}

/// Maximum number of links that the label of a mark names.
const MAX_CHANGES: usize = 4;
