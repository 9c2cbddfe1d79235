//! Slowdowns of each policy, and their changes against the first.

use lab_records::{Grade, Retransmissions, RunEnd};
use maud::{Markup, html};

use super::{Page, policy_name};
use crate::{
    departures,
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
                        th {
                            (policy_name(page.run, &policy.policy))
                            @if !policy.departures.is_empty() {
                                span.ci { (departures::listed(&policy.departures)) }
                            }
                        }
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
    let end = page.run.end.as_ref();
    let counts = end.and_then(|end| go_backs(end, &page.run.flows.policies));
    html! {
        @if !lossy.is_empty() {
            p.note {
                "Packets lost on inter-DC links: " (lossy.join(", ")) ". The FCTs of the flows that \
                 lost them contain retransmissions, and retransmission time-outs where the last \
                 packets were lost: such a tail tells of time-outs more than of paths. "
                (counts.unwrap_or_default())
            }
        }
    }
}

/// Returns the sentence that counts each policy's go-backs and time-outs, if they were counted.
fn go_backs(end: &RunEnd, policies: &[String]) -> Option<String> {
    let least = if end.lab.is_some() { "at least " } else { "" };
    let counts = policies.iter().filter_map(|policy| {
        let Retransmissions { go_backs, timeouts } = *end.retransmissions.get(policy)?;
        (go_backs > 0).then(|| {
            let (go_backs, timeouts) = (text::number(go_backs), text::number(timeouts));
            format!("{policy} {go_backs}, {least}{timeouts} of them at a time-out")
        })
    });
    let counts: Vec<String> = counts.collect();
    (!counts.is_empty()).then(|| format!("Times that senders went back: {}.", counts.join("; ")))
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

#[cfg(test)]
mod tests {
    use lab_records::{LabWork, sample};

    use super::*;

    #[test]
    fn go_backs_are_counted_for_the_policies_that_had_any() {
        let policies = ["ecmp", "lcmp", "ucmp"].map(str::to_owned);
        let mut end = sample::end();
        assert_eq!(go_backs(&end, &policies), None);
        let counts = [("ecmp", 0, 0), ("lcmp", 1_234, 56), ("ucmp", 7, 0)];
        end.retransmissions = counts
            .map(|(policy, go_backs, timeouts)| {
                (policy.to_owned(), Retransmissions { go_backs, timeouts })
            })
            .into();
        insta::assert_snapshot!(
            go_backs(&end, &policies).unwrap_or_default(),
            @"Times that senders went back: lcmp 1,234, 56 of them at a time-out; ucmp 7, 0 of them at a time-out."
        );
        end.lab = Some(LabWork::default());
        let text = go_backs(&end, &policies).unwrap_or_default();
        assert!(text.contains("at least 56 of them"), "{text}");
    }
}
