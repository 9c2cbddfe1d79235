//! Numbers of flows in flight, started and finished over time.

use super::{Span, TimeGrid};
use crate::text::to_float;

/// Flows of one policy over time, by group of routes.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowsOverTime {
    /// Mean number of flows in flight in each interval, by group.
    pub under_way: Vec<Vec<f64>>,
    /// Number of flows that started in each interval, by group.
    pub started: Vec<Vec<u32>>,
    /// Number of flows that finished in each interval.
    pub finished: Vec<u32>,
}

/// Counts the flows in `spans` per interval of `grid`; `group_of` returns the index of a flow's group, less than
/// `groups`.
pub fn flows_over_time(
    grid: &TimeGrid,
    spans: impl IntoIterator<Item = Span>,
    groups: usize,
    group_of: impl Fn(&Span) -> usize,
) -> FlowsOverTime {
    let zeros = vec![0.0; grid.len() + 1];
    let mut within = vec![zeros.clone(); groups];
    let mut entered = vec![zeros; groups];
    let mut flows = FlowsOverTime {
        under_way: Vec::new(),
        started: vec![vec![0; grid.len()]; groups],
        finished: vec![0; grid.len()],
    };
    let width = |index: usize| to_float(grid.edge(index + 1) - grid.edge(index));
    for span in spans {
        let start = span.start.get();
        let end = span.end.get();
        let first = grid.index(start);
        let last = grid.index(end);
        let group = group_of(&span);
        flows.started[group][first] += 1;
        if span.is_finished {
            flows.finished[last] += 1;
        }
        let share = |time: u64, index: usize| {
            to_float(time.saturating_sub(grid.edge(index))) / width(index)
        };
        // A flow counts fully in all intervals from its start to its end. Then the parts of the first and last interval
        // before its start and after its end are subtracted.
        entered[group][first] += 1.0;
        within[group][first] -= share(start, first);
        entered[group][last + 1] -= 1.0;
        within[group][last] -= 1.0 - share(end, last).min(1.0);
    }
    let sum = |(entered, within): (&Vec<f64>, &Vec<f64>)| {
        let mut flows = 0.0;
        let add = |(entered, within): (&f64, &f64)| {
            flows += entered;
            f64::max(flows + within, 0.0)
        };
        let intervals = entered.iter().zip(within).take(grid.len());
        intervals.map(add).collect()
    };
    flows.under_way = entered.iter().zip(&within).map(sum).collect();
    flows
}

#[cfg(test)]
mod tests {
    use lab_units::Nanos;

    use super::*;

    #[test]
    fn flows_count_for_the_share_of_an_interval_that_they_are_under_way() {
        // Each interval lasts 1 µs.
        let grid = TimeGrid::new(vec![240_000], None);
        let span = |start, end, is_finished| Span {
            start: Nanos::new(start),
            end: Nanos::new(end),
            is_finished,
            route: None,
        };
        let spans = [
            span(500, 2_500, true),
            span(1_250, 1_750, true),
            span(238_000, 239_500, false),
        ];
        let found = flows_over_time(&grid, spans, 1, |_| 0);
        assert_eq!(found.under_way[0][..4], [0.5, 1.5, 0.5, 0.0]);
        assert_eq!(found.under_way[0][238..], [1.0, 0.5]);
        assert_eq!((found.started[0][1], found.finished[2]), (1, 1));
        assert_eq!(found.finished.iter().sum::<u32>(), 2);
    }
}
