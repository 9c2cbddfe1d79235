//! Every flow.

use lab_records::FlowRow;
use maud::{Markup, html};

use super::or_none;
use crate::{run::Run, text};

/// The table of flows, folded.
pub fn table(run: &Run) -> Markup {
    let place = |flow: &FlowRow| run.policies.iter().position(|label| *label == flow.policy);
    let mut flows: Vec<&FlowRow> = run.flows.iter().collect();
    flows.sort_by_key(|flow| (place(flow), flow.repetition, flow.flow_id));
    let shown = flows.len().min(MAX_ROWS);
    html! {
        @if flows.is_empty() {
            p { "No flow is recorded." }
        } @else {
            details {
                summary {
                    (text::count(flows.len(), "row"))
                    @if shown < flows.len() {
                        ", of which the first " (shown) " are here and all in " code { "flows.csv" }
                    }
                }
                div.wide { (rows(run, &flows[..shown])) }
            }
        }
    }
}

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
                        td.t { (flow.policy) }
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

/// A page with more would be slow to open.
const MAX_ROWS: usize = 2_000;
