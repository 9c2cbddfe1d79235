//! Decisions of switches without an agent, and the agent's work that was left undone.

use lab_abi::{Rule, Trigger};
use lab_plan::{PaperUnits, model::Plan};
use lab_records::{CrashCounts, RepetitionEnds};
use lab_units::{DcId, Nanos};

use crate::decision::NumberedDecision;

/// Counts of one policy for each crash of the plan.
pub(super) struct Crashes {
    crashes: Vec<Crash>,
    /// Interval of the agent's work in paper time; `None` if decisions do not depend on it.
    interval: Option<Nanos>,
}

/// Crash with its counts; times are paper time.
struct Crash {
    dc: DcId,
    from: Nanos,
    to: Option<Nanos>,
    counts: CrashCounts,
}

impl Crashes {
    /// Creates empty counts for a policy whose agent works at the emulated `interval`; `None` if decisions do not depend on
    /// its work.
    pub fn new(plan: &Plan, interval: Option<Nanos>) -> Self {
        let paper = PaperUnits::new(&plan.scale);
        let crashes = plan.agent_crashes.iter().map(|crash| Crash {
            dc: crash.dc,
            from: crash.paper_at_ns,
            to: crash.restart.map(|restart| restart.paper_at_ns),
            counts: CrashCounts::default(),
        });
        Self {
            crashes: crashes.collect(),
            interval: interval.map(|interval| paper.time(interval)),
        }
    }

    /// Counts a decision that a switch made while it had no agent; ignores other decisions.
    pub fn decide(&mut self, decision: &NumberedDecision) {
        let is_in = |crash: &&mut Crash| {
            crash.dc == decision.dc
                && crash.from <= decision.time
                && crash.to.is_none_or(|to| decision.time < to)
        };
        if let Some(crash) = self.crashes.iter_mut().find(is_in) {
            crash.counts.decisions += 1;
            let is_stale = decision.reason == Trigger::NewFlow.reason(Rule::Stale);
            crash.counts.stale += u64::from(is_stale);
        }
    }

    /// Returns the counts for each crash, for repetitions that end at `ends`, of which there are `repetitions`.
    pub fn counts(&self, ends: &RepetitionEnds, repetitions: u32) -> Vec<CrashCounts> {
        let counts = |crash: &Crash| {
            let missed = |repetition| {
                let end = ends.of(repetition);
                let to = crash.to.map_or(end, |to| to.min(end));
                let before = |time: Nanos| match self.interval.map(Nanos::get) {
                    None | Some(0) => 0,
                    Some(interval) => time.get().div_ceil(interval).max(1) - 1,
                };
                before(to).saturating_sub(before(crash.from))
            };
            CrashCounts {
                missed: (0..repetitions).map(missed).sum(),
                ..crash.counts
            }
        };
        self.crashes.iter().map(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::lcmp::tests::decision;

    fn crash(from: u64, to: Option<u64>) -> Crash {
        Crash {
            dc: DcId(0),
            from: Nanos::from_millis(from),
            to: to.map(Nanos::from_millis),
            counts: CrashCounts::default(),
        }
    }

    fn crashes(interval: Option<u64>) -> Crashes {
        Crashes {
            crashes: vec![crash(5, Some(20)), crash(30, None)],
            interval: interval.map(Nanos::from_millis),
        }
    }

    /// The repetitions end at 12 and 42 ms. Every 2 ms, work would have been due at 6, 8 and 10 ms in the first one, at 6 to
    /// 18 ms and at 30 to 40 ms in the second one.
    #[test]
    fn work_is_missed_from_the_crash_to_the_restart_or_the_end() {
        let mut ends = RepetitionEnds::default();
        ends.at(0, Nanos::from_millis(12));
        ends.at(1, Nanos::from_millis(42));
        let missed = |interval| {
            let counts = crashes(interval).counts(&ends, 2).into_iter();
            counts.map(|it| it.missed).collect::<Vec<_>>()
        };
        assert_eq!(missed(Some(2)), [3 + 7, 6]);
        assert_eq!(missed(None), [0, 0]);
    }

    #[test]
    fn decisions_are_those_of_the_switch_while_it_has_no_agent() {
        let mut crashes = crashes(None);
        for (dc, millis, rule) in [
            (DcId(0), 4, Rule::Scored),
            (DcId(0), 5, Rule::Scored),
            (DcId(0), 19, Rule::Stale),
            (DcId(0), 20, Rule::Scored),
            (DcId(1), 6, Rule::Scored),
            (DcId(0), 90, Rule::Scored),
        ] {
            crashes.decide(&NumberedDecision {
                dc,
                time: Nanos::from_millis(millis),
                reason: Trigger::NewFlow.reason(rule),
                ..decision()
            });
        }
        let counts = crashes.counts(&RepetitionEnds::default(), 1).into_iter();
        let found: Vec<_> = counts.map(|it| (it.decisions, it.stale)).collect();
        assert_eq!(found, [(2, 1), (1, 0)]);
    }
}
