//! Rates of a link over the time of a repetition.

use lab_units::{BitsPerSec, Nanos};

use crate::RunInfo;

/// Rate of a link in each direction over a repetition: the scenario's rate until a fault changes it.
///
/// A cut link keeps its rate, so its utilisation falls as if it were idle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkRates {
    /// Start and rate of each time span, by time; the last span has no end.
    spans: Vec<(Nanos, BitsPerSec)>,
}

impl LinkRates {
    /// Returns the rates of the link `link`; `None` if the run has no such link.
    #[must_use]
    pub fn of(info: &RunInfo, link: &str) -> Option<Self> {
        let scenario = info.links.iter().find(|it| it.name == link)?.rate_bps;
        let changes = info
            .faults
            .iter()
            .filter(|fault| fault.link == link)
            .filter_map(|fault| Some((fault.time_ns, fault.rate_bps?)));
        let mut spans = vec![(Nanos::ZERO, scenario)];
        spans.extend(changes);
        Some(Self { spans })
    }

    /// Returns the bits that the link can carry until `until`, times 10^9: the sum over spans of rate (bit/s) ·
    /// duration (ns).
    #[must_use]
    pub fn capacity_until(&self, until: Nanos) -> u128 {
        let ends = self
            .spans
            .iter()
            .skip(1)
            .map(|(start, _)| *start)
            .chain([until])
            .map(|end| end.min(until));
        self.spans
            .iter()
            .zip(ends)
            .map(|(&(start, rate), end)| {
                let time = end.get().saturating_sub(start.get());
                u128::from(rate.get()) * u128::from(time)
            })
            .sum()
    }
}
