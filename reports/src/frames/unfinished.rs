//! Lower bounds on the slowdowns of flows that did not finish.

use lab_records::RunDir;
use lab_units::{Nanos, Ratio};

use crate::text;

/// Facts about a run that bound the slowdowns of its unfinished flows.
pub struct Unfinished {
    /// Time limit `--until`, in the paper's time, up to which unfinished flows had been running; `None` if it is
    /// unknown.
    until: Option<Nanos>,
    /// Number of scheduled flows in the measured window, under each policy.
    scheduled: u64,
    /// Paper time divided by emulated time.
    time: Ratio,
}

impl Unfinished {
    /// Returns the facts of `run`. The end of an interrupted run is unknown, because it may precede the run's
    /// `--until`.
    pub fn of(run: &RunDir) -> Self {
        let info = run.info();
        let has_ended = run.outcome().is_some_and(|it| !it.end.is_interrupted);
        let asked = info.provenance.asked.as_ref();
        Self {
            until: asked
                .and_then(|it| it.options.until_ns)
                .filter(|_| has_ended),
            scheduled: info.measured_flows(),
            time: info.scale.time.inverse().unwrap_or(Ratio::ONE),
        }
    }

    /// Returns a lower bound on the slowdown of a flow that started at `start` and did not finish.
    pub fn least_slowdown(&self, start: Nanos, ideal_fct: Nanos) -> f64 {
        let until = self.until.unwrap_or(start);
        let elapsed = text::seconds(until.saturating_sub(start));
        let slowdown = elapsed / text::seconds(ideal_fct);
        if slowdown > 1.0 { slowdown } else { 1.0 }
    }

    /// Returns how many of a policy's scheduled flows in the measured window have no row, if `recorded` of these flows
    /// have one.
    pub fn unrecorded(&self, recorded: usize) -> usize {
        let scheduled = usize::try_from(self.scheduled).unwrap_or(usize::MAX);
        scheduled.saturating_sub(recorded)
    }

    /// Converts emulated time to paper time.
    pub fn paper_time(&self, emulated: Nanos) -> Nanos {
        Nanos::new(self.time.scale_nearest(emulated.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_was_under_way_when_the_time_was_up_has_its_elapsed_time() {
        let unfinished = |until| Unfinished {
            until,
            scheduled: 3,
            time: Ratio::ONE,
        };
        let least = |until, start| {
            let [start, ideal] = [Nanos::from_millis(start), Nanos::from_millis(2)];
            unfinished(until).least_slowdown(start, ideal)
        };
        let until = Some(Nanos::from_millis(10));
        assert_eq!(least(until, 4), 3.0);
        // The bound is 1 if less than the ideal FCT has passed, if the flow should have started later, or if the time
        // is unknown.
        assert_eq!(
            [least(until, 9), least(until, 11), least(None, 4)],
            [1.0; 3]
        );
        assert_eq!(unfinished(until).unrecorded(1), 2);
    }
}
