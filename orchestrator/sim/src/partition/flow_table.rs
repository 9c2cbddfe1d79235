//! Flow table of a DCI switch: the port that each flow is pinned to.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, hash_map},
};

use rustc_hash::FxHashMap;

use crate::time::SimTime;

/// Pinned flows, up to a maximum; a full table evicts the least recently seen flow.
pub(super) struct FlowTable {
    pub(super) entries: FxHashMap<u64, Entry>,
    max_flows: usize,
    /// Flows by a time at or before they were last seen; empty until the table is first full.
    by_age: BinaryHeap<Reverse<(SimTime, u64)>>,
    /// Entries evicted because the table was full.
    pub evictions: u64,
    /// Entries of idle flows collected.
    pub expirations: u64,
}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    port: u32,
    pub(super) seen: SimTime,
}

impl FlowTable {
    pub fn new(max_flows: u32) -> Self {
        Self {
            entries: FxHashMap::default(),
            max_flows: max_flows as usize,
            by_age: BinaryHeap::new(),
            evictions: 0,
            expirations: 0,
        }
    }

    /// Returns the number of pinned flows.
    pub fn flows(&self) -> usize {
        self.entries.len()
    }

    /// Returns the port of flow `key` and marks the flow as seen at `now`.
    #[inline]
    pub fn touch(&mut self, key: u64, now: SimTime) -> Option<u32> {
        let entry = self.entries.get_mut(&key)?;
        entry.seen = now;
        Some(entry.port)
    }

    /// Pins flow `key` to `port`.
    pub fn pin(&mut self, key: u64, port: u32, now: SimTime) {
        if self.entries.len() >= self.max_flows && !self.entries.contains_key(&key) {
            self.evict();
        }
        let entry = Entry { port, seen: now };
        match self.entries.entry(key) {
            hash_map::Entry::Occupied(mut old) => {
                old.insert(entry);
            }
            hash_map::Entry::Vacant(free) => {
                free.insert(entry);
                if !self.by_age.is_empty() {
                    self.by_age.push(Reverse((now, key)));
                }
            }
        }
    }

    /// Removes the least recently seen flow.
    ///
    /// The heap's times are from when a flow was last at its top: a flow seen since goes back with its
    /// new time. An eviction costs a few steps, and touching costs nothing.
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
        fn a_full_table_evicts_the_least_recently_seen(
            keys in prop::collection::vec(0..12u64, 1..200),
        ) {
            const MAX_FLOWS: usize = 5;
            let at = SimTime::from_picos;
            let mut table = FlowTable::new(5);
            // Least recently seen first.
            let mut model: Vec<u64> = Vec::new();
            let mut evicted = 0;
            for (time, key) in (1..).zip(keys) {
                let known = table.touch(key, at(time)).is_some();
                prop_assert_eq!(known, model.contains(&key));
                if !known {
                    table.pin(key, 0, at(time));
                    if model.len() == MAX_FLOWS {
                        model.remove(0);
                        evicted += 1;
                    }
                }
                model.retain(|&other| other != key);
                model.push(key);
                prop_assert_eq!((table.flows(), table.evictions), (model.len(), evicted));
            }
        }
    }
}
