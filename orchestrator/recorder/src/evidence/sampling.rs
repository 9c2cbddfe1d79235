//! Counts of queue samples, and of decisions based on old ones.

use std::collections::BTreeMap;

use lab_records::{Sampling, SwitchRow};
use lab_units::Nanos;

use crate::decision::NumberedDecision;

/// Counts of queue samples under one policy.
#[derive(Default)]
pub(super) struct QueueSamples {
    /// Latest counts of each switch, by repetition and switch name: all queue samples, and late ones.
    switches: BTreeMap<(u32, String), (u64, u64)>,
    decisions: u64,
    stale: u64,
    /// Sampling interval at the paper's scale; `None` if the policy does not sample queues.
    interval: Option<Nanos>,
    overdue: Nanos,
}

impl QueueSamples {
    /// Creates empty counts for a policy with the sampling interval `interval` at the paper's scale; `None` if the
    /// policy does not sample queues.
    pub fn new(interval: Option<Nanos>) -> Self {
        Self {
            interval,
            ..Self::default()
        }
    }

    /// Adds a row of a switch's counters, which start at 0 in each repetition.
    pub fn switch(&mut self, row: &SwitchRow) {
        if let (Some(samples), Some(late)) = (row.samples, row.late_samples) {
            let switch = (row.repetition, row.switch.clone());
            self.switches.insert(switch, (samples, late));
        }
    }

    /// Counts a decision that was based on a queue sample; ignores other decisions.
    pub fn decide(&mut self, decision: &NumberedDecision) {
        let (Some(age), Some(interval)) = (decision.signal_age, self.interval) else {
            return;
        };
        self.decisions += 1;
        self.stale += u64::from(decision.is_stale);
        self.overdue = self.overdue.max(age.saturating_sub(interval));
    }

    /// Returns the counts; `None` if the engine does not count queue samples.
    pub fn counts(&self) -> Option<Sampling> {
        let counts = Sampling {
            samples: self.switches.values().map(|&(samples, _)| samples).sum(),
            late_samples: self.switches.values().map(|&(_, late)| late).sum(),
            decisions: self.decisions,
            stale: self.stale,
            overdue_ns: self.overdue,
        };
        (!self.switches.is_empty()).then_some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(repetition: u32, name: &str, samples: Option<u64>) -> SwitchRow {
        SwitchRow {
            policy: "lcmp".to_owned(),
            repetition,
            time_ns: Nanos::ZERO,
            switch: name.to_owned(),
            occupancy: 0,
            decisions: 0,
            decisions_per_s: 0,
            failovers: 0,
            fallbacks: 0,
            stale: 0,
            evicted: 0,
            expired: 0,
            hits: 0,
            restarts: 0,
            samples,
            late_samples: samples.map(|samples| samples / 10),
        }
    }

    #[test]
    fn the_last_counts_of_every_switch_and_repetition_add_up() {
        let mut samples = QueueSamples::default();
        samples.switch(&switch(0, "dc1", None));
        assert_eq!(samples.counts(), None, "the simulator counts none");
        for (repetition, name, count) in [
            (0, "dc1", 10),
            (0, "dc1", 40),
            (0, "dc2", 50),
            (1, "dc1", 30),
        ] {
            samples.switch(&switch(repetition, name, Some(count)));
        }
        let counts = samples.counts().expect("samples");
        assert_eq!((counts.samples, counts.late_samples), (120, 12));
    }

    #[test]
    fn decisions_by_old_samples_are_counted_and_the_longest_delay_is_kept() {
        let decision = |age: Option<u64>, is_stale| NumberedDecision {
            signal_age: age.map(Nanos::from_millis),
            is_stale,
            ..super::super::lcmp::tests::decision()
        };
        let mut samples = QueueSamples::new(Some(Nanos::from_millis(100)));
        samples.switch(&switch(0, "dc1", Some(9)));
        for decision in [
            decision(Some(3), false),
            decision(Some(103), true),
            decision(Some(101), true),
            decision(None, false),
        ] {
            samples.decide(&decision);
        }
        let counts = samples.counts().expect("samples");
        assert_eq!((counts.decisions, counts.stale), (3, 2));
        assert_eq!(counts.overdue_ns, Nanos::from_millis(3));
    }
}
