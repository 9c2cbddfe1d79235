//! Link use while flows start.

use std::collections::BTreeMap;

use lab_units::{Bytes, Nanos};

use crate::{BusyLink, FlowFields, LinkRates, RunInfo};

/// Link use under one policy while flows start. In each repetition the measured time runs from the repetition's start
/// to the first counter sample at or after the last flow's start; if there is no such sample, to the last sample.
///
/// The use of a direction is the mean over the repetitions. All flows must be added before the first counter.
#[derive(Clone, Debug, Default)]
pub struct ArrivalUse {
    /// Time of the last start, by repetition.
    last_starts: BTreeMap<u32, Nanos>,
    /// Counters at the end of the measured time, by direction and repetition.
    counters: BTreeMap<Direction, BTreeMap<u32, Counter>>,
}

/// Link name, sending datacenter, receiving datacenter.
type Direction = [String; 3];

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    time: Nanos,
    bytes: Bytes,
}

/// Use of one link direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionUse {
    /// Name of the link.
    pub link: String,
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Bytes carried ÷ bytes that the link could carry, mean over the repetitions.
    pub utilisation: f64,
}

impl ArrivalUse {
    /// Adds a flow.
    pub fn flow(&mut self, flow: FlowFields<'_>) {
        if flow.has_started() {
            let last = self.last_starts.entry(flow.repetition).or_default();
            *last = flow.start_ns.max(*last);
        }
    }

    /// Adds a sample of a direction's counter; samples must come in order of time.
    pub fn counter(&mut self, repetition: u32, direction: [&str; 3], time: Nanos, bytes: Bytes) {
        let Some(&last_start) = self.last_starts.get(&repetition) else {
            return;
        };
        let of_direction = self.counters.entry(direction.map(str::to_owned));
        let known = of_direction.or_default().entry(repetition).or_default();
        // If all flows start at time zero, the first interval between samples is measured.
        if known.time < last_start.max(Nanos::new(1)) && time > known.time {
            *known = Counter { time, bytes };
        }
    }

    /// Returns the use of each sampled direction, by link and direction; `info` has the links' rates.
    #[must_use]
    pub fn uses(&self, info: &RunInfo) -> Vec<DirectionUse> {
        let of = |(direction, counters): (&Direction, &BTreeMap<u32, Counter>)| {
            let [link, from_dc, to_dc] = direction.clone();
            let rates = LinkRates::of(info, &link)?;
            let sampled = counters.values().filter(|at| at.time > Nanos::ZERO);
            let shares: Vec<f64> = sampled.map(|at| at.share(&rates)).collect();
            (!shares.is_empty()).then(|| DirectionUse {
                link,
                from_dc,
                to_dc,
                utilisation: mean(&shares),
            })
        };
        self.counters.iter().filter_map(of).collect()
    }

    /// Returns the busiest direction; `None` without a sample after time zero.
    #[must_use]
    pub fn busiest(&self, info: &RunInfo) -> Option<BusyLink> {
        let busiest = self
            .uses(info)
            .into_iter()
            .max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))?;
        Some(BusyLink {
            from_dc: busiest.from_dc,
            to_dc: busiest.to_dc,
            utilisation: busiest.utilisation,
        })
    }
}

