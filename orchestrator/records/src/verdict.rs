//! Whether a run can be trusted.

use serde::{Deserialize, Serialize};

use crate::{FlowRow, RunEnd, RunInfo};

/// What a run's flow rows add up to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Rows.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Finished flows with a slowdown under 1, where that cannot be: [`FlowRow::is_too_fast`].
    pub below_one: u64,
}

/// Whether a run can be trusted, and why not.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// No reason speaks against it.
    pub clean: bool,
    /// What speaks against it, each a sentence without its full stop.
    pub reasons: Vec<String>,
}

impl Tally {
    /// Counts `row` in.
    pub fn add(&mut self, row: &FlowRow) {
        self.flows += 1;
        if row.status.is_finished() {
            self.finished += 1;
        } else {
            self.unfinished += 1;
        }
        if row.is_too_fast() {
            self.below_one += 1;
        }
    }
}

impl<'a> FromIterator<&'a FlowRow> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a FlowRow>>(rows: I) -> Self {
        let mut tally = Self::default();
        for row in rows {
            tally.add(row);
        }
        tally
    }
}

impl Verdict {
    /// Judges a run by what it was, how it ended (nothing if it did not), and its rows.
    #[must_use]
    pub fn of(info: &RunInfo, end: Option<&RunEnd>, tally: &Tally) -> Self {
        let mut reasons = Vec::new();
        let scheduled = info.total_flows();
        if end.is_none() {
            reasons.push("the run did not end: it was interrupted, or is still going on".into());
        }
        let flows = tally.flows;
        if tally.unfinished > 0 {
            reasons.push(format!(
                "flows not finished: {} of {flows}",
                tally.unfinished
            ));
        }
        if flows != scheduled {
            reasons.push(format!("flows recorded: {flows} of {scheduled} scheduled"));
        }
        if tally.below_one > 0 {
            let (below, finished) = (tally.below_one, tally.finished);
            reasons.push(format!(
                "slowdowns under 1: {below} of {finished} (none can be: the ideal FCT or the \
                 measurement is wrong)"
            ));
        }
        if let Some(end) = end {
            if end.late_launches > 0 {
                reasons.push(format!(
                    "flows launched late: {} of {flows}",
                    end.late_launches
                ));
            }
            reasons.extend(end.problems.iter().cloned());
        }
        Self {
            clean: reasons.is_empty(),
            reasons,
        }
    }
}

impl Verdict {
    /// Adds a reason.
    pub fn doubt(&mut self, reason: String) {
        self.clean = false;
        self.reasons.push(reason);
    }
}

impl RunInfo {
    /// Rows a complete run has: each policy runs the whole schedule.
    #[must_use]
    pub fn total_flows(&self) -> u64 {
        let policies = u64::try_from(self.policies.len()).unwrap_or(u64::MAX);
        self.scheduled_flows.saturating_mul(policies)
    }
}
