//! Text of a run's evidence: the flows that met, and each policy's mechanism at work.

use lab_records::{Evidence, Met, PolicyEvidence};
use lab_units::show::{self, Side};

use crate::text::{self, WIDTH};

/// Heads for the table that [`row`] fills.
pub const HEADS: [&str; 5] = [
    "at work",
    "flows at once",
    "peak",
    "overlap",
    "busiest link",
];

/// Returns the load, the flows that met under each policy, the policies' mechanisms, and the warnings.
/// Empty without evidence.
pub fn section(evidence: &Evidence, warnings: &[String]) -> String {
    let policies = &evidence.policies;
    if policies.is_empty() {
        return String::new();
    }
    let mut rows = vec![HEADS.map(str::to_owned)];
    rows.extend(policies.iter().map(row));
    let sides = [
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Left,
    ];
    let mut section = format!("\n{}", show::table(0, sides, &rows));
    if let Some(load) = load(evidence) {
        section += &show::paragraph_of(WIDTH, "load: ", &load);
    }
    let sentences = policies.iter().map(|policy| {
        show::paragraph_of(WIDTH, &format!("{}: ", policy.policy), &policy.sentence())
    });
    section.extend(sentences);
    if let Some(note) = evidence.failover_note() {
        section += &show::paragraph_of(WIDTH, "", note);
    }
    let warnings = warnings
        .iter()
        .map(|warning| show::paragraph_of(WIDTH, "warning: ", warning));
    section.extend(warnings);
    section
}

/// Returns the flows that met under a policy, as a row of a table.
pub fn row(policy: &PolicyEvidence) -> [String; 5] {
    let Met {
        mean_concurrency,
        peak_concurrency,
        flows,
        overlapping,
        busiest,
    } = &policy.met;
    let share = text::to_float(*overlapping) / text::to_float((*flows).max(1));
    let busiest = busiest.as_ref().map_or_else(
        || "-".to_owned(),
        |link| {
            let used = text::percent(link.utilisation);
            format!("{}-{} {used}", link.from_dc, link.to_dc)
        },
    );
    [
        policy.policy.clone(),
        text::grouped(format!("{mean_concurrency:.1}")),
        text::number(*peak_concurrency),
        text::percent(share),
        busiest,
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
