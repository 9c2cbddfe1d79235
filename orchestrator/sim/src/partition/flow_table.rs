//! Flow table of a DCI switch: the port to which each flow is pinned.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, hash_map},
};

use lab_policy::lcmp::FLOW_TABLE_HEADROOM;
use rustc_hash::FxHashMap;

use crate::time::SimTime;

/// Pinned flows of a switch. An eviction removes the least recently seen flows beyond the capacity; until then, there
/// is room for [`FLOW_TABLE_HEADROOM`] additional flows, as in the lab.
pub(super) struct FlowTable {
    pub(super) entries: FxHashMap<u64, PinnedFlow>,
    capacity: usize,
    /// Flows, ordered by a lower bound of the time of their last packet; empty until the first eviction.
    by_age: BinaryHeap<Reverse<(SimTime, u64)>>,
    /// True from the time when the capacity is exceeded until the next eviction.
    is_eviction_due: bool,
    /// Number of flows that were evicted because the table was over its capacity.
    pub evictions: u64,
    /// Number of flows that garbage collection removed: idle ones, and those whose port is no longer a candidate.
    pub expirations: u64,
}

#[derive(Clone, Copy)]
pub(super) struct PinnedFlow {
    port: u32,
    pub(super) seen: SimTime,
}

impl FlowTable {
    pub fn new(capacity: u32) -> Self {
        Self {
            entries: FxHashMap::default(),
            capacity: capacity as usize,
            by_age: BinaryHeap::new(),
            is_eviction_due: false,
            evictions: 0,
            expirations: 0,
        }
    }

    /// Returns the number of pinned flows.
    pub fn flows(&self) -> usize {
        self.entries.len()
    }

    /// Returns the port to which flow `key` is pinned, and marks the flow as seen at `now`; `None` if it is not in the
    /// table.
    #[inline]
    pub fn touch(&mut self, key: u64, now: SimTime) -> Option<u32> {
        let entry = self.entries.get_mut(&key)?;
        entry.seen = now;
        Some(entry.port)
    }

    /// Pins flow `key` to `port`. Returns false if the flow is not in the table and there is no room for it.
    pub fn pin(&mut self, key: u64, port: u32, now: SimTime) -> bool {
        let has_room = self.entries.len() < self.capacity + FLOW_TABLE_HEADROOM as usize;
        let entry = PinnedFlow { port, seen: now };
        match self.entries.entry(key) {
            hash_map::Entry::Occupied(mut old) => {
                old.insert(entry);
            }
            hash_map::Entry::Vacant(free) if has_room => {
                free.insert(entry);
                if !self.by_age.is_empty() {
                    self.by_age.push(Reverse((now, key)));
                }
            }
            hash_map::Entry::Vacant(_) => return false,
        }
        true
    }

    /// Removes flow `key`, whose port is no longer a candidate.
    pub fn unpin(&mut self, key: u64) {
        if self.entries.remove(&key).is_some() {
            self.expirations += 1;
        }
    }

    /// Returns true if the table is over its capacity and no eviction has been requested since the last one.
    pub fn wants_eviction(&mut self) -> bool {
        let is_full = self.entries.len() > self.capacity;
        is_full && !std::mem::replace(&mut self.is_eviction_due, true)
    }

    /// Returns true if an eviction has been requested and has not taken place.
    pub const fn awaits_eviction(&self) -> bool {
        self.is_eviction_due
    }

    /// Evicts the least recently seen flows until the table is within its capacity.
    pub fn evict_excess(&mut self) {
        self.is_eviction_due = false;
        while self.entries.len() > self.capacity {
            self.evict();
        }
    }

    /// Removes the least recently seen flow.
    ///
    /// The heap's times may be out of date, because `touch` does not change the heap. If the flow at the top has been
    /// seen since, it is pushed back with its current time. So an eviction takes only a few steps.
    fn evict(&mut self) {
        if self.by_age.is_empty() {
            let entries = self.entries.iter();
            self.by_age = entries
                .map(|(&key, entry)| Reverse((entry.seen, key)))
                .collect();
        }
        while let Some(Reverse((then, key))) = self.by_age.pop() {
            match self.entries.get(&key) {
                Some(entry) if entry.seen > then => self.by_age.push(Reverse((entry.seen, key))),
                Some(_) => {
                    self.entries.remove(&key);
                    self.evictions += 1;
                    return;
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_eviction_leaves_the_most_recently_seen(
            steps in prop::collection::vec((0..12u64, 0..5u8), 1..200),
        ) {
            const CAPACITY: usize = 5;
            let at = SimTime::from_picos;
            let mut table = FlowTable::new(5);
            // Reference model: flows in order of last use, the least recently seen first.
            let mut model: Vec<u64> = Vec::new();
            let mut evicted = 0;
            for (time, (key, is_sample)) in (1..).zip(steps) {
                let known = table.touch(key, at(time)).is_some();
                prop_assert_eq!(known, model.contains(&key));
                if !known {
                    table.pin(key, 0, at(time));
                }
                model.retain(|&other| other != key);
                model.push(key);
                if is_sample == 0 {
                    table.evict_excess();
                    let excess = model.len().saturating_sub(CAPACITY);
                    model.drain(..excess);
                    evicted += excess as u64;
                }
                prop_assert_eq!((table.flows(), table.evictions), (model.len(), evicted));
            }
        }
    }

    /// A table with capacity 16 gets 20 flows. Flows 0 and 1 send again, so flows 2 to 5 are evicted.
    #[test]
    fn the_least_recently_seen_leave_at_the_eviction() {
        let at = SimTime::from_picos;
        let mut table = FlowTable::new(16);
        for key in 0..20 {
            table.pin(key, 0, at(key));
            assert_eq!(table.wants_eviction(), key == 16, "once");
        }
        for key in 0..2 {
            table.touch(key, at(20 + key));
        }
        table.evict_excess();
        let left: Vec<bool> = (0..20)
            .map(|key| table.entries.contains_key(&key))
            .collect();
        let expected: Vec<bool> = (0..20).map(|key| !(2..6).contains(&key)).collect();
        assert_eq!(left, expected);
        table.pin(20, 0, at(30));
        assert!(table.wants_eviction(), "again");
    }

    #[test]
    fn a_flow_without_room_is_not_pinned() {
        let mut table = FlowTable::new(1);
        let rows = 1 + u64::from(FLOW_TABLE_HEADROOM);
        assert!((0..rows).all(|key| table.pin(key, 0, SimTime::ZERO)));
        assert!(!table.pin(rows, 0, SimTime::ZERO));
        assert_eq!(table.flows() as u64, rows);
        assert!(table.pin(0, 1, SimTime::ZERO));
        assert_eq!(
            table.touch(0, SimTime::ZERO),
            Some(1),
            "a pinned flow may move"
        );
    }
}
