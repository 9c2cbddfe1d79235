//! Questions about pauses of ports.

use std::collections::{BTreeMap, BTreeSet};

use lab_records::{PfcEvent, PfcRow};
use lab_units::Nanos;

/// What priority flow control did under each policy, taken in row by row.
#[derive(Default)]
pub struct PauseTally {
    policies: BTreeMap<String, Pauses>,
    /// Since when each paused priority of a port is so, by policy and repetition.
    since: BTreeMap<(String, u32, Port, u8), Nanos>,
}

/// A port of a node.
type Port = (String, String);

/// What priority flow control did under one policy.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pauses {
    /// Pauses.
    pub count: u64,
    /// The ports that were paused, and how long each was, over all priorities and repetitions. A
    /// pause that did not end counts up to nothing: when the run ended is not known here.
    pub ports: BTreeMap<Port, Nanos>,
    /// Ports with a pause that did not end.
    pub endless: BTreeSet<Port>,
}

impl PauseTally {
    /// Takes in a pause or a resume.
    pub fn add(&mut self, row: PfcRow) {
        let port = (row.node, row.port);
        let key = (row.policy, row.repetition, port, row.priority);
        match row.event {
            PfcEvent::Pause => {
                let pauses = self.policies.entry(key.0.clone()).or_default();
                pauses.count += 1;
                pauses.ports.entry(key.2.clone()).or_default();
                // A pause of what is paused only prolongs it.
                self.since.entry(key).or_insert(row.time_ns);
            }
            PfcEvent::Resume => {
                let Some(since) = self.since.remove(&key) else {
                    return;
                };
                let pauses = self.policies.entry(key.0).or_default();
                let paused = pauses.ports.entry(key.2).or_default();
                *paused = paused.saturating_add(row.time_ns.saturating_sub(since));
            }
        }
    }

    /// The pauses under each policy that has any.
    pub fn pauses(mut self) -> BTreeMap<String, Pauses> {
        for (policy, _, port, _) in self.since.into_keys() {
            self.policies
                .entry(policy)
                .or_default()
                .endless
                .insert(port);
        }
        self.policies
    }
}

impl Pauses {
    /// The port that was paused longest.
    pub fn longest(&self) -> Option<(&Port, Nanos)> {
        let ports = self.ports.iter().map(|(port, time)| (port, *time));
        // The first of equals, by name.
        ports.rev().max_by_key(|(_, time)| *time)
    }

    /// Time that ports were paused, added up.
    pub fn total(&self) -> Nanos {
        let times = self.ports.values().copied();
        times.fold(Nanos::ZERO, Nanos::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_pause_lasts_until_its_resume_however_often_it_is_said() {
        let mut tally = PauseTally::default();
        for row in [
            frame(10, "p1", PfcEvent::Pause),
            frame(12, "p1", PfcEvent::Pause),
            frame(15, "p2", PfcEvent::Pause),
            frame(30, "p1", PfcEvent::Resume),
            frame(31, "p1", PfcEvent::Resume),
        ] {
            tally.add(row);
        }
        let pauses = &tally.pauses()["a"];
        let port = |name: &str| ("dc1/l1".to_owned(), name.to_owned());
        assert_eq!(pauses.count, 3);
        assert_eq!(pauses.longest(), Some((&port("p1"), Nanos::new(20))));
        assert_eq!(pauses.total(), Nanos::new(20));
        assert_eq!(pauses.endless, BTreeSet::from([port("p2")]));
    }
}
