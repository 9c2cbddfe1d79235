//! Questions about links and their queues.

use std::collections::BTreeMap;

use lab_records::{LinkRow, QueueRow};

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
    /// Packets ECN-marked; nothing if they were not counted.
    pub marks: Option<u64>,
    /// Most bytes seen waiting; nothing if the queue was not sampled.
    pub peak_queue_bytes: Option<u64>,
}

/// Counters and samples of links, taken in row by row: there may be many millions.
#[derive(Default)]
pub struct LinkTally {
    directions: BTreeMap<Direction, Counters>,
    /// The last sample of each repetition, of any policy.
    ends: BTreeMap<u32, u64>,
    /// The most bytes seen in each queue, by policy, DC of the switch and DC it leads to.
    peaks: BTreeMap<(String, String, String), u64>,
}

/// One direction of one link under one policy.
#[derive(Clone, Eq, Ord, PartialEq, PartialOrd)]
struct Direction {
    policy: String,
    link: String,
    from_dc: String,
    to_dc: String,
    repetition: u32,
}

/// What is known of it. Counters only grow, so the largest is the last. Capacity is averaged over
/// the samples, which are evenly spaced: a fault may change it.
#[derive(Clone, Copy, Default)]
struct Counters {
    bytes: u64,
    drops: u64,
    marks: Option<u64>,
    rate_sum: u128,
    samples: u64,
}

impl LinkTally {
    /// Takes in counters of a link.
    pub fn add(&mut self, row: LinkRow) {
        let end = self.ends.entry(row.repetition).or_default();
        *end = row.time_ns.get().max(*end);
        let direction = Direction {
            policy: row.policy,
            link: row.link,
            from_dc: row.from_dc,
            to_dc: row.to_dc,
            repetition: row.repetition,
        };
        let counters = self.directions.entry(direction).or_default();
        counters.bytes = counters.bytes.max(row.tx_bytes.get());
        counters.drops = counters.drops.max(row.drops);
        counters.marks = counters.marks.max(row.marks);
        counters.rate_sum += u128::from(row.rate_bps.get());
        counters.samples += 1;
    }

    /// Takes in a sample of a queue.
    pub fn add_queue(&mut self, row: QueueRow) {
        let peak = self.peaks.entry((row.policy, row.switch, row.to_dc));
        let peak = peak.or_default();
        *peak = row.backlog_bytes.get().max(*peak);
    }

    /// What each direction of each link carried under each policy, by policy, link and direction.
    pub fn uses(self) -> Vec<LinkUse> {
        let mut sums: BTreeMap<Direction, Sums> = BTreeMap::new();
        for (direction, counters) in self.directions {
            let span = self.ends.get(&direction.repetition).copied();
            let all = Direction {
                repetition: 0,
                ..direction
            };
            let sums = sums.entry(all).or_default();
            sums.bytes += counters.bytes;
            sums.drops += counters.drops;
            if let Some(marks) = counters.marks {
                *sums.marks.get_or_insert(0) += marks;
            }
            let byte_nanos = counters.rate_sum * u128::from(span.unwrap_or_default());
            let samples = u128::from(counters.samples.max(1));
            sums.capacity += byte_nanos / samples / BIT_NANOS_PER_BYTE_SECOND;
        }
        let of = |(direction, sums): (Direction, Sums)| {
            let queue = (direction.policy, direction.from_dc, direction.to_dc);
            let peak_queue_bytes = self.peaks.get(&queue).copied();
            let (policy, from_dc, to_dc) = queue;
            LinkUse {
                utilisation: sums.utilisation(),
                bytes: sums.bytes,
                drops: sums.drops,
                marks: sums.marks,
                peak_queue_bytes,
                policy,
                link: direction.link,
                from_dc,
                to_dc,
            }
        };
        sums.into_iter().map(of).collect()
    }
}

/// Sums over repetitions.
#[derive(Default)]
struct Sums {
    bytes: u64,
    drops: u64,
    marks: Option<u64>,
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

/// bit/s · ns in one byte.
const BIT_NANOS_PER_BYTE_SECOND: u128 = 8 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use lab_units::{BitsPerSec, Bytes, Nanos};

    use super::*;

    fn link_uses(links: &[LinkRow], queues: &[QueueRow]) -> Vec<LinkUse> {
        let mut tally = LinkTally::default();
        links.iter().cloned().for_each(|row| tally.add(row));
        queues.iter().cloned().for_each(|row| tally.add_queue(row));
        tally.uses()
    }

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
            marks: (bytes > 0).then_some(bytes / 10),
        }
    }

    #[test]
    fn utilisation_is_what_was_carried_of_what_would_have_fitted() {
        let rows = [
            counter("a", 0, 0, 0, 8_000),
            counter("a", 0, 2, 500, 8_000),
            counter("b", 0, 1, 1_000, 8_000),
        ];
        let uses = link_uses(&rows, &[]);
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
        let uses = link_uses(&rows, &[]);
        assert_eq!((uses.len(), uses[0].bytes, uses[0].drops), (1, 3_000, 30));
        assert_eq!(uses[0].marks, Some(300));
        assert!((uses[0].utilisation - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_capacity_that_changes_is_averaged_over_the_samples() {
        let rows = [
            counter("a", 0, 1, 100, 16_000),
            counter("a", 0, 2, 1_500, 8_000),
        ];
        let uses = link_uses(&rows, &[]);
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
        let uses = link_uses(&[counter("a", 0, 1, 100, 8_000)], &queues);
        assert_eq!(uses[0].peak_queue_bytes, Some(9));
    }
}
