//! Use of links while flows start.

use std::collections::BTreeMap;

use lab_plan::model::Plan;
use lab_records::{BusyLink, LinkRates, LinkRow, RunInfo};
use lab_units::Nanos;

/// Counters of links under one policy at the end of each repetition's arrivals.
pub(super) struct Links {
    /// Rates in force, by link.
    rates: BTreeMap<String, LinkRates>,
    /// Time of the last start, by repetition.
    last_starts: BTreeMap<u32, Nanos>,
    /// First counters after the last start, or the latest ones, by repetition and direction of a link.
    counters: BTreeMap<Direction, Counters>,
}

#[derive(Eq, Ord, PartialEq, PartialOrd)]
struct Direction {
    repetition: u32,
    from_dc: String,
    to_dc: String,
    link: String,
}

#[derive(Clone, Copy)]
struct Counters {
    time: Nanos,
    bytes: u64,
}

impl Links {
    pub fn new(plan: &Plan, info: &RunInfo) -> Self {
        let mut last_starts = BTreeMap::new();
        for flow in &plan.flows {
            let last = last_starts.entry(flow.repetition).or_insert(Nanos::ZERO);
            *last = flow.paper_start_ns.max(*last);
        }
        let names = info.links.iter().map(|link| &link.name);
        let rates = names.filter_map(|name| Some((name.clone(), LinkRates::of(info, name)?)));
        Self {
            rates: rates.collect(),
            last_starts,
            counters: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, row: &LinkRow) {
        let last = self.last_starts.get(&row.repetition).copied();
        let until = last.unwrap_or(Nanos::ZERO).max(Nanos::new(1));
        let direction = Direction {
            repetition: row.repetition,
            from_dc: row.from_dc.clone(),
            to_dc: row.to_dc.clone(),
            link: row.link.clone(),
        };
        let known = self.counters.entry(direction).or_insert(Counters {
            time: Nanos::ZERO,
            bytes: 0,
        });
        if known.time < until && row.time_ns > known.time {
            known.time = row.time_ns;
            known.bytes = row.tx_bytes.get();
        }
    }

    /// Returns the busiest direction of a link; none without a sample after time zero.
    pub fn busiest(&self) -> Option<BusyLink> {
        let sampled = self.counters.iter().filter(|(_, at)| at.time > Nanos::ZERO);
        let uses = sampled.filter_map(|(direction, at)| {
            let rates = self.rates.get(&direction.link)?;
            Some((direction, at.utilisation(rates)))
        });
        let (direction, utilisation) = uses.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(BusyLink {
            from_dc: direction.from_dc.clone(),
            to_dc: direction.to_dc.clone(),
            utilisation,
        })
    }
}

impl Counters {
    fn utilisation(&self, rates: &LinkRates) -> f64 {
        let sent = u128::from(self.bytes) * 8_000_000_000;
        let parts = sent.saturating_mul(PARTS) / rates.capacity_until(self.time).max(1);
        super::ratio(
            u64::try_from(parts).unwrap_or(u64::MAX),
            u64::try_from(PARTS).unwrap_or(u64::MAX),
        )
    }
}

/// Resolution of a utilisation.
const PARTS: u128 = 1_000_000;

#[cfg(test)]
mod tests {
    use lab_records::{FaultInfo, LinkChange, sample};
    use lab_units::{BitsPerSec, Bytes};

    use super::*;

    /// 100 Gbit/s for 1 ms carry 12.5 MB, then 10 Gbit/s for 11 ms 13.75 MB: 26.25 MB fill the link.
    #[test]
    fn a_link_is_full_at_the_rates_in_force() {
        let mut info = sample::info();
        let link = sample::link("dc1", "dc2", 100, 1);
        info.faults = vec![FaultInfo {
            time_ns: Nanos::from_millis(1),
            link: link.name.clone(),
            change: LinkChange::Changed,
            rate_bps: BitsPerSec::new(10_000_000_000),
        }];
        let row = |millis, tx_bytes| LinkRow {
            policy: "ecmp".into(),
            repetition: 0,
            time_ns: Nanos::from_millis(millis),
            link: link.name.clone(),
            from_dc: "dc1".into(),
            to_dc: "dc2".into(),
            tx_bytes: Bytes::new(tx_bytes),
            emu_tx_bytes: Bytes::new(tx_bytes),
            rate_bps: link.rate_bps,
            drops: 0,
            tx_packets: None,
            marks: None,
        };
        let rows = [row(1, 12_500_000), row(12, 26_250_000)];
        info.links = vec![link.clone()];
        let mut links = Links {
            rates: BTreeMap::from([(
                link.name.clone(),
                LinkRates::of(&info, &link.name).expect("the link"),
            )]),
            last_starts: BTreeMap::from([(0, Nanos::from_millis(12))]),
            counters: BTreeMap::new(),
        };
        rows.iter().for_each(|row| links.add(row));
        let busiest = links.busiest().expect("a link");
        assert!((busiest.utilisation - 1.0).abs() < 1e-9, "{busiest:?}");
    }
}
