//! Stories: the events of single flows, where repetitions of an event share one row.

use std::collections::BTreeMap;

use lab_records::StoryRow;

/// Latest event of each traced flow as a row, kept to count repetitions until a different event follows.
#[derive(Debug, Default)]
pub struct Stories {
    open: BTreeMap<u32, StoryRow>,
}

impl Stories {
    /// Adds an event of `flow`. If it does not repeat the previous event, returns the previous event's row, which is
    /// complete.
    pub fn add(&mut self, flow: u32, row: StoryRow) -> Option<StoryRow> {
        if let Some(last) = self.open.get_mut(&flow)
            && repeats(last, &row)
        {
            last.count += row.count;
            return None;
        }
        self.open.insert(flow, row)
    }

    /// Ends the story (event trace) of `flow` and returns the last row; `None` if the story has no row.
    pub fn end(&mut self, flow: u32) -> Option<StoryRow> {
        self.open.remove(&flow)
    }

    /// Ends the stories (event traces) of all flows and returns their last rows.
    pub fn end_all(&mut self) -> impl Iterator<Item = StoryRow> {
        std::mem::take(&mut self.open).into_values()
    }
}

/// Returns true if `row` repeats the event of `last`. A rate change is never a repetition, because its value matters.
fn repeats(last: &StoryRow, row: &StoryRow) -> bool {
    last.event == row.event
        && last.node == row.node
        && last.peer == row.peer
        && row.rate_bps.is_none()
        && last.rate_bps.is_none()
}

#[cfg(test)]
mod tests {
    use lab_records::StoryEvent;
    use lab_units::{BitsPerSec, FlowId, Nanos};

    use super::*;

    fn row(time: u64, event: StoryEvent) -> StoryRow {
        StoryRow {
            policy: "lcmp".into(),
            repetition: 0,
            flow_id: FlowId(7),
            time_ns: Nanos::new(time),
            event,
            count: 1,
            node: "dc1".into(),
            peer: None,
            rate_bps: None,
            offset_bytes: None,
        }
    }

    #[test]
    fn marks_in_a_row_are_one_row_of_the_first_time() {
        let mut stories = Stories::default();
        for time in [10, 20, 30] {
            assert_eq!(stories.add(0, row(time, StoryEvent::Marked)), None);
        }
        let marks = stories.add(0, row(40, StoryEvent::Cnp)).expect("marks");
        assert_eq!((marks.count, marks.time_ns), (3, Nanos::new(10)));
        assert_eq!(stories.end(0), Some(row(40, StoryEvent::Cnp)));
        assert_eq!(stories.end(0), None);
    }

    #[test]
    fn every_rate_is_traced() {
        let mut stories = Stories::default();
        let set = |time| StoryRow {
            rate_bps: BitsPerSec::new(time),
            ..row(time, StoryEvent::RateSet)
        };
        assert_eq!(stories.add(0, set(1)), None);
        assert_eq!(stories.add(0, set(2)), Some(set(1)));
    }

    #[test]
    fn flows_have_their_own_stories() {
        let mut stories = Stories::default();
        stories.add(0, row(1, StoryEvent::Marked));
        stories.add(1, row(2, StoryEvent::Marked));
        assert_eq!(stories.end_all().count(), 2);
    }
}