impl Counter {
    /// Returns bytes counted ÷ bytes that the link could carry.
    #[expect(
        clippy::cast_precision_loss,
        reason = "reports show fewer digits than a float has"
    )]
    fn share(&self, rates: &LinkRates) -> f64 {
        let sent = self.bytes.get() as f64 * 8e9;
        sent / rates.capacity_until(self.time).max(1) as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run has few repetitions")]
fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

#[cfg(test)]
mod tests {
    use lab_units::BitsPerSec;

    use super::*;
    use crate::{FaultInfo, FlowRow, FlowStatus, LinkChange, sample};

    /// Facts of a run with the link dc1-dc2 at 100 Gbit/s, which carries 12.5 MB per millisecond.
    fn info() -> RunInfo {
        RunInfo {
            links: vec![sample::link("dc1", "dc2", 100, 1)],
            ..sample::info()
        }
    }

    /// Returns the link use for `flows`: repetition, scheduled start in ms, and true if the flow started.
    fn arrivals(flows: &[(u32, u64, bool)]) -> ArrivalUse {
        let mut used = ArrivalUse::default();
        for &(repetition, millis, has_started) in flows {
            let row = FlowRow {
                repetition,
                start_ns: Nanos::from_millis(millis),
                fct_ns: None,
                launch_lateness_ns: has_started.then_some(Nanos::ZERO),
                status: FlowStatus::TimedOut,
                ..sample::flow("ecmp")
            };
            used.flow(row.fields());
        }
        used
    }

    fn count(used: &mut ArrivalUse, repetition: u32, (from, to): (&str, &str), at: (u64, u64)) {
        let (millis, bytes) = at;
        let time = Nanos::from_millis(millis);
        used.counter(repetition, ["dc1-dc2", from, to], time, Bytes::new(bytes));
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    /// The link can carry 26.25 MB: 12.5 MB in 1 ms at 100 Gbit/s and 13.75 MB in 11 ms at 10 Gbit/s.
    #[test]
    fn a_link_is_full_at_the_rates_in_force() {
        let mut info = info();
        info.faults = vec![FaultInfo {
            time_ns: Nanos::from_millis(1),
            link: "dc1-dc2".into(),
            change: LinkChange::Changed,
            rate_bps: BitsPerSec::new(10_000_000_000),
        }];
        let mut used = arrivals(&[(0, 12, true)]);
        for at in [(1, 12_500_000), (12, 26_250_000), (20, 26_250_000)] {
            count(&mut used, 0, ("dc1", "dc2"), at);
        }
        let busiest = used.busiest(&info).expect("a link");
        assert!(is_near(busiest.utilisation, 1.0), "{busiest:?}");
    }

    /// The run ends at 4 ms, when the link has carried 50 MB, its full capacity; flows were scheduled until 8 ms.
    #[test]
    fn a_cut_runs_links_are_used_until_the_cut() {
        let mut used = arrivals(&[(0, 0, true), (0, 3, true), (0, 8, false)]);
        for at in [(2, 25_000_000), (4, 50_000_000)] {
            count(&mut used, 0, ("dc1", "dc2"), at);
        }
        let uses = used.uses(&info());
        assert!(
            uses.len() == 1 && is_near(uses[0].utilisation, 1.0),
            "{uses:?}"
        );
    }

    /// The link can carry 25 MB in 2 ms. One direction is used to 100 % and 20 % in the two repetitions, the other to
    /// 70 % in both.
    #[test]
    fn the_busiest_link_has_the_largest_mean_of_its_repetitions() {
        let mut used = arrivals(&[(0, 2, true), (1, 2, true)]);
        count(&mut used, 0, ("dc1", "dc2"), (2, 25_000_000));
        count(&mut used, 1, ("dc1", "dc2"), (2, 5_000_000));
        for repetition in [0, 1] {
            count(&mut used, repetition, ("dc2", "dc1"), (2, 17_500_000));
        }
        let shares = used.uses(&info());
        assert!(is_near(shares[0].utilisation, 0.6), "{shares:?}");
        let busiest = used.busiest(&info()).expect("a link");
        assert_eq!((&*busiest.from_dc, &*busiest.to_dc), ("dc2", "dc1"));
        assert!(is_near(busiest.utilisation, 0.7), "{busiest:?}");
    }

    #[test]
    fn links_of_a_run_without_a_start_or_a_sample_have_no_use() {
        let mut never = arrivals(&[(0, 2, false)]);
        count(&mut never, 0, ("dc1", "dc2"), (2, 1));
        assert_eq!(never.busiest(&info()), None);
        let mut at_zero = arrivals(&[(0, 2, true)]);
        count(&mut at_zero, 0, ("dc1", "dc2"), (0, 0));
        assert_eq!(at_zero.busiest(&info()), None);
    }
}
