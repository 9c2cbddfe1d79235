//! Table of faults for a page and for a terminal.

use super::row::{FaultRow, PolicyFaults};
use crate::{
    document::{Cell, Column, Medium, Table},
    text, words,
};

/// Returns the table of `rows`. Pages show each of several policies below its sum; terminals show the changes, the first
/// pairs and the failovers below the row.
pub fn of(rows: &[&FaultRow<'_>], policies: &[String]) -> Table {
    let columns = [
        Column::names("time").short("faults"),
        Column::names("change").only(Medium::Page),
        Column::numbers("pairs without a next hop").short("no next hop"),
        Column::names("until"),
        Column::numbers("failovers"),
        Column::numbers("flows under way").short("under way"),
        Column::numbers("not finished"),
        Column::sentences("what").only(Medium::Terminal),
    ];
    let cells = rows.iter().map(|row| row_cells(row));
    Table::new(columns).colored(policies).with(cells)
}

fn row_cells(row: &FaultRow<'_>) -> [Cell; 8] {
    let sum = |sum: u64, of: fn(&PolicyFaults<'_>) -> u64| {
        let cell = Cell::from(text::number(sum));
        let each = row.policies.iter().filter(|_| row.policies.len() > 1);
        each.fold(cell, |cell, policy| {
            cell.below(format!("{} {}", policy.policy, text::number(of(policy))))
        })
    };
    let (pairs, until, flows, unfinished) = match &row.outage {
        None => {
            let until = row.crash.map(|_| until(row));
            (Cell::none(), Cell::of(until), Cell::none(), Cell::none())
        }
        Some(outage) => {
            let unfinished = sum(row.unfinished(), |it| it.unfinished);
            let pairs = Cell::from(text::number(outage.info.pairs));
            (
                pair_names(row, " → ").into_iter().fold(pairs, Cell::below),
                Cell::from(until(row)),
                sum(row.flows(), |it| it.flows),
                unfinished.bad(row.unfinished() > 0),
            )
        }
    };
    let failovers = Cell::of(row.failovers().map(text::number));
    let by_policy = failovers_by_policy(row);
    [
        text::time(row.time_ns).into(),
        (decisions_by_policy(row).into_iter()).fold(Cell::from(changes(row)), Cell::below),
        pairs,
        until,
        by_policy.iter().cloned().fold(failovers, Cell::below),
        flows,
        unfinished,
        sentence(row, &by_policy).into(),
    ]
}

/// Describes the end of the row's outage or crash; empty without either.
fn until(row: &FaultRow<'_>) -> String {
    if let Some(crash) = row.crash {
        return crash.to_ns.map_or_else(
            || "the run's end".to_owned(),
            |to| format!("{} (restart)", text::time(to)),
        );
    }
    let Some(outage) = &row.outage else {
        return String::new();
    };
    match (outage.info.to_ns, outage.ended_by) {
        (Some(to), Some(cause)) => format!("{} ({cause})", text::time(to)),
        (Some(to), None) => text::time(to),
        (None, _) => "the run's end".to_owned(),
    }
}

/// Returns the names of the outage's first pairs, and the number of further pairs.
fn pair_names(row: &FaultRow<'_>, joint: &str) -> Vec<String> {
    let Some(outage) = &row.outage else {
        return Vec::new();
    };
    let pairs = &outage.info.first_pairs;
    let mut names: Vec<String> = pairs
        .iter()
        .map(|[from, to]| format!("{from}{joint}{to}"))
        .collect();
    let more = outage.info.pairs.saturating_sub(pairs.len() as u64);
    if more > 0 {
        names.push(format!("and {} more", text::number(more)));
    }
    names
}

/// Describes the changes, such as `dc1-dc2, dc2-dc8 cut, dc3-dc8 back`, or the crash: `agent of dc2 down`.
fn changes(row: &FaultRow<'_>) -> String {
    if let Some(crash) = row.crash {
        return format!("agent of {} down", crash.dc);
    }
    if row.changes.is_empty() {
        return "reconvergence".to_owned();
    }
    let kinds = row.changes.chunk_by(|a, b| a.change == b.change);
    let described = kinds.map(|changes| {
        let links: Vec<&str> = changes.iter().take(MAX_LINKS).map(|it| it.link).collect();
        let more = match changes.len().saturating_sub(MAX_LINKS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more} {}", links.join(", "), changes[0].change)
    });
    described.collect::<Vec<_>>().join(", ")
}

fn failovers_by_policy(row: &FaultRow<'_>) -> Vec<String> {
    let described = |it: &PolicyFaults<'_>| Some(words::failovers(it.policy, it.failover?));
    row.policies.iter().filter_map(described).collect()
}

/// Describes for each policy what happened without an agent, such as `lcmp 12 decisions, 20 samples or splits missed`.
fn decisions_by_policy(row: &FaultRow<'_>) -> Vec<String> {
    let described = |it: &PolicyFaults<'_>| Some(words::without_agent(it.policy, it.crash?));
    row.policies.iter().filter_map(described).collect()
}

/// Returns the sentence below a row in a terminal. Failovers are named if there were any.
fn sentence(row: &FaultRow<'_>, failovers: &[String]) -> String {
    let mut parts = vec![changes(row)];
    parts.extend(decisions_by_policy(row));
    let pairs = pair_names(row, " to ");
    if !pairs.is_empty() {
        parts.push(format!("no next hop: {}", pairs.join(", ")));
    }
    if row.failovers().is_some_and(|count| count > 0) {
        parts.push(format!("failovers: {}", failovers.join(", ")));
    }
    parts.join("; ")
}

/// Maximum number of links that a row names for each kind of change.
const MAX_LINKS: usize = 3;
