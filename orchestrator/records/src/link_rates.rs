//! Rates of a link over time.

use lab_units::{BitsPerSec, Nanos};

use crate::RunInfo;

/// Rate of each direction of a link over a repetition: the scenario's rate until a fault changes it.
///
/// A cut link keeps its rate, so its utilisation falls as if the link were idle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkRates {
    /// Start and rate of each time span, in order of time; the last span has no end.
    spans: Vec<(Nanos, BitsPerSec)>,
}

impl LinkRates {
    /// Returns the rates of the link named `link`; `None` if the run has no such link.
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

    /// Returns the number of bits that the link can carry until `until`, times 10^9 (rate in bit/s times nanoseconds,
    /// summed over the spans).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FaultInfo, LinkChange, sample};

    fn fault(millis: u64, link: &str, gbit: Option<u64>) -> FaultInfo {
        FaultInfo {
            time_ns: Nanos::from_millis(millis),
            link: link.into(),
            change: gbit.map_or(LinkChange::Down, |_| LinkChange::Changed),
            rate_bps: gbit.and_then(|gbit| BitsPerSec::new(gbit * 1_000_000_000)),
        }
    }

    /// The link can carry 12.5 MB in 1 ms at 100 Gbit/s, then 13.75 MB in 11 ms at 10 Gbit/s.
    #[test]
    fn a_fault_changes_the_rate_from_its_time_on() {
        let mut info = sample::info();
        info.links = vec![sample::link("dc1", "dc2", 100, 1)];
        info.faults = vec![
            fault(0, "dc1-dc3", Some(1)),
            fault(1, "dc1-dc2", Some(10)),
            fault(5, "dc1-dc2", None),
        ];
        let rates = LinkRates::of(&info, "dc1-dc2").expect("the link");
        let bytes = |millis| rates.capacity_until(Nanos::from_millis(millis)) / 8_000_000_000;
        assert_eq!([0, 1, 12].map(bytes), [0, 12_500_000, 26_250_000]);
        assert_eq!(LinkRates::of(&info, "dc1-dc3"), None);
    }
}
