//! What each link was and what it carried.

use lab_records::{DelayMethod, MeasuredLink};
use lab_units::Bytes;
use maud::{Markup, html};

use super::{NONE, Page, or_none, policy_name};
use crate::{figure::attributes, frames::LinkUse, text};

/// The tables of links.
pub fn tables(page: &Page<'_>) -> Markup {
    html! {
        h3 { "Measured against configured" }
        (measured(page))
        h3 { "Carried" }
        @if page.link_uses.is_empty() {
            p { "No link counters were recorded." }
        } @else {
            div.wide { (carried(page)) }
            p.note {
                "Per direction: mean utilisation, packets dropped if any were, and the fullest its \
                 egress queue was seen."
            }
        }
    }
}

fn measured(page: &Page<'_>) -> Markup {
    let links = page
        .run
        .end
        .as_ref()
        .map_or(&[][..], |end| &end.measured_links);
    if links.is_empty() {
        return html! { p { "Rates and delays were not measured." } };
    }
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        th { "direction" }
                        th.n { "rate" } th.n { "measured" } th.n { "" }
                        th.n { "delay" } th.n { "measured" } th.n { "" }
                        th { "delay by" }
                    }
                }
                tbody { @for link in links { (measured_row(link)) } }
            }
        }
        p.note { "Emulated values: the rates and delays the packets met." }
    }
}

fn measured_row(link: &MeasuredLink) -> Markup {
    let rate = link.emu_measured_rate_bps;
    let delay = link.emu_measured_delay_ns;
    let off = |measured: u64, configured: u64| {
        text::change(text::to_float(measured) / text::to_float(configured.max(1)) - 1.0)
    };
    html! {
        tr {
            th { (link.from_dc) " → " (link.to_dc) }
            td.n { (text::rate(link.emu_rate_bps)) }
            td.n { (or_none(rate.map(text::rate_exact))) }
            td.n { (or_none(rate.map(|rate| off(rate.get(), link.emu_rate_bps.get())))) }
            td.n { (text::time(link.emu_delay_ns)) }
            td.n { (or_none(delay.map(text::time_exact))) }
            td.n { (or_none(delay.map(|delay| off(delay.get(), link.emu_delay_ns.get())))) }
            td.t {
                @match (delay, link.delay_method) {
                    (None, _) => (NONE),
                    (Some(_), DelayMethod::OneWay) => "one way",
                    (Some(_), DelayMethod::HalfRtt) => "half the RTT",
                }
            }
        }
    }
}

fn carried(page: &Page<'_>) -> Markup {
    let links = &page.run.info.links;
    html! {
        table {
            thead {
                tr {
                    th { "direction" }
                    th.n { "capacity · delay" }
                    @for policy in &page.run.policies { th.n { (policy_name(page.run, policy)) } }
                }
            }
            tbody {
                @for link in links {
                    @for (from, to) in [(&link.a, &link.b), (&link.b, &link.a)] {
                        tr {
                            th { (from) " → " (to) }
                            td.n { (attributes(link)) }
                            @for policy in &page.run.policies {
                                td.n { (use_cell(page, policy, &link.name, from)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn use_cell(page: &Page<'_>, policy: &str, link: &str, from: &str) -> Markup {
    let wanted = |one: &&LinkUse| one.policy == policy && one.link == link && one.from_dc == from;
    let Some(one) = page.link_uses.iter().find(wanted) else {
        return html! { (NONE) };
    };
    let queue = one
        .peak_queue_bytes
        .map(|bytes| text::size(Bytes::new(bytes)));
    html! {
        (text::percent(one.utilisation))
        span.ci {
            @if let Some(queue) = queue { "queue " (queue) }
            @if one.drops > 0 { " · " (one.drops) " dropped" }
        }
    }
}
