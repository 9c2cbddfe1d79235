//! Slowdowns of scheduled flows, some of which may not have finished.

use std::borrow::Cow;

use crate::stats::{self, Statistic, nearest_rank};

/// Sorted slowdowns of a group of scheduled flows; infinite for a flow that did not finish or never started.
///
/// Percentiles of the finished flows alone would describe only the flows that happened to be fast. So percentiles are
/// computed over all flows of the group, and are unknown beyond the share that finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Population<'a>(Cow<'a, [f64]>);

impl<'a> Population<'a> {
    /// Returns the population of `scheduled` flows, of which those with the sorted slowdowns `finished` finished.
    pub fn new(finished: impl Into<Cow<'a, [f64]>>, scheduled: usize) -> Self {
        let mut slowdowns = finished.into();
        if slowdowns.len() < scheduled {
            slowdowns.to_mut().resize(scheduled, f64::INFINITY);
        }
        Self(slowdowns)
    }

    /// Returns the number of scheduled flows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the sorted slowdowns of all scheduled flows.
    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// Returns the sorted slowdowns of the flows that finished.
    pub fn finished(&self) -> &[f64] {
        let finished = self.0.partition_point(|slowdown| slowdown.is_finite());
        &self.0[..finished]
    }

    /// Returns true if all scheduled flows finished.
    pub fn is_finished(&self) -> bool {
        self.0.last().is_none_or(|last| last.is_finite())
    }

    /// Returns the percentile `percent` by nearest rank; `None` if it falls on an unfinished flow.
    pub fn percentile(&self, percent: u32) -> Option<f64> {
        nearest_rank(&self.0, percent).filter(|value| value.is_finite())
    }

    /// Returns a statistic; `None` if it needs more flows, or falls on an unfinished flow.
    pub fn shown(&self, statistic: Statistic) -> Option<f64> {
        stats::shown(&self.0, statistic).filter(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With ten flows, the third smallest slowdown is the 30th percentile, and the fourth is unknown.
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
