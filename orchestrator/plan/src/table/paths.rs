//! Paths from each datacenter to the others.

use std::{collections::BTreeMap, fmt::Display};

use lab_units::DcId;
use lab_units::show::{paragraph, sides, table};

use super::dc_name;
use crate::model::{Candidate, Destination, Plan, PolicyRun, Switch};

/// Destinations with several candidates and their attributes, then those without a choice.
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
    format!("Paths\n{choices}{}", only_paths(plan))
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
        dc_name(plan, candidate.next_dc).to_owned(),
        plan.ports[candidate.port.index()].interface.clone(),
        candidate.paper_delay_ns.to_string(),
        candidate.paper_bottleneck_bps.to_string(),
        scores,
        buckets,
    ]
}

/// Numbers that policies give candidates, side by side in one column.
struct Numbers<'a, T> {
    what: &'static str,
    /// Labels, and the numbers by switch, destination and candidate.
    runs: Vec<(&'a str, &'a [Vec<Vec<T>>])>,
}

impl<'a, T: Display> Numbers<'a, T> {
    fn of(plan: &'a Plan, what: &'static str, of: fn(&PolicyRun) -> &Vec<Vec<Vec<T>>>) -> Self {
        let runs = plan.policies.iter();
        let runs = runs.map(|run| (run.label.as_str(), of(run).as_slice()));
        Self {
            what,
            runs: runs.filter(|(_, numbers)| !numbers.is_empty()).collect(),
        }
    }

    fn head(&self) -> String {
        let labels: Vec<_> = self.runs.iter().map(|(label, _)| *label).collect();
        match &labels[..] {
            [] => String::new(),
            labels => format!("{}: {}", self.what, labels.join(" ")),
        }
    }

    fn at(&self, [switch, row, at]: [usize; 3]) -> String {
        let number = |(label, numbers): &(&str, &[Vec<Vec<T>>])| {
            let width = label.chars().count();
            format!("{:>width$}", numbers[switch][row][at])
        };
        self.runs.iter().map(number).collect::<Vec<_>>().join(" ")
    }
}

/// Destinations with one candidate, by that candidate.
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
            match candidate.next_dc == destination.dc {
                true => direct.push(to),
                false => by.entry(candidate.next_dc).or_default().push(to),
            }
        }
        let mut parts = Vec::new();
        if !direct.is_empty() {
            parts.push(format!("directly to {}", direct.join(" ")));
        }
        let only = |(via, to): (DcId, Vec<&str>)| {
            format!("only by {} to {}", dc_name(plan, via), to.join(" "))
        };
        parts.extend(by.into_iter().map(only));
        if !parts.is_empty() {
            let head = format!("  {}: ", home(plan, switch));
            text.push_str(&paragraph(&head, &parts.join("; ")));
        }
    }
    text
}

/// Name of a switch's datacenter.
fn home<'a>(plan: &'a Plan, switch: &Switch) -> &'a str {
    dc_name(plan, plan.nodes[switch.node.index()].dc)
}
