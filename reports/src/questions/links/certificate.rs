//! Certificate of a lab's links: planned value, measured value and bound.

use lab_records::CertifiedRow;

use crate::{
    document::{Block, Cell, Column, Medium, Table},
    text,
};

/// Returns the link certificate: measured rate, delay and queue of each link direction against the plan. A column
/// describes the measurements that are out of bounds, if any.
pub fn blocks<'a>(rows: &[CertifiedRow]) -> Vec<Block<'a>> {
    if rows.is_empty() {
        let text = "The links were not measured.".to_owned();
        return vec![Block::Text(Medium::Page, text)];
    }
    let certified = rows.iter().filter(|row| row.problem.is_none()).count();
    let directions_of_links = text::count(rows.len(), "link direction");
    vec![
        Block::Text(
            Medium::Page,
            format!(
                "{certified} of {directions_of_links} certified: measured before the first flow, by the lab's own \
                 clock, and within the bounds."
            ),
        ),
        Block::Table(Medium::Page, directions(rows)),
        Block::Note(Medium::Page, EXPLANATION.to_owned()),
    ]
}

const EXPLANATION: &str = "Each cell has the measured value and, below it, the planned value with the bound on the \
                           difference. Values are emulated: the scenario's values multiplied by the scale. Queues \
                           are in packets of the largest size and may differ by one packet; a queue without a \
                           measured value is too long to be filled, so its limit is read back from the kernel.";

fn directions(rows: &[CertifiedRow]) -> Table {
    let has_problem = rows.iter().any(|row| row.problem.is_some());
    let numbers = [
        "rate",
        "one-way delay",
        "its spread",
        "queue",
        "frames lost",
        "out of order",
    ];
    let columns = [Column::names("direction")]
        .into_iter()
        .chain(numbers.map(Column::numbers));
    let row = |row: &CertifiedRow| {
        let rate = Cell::of(row.emu_measured_rate_bps.map(text::rate_exact));
        let delay = Cell::of(row.emu_measured_delay_ns.map(|delay| {
            format!(
                "{} ({})",
                text::time_exact(delay),
                text::time_off(delay, row.emu_delay_ns)
            )
        }));
        let spread = Cell::of(row.emu_spread_ns.map(text::time));
        let queue = Cell::of(row.measured_queue_packets.map(text::number));
        let bounded = |value, bound| format!("{value} ± {bound}");
        let cells = [
            Cell::from(format!("{} → {}", row.from, row.to)),
            rate.below(bounded(
                text::rate(row.emu_rate_bps),
                text::rate(row.emu_rate_bound_bps),
            )),
            delay.below(bounded(
                text::time(row.emu_delay_ns),
                text::time(row.emu_delay_bound_ns),
            )),
            spread.below(format!("at most {}", text::time(row.emu_spread_bound_ns))),
            queue.below(format!("{} planned", text::number(row.queue_packets))),
            format!("{} of {}", text::number(row.lost), text::number(row.sent)).into(),
            text::number(row.disordered).into(),
        ];
        let problem = has_problem.then(|| row.problem.as_deref().unwrap_or_default().into());
        cells.into_iter().chain(problem).collect::<Vec<_>>()
    };
    let problems = has_problem.then(|| Column::sentences("out of bounds"));
    Table::new(columns.chain(problems)).with(rows.iter().map(row))
}
