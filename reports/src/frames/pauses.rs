//! Pauses of ports by priority flow control (PFC).
//!
//! A resume ends the pause before it, whatever rows are between them. So one pass over the table suffices, with the
//! paused ports in a map. A query would have to sort all rows and hold them in memory; `SPEED.md` has numbers.

use std::collections::{BTreeMap, BTreeSet};

use lab_records::{PfcEvent, PfcRow, RecordsError};
use lab_units::Nanos;

use super::TimeGrid;
use crate::facts::RunFacts;

/// Key of a port: node and interface.
type PortName = (String, String);

/// PFC pauses of all ports under one policy.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pauses {
    /// Number of PFC pause frames.
    pub count: u64,
    /// Total time for which each port was paused, over all priorities and repetitions. A pause that no resume ends adds
    /// no time, because the table does not contain the end of the run.
    pub ports: BTreeMap<PortName, Nanos>,
    /// Paused time of all ports together in each interval of the first repetition, ns.
    pub over_time: Vec<u64>,
    /// Ports that have a pause without a resume.
    pub endless: BTreeSet<PortName>,
}

/// Reads the PFC pauses under each policy; policies without pauses are omitted.
pub fn pauses(run: &RunFacts, grid: &TimeGrid) -> Result<BTreeMap<String, Pauses>, RecordsError> {
    let mut policies: BTreeMap<String, Pauses> = BTreeMap::new();
    let mut since: BTreeMap<(String, u32, PortName, u8), Nanos> = BTreeMap::new();
    run.visit(|row: PfcRow| {
        let port = (row.node, row.port);
        let key = (row.policy, row.repetition, port, row.priority);
        match row.event {
            PfcEvent::Pause => {
                let pauses = policies.entry(key.0.clone()).or_default();
                pauses.count += 1;
                pauses.ports.entry(key.2.clone()).or_default();
                // A pause frame for a priority that is already paused prolongs the pause.
                since.entry(key).or_insert(row.time_ns);
            }
            PfcEvent::Resume => {
                let Some(since) = since.remove(&key) else {
                    return;
                };
                let is_first = key.1 == 0;
                let pauses = policies.entry(key.0).or_default();
                if is_first {
                    pauses.add_over_time(grid, since, row.time_ns);
                }
                let paused = pauses.ports.entry(key.2).or_default();
                *paused = paused.saturating_add(row.time_ns.saturating_sub(since));
            }
        }
    })?;
    for (policy, _, port, _) in since.into_keys() {
        let pauses = policies.entry(policy).or_default();
        pauses.endless.insert(port);
    }
    Ok(policies)
}

impl Pauses {
    /// Adds a pause from `since` to `until` to the intervals that it overlaps.
    fn add_over_time(&mut self, grid: &TimeGrid, since: Nanos, until: Nanos) {
        self.over_time.resize(grid.len(), 0);
        let first = grid.index(since.get());
        let last = grid.index(until.get());
        for index in first..=last {
            let start = since.get().max(grid.edge(index));
            let end = until.get().min(grid.edge(index + 1));
            self.over_time[index] += end.saturating_sub(start);
        }
    }

    /// Returns the port that was paused for longest, and for how long.
    pub fn longest(&self) -> Option<(&PortName, Nanos)> {
        let ports = self.ports.iter().map(|(port, time)| (port, *time));
        // Of ports with equal times, this returns the first by name.
        ports.rev().max_by_key(|(_, time)| *time)
    }

    /// Returns the paused time of all ports together.
    pub fn total(&self) -> Nanos {
        let times = self.ports.values().copied();
        times.fold(Nanos::ZERO, Nanos::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn frame(time: u64, port: &str, event: PfcEvent) -> PfcRow {
        PfcRow {
            policy: "a".into(),
            repetition: 0,
            time_ns: Nanos::new(time),
            node: "dc1/l1".into(),
            port: port.into(),
            peer: "dc1".into(),
            priority: 3,
            event,
        }
    }

    #[test]
    fn a_pause_lasts_until_its_resume_however_often_it_is_repeated() {
        let rows = [
            frame(10, "p1", PfcEvent::Pause),
            frame(12, "p1", PfcEvent::Pause),
            frame(15, "p2", PfcEvent::Pause),
            frame(30, "p1", PfcEvent::Resume),
            frame(31, "p1", PfcEvent::Resume),
        ];
        let run = testing::run(&testing::info(), |writer| writer.append(&rows));
        let grid = TimeGrid::new(Vec::new(), None);
        let pauses = &pauses(&run.dir, &grid).unwrap()["a"];
        assert_eq!(pauses.over_time.iter().sum::<u64>(), 20);
        let port = |name: &str| ("dc1/l1".to_owned(), name.to_owned());
        assert_eq!(pauses.count, 3);
        assert_eq!(pauses.longest(), Some((&port("p1"), Nanos::new(20))));
        assert_eq!(pauses.total(), Nanos::new(20));
        assert_eq!(pauses.endless, BTreeSet::from([port("p2")]));
    }
}
