//! Table of the paths between datacenters.

use std::{collections::BTreeMap, fmt::Display};

use lab_units::show::{paragraph, sides, table};
use lab_units::{DcId, PortId};

use super::name::dc_name;
use crate::model::{Candidate, Destination, Plan, PolicyRun, Switch};

/// Renders the destinations with several candidates and their attributes, then the destinations with one candidate. The
/// head names the candidate set, unless it is the default.
pub(super) fn section(plan: &Plan) -> String {
    let scores = Numbers::of(plan, "C_path", |run| &run.path_scores);
    let buckets = Numbers::of(plan, "buckets", |run| &run.buckets);
    let heads = ["from", "to", "by", "port", "delay", "capacity"];
    let [from, to, by, port, delay, capacity] = heads.map(str::to_owned);
    let mut rows = vec![[
        from,
        to,
        by,
        port,
        delay,
        capacity,
        scores.head(),
        buckets.head(),
    ]];
    for (index, switch) in plan.switches.iter().enumerate() {
        for (row, destination) in switch.destinations.iter().enumerate() {
            if destination.candidates.len() < 2 {
                continue;
            }
            for (at, candidate) in destination.candidates.iter().enumerate() {
                let place = [index, row, at];
                let numbers = [scores.at(place), buckets.at(place)];
                rows.push(path_row(plan, switch, destination, at, candidate, numbers));
            }
        }
    }
    let choices = match rows.len() {
        1 => "  no datacenter has more than one path to another\n".to_owned(),
        _ => table(2, sides(4), &rows),
    };
    let set = if plan.candidate_set.is_default() {
        String::new()
    } else {
        format!(" (candidates: {})", plan.candidate_set)
    };
    format!("Paths{set}\n{choices}{}", only_paths(plan))
}

fn path_row(
    plan: &Plan,
    switch: &Switch,
    destination: &Destination,
    at: usize,
    candidate: &Candidate,
    [scores, buckets]: [String; 2],
) -> [String; 8] {
    let first = |name: &str| if at == 0 { name } else { "" }.to_owned();
    [
        first(home(plan, switch)),
        first(dc_name(plan, destination.dc)),
        by(plan, destination, candidate.port),
        plan.ports[candidate.port.index()].interface.clone(),
        candidate.paper_delay_ns.to_string(),
        candidate.paper_bottleneck_bps.to_string(),
        scores,
        buckets,
    ]
}

/// Returns the name of the next hop at `port`, or all names on the tunnel that starts there, joined by `-`.
fn by(plan: &Plan, destination: &Destination, port: PortId) -> String {
    let behind = destination.rest_of_tunnel(port).unwrap_or_default();
    let hops = std::iter::once(&port).chain(behind);
    hops.map(|hop| plan.next_hop(*hop))
        .collect::<Vec<_>>()
        .join("-")
}

/// Numbers that each policy assigns to candidates, such as path costs, shown side by side in one column.
struct Numbers<'a, T> {
    what: &'static str,
    /// Labels of policies, or of groups with equal numbers, each with its numbers by switch, destination and candidate.
    runs: Vec<(String, &'a [Vec<Vec<T>>])>,
}

impl<'a, T: Display + PartialEq> Numbers<'a, T> {
    fn of(plan: &'a Plan, what: &'static str, of: fn(&PolicyRun) -> &Vec<Vec<Vec<T>>>) -> Self {
        let runs: Vec<_> = plan
            .policies
            .iter()
            .map(|run| (run.label.clone(), of(run).as_slice()))
            .filter(|(_, numbers)| !numbers.is_empty())
            .collect();
        Self {
            what,
            runs: if runs.len() > MAX_COLUMNS {
                grouped(runs)
            } else {
                runs
            },
        }
    }

    fn head(&self) -> String {
        let labels: Vec<_> = self.runs.iter().map(|(label, _)| label.as_str()).collect();
        match &labels[..] {
            [] => String::new(),
            labels => format!("{}: {}", self.what, labels.join(" ")),
        }
    }

    fn at(&self, [switch, row, at]: [usize; 3]) -> String {
        let number = |(label, numbers): &(String, &[Vec<Vec<T>>])| {
            let width = label.chars().count();
            format!("{:>width$}", numbers[switch][row][at])
        };
        self.runs.iter().map(number).collect::<Vec<_>>().join(" ")
    }
}

/// Merges policies with equal numbers into one entry: `lcmp+3` stands for `lcmp` and three more policies.
fn grouped<T: PartialEq>(runs: Vec<(String, &[T])>) -> Vec<(String, &[T])> {
    let mut groups: Vec<(String, &[T], usize)> = Vec::new();
    for (label, numbers) in runs {
        match groups.iter_mut().find(|group| group.1 == numbers) {
            Some(group) => group.2 += 1,
            None => groups.push((label, numbers, 0)),
        }
    }
    let label = |(label, numbers, others): (String, _, usize)| match others {
        0 => (label, numbers),
        others => (format!("{label}+{others}"), numbers),
    };
    groups.into_iter().map(label).collect()
}

/// Maximum number of policies for which the table has a column.
const MAX_COLUMNS: usize = 5;

/// Renders the destinations with a single candidate, grouped by that candidate.
fn only_paths(plan: &Plan) -> String {
    let mut text = String::new();
    for switch in &plan.switches {
        let mut direct = Vec::new();
        let mut by: BTreeMap<DcId, Vec<&str>> = BTreeMap::new();
        for destination in &switch.destinations {
            let [candidate] = destination.candidates[..] else {
                continue;
            };
            let to = dc_name(plan, destination.dc);
            if candidate.next_dc == destination.dc {
                direct.push(to);
            } else {
                by.entry(candidate.next_dc).or_default().push(to);
            }
        }
        let mut parts = Vec::new();
        if !direct.is_empty() {
            parts.push(format!("directly to {}", direct.join(" ")));
        }
        let only = |(via, to): (DcId, Vec<&str>)| {
            format!("only via {} to {}", dc_name(plan, via), to.join(" "))
        };
        parts.extend(by.into_iter().map(only));
        if !parts.is_empty() {
            let head = format!("  {}: ", home(plan, switch));
            text.push_str(&paragraph(&head, &parts.join("; ")));
        }
    }
    text
}

/// Returns the name of a switch's datacenter.
fn home<'a>(plan: &'a Plan, switch: &Switch) -> &'a str {
    dc_name(plan, plan.nodes[switch.node.index()].dc)
}
