//! Evidence that each policy's mechanism acted: concurrent flows, the load, and counts for each policy.

use lab_records::{Evidence, Met, PolicyEvidence};

use super::{Question, ReportInputs};
use crate::{
    document::{Block, Cell, Column, Medium, Table},
    text, words,
};

/// Report section on whether the run exercised the policies that it ranks.
pub const QUESTION: Question = Question {
    id: "mechanisms",
    title: "Did each policy's mechanism act?",
    is_open: true,
    figures: &[],
    blocks,
    values: None,
};

fn blocks<'a>(inputs: &ReportInputs<'a>) -> Vec<Block<'a>> {
    let evidence = &inputs.summary.evidence;
    if evidence.policies.is_empty() {
        return Vec::new();
    }
    let load = load(evidence);
    let fact = |term: &str, value: String| (term.to_owned(), vec![value]);
    let policies = evidence.policies.iter();
    let warnings = inputs.summary.unexercised.iter();
    let facts = load.clone().map(|it| fact("load", it));
    let acted = policies.map(|it| fact(&it.policy, words::policy(it)));
    let mut blocks = Vec::new();
    blocks.extend(load.map(|it| Block::Note(Medium::Page, format!("Load: {it}."))));
    blocks.push(Block::Table(Medium::Any, table(evidence)));
    blocks.push(Block::Facts(
        Medium::Terminal,
        facts.into_iter().chain(acted).collect(),
    ));
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    let mut warnings: Vec<_> = warnings
        .take(MAX_WARNINGS)
        .map(|it| fact("warning", it.clone()))
        .collect();
    if more > 0 {
        let more = text::count(more, "more warning");
        warnings.push(fact("warning", format!("{more}, which the page lists")));
    }
    blocks.push(Block::Facts(Medium::Terminal, warnings));
    blocks
}

/// Returns a table with each policy's concurrent flows and busiest link and, on pages, with the counts of its
/// mechanism.
fn table(evidence: &Evidence) -> Table {
    let columns = [
        Column::names("policy").short("at work"),
        Column::numbers("flows at once"),
        Column::numbers("peak"),
        Column::numbers("overlap"),
        Column::names("busiest link"),
        Column::sentences("mechanism").only(Medium::Page),
    ];
    Table::new(columns).with(evidence.policies.iter().map(row))
}

fn row(policy: &PolicyEvidence) -> [Cell; 6] {
    let Met {
        mean_concurrency,
        peak_concurrency,
        flows,
        overlapping,
        busiest,
    } = &policy.met;
    let share = text::to_float(*overlapping) / text::to_float((*flows).max(1));
    let busiest = busiest.as_ref().map(|link| {
        let used = text::percent(link.utilisation);
        format!("{}-{} {used}", link.from_dc, link.to_dc)
    });
    let tables = policy.tables.as_ref().map(words::tables);
    let mechanism = [words::policy(policy)].into_iter().chain(tables);
    [
        policy.policy.as_str().into(),
        text::grouped(format!("{mean_concurrency:.1}")).into(),
        text::number(*peak_concurrency).into(),
        text::percent(share).into(),
        Cell::of(busiest),
        mechanism.collect::<Vec<_>>().join("; ").into(),
    ]
}

/// Maximum number of warnings on a terminal.
const MAX_WARNINGS: usize = 20;

/// Maximum number of sending datacenters whose load is written; every lab of the paper has fewer.
const MAX_SENDERS: usize = 20;

/// Describes the offered load in a sentence; `None` without workloads.
pub fn load(evidence: &Evidence) -> Option<String> {
    let covered = evidence.covered?;
    let mut parts: Vec<String> = evidence
        .load
        .iter()
        .take(MAX_SENDERS)
        .map(|load| {
            format!(
                "{} {} requested, {} offered",
                load.dc,
                text::percent(load.requested),
                text::percent(load.offered)
            )
        })
        .collect();
    if let more @ 1.. = evidence.load.len().saturating_sub(MAX_SENDERS) {
        parts.push(text::count(more, "more sending datacenter"));
    }
    parts.push(format!(
        "flow starts cover {} of the duration",
        text::percent(covered)
    ));
    if evidence.listed.flows > 0 {
        parts.push(format!(
            "listed flows in addition: {}, {}",
            text::number(evidence.listed.flows),
            text::size(evidence.listed.bytes)
        ));
    }
    Some(parts.join("; "))
}
