//! Questions about links and their queues.

use std::collections::BTreeMap;

use lab_records::{LinkRow, QueueRow};
use polars::prelude::*;

use super::values;

/// What one direction of a link carried under one policy, over all repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkUse {
    /// Label of the policy.
    pub policy: String,
    /// The link.
    pub link: String,
    /// Where this direction comes from.
    pub from_dc: String,
    /// Where this direction goes to.
    pub to_dc: String,
    /// Bytes carried ÷ bytes that fit from a repetition's start to the last sample of any policy's:
    /// the same time for all, so that they compare like the bytes they carried.
    pub utilisation: f64,
    /// Bytes carried.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Most bytes seen waiting; nothing if the queue was not sampled.
    pub peak_queue_bytes: Option<u64>,
}

/// What each direction of each link carried under each policy, by policy, link and direction.
pub fn link_uses(links: &[LinkRow], queues: &[QueueRow]) -> PolarsResult<Vec<LinkUse>> {
    let peaks = peak_queues(queues)?;
    let lazy = link_frame(links)?.lazy();
    // Counters only grow, so the largest is the last. Capacity is averaged over the samples, which
    // are evenly spaced: a fault may change it.
    let ends = lazy.clone().group_by(KEYS.map(col)).agg([
        col(BYTES).max(),
        col(DROPS).max(),
        col(RATE).sum().alias(RATE_SUM),
        col(RATE).count().cast(DataType::UInt64).alias(SAMPLES),
    ]);
    let run = [col(REPETITION)];
    let spans = lazy.group_by(run.clone()).agg([col(TIME).max()]);
    let frame = ends
        .join(spans, run.clone(), run, JoinArgs::new(JoinType::Inner))
        .sort(KEYS, SortMultipleOptions::default())
        .collect()?;

    let text = |name: &str| -> PolarsResult<Vec<String>> {
        let column = frame.column(name)?.str()?.iter();
        Ok(column
            .map(|text| text.unwrap_or_default().to_owned())
            .collect())
    };
    let number = |name: &str| -> PolarsResult<Vec<u64>> {
        let column = frame.column(name)?.u64()?.iter();
        Ok(column.map(Option::unwrap_or_default).collect())
    };
    let (policies, names) = (text(POLICY)?, text(LINK)?);
    let (from, to) = (text(FROM)?, text(TO)?);
    let (bytes, drops, times) = (number(BYTES)?, number(DROPS)?, number(TIME)?);
    let (rates, samples) = (number(RATE_SUM)?, number(SAMPLES)?);

    let mut uses: BTreeMap<(String, String, String, String), Sums> = BTreeMap::new();
    for row in 0..frame.height() {
        let key = (
            policies[row].clone(),
            names[row].clone(),
            from[row].clone(),
            to[row].clone(),
        );
        let sums = uses.entry(key).or_default();
        sums.bytes += bytes[row];
        sums.drops += drops[row];
        let byte_nanos = u128::from(rates[row]) * u128::from(times[row]);
        sums.capacity += byte_nanos / u128::from(samples[row].max(1)) / BIT_NANOS_PER_BYTE_SECOND;
    }
    let done = uses
        .into_iter()
        .map(|((policy, link, from_dc, to_dc), sums)| LinkUse {
            utilisation: sums.utilisation(),
            bytes: sums.bytes,
            drops: sums.drops,
            peak_queue_bytes: peaks
                .get(&(policy.clone(), from_dc.clone(), to_dc.clone()))
                .copied(),
            policy,
            link,
            from_dc,
            to_dc,
        });
    Ok(done.collect())
}

/// Sums over repetitions.
#[derive(Default)]
struct Sums {
    bytes: u64,
    drops: u64,
    /// Bytes that would have fitted.
    capacity: u128,
}

impl Sums {
    fn utilisation(&self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share needs no more than 53 bits of bytes"
        )]
        let share = self.bytes as f64 / self.capacity.max(1) as f64;
        share
    }
}

fn link_frame(links: &[LinkRow]) -> PolarsResult<DataFrame> {
    let columns = vec![
        Column::new(POLICY.into(), values(links, |row| row.policy.as_str())),
        Column::new(REPETITION.into(), values(links, |row| row.repetition)),
        Column::new(LINK.into(), values(links, |row| row.link.as_str())),
        Column::new(FROM.into(), values(links, |row| row.from_dc.as_str())),
        Column::new(TO.into(), values(links, |row| row.to_dc.as_str())),
        Column::new(TIME.into(), values(links, |row| row.time_ns.get())),
        Column::new(BYTES.into(), values(links, |row| row.tx_bytes.get())),
        Column::new(RATE.into(), values(links, |row| row.rate_bps.get())),
        Column::new(DROPS.into(), values(links, |row| row.drops)),
    ];
    DataFrame::new(links.len(), columns)
}

