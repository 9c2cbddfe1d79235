//! Flows that a page has room for.

use lab_records::FlowRow;

/// Flows of one policy: the worst, and a sample.
#[derive(Default)]
pub struct Chosen {
    worst: Vec<FlowRow>,
    sample: Vec<FlowRow>,
    seen: usize,
}

impl Chosen {
    /// Adds a flow, of about `expected` ones; at most `room` worst and about as many others are kept.
    pub fn add(&mut self, row: FlowRow, expected: u64, room: usize) {
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        let every = match expected <= 2 * room {
            true => 1,
            false => expected.div_ceil(room.max(1)),
        };
        if self.seen.is_multiple_of(every) {
            self.sample.push(row);
        } else {
            self.worst.push(row);
            if self.worst.len() >= 2 * room.max(1) {
                self.keep_worst(room);
            }
        }
        self.seen += 1;
    }

    /// Returns the flows kept, by repetition and id.
    pub fn into_rows(mut self, room: usize) -> Vec<FlowRow> {
        self.keep_worst(room);
        let mut rows = self.worst;
        rows.append(&mut self.sample);
        rows.sort_by_key(|row| (row.repetition, row.flow_id));
        rows
    }

    /// Keeps the flows that did not finish, and then those with the largest slowdowns.
    fn keep_worst(&mut self, room: usize) {
        let badness = |row: &FlowRow| row.slowdown.unwrap_or(f64::INFINITY);
        self.worst.sort_by(|a, b| {
            let worse = badness(b).total_cmp(&badness(a));
            worse.then((a.repetition, a.flow_id).cmp(&(b.repetition, b.flow_id)))
        });
        self.worst.truncate(room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn chosen(count: u32, room: usize) -> Vec<u32> {
        let mut chosen = Chosen::default();
        for id in 0..count {
            let slowdown = (id != 7).then(|| f64::from(id * 37 % count) + 1.0);
            chosen.add(testing::flow("a", id, slowdown), count.into(), room);
        }
        chosen
            .into_rows(room)
            .into_iter()
            .map(|row| row.flow_id.0)
            .collect()
    }

    #[test]
    fn few_flows_are_all_chosen_and_of_many_the_worst_and_a_sample() {
        assert_eq!(chosen(8, 4), (0..8).collect::<Vec<_>>());
        let many = chosen(1_000, 10);
        assert_eq!(many.len(), 20);
        // The one that did not finish, the slowest, and every hundredth.
        assert!([7, 100, 900].iter().all(|id| many.contains(id)));
        let slowest = (0..1_000).find(|id| id * 37 % 1_000 == 999).unwrap();
        assert!(many.contains(&slowest));
    }
}
