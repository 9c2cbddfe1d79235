//! Certificate of the lab's links: asked, measured, bound.

use lab_records::CertifiedRow;
use maud::{Markup, html};

use super::cells::NONE;
use crate::text;

/// Returns the table of every direction that was measured; a direction with figures out of bounds has its problem below
/// it.
pub fn table(rows: &[CertifiedRow]) -> Markup {
    if rows.is_empty() {
        return html! { p { "The links were not measured." } };
    }
    let certified = rows.iter().filter(|row| row.problem.is_none()).count();
    html! {
        p {
            (certified) " of " (text::count(rows.len(), "direction")) " of links certified: measured before \
             the first flow, by the lab's own clock, and within the bounds."
        }
        div.wide {
            table {
                thead {
                    tr {
                        th { "direction" }
                        th.n { "rate" }
                        th.n { "one-way delay" }
                        th.n { "its spread" }
                        th.n { "queue" }
                        th.n { "frames lost" }
                        th.n { "out of order" }
                    }
                }
                tbody { @for row in rows { (direction(row)) } }
            }
        }
        p.note {
            "Measured, and under it what was asked for with the bound of the difference. Emulated values: what \
             the packets meet, which is the scenario's times the scale. Queues are in packets of the largest \
             size, to one packet; one without a measured value is too long to be filled, and its limit is read \
             back from the kernel."
        }
    }
}

fn direction(row: &CertifiedRow) -> Markup {
    html! {
        tr {
            th { (row.from) " → " (row.to) }
            td.n {
                (row.emu_measured_rate_bps.map_or(NONE.into(), text::rate_exact))
                span.ci {
                    (text::rate(row.emu_rate_bps)) " ± " (text::rate(row.emu_rate_bound_bps))
                }
            }
            td.n {
                @match row.emu_measured_delay_ns {
                    Some(delay) => {
                        (text::time_exact(delay)) " (" (text::time_off(delay, row.emu_delay_ns)) ")"
                    }
                    None => (NONE),
                }
                span.ci {
                    (text::time(row.emu_delay_ns)) " ± " (text::time(row.emu_delay_bound_ns))
                }
            }
            td.n {
                (row.emu_spread_ns.map_or(NONE.into(), text::time))
                span.ci { "at most " (text::time(row.emu_spread_bound_ns)) }
            }
            td.n {
                (row.measured_queue_packets.map_or(NONE.into(), text::number))
                span.ci { (text::number(row.queue_packets)) " asked" }
            }
            td.n { (text::number(row.lost)) " of " (text::number(row.sent)) }
            td.n { (text::number(row.disordered)) }
        }
        @if let Some(problem) = &row.problem {
            tr { td colspan="7" { strong { "Out of bounds: " } (problem) } }
        }
    }
}
