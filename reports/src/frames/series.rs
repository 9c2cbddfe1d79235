//! Link counters over time next to a run's faults.

use lab_records::{FaultInfo, LinkInfo, RunInfo};
use lab_units::Nanos;
use polars::prelude::*;

use super::{numbers, texts};
use crate::text::{seconds, to_float};

/// Counters of one link direction over time, under one policy, in the first repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSeries {
    /// Label of the policy.
    pub policy: String,
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Values of the counter, in order of time.
    pub counters: Vec<Counter>,
}

/// Value of a counter at one time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counter {
    /// Time from the start of the repetition, ns.
    pub time: u64,
    /// Number of bytes carried since the start of the repetition.
    pub bytes: u64,
}

/// Filter for the link counters that show the effect of faults. Of the two switches at a faulty link, it selects the
/// switch with more links, which can re-route over its other links.
pub struct SeriesQuery {
    dcs: Vec<String>,
    until: Nanos,
}

impl SeriesQuery {
    /// Returns the filter for the faults of a run.
    pub fn new(info: &RunInfo) -> Self {
        let links = info
            .faults
            .iter()
            .filter_map(|fault| info.links.iter().find(|it| it.name == fault.link));
        let mut dcs: Vec<String> = links
            .map(|link| end_with_more_links(link, &info.links).clone())
            .collect();
        dcs.sort_unstable();
        dcs.dedup();
        Self {
            dcs,
            until: time_around(&info.faults).1,
        }
    }

    /// Keeps the rows of the first repetition that a series needs.
    pub fn apply(&self, rows: LazyFrame) -> LazyFrame {
        let sent_by = |dc: &String| col("from_dc").eq(lit(dc.clone()));
        let is_near = self.dcs.iter().map(sent_by).reduce(Expr::or);
        let is_in_time = col("time_ns").lt_eq(lit(self.until.get()));
        let is_first = col("repetition").eq(lit(0u64));
        rows.filter(is_near.unwrap_or(lit(false)).and(is_in_time).and(is_first))
            .select(
                [
                    "policy",
                    "from_dc",
                    "to_dc",
                    "repetition",
                    "time_ns",
                    "tx_bytes",
                ]
                .map(col),
            )
    }
}

/// Returns the series of the rows that a [`SeriesQuery`] kept, sorted by switch, policy and destination.
pub fn series(rows: &DataFrame) -> PolarsResult<Vec<LinkSeries>> {
    let order = ["from_dc", "policy", "to_dc", "time_ns"];
    let by_time = SortMultipleOptions::default().with_maintain_order(true);
    let rows = rows.sort(order, by_time)?;
    let directions = texts(&rows, "from_dc")?
        .zip(texts(&rows, "policy")?)
        .zip(texts(&rows, "to_dc")?);
    let counters = numbers(&rows, "time_ns")?.zip(numbers(&rows, "tx_bytes")?);
    let rows: Vec<_> = directions.zip(counters).collect();
    let of_direction = rows.chunk_by(|(one, _), (other, _)| one == other);
    let series = of_direction.map(|rows| {
        let ((from_dc, policy), to_dc) = rows[0].0.clone();
        let counter = |&(_, (time, bytes)): &_| Counter { time, bytes };
        LinkSeries {
            policy,
            from_dc,
            to_dc,
            counters: thinned(rows.iter().map(counter)),
        }
    });
    Ok(series.collect())
}

/// Keeps every 2^n-th counter value, with the smallest n that leaves fewer than [`MAX_COUNTERS`]. No bytes are lost:
/// counters never decrease, so a kept value includes the bytes of the omitted values before it.
fn thinned(counters: impl ExactSizeIterator<Item = Counter>) -> Vec<Counter> {
    let mut every = 1;
    while counters.len() / every >= MAX_COUNTERS {
        every *= 2;
    }
    counters.skip(every - 1).step_by(every).collect()
}

impl LinkSeries {
    /// Returns the start and end, in seconds, and the rate, in bytes per second, of each span between two counters.
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
        links
            .iter()
            .filter(|link| link.a == *dc || link.b == *dc)
            .count()
    };
    if degree(&link.b) > degree(&link.a) {
        &link.b
    } else {
        &link.a
    }
}

/// Returns the start and end of the time that shows the effect of `faults`. The time before the first fault and after
/// the last fault is as long as the longer of two periods: from the first to the last fault, and from the start of the
/// repetition to the first fault.
pub fn time_around(faults: &[FaultInfo]) -> (Nanos, Nanos) {
    let times = faults.iter().map(|fault| fault.time_ns);
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
        return (Nanos::ZERO, Nanos::ZERO);
    };
    let around = last.saturating_sub(first).max(first);
    (first.saturating_sub(around), last.saturating_add(around))
}

/// Upper bound on the number of counter values in a series, twice as many as a figure can show.
const MAX_COUNTERS: usize = 800;

#[cfg(test)]
mod tests {
    use lab_records::{LinkChange, LinkRow};
    use lab_sample as sample;
    use lab_units::Bytes;

    use super::{
        super::{TimeGrid, links},
        *,
    };
    use crate::testing;

    fn series_of(fault_ms: u64, rows: &[LinkRow]) -> Vec<LinkSeries> {
        let info = RunInfo {
            faults: vec![FaultInfo {
                time_ns: Nanos::from_millis(fault_ms),
                link: "dc2-dc3".into(),
                change: LinkChange::Down,
                rate_bps: None,
            }],
            ..testing::info()
        };
        let run = testing::run(&info, |writer| writer.append(rows));
        let grid = TimeGrid::new(Vec::new(), None);
        links(&run.dir, &grid, &[]).unwrap().around_faults
    }

    fn row(from: &str, to: &str, millis: u64, bytes: u64) -> LinkRow {
        LinkRow {
            time_ns: Nanos::from_millis(millis),
            tx_bytes: Bytes::new(bytes),
            ..sample::counter(&sample::link(from, to, 1, 1), "a")
        }
    }

    #[test]
    fn only_counters_of_a_faulty_links_switch_are_kept() {
        let series = series_of(
            600,
            &[
                row("dc2", "dc1", 500, 20),
                row("dc2", "dc3", 500, 20),
                row("dc1", "dc3", 500, 20),
                row("dc2", "dc3", 1_000, 60),
                // This counter is too long after the last fault.
                row("dc2", "dc3", 1_201, 99),
            ],
        );
        let to: Vec<&str> = series.iter().map(|one| one.to_dc.as_str()).collect();
        assert_eq!(to, ["dc1", "dc3"]);
        let rates: Vec<_> = series[1].rates().collect();
        assert_eq!(rates, [(0.0, 0.5, 40.0), (0.5, 1.0, 80.0)]);
    }

    #[test]
    fn many_counters_are_thinned_and_lose_no_byte() {
        let rows: Vec<LinkRow> = (1..=10_000)
            .map(|millis| row("dc2", "dc3", millis, millis * 7))
            .collect();
        let series = series_of(5_000, &rows);
        assert!(series[0].counters.len() <= MAX_COUNTERS);
        let mut gaps = series[0].counters.windows(2);
        assert!(gaps.all(|pair| pair[1].time - pair[0].time == 16_000_000));
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