/// The most bytes seen in each queue, by policy, DC of the switch and DC it leads to.
fn peak_queues(queues: &[QueueRow]) -> PolarsResult<BTreeMap<(String, String, String), u64>> {
    let columns = vec![
        Column::new(POLICY.into(), values(queues, |row| row.policy.as_str())),
        Column::new(FROM.into(), values(queues, |row| row.switch.as_str())),
        Column::new(TO.into(), values(queues, |row| row.to_dc.as_str())),
        Column::new(BYTES.into(), values(queues, |row| row.backlog_bytes.get())),
    ];
    let frame = DataFrame::new(queues.len(), columns)?
        .lazy()
        .group_by([col(POLICY), col(FROM), col(TO)])
        .agg([col(BYTES).max()])
        .collect()?;
    let keys = frame.column(POLICY)?.str()?.iter();
    let keys = keys.zip(frame.column(FROM)?.str()?.iter());
    let keys = keys.zip(frame.column(TO)?.str()?.iter());
    let peaks = keys.zip(frame.column(BYTES)?.u64()?.iter());
    let peak = |(((policy, from), to), bytes): (((Option<&str>, _), _), _)| {
        let (from, to): (Option<&str>, Option<&str>) = (from, to);
        let key = (policy?.to_owned(), from?.to_owned(), to?.to_owned());
        Some((key, bytes?))
    };
    Ok(peaks.filter_map(peak).collect())
}

const POLICY: &str = "policy";
const REPETITION: &str = "repetition";
const LINK: &str = "link";
const FROM: &str = "from_dc";
const TO: &str = "to_dc";
const TIME: &str = "time_ns";
const BYTES: &str = "bytes";
const RATE: &str = "rate_bps";
const RATE_SUM: &str = "rate_sum";
const SAMPLES: &str = "samples";
const DROPS: &str = "drops";

/// One direction of one link in one repetition of one policy.
const KEYS: [&str; 5] = [POLICY, LINK, FROM, TO, REPETITION];

/// bit/s · ns in one byte.
const BIT_NANOS_PER_BYTE_SECOND: u128 = 8 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use lab_units::{BitsPerSec, Bytes, Nanos};

    use super::*;

    /// A counter of dc1's direction of `dc1-dc2`, `bytes` after `time` seconds at `rate` bit/s.
    fn counter(policy: &str, repetition: u32, time: u64, bytes: u64, rate: u64) -> LinkRow {
        LinkRow {
            policy: policy.into(),
            repetition,
            time_ns: Nanos::new(time * 1_000_000_000),
            link: "dc1-dc2".into(),
            from_dc: "dc1".into(),
            to_dc: "dc2".into(),
            tx_bytes: Bytes::new(bytes),
            emu_tx_bytes: Bytes::new(bytes),
            rate_bps: BitsPerSec::new(rate).unwrap(),
            drops: bytes / 100,
            tx_packets: None,
            marks: None,
        }
    }

    #[test]
    fn utilisation_is_what_was_carried_of_what_would_have_fitted() {
        let rows = [
            counter("a", 0, 0, 0, 8_000),
            counter("a", 0, 2, 500, 8_000),
            counter("b", 0, 1, 1_000, 8_000),
        ];
        let uses = link_uses(&rows, &[]).unwrap();
        // Policy b was done after half of the time.
        let shares: Vec<f64> = uses.iter().map(|one| one.utilisation).collect();
        assert_eq!(shares, [0.25, 0.5]);
        assert_eq!((uses[0].drops, uses[0].peak_queue_bytes), (5, None));
    }

    #[test]
    fn repetitions_add_up() {
        let rows = [
            counter("a", 0, 2, 500, 8_000),
            counter("a", 1, 4, 2_500, 8_000),
        ];
        let uses = link_uses(&rows, &[]).unwrap();
        assert_eq!((uses.len(), uses[0].bytes, uses[0].drops), (1, 3_000, 30));
        assert!((uses[0].utilisation - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_capacity_that_changes_is_averaged_over_the_samples() {
        let rows = [
            counter("a", 0, 1, 100, 16_000),
            counter("a", 0, 2, 1_500, 8_000),
        ];
        let uses = link_uses(&rows, &[]).unwrap();
        assert!((uses[0].utilisation - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_queues_peak_is_its_directions() {
        let queue = |switch: &str, to: &str, backlog: u64| QueueRow {
            policy: "a".into(),
            repetition: 0,
            time_ns: Nanos::ZERO,
            switch: switch.into(),
            port: "p".into(),
            to_dc: to.into(),
            backlog_bytes: Bytes::new(backlog),
            emu_backlog_bytes: Bytes::new(backlog),
            queue_level: 0,
            trend_level: 0,
            duration_level: 0,
            congestion_cost: 0,
        };
        let queues = [
            queue("dc1", "dc2", 7),
            queue("dc1", "dc2", 9),
            queue("dc1", "dc2", 3),
            queue("dc2", "dc1", 99),
        ];
        let uses = link_uses(&[counter("a", 0, 1, 100, 8_000)], &queues).unwrap();
        assert_eq!(uses[0].peak_queue_bytes, Some(9));
    }
}
