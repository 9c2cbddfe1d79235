//! Use of links while flows start.

use std::collections::BTreeMap;

use lab_plan::model::Plan;
use lab_records::{BusyLink, LinkRow};
use lab_units::Nanos;

/// Counters of links under one policy at the end of each repetition's arrivals.
pub(super) struct Links {
    /// Time of the last start, by repetition.
    last_starts: BTreeMap<u32, Nanos>,
    /// First counters after the last start, or the latest ones, by repetition and direction of a link.
    counters: BTreeMap<(u32, String, String), Counters>,
}

#[derive(Clone, Copy)]
struct Counters {
    time: Nanos,
    bytes: u64,
    rate_bps: u64,
}

impl Links {
    pub fn new(plan: &Plan) -> Self {
        let mut last_starts = BTreeMap::new();
        for flow in &plan.flows {
            let last = last_starts.entry(flow.repetition).or_insert(Nanos::ZERO);
            *last = flow.paper_start_ns.max(*last);
        }
        Self {
            last_starts,
            counters: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, row: &LinkRow) {
        let last = self.last_starts.get(&row.repetition).copied();
        let until = last.unwrap_or(Nanos::ZERO).max(Nanos::new(1));
        let direction = (row.repetition, row.from_dc.clone(), row.to_dc.clone());
        let known = self.counters.entry(direction).or_insert(Counters {
            time: Nanos::ZERO,
            bytes: 0,
            rate_bps: row.rate_bps.get(),
        });
        if known.time < until && row.time_ns > known.time {
            known.time = row.time_ns;
            known.bytes = row.tx_bytes.get();
        }
    }

    /// Returns the busiest direction of a link; none without a sample after time zero.
    pub fn busiest(&self) -> Option<BusyLink> {
        let sampled = self.counters.iter().filter(|(_, at)| at.time > Nanos::ZERO);
        let uses = sampled.map(|(direction, at)| (direction, at.utilisation()));
        let ((_, from_dc, to_dc), utilisation) = uses.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(BusyLink {
            from_dc: from_dc.clone(),
            to_dc: to_dc.clone(),
            utilisation,
        })
    }
}

impl Counters {
    fn utilisation(&self) -> f64 {
        let sent = u128::from(self.bytes) * 8_000_000_000;
        let fits = u128::from(self.rate_bps) * u128::from(self.time.get());
        let parts = sent.saturating_mul(PARTS) / fits.max(1);
        super::ratio(
            u64::try_from(parts).unwrap_or(u64::MAX),
            u64::try_from(PARTS).unwrap_or(u64::MAX),
        )
    }
}

/// Resolution of a utilisation.
const PARTS: u128 = 1_000_000;
