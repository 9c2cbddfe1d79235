//! The tables of flows and their routes.

use std::collections::BTreeMap;

use lab_records::FlowRow;
use lab_units::{Bytes, Nanos, show::counted};
use maud::{Markup, html};

use super::{
    cells::{NONE, or_none, policy_name},
    contents::Page,
};
use crate::{
    error::ReportError,
    frames::{RouteShare, badness},
    run::Run,
    text,
};

/// Returns the table of routes, the least delay first.
pub fn routes(page: &Page<'_>) -> Result<Markup, ReportError> {
    let mut shares: BTreeMap<(u8, Nanos, String), BTreeMap<&str, &RouteShare>> = BTreeMap::new();
    let policies = &page.run.flows.policies;
    let routes = &page.run.routes;
    for (index, policy) in policies.iter().enumerate() {
        for share in page.run.flows.routes(index) {
            let delay = routes.delay(&routes.named(&share.route));
            let (unknown, delay) = delay.map_or((1, Nanos::ZERO), |delay| (0, delay));
            let key = (unknown, delay, share.route.clone());
            shares.entry(key).or_default().insert(policy, share);
        }
    }
    if shares.is_empty() {
        return Ok(html! { p { "No flow's path is known." } });
    }
    Ok(html! {
        div.wide {
            table {
                thead {
                    tr {
                        th { "route" }
                        th.n { "one-way delay" }
                        @for policy in policies { th.n { (policy_name(page.run, policy)) } }
                    }
                }
                tbody {
                    @for ((unknown, delay, route), by_policy) in &shares {
                        tr {
                            th { (route) }
                            td.n { (or_none((*unknown == 0).then(|| text::time(*delay)))) }
                            @for policy in policies {
                                @match by_policy.get(policy.as_str()) {
                                    Some(share) => td.n {
                                        (counted(share.flows, "flow"))
                                        span.ci { (text::size(Bytes::new(share.bytes))) }
                                    },
                                    None => td.n { (NONE) },
                                }
                            }
                        }
                    }
                }
            }
        }
        p.note { "Routes of the flows' data, either direction." (page.run.about_routes()) }
    })
}

/// Returns the flow table: the worst flows, which scripts replace by all flows on the page.
pub fn table(run: &Run) -> Markup {
    let all = run.flows.counts.iter().map(|counts| counts.flows).sum();
    let shown = &run.flows.shown;
    html! {
        h3 id="flow-table" { "Table of flows" }
        @if shown.is_empty() {
            p { "No flow is recorded." }
        } @else {
            p.note {
                @if (shown.len() as u64) < all {
                    "The page has " (text::number(shown.len() as u64)) " of "
                    (counted(all, "flow"))
                    ": the worst of each policy, and about as many picked evenly; all are in "
                } @else {
                    "All flows are here and in "
                }
                code { "flows.csv" }
                ". A row opens the flow's story: the candidates and the choice of every DCI switch, \
                 and queues as sampled then. Without scripts, the table has the worst flows alone."
            }
            input.search id="flow-search" type="search" hidden
                placeholder="search: policy, host, path, status" aria-label="search flows";
            div id="flow-rows" { div.wide { (rows(run, &worst(run))) } }
        }
    }
}

/// Returns the worst flows of each policy.
fn worst(run: &Run) -> Vec<&FlowRow> {
    let mut worst = Vec::new();
    for policy in &run.flows.policies {
        let badness = |row: &FlowRow| badness(row.fields());
        let mut flows: Vec<&FlowRow> = run
            .flows
            .shown
            .iter()
            .filter(|row| row.policy == *policy)
            .collect();
        flows.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
        worst.extend(flows.into_iter().take(MAX_WORST));
    }
    worst
}

/// Number of each policy's flows in the table without scripts.
const MAX_WORST: usize = 5;

fn rows(run: &Run, flows: &[&FlowRow]) -> Markup {
    let repeated = run.info.repetitions > 1;
    html! {
        table {
            thead {
                tr {
                    th { "policy" }
                    @if repeated { th.n { "repetition" } }
                    th.n { "flow" }
                    th { "from → to" }
                    th.n { "size" }
                    th.n { "start" }
                    th.n { "FCT" }
                    th.n { "ideal" }
                    th.n { "slowdown" }
                    th { "path" }
                    th { "path of ACKs" }
                    th.n { "late by" }
                    th { "status" }
                }
            }
            tbody {
                @for flow in flows {
                    tr {
                        th { (flow.policy) }
                        @if repeated { td.n { (flow.repetition) } }
                        td.n { (flow.flow_id) }
                        td.t { (flow.src_host) " → " (flow.dst_host) }
                        td.n { (text::size(flow.size_bytes)) }
                        td.n { (text::time(flow.start_ns)) }
                        td.n { (or_none(flow.fct_ns.map(text::time))) }
                        td.n { (text::time(flow.ideal_fct_ns)) }
                        td.n.bad[flow.slowdown.is_some_and(|slowdown| slowdown < 1.0)] {
                            (or_none(flow.slowdown.map(text::slowdown)))
                        }
                        td.t { (or_none(flow.path.as_ref().map(ToString::to_string))) }
                        td.t { (or_none(flow.ack_path.as_ref().map(ToString::to_string))) }
                        td.n { (or_none(flow.launch_lateness_ns.map(text::time))) }
                        td.bad[!flow.status.is_finished()] {
                            (flow.status.label())
                            @if !flow.reason.is_empty() { ": " (flow.reason) }
                        }
                    }
                }
            }
        }
    }
}
