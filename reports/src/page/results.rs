//! Slowdowns of each policy, and their changes against the first.

use maud::{Markup, html};

use super::{Page, policy_name};
use crate::{stats::Estimate, text};

/// Returns the tables of results.
pub fn tables(page: &Page<'_>) -> Markup {
    html! {
        h3 { "FCT slowdown of finished flows" }
        div.wide { (slowdowns(page)) }
        @if page.summary.policies.iter().any(|policy| policy.change.is_some()) {
            h3 { "Change against " (page.summary.policies[0].policy) }
            div.wide { (changes(page)) }
        }
        p.note {
            "Percentiles by the nearest-rank rule. In brackets: 95 % bootstrap percentile \
             intervals, with flows drawn whole; they tell how much the choice of flows matters, not \
             what another seed's queues would do. Changes are of the flows that finished under both \
             policies."
            @if few(page) {
                " Of fewer than 100 flows the p99 is the slowest, of fewer than 20 the p95 too."
            }
        }
    }
}

fn few(page: &Page<'_>) -> bool {
    page.summary
        .policies
        .iter()
        .any(|policy| policy.finished < 100)
}

fn slowdowns(page: &Page<'_>) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "policy" }
                    th.n { "flows" }
                    th.n { "finished" }
                    th.n { "under 1.00" }
                    @for name in ["p50", "p95", "p99", "mean"] { th.n { (name) } }
                }
            }
            tbody {
                @for policy in &page.summary.policies {
                    tr {
                        th { (policy_name(page.run, &policy.policy)) }
                        td.n { (policy.flows) }
                        td.n.bad[policy.unfinished > 0] { (policy.finished) }
                        td.n.bad[policy.below_one > 0] { (policy.below_one) }
                        @match &policy.slowdown {
                            Some(slowdown) => {
                                @for estimate in [slowdown.p50, slowdown.p95, slowdown.p99, slowdown.mean] {
                                    (cell(estimate, text::slowdown))
                                }
                            }
                            None => @for _ in 0..4 { td.n { (super::NONE) } }
                        }
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
                    th.n { "flows" }
                    @for name in ["p50", "p95", "p99", "mean"] { th.n { (name) } }
                }
            }
            tbody {
                @for policy in &page.summary.policies {
                    @if let Some(change) = &policy.change {
                        tr {
                            th { (policy_name(page.run, &policy.policy)) }
                            td.n { (change.pairs) }
                            @for estimate in [change.p50, change.p95, change.p99, change.mean] {
                                (cell(estimate, text::change))
                            }
                        }
                    }
                }
            }
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
