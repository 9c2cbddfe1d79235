//! Cost of a run's flows: the estimate next to the actual values.

use lab_plan::{Capacity, PlaceEstimate, Plan, estimate_at};
use lab_records::{Phase, RunEnd};
use lab_units::{
    Nanos,
    show::{self, about_time, commas, sides},
};

/// Returns a table that shows the cost of `plan`'s flows, estimated from `capacity`, next to the actual cost in `end`.
pub fn table(plan: &Plan, capacity: &Capacity, end: &RunEnd) -> String {
    text(&estimate_at(plan, capacity), capacity, end)
}

fn text(estimate: &PlaceEstimate, capacity: &Capacity, end: &RunEnd) -> String {
    let time = |time: Option<Nanos>| time.map_or_else(|| "-".to_owned(), about_time);
    let row =
        |name: &str, estimated: String, happened: String| [name.to_owned(), estimated, happened];
    let work = end.lab.unwrap_or_default();
    let wall: Nanos = end
        .phases
        .iter()
        .filter(|phase| is_of_flows(phase))
        .map(|phase| phase.took_ns)
        .sum();
    let rows = [
        row(
            "cost of flows",
            "estimated".to_owned(),
            "happened".to_owned(),
        ),
        row(
            "busy, lab's clock",
            about_time(estimate.busy_ns),
            time(end.guest_cpu.map(|cpu| cpu.busy_ns)),
        ),
        row(
            "lab's clock",
            about_time(estimate.lab_ns),
            about_time(work.lab_ns),
        ),
        row("wall clock", about_time(estimate.wall_ns), about_time(wall)),
        row(
            "packets × links",
            commas(estimate.packet_hops),
            commas(work.packet_hops),
        ),
        row(
            "packets × links/s",
            commas(rate(estimate.packet_hops, estimate.lab_ns)),
            commas(rate(work.packet_hops, work.lab_ns)),
        ),
    ];
    let place = show::paragraph("at ", &capacity.to_string());
    format!("\n{}{place}", show::table(0, sides(1), &rows))
}

/// Returns true if flows ran in the phase.
fn is_of_flows(phase: &Phase) -> bool {
    phase.name.ends_with(" flows")
}

fn rate(count: u64, time: Nanos) -> u64 {
    let rate = u128::from(count) * 1_000_000_000 / u128::from(time.get().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use lab_records::LabWork;
    use lab_sample as sample;

    use super::*;

    #[test]
    fn the_estimate_stands_beside_what_happened() {
        let estimate = PlaceEstimate {
            busy_ns: Nanos::from_millis(82_500),
            wall_ns: Nanos::from_millis(577_000),
            packet_hops: 1_809_744,
            lab_ns: Nanos::from_millis(720_000),
            peak_percent: 45,
        };
        let end = RunEnd {
            lab: Some(LabWork {
                packet_hops: 1_853_001,
                lab_ns: Nanos::from_millis(900_000),
            }),
            ..sample::end()
        };
        insta::assert_snapshot!(text(&estimate, &Capacity::default(), &end));
    }
}
