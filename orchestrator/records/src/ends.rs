//! End times of a run's repetitions.

use std::collections::BTreeMap;

use lab_units::Nanos;

use crate::FlowFields;

/// End of each repetition under one policy, in paper time: the latest of all flow starts, flow ends and samples of link
/// counters.
///
/// Engines sample the counters until the repetition ends, so a flow that started and did not finish was under way until
/// the last sample.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RepetitionEnds(BTreeMap<u32, Nanos>);

impl RepetitionEnds {
    /// Adds a flow.
    pub fn flow(&mut self, flow: FlowFields<'_>) {
        if flow.has_started() {
            self.at(flow.repetition, flow.end().unwrap_or(flow.start_ns));
        }
    }

    /// Adds the time of a sample of link counters.
    pub fn at(&mut self, repetition: u32, time: Nanos) {
        let end = self.0.entry(repetition).or_default();
        *end = time.max(*end);
    }

    /// Returns the end of `repetition`; zero if it has no records.
    #[must_use]
    pub fn of(&self, repetition: u32) -> Nanos {
        self.0.get(&repetition).copied().unwrap_or_default()
    }

    /// Returns the latest end of a repetition.
    #[must_use]
    pub fn last(&self) -> Nanos {
        self.0.values().max().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowRow, FlowStatus, sample};

    fn flow(start: u64, fct: Option<u64>, has_started: bool) -> FlowRow {
        FlowRow {
            start_ns: Nanos::new(start),
            fct_ns: fct.map(Nanos::new),
            launch_lateness_ns: has_started.then_some(Nanos::ZERO),
            status: FlowStatus::TimedOut,
            ..sample::flow("ecmp")
        }
    }

    #[test]
    fn a_repetition_ends_with_its_last_event_and_not_with_a_flow_that_never_started() {
        let mut ends = RepetitionEnds::default();
        for flow in [
            flow(100, Some(50), true),
            flow(170, None, true),
            flow(900, None, false),
        ] {
            ends.flow(flow.fields());
        }
        assert_eq!((ends.of(0), ends.of(1)), (Nanos::new(170), Nanos::ZERO));
        ends.at(0, Nanos::new(200));
        ends.at(1, Nanos::new(30));
        assert_eq!(
            (ends.of(0), ends.last()),
            (Nanos::new(200), Nanos::new(200))
        );
    }
}
