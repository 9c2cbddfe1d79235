//! Choice of the flows that a report page lists.

use lab_records::{FlowFields, FlowRow};

/// Flows of one policy that the report page lists: the worst flows, and an evenly spaced sample.
pub struct Chosen {
    worst: Vec<FlowRow>,
    sample: Vec<FlowRow>,
    /// Slowdown below which a flow is certainly not among the worst flows.
    threshold: f64,
    seen: usize,
    /// Spacing of the sample: one in `every` flows is kept.
    every: usize,
    /// Maximum number of worst flows.
    room: usize,
}

impl Chosen {
    /// Returns an empty choice for about `expected` flows. The choice keeps at most `room` worst flows and a sample of
    /// about `room` flows.
    pub fn new(expected: u64, room: usize) -> Self {
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        Self {
            worst: Vec::new(),
            sample: Vec::new(),
            threshold: 0.0,
            seen: 0,
            every: if expected <= 2 * room {
                1
            } else {
                expected.div_ceil(room.max(1))
            },
            room,
        }
    }

    /// Adds a flow, and only then parses its row, if the flow belongs to the sample or may be among the worst.
    /// `badness` is the flow's [`badness`].
    pub fn add<E>(
        &mut self,
        badness: f64,
        row: impl FnOnce() -> Result<FlowRow, E>,
    ) -> Result<(), E> {
        if self.seen.is_multiple_of(self.every) {
            self.sample.push(row()?);
        } else if badness >= self.threshold {
            self.worst.push(row()?);
            if self.worst.len() >= 2 * self.room.max(1) {
                self.keep_worst();
            }
        }
        self.seen += 1;
        Ok(())
    }

    /// Returns the chosen flows, sorted by repetition and number.
    pub fn into_rows(mut self) -> Vec<FlowRow> {
        self.keep_worst();
        let mut rows = self.worst;
        rows.append(&mut self.sample);
        rows.sort_by_key(|row| (row.repetition, row.flow_id));
        rows
    }

    /// Drops all but the worst flows: those that started but did not finish, then those with the largest slowdowns.
    fn keep_worst(&mut self) {
        let badness = |row: &FlowRow| badness(row.fields());
        self.worst.sort_by(|a, b| {
            let worse = badness(b).total_cmp(&badness(a));
            worse.then((a.repetition, a.flow_id).cmp(&(b.repetition, b.flow_id)))
        });
        self.worst.truncate(self.room);
        if let Some(least) = self.worst.last().filter(|_| self.worst.len() == self.room) {
            self.threshold = badness(least);
        }
    }
}

/// Returns the key that sorts flows by badness: the slowdown, infinity for a flow that started but did not finish, or 0
/// for a flow that never started, which reveals nothing about the policy.
pub fn badness(flow: FlowFields<'_>) -> f64 {
    match (flow.slowdown, flow.has_started()) {
        (Some(slowdown), _) => slowdown,
        (None, true) => f64::INFINITY,
        (None, false) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::testing;

    fn chosen(count: u32, room: usize) -> Vec<u32> {
        let mut chosen = Chosen::new(count.into(), room);
        let mut read = 0;
        for id in 0..count {
            let slowdown = (id != 7).then(|| f64::from(id * 37 % count) + 1.0);
            let row = || {
                read += 1;
                Ok::<_, Infallible>(testing::flow("a", id, slowdown))
            };
            chosen.add(slowdown.unwrap_or(f64::INFINITY), row).unwrap();
        }
        assert!(read < 200, "{read} rows of {count} were read");
        chosen
            .into_rows()
            .into_iter()
            .map(|row| row.flow_id.0)
            .collect()
    }

    #[test]
    fn an_unfinished_flow_is_the_worst_and_one_that_never_started_is_not() {
        let of = |slowdown| testing::flow("a", 0, slowdown);
        let never = FlowRow {
            launch_lateness_ns: None,
            ..of(None)
        };
        let found = [of(None), of(Some(3.0)), never].map(|row| badness(row.fields()));
        assert_eq!(found, [f64::INFINITY, 3.0, 0.0]);
    }

    #[test]
    fn few_flows_are_all_chosen_and_of_many_the_worst_and_a_sample() {
        assert_eq!(chosen(8, 4), (0..8).collect::<Vec<_>>());
        let many = chosen(1_000, 10);
        assert_eq!(many.len(), 20);
        // Kept are the flow that did not finish, the slowest flow, and every hundredth flow.
        assert!([7, 100, 900].iter().all(|id| many.contains(id)));
        let slowest = (0..1_000).find(|id| id * 37 % 1_000 == 999).unwrap();
        assert!(many.contains(&slowest));
    }
}
