//! Re-routing of flows from dead ports after link cuts.

use lab_abi::{Rule, Trigger};
use lab_plan::model::{FaultChange, Plan};
use lab_records::{Failover, FailoverSpan};
use lab_units::{Nanos, Ratio};

use crate::decision::NumberedDecision;

/// Failover decisions under one policy, grouped by link cut.
pub(super) struct Failovers {
    cuts: Vec<Failover>,
    /// Factor from time at the paper's scale to the lab's emulated time; `None` in the simulator.
    lab_time: Option<Ratio>,
}

impl Failovers {
    /// Creates empty counts for all link cuts of the plan; `is_real` is true in the lab, whose switches need time to
    /// detect a cut.
    pub fn new(plan: &Plan, is_real: bool) -> Self {
        let mut cuts: Vec<Failover> = Vec::new();
        let is_cut = |change| matches!(change, FaultChange::Down);
        for fault in plan.faults.iter().filter(|fault| is_cut(fault.change)) {
            let link = plan.links[fault.link.index()].name.clone();
            match cuts.last_mut() {
                Some(cut) if cut.at_ns == fault.paper_at_ns => cut.links.push(link),
                _ => cuts.push(Failover {
                    links: vec![link],
                    at_ns: fault.paper_at_ns,
                    ..Failover::default()
                }),
            }
        }
        Self {
            cuts,
            lab_time: is_real.then_some(plan.scale.time),
        }
    }

    /// Counts a decision for the latest link cut before it, if a dead port was the reason for the decision.
    pub fn decide(&mut self, decision: &NumberedDecision) {
        if decision.reason != Trigger::Failover.reason(Rule::Hash) {
            return;
        }
        let Some(cut) = self
            .cuts
            .iter_mut()
            .rev()
            .find(|cut| cut.at_ns <= decision.time)
        else {
            return;
        };
        let after = decision.time.saturating_sub(cut.at_ns);
        let (first, last) = match cut.span {
            Some(span) => (span.first_ns.min(after), span.last_ns.max(after)),
            None => (after, after),
        };
        let lab = |factor: Ratio, paper: Nanos| Nanos::new(factor.scale_nearest(paper.get()));
        cut.decisions += 1;
        cut.span = Some(FailoverSpan {
            first_ns: first,
            last_ns: last,
            lab_ns: self
                .lab_time
                .map(|factor| (lab(factor, first), lab(factor, last))),
        });
    }

    /// Returns the counts for each link cut.
    pub fn counts(&self) -> Vec<Failover> {
        self.cuts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::lcmp::tests::decision;

    fn failovers(lab_time: Option<Ratio>) -> Failovers {
        let cut = |millis| Failover {
            links: vec!["dc1-dc2".to_owned()],
            at_ns: Nanos::from_millis(millis),
            ..Failover::default()
        };
        Failovers {
            cuts: vec![cut(60), cut(80)],
            lab_time,
        }
    }

    fn at(micros: u64, trigger: Trigger) -> NumberedDecision {
        NumberedDecision {
            time: Nanos::new(micros * 1_000),
            reason: trigger.reason(Rule::Scored),
            ..decision()
        }
    }

    #[test]
    fn a_failover_belongs_to_the_cut_before_it_in_both_times() {
        let mut found = failovers(Some(Ratio::new(50, 1).expect("positive")));
        for (micros, trigger) in [
            (60_030, Trigger::Failover),
            (60_005, Trigger::NewFlow),
            (60_020, Trigger::Failover),
            (80_007, Trigger::Failover),
        ] {
            found.decide(&at(micros, trigger));
        }
        let spans = found.counts().into_iter().map(|cut| {
            let span = cut.span.expect("decisions");
            (cut.decisions, span.first_ns, span.last_ns, span.lab_ns)
        });
        let micros = |micros: u64| Nanos::new(micros * 1_000);
        let expected = [
            (
                2,
                micros(20),
                micros(30),
                Some((micros(1_000), micros(1_500))),
            ),
            (1, micros(7), micros(7), Some((micros(350), micros(350)))),
        ];
        assert!(spans.eq(expected), "{:?}", found.counts());
    }

    #[test]
    fn the_simulator_has_paper_time_alone() {
        let mut found = failovers(None);
        found.decide(&at(60_020, Trigger::Failover));
        let counts = found.counts();
        assert_eq!(counts[0].span.expect("a decision").lab_ns, None);
        assert_eq!((counts[1].decisions, counts[1].span), (0, None));
    }
}
