//! Totals of links and of their queues.

use std::collections::BTreeMap;

use lab_records::{LinkRow, QueueRow};
use polars::prelude::*;

use super::{
    DirectionSeries, LinkSeries, PortTotal, ROWS, TimeGrid, numbers,
    over_time::{counters_over_time, over_time, queues_over_time},
    reduce,
    series::{SeriesQuery, series},
    texts,
};
use crate::{error::ReportError, facts::RunFacts};

/// Totals of one link direction under one policy, over all repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkUse {
    /// Label of the policy.
    pub policy: String,
    /// Name of the link.
    pub link: String,
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Number of bytes carried.
    pub bytes: u64,
    /// Number of packets dropped.
    pub drops: u64,
    /// Number of packets that were ECN-marked; `None` if marks were not counted.
    pub marks: Option<u64>,
    /// Longest queue, bytes: the maximum that the port recorded, or else the largest sample; `None` without either.
    pub peak_queue_bytes: Option<u64>,
    /// True if `peak_queue_bytes` is a sample, so that the queue may have been longer between samples.
    pub is_peak_sampled: bool,
    /// Mean of the queue samples until the end of the time grid, in whole bytes; `None` without samples.
    pub mean_queue_bytes: Option<u64>,
}

/// Totals and time series of links.
pub struct Links {
    /// Totals of all link directions, sorted by policy, link and direction.
    pub uses: Vec<LinkUse>,
    /// Values of all link directions over time, sorted by link, direction and policy.
    pub over_time: Vec<DirectionSeries>,
    /// Counters of all links at a switch next to a fault: at each faulty link, the switch with more links.
    pub around_faults: Vec<LinkSeries>,
}

/// Reads the tables of links and queues: totals, series in the intervals of `grid`, and link series at switches next to
/// a fault. `ports` has the maximum queue length of each port.
pub fn links(run: &RunFacts, grid: &TimeGrid, ports: &[PortTotal]) -> Result<Links, ReportError> {
    let around = SeriesQuery::new(run.info());
    let around = |frame| around.apply(frame);
    let in_intervals = |frame| counters_over_time(grid, frame);
    let [counters, rows, intervals] =
        reduce::<LinkRow, 3>(run, &COLUMNS, [&counters, &around, &in_intervals])?;
    let in_intervals = |frame| queues_over_time(grid, frame);
    let sums = |frame| sums(grid, frame);
    let [peaks, sums, queues] =
        reduce::<QueueRow, 3>(run, &QUEUE_COLUMNS, [&peaks, &sums, &in_intervals])?;
    Ok(Links {
        uses: uses(&counters, [&peaks, &sums], ports)?,
        over_time: over_time(run.info(), grid, &intervals, &queues)?,
        around_faults: series(&rows)?,
    })
}

/// Reduces counters to one row for each direction and repetition. Counters never decrease, so the largest value is the
/// last.
fn counters(rows: LazyFrame) -> LazyFrame {
    rows.group_by(KEYS.map(col))
        .agg(["tx_bytes", "drops", "marks"].map(|name| col(name).max()))
}

/// Reduces queue samples to the longest queue for each policy, switch and next-hop datacenter.
fn peaks(rows: LazyFrame) -> LazyFrame {
    rows.group_by(QUEUE_KEYS.map(col))
        .agg([col("backlog_bytes").max()])
}

/// Reduces queue samples until the end of `grid` to sum and count, for each policy, switch and next-hop datacenter.
fn sums(grid: &TimeGrid, rows: LazyFrame) -> LazyFrame {
    rows.filter(col("time_ns").lt_eq(lit(grid.edge(grid.len()))))
        .group_by(QUEUE_KEYS.map(col))
        .agg([
            col("backlog_bytes").sum(),
            col(ROWS).sum(),
            col("time_ns").min(),
        ])
}

/// Last counters of one link direction in one repetition.
struct Counters {
    /// Policy, link, sending and receiving datacenter.
    direction: [String; 4],
    bytes: u64,
    drops: u64,
    marks: Option<u64>,
}

fn uses(
    counters: &DataFrame,
    [peaks, sums]: [&DataFrame; 2],
    ports: &[PortTotal],
) -> PolarsResult<Vec<LinkUse>> {
    let queues = |frame| {
        let [policy, switch, to_dc] = QUEUE_KEYS;
        let keys = texts(frame, policy)?
            .zip(texts(frame, switch)?)
            .zip(texts(frame, to_dc)?);
        PolarsResult::Ok(keys.zip(numbers(frame, "backlog_bytes")?))
    };
    let peaks: BTreeMap<_, u64> = queues(peaks)?.collect();
    let mean = |((key, sum), count): (_, u64)| (key, u64::checked_div(sum, count).unwrap_or(0));
    let means: BTreeMap<_, u64> = queues(sums)?.zip(numbers(sums, ROWS)?).map(mean).collect();
    let counters = read_counters(&counters.sort(KEYS, SortMultipleOptions::default())?)?;
    let directions = counters.chunk_by(|a, b| a.direction == b.direction);
    let of = |rows: &[Counters]| {
        let marks = rows
            .iter()
            .filter_map(|row| row.marks)
            .reduce(|sum, more| sum + more);
        let [policy, link, from_dc, to_dc] = rows[0].direction.clone();
        let port = ports
            .iter()
            .find(|port| (&port.policy, &port.node, &port.peer) == (&policy, &from_dc, &to_dc));
        let counted = port.map(|port| port.peak_queue_bytes);
        let queue = ((policy.clone(), from_dc.clone()), to_dc.clone());
        LinkUse {
            peak_queue_bytes: counted.or(peaks.get(&queue).copied()),
            is_peak_sampled: counted.is_none(),
            mean_queue_bytes: means.get(&queue).copied(),
            policy,
            link,
            from_dc,
            to_dc,
            bytes: rows.iter().map(|row| row.bytes).sum(),
            drops: rows.iter().map(|row| row.drops).sum(),
            marks,
        }
    };
    Ok(directions.map(of).collect())
}

