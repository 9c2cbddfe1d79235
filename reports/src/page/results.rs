//! Slowdowns of each policy, and their changes against the first.

use lab_records::Grade;
use maud::{Markup, html};

use super::{Page, policy_name};
use crate::{
    stats::{Estimate, Percentile},
    text,
};

/// Returns the tables of results.
pub fn tables(page: &Page<'_>) -> Markup {
    html! {
        h3 { "FCT slowdown of finished flows" }
        div.wide { (slowdowns(page)) }
        @if page.summary.policies.iter().any(|policy| policy.change.is_some()) {
            h3 { "Change against " (page.summary.policies[0].policy) }
            @if page.summary.verdict == Grade::Valid {
                div.wide { (changes(page)) }
            } @else {
                p {
                    "The run is not valid: no change is computed from it."
                }
            }
        }
        (tails(page))
        p.note {
            "Percentiles by the nearest-rank rule. In brackets: 95 % intervals, of percentiles by \
             order statistics, of means and changes by the bootstrap over windows of arrivals; they \
             tell how much the choice of flows matters, not what another seed's queues would do. \
             Changes are of the flows that finished under both policies."
            @if marked(page, Percentile::is_largest) {
                " Where no more flows are slower, the slowest is shown as max."
            }
            @if marked(page, |percentile| percentile.is_thin() && !percentile.is_largest()) {
                " An asterisk marks a percentile with fewer than 10 flows beyond it."
            }
        }
    }
}

/// True if any percentile of any policy is `marked`.
fn marked(page: &Page<'_>, marked: impl Fn(&Percentile) -> bool) -> bool {
    let slowdowns = page.summary.policies.iter().filter_map(|it| it.slowdown);
    slowdowns
        .flat_map(|slowdown| [slowdown.p50, slowdown.p95, slowdown.p99])
        .any(|percentile| marked(&percentile))
}

fn slowdowns(page: &Page<'_>) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "policy" }
                    @for name in ["p50", "p95", "p99", "mean"] { th.n { (name) } }
                    th.n { "flows" }
                    th.n { "finished" }
                    th.n { "under 1.00" }
                }
            }
            tbody {
                @for policy in &page.summary.policies {
                    tr {
                        th { (policy_name(page.run, &policy.policy)) }
                        @match &policy.slowdown {
                            Some(slowdown) => {
                                @for percentile in [slowdown.p50, slowdown.p95, slowdown.p99] {
                                    (percentile_cell(&percentile))
                                }
                                (cell(slowdown.mean, text::slowdown))
                            }
                            None => @for _ in 0..4 { td.n { (super::NONE) } }
                        }
                        td.n { (text::number(policy.flows)) }
                        td.n.bad[policy.unfinished > 0] { (text::number(policy.finished)) }
                        td.n.bad[policy.below_one > 0] { (text::number(policy.below_one)) }
                    }
                }
            }
        }
    }
}

fn changes(page: &Page<'_>) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "policy" }
                    @for name in ["p50", "p95", "p99", "mean"] { th.n { (name) } }
                    th.n { "flows" }
                }
            }
            tbody {
                @for policy in &page.summary.policies {
                    @if let Some(change) = &policy.change {
                        tr {
                            th { (policy_name(page.run, &policy.policy)) }
                            @for estimate in [change.p50, change.p95, change.p99, change.mean] {
                                (cell(estimate, text::change))
                            }
                            td.n { (text::number(change.pairs as u64)) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a note about the policies under which packets were lost: their slowest flows waited for
/// retransmissions.
fn tails(page: &Page<'_>) -> Markup {
    let drops = |policy: &String| {
        let uses = page
            .run
            .link_uses
            .iter()
            .filter(|one| one.policy == *policy);
        uses.map(|one| one.drops).sum::<u64>()
    };
    let policies = page.run.flows.policies.iter();
    let lossy: Vec<String> = policies
        .map(|policy| (policy, drops(policy)))
        .filter(|(_, drops)| *drops > 0)
        .map(|(policy, drops)| format!("{policy} {}", text::number(drops)))
        .collect();
    html! {
        @if !lossy.is_empty() {
            p.note {
                "Packets lost on inter-DC links: " (lossy.join(", ")) ". The FCTs of the flows that \
                 lost them contain retransmissions, and retransmission time-outs where the last \
                 packets were lost: such a tail tells of time-outs more than of paths. "
                @if page.run.timeouts.traced > 0 {
                    (text::number(page.run.timeouts.timed_out)) " of the "
                    (text::number(page.run.timeouts.traced)) " traced flows timed out."
                } @else {
                    "The records do not say which flows timed out; those of " code { "sim --story" }
                    " do, for traced flows."
                }
            }
        }
    }
}

/// Returns the cell of a percentile: the largest value is called so, a thin percentile marked.
fn percentile_cell(percentile: &Percentile) -> Markup {
    let end = |end: Option<f64>, unknown: &str| end.map_or(unknown.to_owned(), text::slowdown);
    html! {
        td.n {
            @if percentile.is_largest() { "max " }
            (text::slowdown(percentile.value))
            @if percentile.is_thin() && !percentile.is_largest() { "*" }
            span.ci { "[" (end(percentile.low, "0")) ", " (end(percentile.high, "∞")) "]" }
        }
    }
}

fn cell(estimate: Estimate, show: fn(f64) -> String) -> Markup {
    html! {
        td.n {
            (show(estimate.value))
            span.ci { "[" (show(estimate.low)) ", " (show(estimate.high)) "]" }
        }
    }
}
