//! Utilisation and queues of links over time, in the first repetition.

use std::collections::BTreeMap;

use lab_records::{LinkRates, RunInfo};
use lab_units::Nanos;
use polars::prelude::*;

use super::{grid::TimeGrid, numbers, texts};
use crate::text::to_float;

/// Values of one link direction over time, under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionSeries {
    /// Label of the policy.
    pub policy: String,
    /// Name of the link.
    pub link: String,
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Percentage of capacity used in each interval; `None` after the last sample.
    pub utilisation: Vec<Option<f64>>,
    /// Longest sample of the queue in each interval, bytes; `None` without a sample.
    pub queue: Vec<Option<f64>>,
    /// Number of packets that were ECN-marked in each interval.
    pub marks: Vec<Option<f64>>,
    /// Number of packets that were dropped in each interval.
    pub drops: Vec<Option<f64>>,
}

/// Counters of a link at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time: f64,
    bytes: f64,
    marks: f64,
    drops: f64,
}

/// Reduces counters to their last values in each interval of `grid`.
pub fn counters_over_time(grid: &TimeGrid, rows: LazyFrame) -> LazyFrame {
    let largest = ["time_ns", "tx_bytes", "drops", "marks"].map(|name| col(name).max());
    of_first_repetition(grid, rows)
        .group_by([POLICY, "link", "from_dc", "to_dc", "repetition", INTERVAL].map(col))
        .agg(largest)
}

/// Reduces queue samples to the longest queue in each interval of `grid`.
pub fn queues_over_time(grid: &TimeGrid, rows: LazyFrame) -> LazyFrame {
    of_first_repetition(grid, rows)
        .group_by([POLICY, "switch", "to_dc", "repetition", INTERVAL].map(col))
        .agg([col("backlog_bytes").max(), col("time_ns").max()])
}

fn of_first_repetition(grid: &TimeGrid, rows: LazyFrame) -> LazyFrame {
    rows.filter(col("repetition").eq(lit(0u64)))
        .with_columns([grid.index_of("time_ns").alias(INTERVAL)])
}

/// Returns the time series of link directions from the reduced counters and queue samples, sorted by link, direction
/// and policy; `info` has the links' rates.
pub fn over_time(
    info: &RunInfo,
    grid: &TimeGrid,
    counters: &DataFrame,
    queues: &DataFrame,
) -> PolarsResult<Vec<DirectionSeries>> {
    let mut queues = read_queues(grid, queues)?;
    let order = ["link", "from_dc", "to_dc", POLICY, "time_ns"];
    let counters = counters.sort(order, SortMultipleOptions::default())?;
    let keys = texts(&counters, POLICY)?
        .zip(texts(&counters, "link")?)
        .zip(texts(&counters, "from_dc")?)
        .zip(texts(&counters, "to_dc")?);
    let column = |name| Ok::<_, PolarsError>(numbers(&counters, name)?.map(to_float));
    let values = column("time_ns")?
        .zip(column("tx_bytes")?)
        .zip(column("marks")?)
        .zip(column("drops")?);
    let sample = |(((time, bytes), marks), drops)| Sample {
        time,
        bytes,
        marks,
        drops,
    };
    let rows: Vec<_> = keys.zip(values.map(sample)).collect();
    let series = rows
        .chunk_by(|(one, _), (other, _)| one == other)
        .map(|rows| {
            let (((policy, link), from_dc), to_dc) = rows[0].0.clone();
            let samples: Vec<Sample> = rows.iter().map(|(_, sample)| *sample).collect();
            let key = (policy.clone(), from_dc.clone(), to_dc.clone());
            let rates = LinkRates::of(info, &link);
            let shares = utilisation(grid, &samples, rates.as_ref()).into_iter();
            let events = |of| increases(grid, &samples, of).into_iter().map(Some);
            DirectionSeries {
                utilisation: shares.map(|share| Some(share? * 100.0)).collect(),
                queue: queues
                    .remove(&key)
                    .unwrap_or_else(|| vec![None; grid.len()]),
                marks: events(|sample| sample.marks).collect(),
                drops: events(|sample| sample.drops).collect(),
                policy,
                link,
                from_dc,
                to_dc,
            }
        });
    Ok(series.collect())
}

/// Longest queue sampled in each interval, by policy, switch and next-hop datacenter.
type Queues = BTreeMap<(String, String, String), Vec<Option<f64>>>;

fn read_queues(grid: &TimeGrid, frame: &DataFrame) -> PolarsResult<Queues> {
    let mut queues = Queues::new();
    let keys = texts(frame, POLICY)?
        .zip(texts(frame, "switch")?)
        .zip(texts(frame, "to_dc")?);
    let values = numbers(frame, "time_ns")?.zip(numbers(frame, "backlog_bytes")?);
    for (((policy, switch), to), (time, backlog)) in keys.zip(values) {
        let series = queues.entry((policy, switch, to));
        series.or_insert_with(|| vec![None; grid.len()])[grid.index(time)] =
            Some(to_float(backlog));
    }
    Ok(queues)
}

