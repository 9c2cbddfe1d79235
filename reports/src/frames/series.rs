//! What links carried as time went by, around the faults of a run.

use std::collections::BTreeMap;

use lab_records::{FaultInfo, LinkInfo, LinkRow, RunInfo};
use lab_units::Nanos;

use crate::text::{seconds, to_float};

/// What one direction of a link carried over time under one policy, in the first repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSeries {
    /// Label of the policy.
    pub policy: String,
    /// Where this direction comes from.
    pub from_dc: String,
    /// Where this direction goes to.
    pub to_dc: String,
    /// Counters, by time.
    pub counters: Vec<Counter>,
}

/// A counter at one moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counter {
    /// Nanoseconds from the start.
    pub time: u64,
    /// Bytes carried till then.
    pub bytes: u64,
}

/// Counters of the links around the faults, taken in row by row.
pub struct SeriesTally {
    dcs: Vec<String>,
    until: Nanos,
    directions: BTreeMap<(String, String, String), Thinned>,
}

/// Evenly picked counters of one direction.
#[derive(Default)]
struct Thinned {
    counters: Vec<Counter>,
    seen: usize,
    /// One of 2^halvings is kept.
    halvings: u32,
}

impl SeriesTally {
    /// For the faults of a run: what the switch did that had other links to turn to.
    pub fn new(info: &RunInfo) -> Self {
        let mut dcs = Vec::new();
        let faulty = info.faults.iter();
        let faulty =
            faulty.filter_map(|fault| info.links.iter().find(|link| link.name == fault.link));
        for link in faulty {
            let end = end_with_more_links(link, &info.links);
            if !dcs.contains(end) {
                dcs.push(end.clone());
            }
        }
        Self {
            dcs,
            until: time_around(&info.faults).1,
            directions: BTreeMap::new(),
        }
    }

    /// Takes in counters of a link.
    pub fn add(&mut self, row: &LinkRow) {
        let is_around = self.dcs.contains(&row.from_dc) && row.time_ns <= self.until;
        if row.repetition != 0 || !is_around {
            return;
        }
        let direction = (row.from_dc.clone(), row.policy.clone(), row.to_dc.clone());
        self.directions.entry(direction).or_default().add(Counter {
            time: row.time_ns.get(),
            bytes: row.tx_bytes.get(),
        });
    }

    /// By switch, policy and where they lead.
    pub fn series(self) -> Vec<LinkSeries> {
        let of = |((from_dc, policy, to_dc), mut thinned): (_, Thinned)| {
            thinned.counters.sort_by_key(|counter| counter.time);
            LinkSeries {
                policy,
                from_dc,
                to_dc,
                counters: thinned.counters,
            }
        };
        self.directions.into_iter().map(of).collect()
    }
}

impl LinkSeries {
    /// Spans of time with what was carried in each, in bytes a second: start, end and rate, in
    /// seconds.
    pub fn rates(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let before = std::iter::once(Counter::default()).chain(self.counters.iter().copied());
        let spans = before.zip(&self.counters);
        spans
            .filter(|(before, after)| after.time > before.time)
            .map(|(before, after)| {
                let [start, end] = [before.time, after.time].map(|time| seconds(Nanos::new(time)));
                let bytes = to_float(after.bytes.saturating_sub(before.bytes));
                (start, end, bytes / (end - start))
            })
    }
}

fn end_with_more_links<'a>(link: &'a LinkInfo, links: &[LinkInfo]) -> &'a String {
    let degree = |dc: &String| {
        let ends = links.iter().filter(|link| link.a == *dc || link.b == *dc);
        ends.count()
    };
    if degree(&link.b) > degree(&link.a) {
        &link.b
    } else {
        &link.a
    }
}

impl Thinned {
    /// Counters only grow: what one that is left out counted is in the next.
    fn add(&mut self, counter: Counter) {
        self.seen += 1;
        if !self.seen.is_multiple_of(1 << self.halvings) {
            return;
        }
        self.counters.push(counter);
        if self.counters.len() == MAX_COUNTERS {
            let mut is_kept = true;
            self.counters.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.halvings += 1;
        }
    }
}

/// The time that shows what faults did: as long before the first and after the last as there is
/// between them, or before the first.
pub fn time_around(faults: &[FaultInfo]) -> (Nanos, Nanos) {
    let times = faults.iter().map(|fault| fault.time_ns);
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
        return (Nanos::ZERO, Nanos::ZERO);
    };
    let around = last.saturating_sub(first).max(first);
    (first.saturating_sub(around), last.saturating_add(around))
}

/// Twice as many as a figure needs.
const MAX_COUNTERS: usize = 800;

#[cfg(test)]
mod tests {
    use lab_records::LinkChange;
    use lab_units::{BitsPerSec, Bytes};

    use super::*;
    use crate::testing;

    fn info(time: u64) -> RunInfo {
        let fault = FaultInfo {
            time_ns: Nanos::from_millis(time),
            link: "dc2-dc3".into(),
            change: LinkChange::Down,
        };
        RunInfo {
            faults: vec![fault],
            ..testing::info()
        }
    }

    fn row(from: &str, to: &str, millis: u64, bytes: u64) -> LinkRow {
        LinkRow {
            policy: "a".into(),
            repetition: 0,
            time_ns: Nanos::from_millis(millis),
            link: "dc1-dc2".into(),
            from_dc: from.into(),
            to_dc: to.into(),
            tx_bytes: Bytes::new(bytes),
            emu_tx_bytes: Bytes::new(bytes),
            rate_bps: BitsPerSec::new(1).unwrap(),
            drops: 0,
            tx_packets: None,
            marks: None,
        }
    }

    #[test]
    fn what_a_faulty_links_switch_sent_is_kept_and_nothing_else() {
        let mut tally = SeriesTally::new(&info(600));
        for (from, to) in [("dc2", "dc1"), ("dc2", "dc3"), ("dc1", "dc3")] {
            tally.add(&row(from, to, 500, 20));
        }
        tally.add(&row("dc2", "dc3", 1_000, 60));
        // Too long after it.
        tally.add(&row("dc2", "dc3", 1_201, 99));
        let series = tally.series();
        let to: Vec<&str> = series.iter().map(|one| one.to_dc.as_str()).collect();
        assert_eq!(to, ["dc1", "dc3"]);
        let rates: Vec<_> = series[1].rates().collect();
        assert_eq!(rates, [(0.0, 0.5, 40.0), (0.5, 1.0, 80.0)]);
    }

    #[test]
    fn many_counters_are_thinned_and_lose_no_byte() {
        let mut tally = SeriesTally::new(&info(5_000));
        for millis in 1..=10_000 {
            tally.add(&row("dc2", "dc3", millis, millis * 7));
        }
        let series = tally.series();
        assert!(series[0].counters.len() <= MAX_COUNTERS);
        let gaps = series[0].counters.windows(2);
        assert!(
            gaps.map(|pair| pair[1].time - pair[0].time)
                .all(|gap| gap == 16_000_000)
        );
        let carried: f64 = (series[0].rates())
            .map(|(start, end, rate)| (end - start) * rate)
            .sum();
        let last = to_float(series[0].counters.last().unwrap().bytes);
        assert!(
            (carried - last).abs() < 1e-6 && last > 68_000.0,
            "{carried} {last}"
        );
    }
}