fn read_counters(frame: &DataFrame) -> PolarsResult<Vec<Counters>> {
    let column = |name| numbers(frame, name);
    let [mut policy, mut link, mut from, mut to] = [
        texts(frame, "policy")?,
        texts(frame, "link")?,
        texts(frame, "from_dc")?,
        texts(frame, "to_dc")?,
    ];
    let [mut bytes, mut drops] = [column("tx_bytes")?, column("drops")?];
    let marks = frame.column("marks")?.u64()?.iter();
    let row = |marks| {
        Some(Counters {
            direction: [policy.next()?, link.next()?, from.next()?, to.next()?],
            bytes: bytes.next()?,
            drops: drops.next()?,
            marks,
        })
    };
    Ok(marks.map_while(row).collect())
}

/// Columns that identify a link direction in one repetition.
const KEYS: [&str; 5] = ["policy", "link", "from_dc", "to_dc", "repetition"];

/// Columns that identify an egress queue under one policy.
const QUEUE_KEYS: [&str; 3] = ["policy", "switch", "to_dc"];

/// Names of the columns that are read from `links.csv`.
const COLUMNS: [&str; 9] = [
    "policy",
    "link",
    "from_dc",
    "to_dc",
    "repetition",
    "time_ns",
    "tx_bytes",
    "drops",
    "marks",
];

/// Names of the columns that are read from `queues.csv`.
const QUEUE_COLUMNS: [&str; 6] = [
    "policy",
    "repetition",
    "time_ns",
    "switch",
    "to_dc",
    "backlog_bytes",
];

#[cfg(test)]
mod tests {
    use lab_sample as sample;
    use lab_units::{Bytes, Nanos};

    use super::*;
    use crate::testing;

    fn link_uses(counters: &[LinkRow], queues: &[QueueRow]) -> Vec<LinkUse> {
        let run = testing::run(&testing::info(), |writer| {
            writer.append(counters)?;
            writer.append(queues)
        });
        let grid = TimeGrid::new(Vec::new(), None);
        links(&run.dir, &grid, &[]).unwrap().uses
    }

    /// Returns a counter of the link `dc1-dc2`, from dc1 to dc2, that has reached `bytes` after `time` seconds.
    fn counter(policy: &str, repetition: u32, time: u64, bytes: u64) -> LinkRow {
        LinkRow {
            repetition,
            time_ns: Nanos::new(time * 1_000_000_000),
            tx_bytes: Bytes::new(bytes),
            drops: bytes / 100,
            marks: (bytes > 0).then_some(bytes / 10),
            ..sample::counter(&sample::link("dc1", "dc2", 1, 1), policy)
        }
    }

    #[test]
    fn repetitions_add_up() {
        let uses = link_uses(&[counter("a", 0, 2, 500), counter("a", 1, 4, 2_500)], &[]);
        assert_eq!((uses.len(), uses[0].bytes, uses[0].drops), (1, 3_000, 30));
        assert_eq!((uses[0].marks, uses[0].peak_queue_bytes), (Some(300), None));
        assert_eq!(link_uses(&[], &[]), []);
    }

    /// The table has more batches than are reduced at once, so reduced parts are reduced again.
    #[test]
    fn a_table_of_many_batches_is_reduced_like_one() {
        let count = 4 * lab_records::columns::BATCH_ROWS as u64 + 5;
        let rows: Vec<LinkRow> = (1..=count)
            .map(|number| counter("a", 0, number, 500 * number))
            .collect();
        let uses = link_uses(&rows, &[]);
        assert_eq!((uses.len(), uses[0].bytes), (1, 500 * count));
    }

    #[test]
    fn a_peak_queue_belongs_to_its_direction() {
        let queue = |switch: &str, to: &str, backlog: u64| QueueRow {
            backlog_bytes: Bytes::new(backlog),
            ..sample::queue(&sample::link(switch, to, 1, 1), "a")
        };
        let queues = [
            queue("dc1", "dc2", 7),
            queue("dc1", "dc2", 9),
            queue("dc1", "dc2", 3),
            queue("dc2", "dc1", 99),
        ];
        let uses = link_uses(&[counter("a", 0, 1, 100)], &queues);
        assert_eq!(uses[0].peak_queue_bytes, Some(9));
        assert_eq!(uses[0].mean_queue_bytes, Some(6));
    }
}
