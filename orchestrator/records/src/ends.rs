//! End times of repetitions, from a run's records.

use std::collections::BTreeMap;

use lab_units::Nanos;

use crate::FlowFields;

/// End of each repetition under one policy, in paper time: the latest flow start, flow end or sample of link counters.
///
/// Engines sample the counters until the repetition ends, so a flow that started and did not finish was active until
/// the last sample.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RepetitionEnds(BTreeMap<u32, Nanos>);

impl RepetitionEnds {
    /// Adds a flow's start and end.
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

    /// Returns the latest end of all repetitions.
    #[must_use]
    pub fn last(&self) -> Nanos {
        self.0.values().max().copied().unwrap_or_default()
    }
}
