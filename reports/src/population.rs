//! Slowdowns of scheduled flows, some of which may not have finished.

use std::borrow::Cow;

use crate::stats::{self, Statistic, nearest_rank};

/// Slowdowns of scheduled flows in a group, sorted; infinite for a flow that did not finish or never started.
///
/// A percentile of the finished flows alone would be of those that happened to be fast. So percentiles are of
/// all flows of the group, and unknown beyond the share that finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Population<'a>(Cow<'a, [f64]>);

impl<'a> Population<'a> {
    /// Creates the population for `scheduled` flows, from the sorted slowdowns of those that `finished`.
    pub fn new(finished: impl Into<Cow<'a, [f64]>>, scheduled: usize) -> Self {
        let mut slowdowns = finished.into();
        if slowdowns.len() < scheduled {
            slowdowns.to_mut().resize(scheduled, f64::INFINITY);
        }
        Self(slowdowns)
    }

    /// Returns the number of flows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the slowdowns of all flows.
    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// Returns the slowdowns of the flows that finished.
    pub fn finished(&self) -> &[f64] {
        let finished = self.0.partition_point(|slowdown| slowdown.is_finite());
        &self.0[..finished]
    }

    /// True if all flows finished.
    pub fn is_finished(&self) -> bool {
        self.0.last().is_none_or(|last| last.is_finite())
    }

    /// Returns the `percent`th percentile by the nearest-rank rule; `None` if too few flows finished.
    pub fn percentile(&self, percent: u32) -> Option<f64> {
        nearest_rank(&self.0, percent).filter(|value| value.is_finite())
    }

    /// Returns a statistic; `None` if it needs more flows, or if too few finished.
    pub fn shown(&self, statistic: Statistic) -> Option<f64> {
        stats::shown(&self.0, statistic).filter(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of ten flows the third smallest slowdown is the 30th percentile; the fourth is unknown.
    #[test]
    fn percentiles_are_of_all_scheduled_flows_and_end_at_the_share_that_finished() {
        let population = Population::new(vec![1.0, 2.0, 4.0], 10);
        let known = [10, 25, 30, 31, 50, 99].map(|percent| population.percentile(percent));
        assert_eq!(known, [Some(1.0), Some(4.0), Some(4.0), None, None, None]);
        assert_eq!(
            (population.len(), population.finished()),
            (10, &[1.0, 2.0, 4.0][..])
        );
        assert!(!population.is_finished() && Population::new(&[2.0][..], 1).is_finished());
        assert_eq!(Population::new(Vec::new(), 0).percentile(50), None);
    }
}
