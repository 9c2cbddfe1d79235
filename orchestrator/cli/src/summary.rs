//! The closing table of a run: policies side by side.

use lab_reports::{Change, PolicySummary, Summary};

/// The policies' FCT slowdowns, a line each.
#[must_use]
pub fn table(summary: &Summary) -> String {
    let mut lines = vec![format!(
        "{:<14} {:>9} {:>9} {:>9} {:>9} {:>9}   {}",
        "FCT slowdown", "flows", "p50", "p95", "p99", "mean", "against the first"
    )];
    lines.extend(summary.policies.iter().map(line));
    lines.join("\n")
}

fn line(policy: &PolicySummary) -> String {
    let flows = format!("{}/{}", policy.finished, policy.flows);
    let Some(slowdown) = &policy.slowdown else {
        return format!("{:<14} {flows:>9} no flow finished", policy.policy);
    };
    let text = format!(
        "{:<14} {flows:>9} {:>9.2} {:>9.2} {:>9.2} {:>9.2}   {}",
        policy.policy,
        slowdown.p50.value,
        slowdown.p95.value,
        slowdown.p99.value,
        slowdown.mean.value,
        policy.change.as_ref().map(change).unwrap_or_default(),
    );
    text.trim_end().to_owned()
}

fn change(change: &Change) -> String {
    let percent = |value: f64| format!("{:+.0} %", value * 100.0);
    format!(
        "p50 {}, p99 {}",
        percent(change.p50.value),
        percent(change.p99.value)
    )
}
