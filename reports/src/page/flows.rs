//! The table of flows.

use lab_records::FlowRow;
use maud::{Markup, html};

use super::{counted, or_none};
use crate::{run::Run, text};

/// Returns the table of flows, folded.
pub fn table(run: &Run) -> Markup {
    let (all, shown) = (run.flows.total().flows, &run.flows.shown);
    html! {
        @if shown.is_empty() {
            p { "No flow is recorded." }
        } @else {
            details {
                summary {
                    (counted(all, "row"))
                    @if (shown.len() as u64) < all {
                        ", of which the first " (shown.len()) " are here and all in "
                        code { "flows.csv" }
                    }
                }
                div.wide { (rows(run, shown)) }
            }
        }
    }
}

fn rows(run: &Run, flows: &[FlowRow]) -> Markup {
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
