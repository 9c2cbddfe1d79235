//! A run's evidence for people: the flows that met, and each policy's mechanism at work.

use lab_records::{Evidence, Met, PolicyEvidence};
use lab_units::show;

use crate::{
    document::{Cell, Column, Medium, Table},
    text::{self, WIDTH},
    words,
};

/// Returns the flows that met under each policy, the load, the policies' mechanisms and the warnings for a terminal.
/// Empty without evidence.
pub fn section(evidence: &Evidence, warnings: &[String]) -> String {
    if evidence.policies.is_empty() {
        return String::new();
    }
    let paragraph = |head: &str, words: &str| show::paragraph_of(WIDTH, head, words);
    let mut section = format!("\n{}", table(evidence).terminal(WIDTH));
    section.extend(load(evidence).map(|it| paragraph("load: ", &it)));
    section.extend(
        evidence
            .policies
            .iter()
            .map(|policy| paragraph(&format!("{}: ", policy.policy), &words::policy(policy))),
    );
    section.extend(words::failover_note(evidence).map(|it| paragraph("", it)));
    section.extend(warnings.iter().map(|it| paragraph("warning: ", it)));
    section
}

/// Returns the table of the flows that met under each policy; on pages with the policies' mechanisms.
pub fn table(evidence: &Evidence) -> Table {
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

/// Returns the load in a sentence; none without workloads.
pub fn load(evidence: &Evidence) -> Option<String> {
    let covered = evidence.covered?;
    let mut parts: Vec<String> = evidence
        .load
        .iter()
        .map(|load| {
            format!(
                "{} {} asked, {} offered",
                load.dc,
                text::percent(load.requested),
                text::percent(load.offered)
            )
        })
        .collect();
    parts.push(format!(
        "starts cover {} of the duration",
        text::percent(covered)
    ));
    if evidence.listed.flows > 0 {
        parts.push(format!(
            "listed flows besides: {}, {}",
            text::number(evidence.listed.flows),
            text::size(evidence.listed.bytes)
        ));
    }
    Some(parts.join("; "))
}
