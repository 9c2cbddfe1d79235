//! The ways from each datacenter to the others.

use std::collections::BTreeMap;

use lab_units::DcId;

use super::dc_name;
use crate::{
    model::{Candidate, Destination, Plan, PolicyRun, Switch},
    text::{Side, columns, paragraph},
};

/// Destinations with several candidates, with what policies see of them, then those without a
/// choice.
pub(super) fn section(plan: &Plan) -> String {
    let scored: Vec<_> = plan
        .policies
        .iter()
        .filter(|run| !run.path_scores.is_empty())
        .collect();
    let labels: Vec<_> = scored.iter().map(|run| run.label.as_str()).collect();
    let scores = match &labels[..] {
        [] => String::new(),
        labels => format!("path score: {}", labels.join(" ")),
    };
    let heads = ["from", "to", "by", "port", "delay", "bottleneck", &scores];
    let mut rows = vec![heads.map(str::to_owned)];
    for (index, switch) in plan.switches.iter().enumerate() {
        for (row, destination) in switch.destinations.iter().enumerate() {
            if destination.candidates.len() < 2 {
                continue;
            }
            for (at, way) in destination.candidates.iter().enumerate() {
                let score = |run: &&PolicyRun| {
                    let score = run.path_scores[index][row][at];
                    format!("{score:>width$}", width = run.label.chars().count())
                };
                let scores = scored.iter().map(score).collect::<Vec<_>>().join(" ");
                rows.push(way_row(plan, switch, destination, at, way, scores));
            }
        }
    }
    let left = Side::Left;
    let right = Side::Right;
    let sides = [left, left, left, left, right, right, right];
    let choices = match rows.len() {
        1 => "  no datacenter has more than one way to another\n".to_owned(),
        _ => columns(2, sides, &rows),
    };
    format!("Ways\n{choices}{}", only_ways(plan))
}

fn way_row(
    plan: &Plan,
    switch: &Switch,
    destination: &Destination,
    at: usize,
    way: &Candidate,
    scores: String,
) -> [String; 7] {
    let first = |name: &str| if at == 0 { name } else { "" }.to_owned();
    [
        first(home(plan, switch)),
        first(dc_name(plan, destination.dc)),
        dc_name(plan, way.next_dc).to_owned(),
        plan.ports[way.port.index()].interface.clone(),
        way.paper_delay_ns.to_string(),
        way.paper_bottleneck_bps.to_string(),
        scores,
    ]
}

/// Destinations with one candidate, by that candidate.
fn only_ways(plan: &Plan) -> String {
    let mut text = String::new();
    for switch in &plan.switches {
        let mut direct = Vec::new();
        let mut by: BTreeMap<DcId, Vec<&str>> = BTreeMap::new();
        for destination in &switch.destinations {
            let [way] = destination.candidates[..] else {
                continue;
            };
            let to = dc_name(plan, destination.dc);
            match way.next_dc == destination.dc {
                true => direct.push(to),
                false => by.entry(way.next_dc).or_default().push(to),
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

/// The datacenter a switch is of.
fn home<'a>(plan: &'a Plan, switch: &Switch) -> &'a str {
    dc_name(plan, plan.nodes[switch.node.index()].dc)
}
