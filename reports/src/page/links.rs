//! Measurements and totals of links.

use std::cmp::Reverse;

use lab_records::EngineInfo;
use lab_units::{Bytes, Nanos};
use maud::{Markup, html};

use super::{
    cells::{NONE, or_none, policy_name},
    certificate,
    contents::Page,
};
use crate::{
    figure::attributes,
    frames::{LinkUse, PortTotal},
    text,
};

/// Returns the tables of links.
pub fn tables(page: &Page<'_>) -> Markup {
    html! {
        // A simulated link needs no measurement.
        @if matches!(page.run.info.engine, EngineInfo::Kernel) {
            h3 { "Certificate: asked, measured, bound" }
            (certificate::table(&page.run.certificate))
        }
        h3 { "Carried" }
        @if page.run.link_uses.is_empty() {
            p { "No link counters were recorded." }
        } @else {
            div.wide { (carried(page)) }
            p.note {
                "Bytes that each direction carried in the whole run, headers and acknowledgements \
                 too, and under them its longest egress queue and the packets that it ECN-marked \
                 and dropped, if any."
                @if page.run.link_uses.iter().any(|one| one.is_peak_sampled) {
                    " Queues after ≥ are the longest sampled: between samples they may have been \
                     longer."
                }
            }
        }
        @if !page.run.ports.is_empty() { (ports(page)) }
        @if !page.run.pauses.is_empty() { (paused(page)) }
    }
}

fn carried(page: &Page<'_>) -> Markup {
    let policies = &page.run.flows.policies;
    html! {
        table {
            thead {
                tr {
                    th { "direction" }
                    th.n { "capacity · delay" }
                    @for policy in policies { th.n { (policy_name(page.run, policy)) } }
                }
            }
            tbody {
                @for link in &page.run.info.links {
                    @for (from, to) in [(&link.a, &link.b), (&link.b, &link.a)] {
                        tr {
                            th { (from) " → " (to) }
                            td.n { (attributes(link)) }
                            @for policy in policies {
                                td.n { (use_cell(page, policy, &link.name, from)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the table of the ports with the longest queues and pauses.
fn ports(page: &Page<'_>) -> Markup {
    let run = page.run;
    let busiest = |policy: &String| {
        let mut ports: Vec<&PortTotal> =
            run.ports.iter().filter(|it| it.policy == *policy).collect();
        ports.sort_by_key(|port| Reverse((port.peak_queue_bytes, port.paused_ns)));
        ports.truncate(MAX_PORTS);
        ports
    };
    html! {
        h3 { "Ports with the longest queues" }
        div.wide {
            table {
                thead {
                    tr {
                        th { "policy" }
                        th { "port" }
                        th.n { "longest queue" }
                        th.n { "marked" }
                        th.n { "dropped" }
                        th.n { "pauses" }
                        th.n { "paused" }
                    }
                }
                tbody {
                    @for policy in &run.flows.policies {
                        @for port in busiest(policy) {
                            tr {
                                th { (policy_name(run, policy)) }
                                td.t { (port.node) " → " (port.peer) }
                                td.n { (text::size(Bytes::new(port.peak_queue_bytes))) }
                                td.n { (text::number(port.marks)) }
                                td.n { (text::number(port.drops)) }
                                td.n { (text::number(port.pauses)) }
                                td.n { (text::time(Nanos::new(port.paused_ns))) }
                            }
                        }
                    }
                }
            }
        }
        p.note { "Hosts' and switches' ports, " (MAX_PORTS) " of each policy. Ports count their \
                  maxima packet by packet: nothing falls between samples." }
    }
}

/// Returns the table of pauses by priority flow control.
fn paused(page: &Page<'_>) -> Markup {
    let run = page.run;
    let policies = run
        .flows
        .policies
        .iter()
        .filter_map(|policy| Some((policy, run.pauses.get(policy)?)));
    html! {
        h3 { "Paused by priority flow control" }
        div.wide {
            table {
                thead {
                    tr {
                        th { "policy" }
                        th.n { "pauses" }
                        th.n { "ports" }
                        th.n { "time, added up" }
                        th { "longest" }
                    }
                }
                tbody {
                    @for (policy, pauses) in policies {
                        tr {
                            th { (policy_name(run, policy)) }
                            td.n { (text::number(pauses.count)) }
                            td.n { (pauses.ports.len()) }
                            td.n {
                                (text::time(pauses.total()))
                                @if !pauses.endless.is_empty() {
                                    span.ci {
                                        (text::count(pauses.endless.len(), "port")) " to the end"
                                    }
                                }
                            }
                            td.t { (or_none(pauses.longest().map(|((node, port), time)| {
                                format!("{port} of {node}, {}", text::time(time))
                            }))) }
                        }
                    }
                }
            }
        }
    }
}

fn use_cell(page: &Page<'_>, policy: &str, link: &str, from: &str) -> Markup {
    let wanted = |one: &&LinkUse| one.policy == policy && one.link == link && one.from_dc == from;
    let Some(one) = page.run.link_uses.iter().find(wanted) else {
        return html! { (NONE) };
    };
    let queue = one.peak_queue_bytes.filter(|&bytes| bytes > 0);
    let least = if one.is_peak_sampled { "≥ " } else { "" };
    let queue = queue.map(|bytes| format!("{least}{}", text::size(Bytes::new(bytes))));
    html! {
        (text::size(Bytes::new(one.bytes)))
        @if let Some(queue) = queue { span.ci { "queue " (queue) } }
        @if let Some(marks) = one.marks.filter(|&marks| marks > 0) {
            span.ci { (text::number(marks)) " marked" }
        }
        @if one.drops > 0 { span.ci { (text::number(one.drops)) " dropped" } }
    }
}

/// Number of ports per policy in the ports table.
const MAX_PORTS: usize = 8;
