//! Queues, drops and retransmissions of a few flows, read in one pass over each table.

use std::collections::BTreeMap;

use lab_records::{Batch, LinkRow, QueueRow, RecordsError, StoryRow};

use super::{
    flows::Names,
    side::{Placed, Queue},
};
use crate::facts::RunFacts;

/// Key of a port: numbers of the policy, repetition, datacenter and next datacenter.
type PortKey = [u64; 4];

/// Time of a sample, ns, and its value.
type Sample = (u64, u64);

/// Directions of links that the given flows cross, with names replaced by numbers.
struct CrossedLinks {
    names: Names,
    /// For each port: the flows that cross it, as index of the flow and index of the link in the flow's path.
    ports: BTreeMap<PortKey, Vec<(usize, usize)>>,
}

impl CrossedLinks {
    fn new(placed: &[Placed<'_>]) -> Self {
        let mut names = Names::default();
        let mut ports: BTreeMap<PortKey, Vec<_>> = BTreeMap::new();
        for (at, placed) in placed.iter().enumerate() {
            let policy = u64::from(names.number(placed.policy));
            for (hop, pair) in placed.hops.iter().enumerate() {
                let [from, to] = pair.each_ref().map(|name| u64::from(names.number(name)));
                let port = [policy, placed.flow.key.repetition, from, to];
                ports.entry(port).or_default().push((at, hop));
            }
        }
        Self { names, ports }
    }

    /// Calls `visit` with each row of `batch` about a port in `self.ports`, and with the flows that cross the port.
    fn each(
        &self,
        batch: &Batch,
        [from, to]: [&str; 2],
        mut visit: impl FnMut(usize, &[(usize, usize)]),
    ) {
        let texts = ["policy", from, to].map(|column| batch.texts(column));
        let repetitions = batch.integers("repetition");
        for (row, repetition) in repetitions.iter().enumerate() {
            let known = texts.map(|texts| self.names.known(texts.at(row).unwrap_or_default()));
            let [Some(policy), Some(from), Some(to)] = known.map(|number| number.map(u64::from))
            else {
                continue;
            };
            let port = [policy, repetition.unwrap_or_default(), from, to];
            if let Some(flows) = self.ports.get(&port) {
                visit(row, flows);
            }
        }
    }
}

/// Returns, for each flow, one sample of each egress queue on the flow's path: the one nearest in time to the flow's
/// start.
pub fn queues(run: &RunFacts, placed: &[Placed<'_>]) -> Result<Vec<Vec<Queue>>, RecordsError> {
    let wanted = CrossedLinks::new(placed);
    let of_hops = |placed: &Placed<'_>| vec![None::<Sample>; placed.hops.len()];
    let mut nearest: Vec<Vec<Option<Sample>>> = placed.iter().map(of_hops).collect();
    let columns = [
        "policy",
        "repetition",
        "time_ns",
        "switch",
        "to_dc",
        "backlog_bytes",
    ];
    run.visit_batches::<QueueRow, RecordsError>(&columns, |batch| {
        let times = batch.integers("time_ns");
        let backlogs = batch.integers("backlog_bytes");
        wanted.each(batch, ["switch", "to_dc"], |row, flows| {
            let (Some(time), Some(backlog)) = (times[row], backlogs[row]) else {
                return;
            };
            for &(at, hop) in flows {
                let start = placed[at].flow.start;
                let found = &mut nearest[at][hop];
                let is_nearer = |(other, _): Sample| time.abs_diff(start) < other.abs_diff(start);
                if found.is_none_or(is_nearer) {
                    *found = Some((time, backlog));
                }
            }
        });
        Ok(())
    })?;
    let of_flow = |(placed, nearest): (&Placed<'_>, Vec<Option<Sample>>)| {
        let hops = placed.hops.iter().zip(nearest);
        let queue = |(hop, found): (&[String; 2], Option<Sample>)| {
            let (time_ns, backlog_bytes) = found?;
            Some(Queue {
                switch: hop[0].clone(),
                to_dc: hop[1].clone(),
                backlog_bytes,
                time_ns,
            })
        };
        hops.filter_map(queue).collect()
    };
    Ok(placed.iter().zip(nearest).map(of_flow).collect())
}

/// Drop counters of a link before and after a flow.
#[derive(Clone, Copy, Default)]
struct Around {
    /// Last counter at or before the flow's start.
    before: Option<Sample>,
    /// First counter at or after the flow's end; if there is none, the last counter.
    after: Option<Sample>,
}

impl Around {
    fn add(&mut self, time: u64, drops: u64, [start, end]: [u64; 2]) {
        if time <= start && self.before.is_none_or(|(other, _)| other < time) {
            self.before = Some((time, drops));
        }
        let is_better = |(other, _): Sample| {
            if other >= end {
                end <= time && time < other
            } else {
                other < time
            }
        };
        if self.after.is_none_or(is_better) {
            self.after = Some((time, drops));
        }
    }

    fn between(self) -> Option<u64> {
        let before = self.before.map_or(0, |(_, drops)| drops);
        Some(self.after?.1.saturating_sub(before))
    }
}

/// Returns the number of packets dropped on each flow's data path while the flow ran. The accuracy is limited by the
/// interval between samples.
pub fn drops(run: &RunFacts, placed: &[Placed<'_>]) -> Result<Vec<Option<u64>>, RecordsError> {
    let wanted = CrossedLinks::new(placed);
    let of_hops = |placed: &Placed<'_>| vec![Around::default(); placed.hops.len()];
    let mut around: Vec<Vec<Around>> = placed.iter().map(of_hops).collect();
    let columns = [
        "policy",
        "repetition",
        "time_ns",
        "from_dc",
        "to_dc",
        "drops",
    ];
    run.visit_batches::<LinkRow, RecordsError>(&columns, |batch| {
        let times = batch.integers("time_ns");
        let drops = batch.integers("drops");
        wanted.each(batch, ["from_dc", "to_dc"], |row, flows| {
            let (Some(time), Some(drops)) = (times[row], drops[row]) else {
                return;
            };
            for &(at, hop) in flows {
                let flow = placed[at].flow;
                around[at][hop].add(time, drops, [flow.start, flow.end()]);
            }
        });
        Ok(())
    })?;
    let sum = |hops: Vec<Around>| {
        let known = hops.into_iter().filter_map(Around::between);
        known.reduce(u64::saturating_add)
    };
    Ok(around.into_iter().map(sum).collect())
}

/// Returns the number of packets that each flow retransmitted; `None` for a flow without recorded events.
pub fn retransmissions(
    run: &RunFacts,
    placed: &[Placed<'_>],
) -> Result<Vec<Option<u64>>, RecordsError> {
    let mut found = vec![None; placed.len()];
    let columns = ["policy", "repetition", "flow_id", "event", "count"];
    run.visit_batches::<StoryRow, RecordsError>(&columns, |batch| {
        let [policies, events] = ["policy", "event"].map(|column| batch.texts(column));
        let integers = |column: &str| batch.integers(column);
        let [repetitions, ids, counts] = ["repetition", "flow_id", "count"].map(integers);
        for row in 0..batch.len() {
            let is_of = |placed: &Placed<'_>| {
                ids[row] == Some(placed.flow.key.id)
                    && repetitions[row] == Some(placed.flow.key.repetition)
                    && policies.at(row) == Some(placed.policy)
            };
            let Some(at) = placed.iter().position(is_of) else {
                continue;
            };
            let is_again = events.at(row) == Some("retransmitted");
            let more = counts[row].filter(|_| is_again).unwrap_or(0);
            *found[at].get_or_insert(0) += more;
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_counted_from_the_start_to_the_end_of_a_flow() {
        let counters = [(0, 1), (10, 2), (20, 5), (30, 9), (40, 20)];
        let between = |span: [u64; 2]| {
            let add = |mut around: Around, (time, drops)| {
                around.add(time, drops, span);
                around
            };
            let forth = counters.into_iter().fold(Around::default(), add).between();
            let back = counters
                .into_iter()
                .rev()
                .fold(Around::default(), add)
                .between();
            assert_eq!(forth, back, "{span:?}: the order of rows has no effect");
            forth
        };
        assert_eq!(between([10, 30]), Some(7));
        assert_eq!(
            between([12, 28]),
            Some(7),
            "to the resolution of the samples"
        );
        assert_eq!(
            between([35, 90]),
            Some(11),
            "the last counter ends a later flow"
        );
        assert_eq!(Around::default().between(), None);
    }
}