fn utilisation(grid: &TimeGrid, samples: &[Sample], rates: Option<&LinkRates>) -> Vec<Option<f64>> {
    let last = samples.last().map_or(0.0, |last| last.time);
    let bytes = increases(grid, samples, |sample| sample.bytes);
    let of = |(index, bytes): (usize, f64)| {
        let [start, end] = [index, index + 1].map(|edge| to_float(grid.edge(edge)));
        (start < last).then(|| share(bytes, rates, [start, end.min(last)]))
    };
    bytes.into_iter().enumerate().map(of).collect()
}

/// Returns `bytes` divided by the bytes that the link could carry between two times; 0 if it could carry nothing.
fn share(bytes: f64, rates: Option<&LinkRates>, between: [f64; 2]) -> f64 {
    let until = |nanos| rates.map_or(0, |rates| rates.capacity_until(whole_nanos(nanos)));
    let [from, to] = between.map(until);
    match to.saturating_sub(from) {
        0 => 0.0,
        fits => {
            #[expect(
                clippy::cast_precision_loss,
                reason = "reports show fewer digits than a float has"
            )]
            let fits = fits as f64;
            bytes * 8e9 / fits
        }
    }
}

/// Converts the time of a sample, which must not be negative, to whole nanoseconds.
fn whole_nanos(time: f64) -> Nanos {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    Nanos::new(time as u64)
}

/// Returns the increase of a counter in each interval, interpolated linearly between samples.
fn increases(grid: &TimeGrid, samples: &[Sample], of: fn(&Sample) -> f64) -> Vec<f64> {
    let edges = (0..=grid.len()).map(|edge| to_float(grid.edge(edge)));
    let counts: Vec<f64> = edges.map(|edge| at(samples, edge, of)).collect();
    counts
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).max(0.0))
        .collect()
}

/// Returns the value of a counter at `time`, interpolated linearly between samples; the value at the start is 0.
fn at(samples: &[Sample], time: f64, of: fn(&Sample) -> f64) -> f64 {
    let next = samples.partition_point(|sample| sample.time < time);
    let before = match next.checked_sub(1) {
        Some(before) => samples[before],
        None => Sample::default(),
    };
    let Some(after) = samples.get(next) else {
        return of(&before);
    };
    let span = after.time - before.time;
    let along = if span > 0.0 {
        (time - before.time) / span
    } else {
        1.0
    };
    of(&before) + (of(after) - of(&before)) * along
}

const POLICY: &str = "policy";
const INTERVAL: &str = "interval";

#[cfg(test)]
mod tests {
    use lab_records::{FaultInfo, LinkChange};
    use lab_sample as sample;
    use lab_units::BitsPerSec;

    use super::*;

    /// Returns the rates of a link that has `gbit` Gbit/s at first; each of `faults` is a time and the link's new rate.
    fn rates(gbit: u64, faults: Vec<(u64, u64)>) -> LinkRates {
        let link = sample::link("dc1", "dc2", gbit, 1);
        let fault = |(nanos, gbit)| FaultInfo {
            time_ns: Nanos::new(nanos),
            link: link.name.clone(),
            change: LinkChange::Changed,
            rate_bps: BitsPerSec::new(gbit * 1_000_000_000),
        };
        let info = RunInfo {
            faults: faults.into_iter().map(fault).collect(),
            links: vec![link.clone()],
            ..sample::info()
        };
        LinkRates::of(&info, &link.name).expect("the link")
    }

    /// A fully used link has 100 Gbit/s, or 12.5 bytes per nanosecond; from 100 µs on, it has a tenth of that.
    #[test]
    fn a_full_link_is_full_before_and_after_a_fault_of_its_rate() {
        let grid = TimeGrid::new(vec![240_000], None);
        let sample = |time: f64, bytes| Sample {
            time,
            bytes,
            ..Sample::default()
        };
        let samples = [
            sample(100_000.0, 1_250_000.0),
            sample(240_000.0, 1_425_000.0),
        ];
        let rates = rates(100, vec![(100_000, 10)]);
        let used = utilisation(&grid, &samples, Some(&rates));
        for share in used {
            assert!(
                share.is_some_and(|share| (share - 1.0).abs() < 1e-9),
                "{share:?}"
            );
        }
        let whole = share(1_425_000.0, Some(&rates), [0.0, 240_000.0]);
        assert!((whole - 1.0).abs() < 1e-9, "{whole}");
    }

    #[test]
    fn counters_grow_evenly_between_samples_and_lose_nothing() {
        let grid = TimeGrid::new(vec![240_000], None);
        let sample = |time: f64, bytes| Sample {
            time,
            bytes,
            ..Sample::default()
        };
        let samples = [sample(60_500.0, 60_500.0), sample(120_000.0, 60_500.0)];
        let rates = rates(8, Vec::new());
        let used = utilisation(&grid, &samples, Some(&rates));
        // The capacity of the link is 1 byte per nanosecond.
        let is_near = |index: usize, share: f64| {
            used[index].is_some_and(|used: f64| (used - share).abs() < 1e-9)
        };
        assert!((0..60).all(|index| is_near(index, 1.0)));
        assert!(is_near(60, 0.5) && is_near(61, 0.0) && used[120].is_none());
        let carried: f64 = increases(&grid, &samples, |sample| sample.bytes)
            .iter()
            .sum();
        assert!((carried - 60_500.0).abs() < 1e-6);
    }
}
