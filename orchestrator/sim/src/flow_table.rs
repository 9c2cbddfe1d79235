//! The flow table of a DCI switch: which port a flow is pinned to.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, hash_map::Entry},
};

use rustc_hash::FxHashMap;

use crate::time::SimTime;

/// Pinned flows, at most so many; when full, the least recently seen one goes.
pub struct FlowTable {
    rows: FxHashMap<u64, Row>,
    most: usize,
    /// Once it has been full: rows by when they were seen, or later.
    by_age: BinaryHeap<Reverse<(SimTime, u64)>>,
    /// Rows that had to go because the table was full.
    pub evictions: u64,
    /// Rows that had to go because their flows were idle.
    pub expirations: u64,
}

#[derive(Clone, Copy)]
struct Row {
    port: u32,
    seen: SimTime,
}

impl FlowTable {
    /// A table of at most `most` rows.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self {
            rows: FxHashMap::default(),
            most: most as usize,
            by_age: BinaryHeap::new(),
            evictions: 0,
            expirations: 0,
        }
    }

    /// Flows in it.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.rows.len()
    }

    /// The port `key` is pinned to, which is now seen at `now`.
    #[inline]
    pub fn touch(&mut self, key: u64, now: SimTime) -> Option<u32> {
        let row = self.rows.get_mut(&key)?;
        row.seen = now;
        Some(row.port)
    }

    /// Pins `key` to `port`.
    pub fn pin(&mut self, key: u64, port: u32, now: SimTime) {
        if self.rows.len() >= self.most && !self.rows.contains_key(&key) {
            self.evict();
        }
        let row = Row { port, seen: now };
        match self.rows.entry(key) {
            Entry::Occupied(mut old) => {
                old.insert(row);
            }
            Entry::Vacant(free) => {
                free.insert(row);
                if !self.by_age.is_empty() {
                    self.by_age.push(Reverse((now, key)));
                }
            }
        }
    }

    /// Takes out the least recently seen row.
    ///
    /// The heap's times are from when a row was last on top of it: a row seen since goes back with
    /// its new time, so each call costs a few steps and touching costs nothing.
    fn evict(&mut self) {
        if self.by_age.is_empty() {
            let rows = self.rows.iter();
            self.by_age = rows.map(|(&key, row)| Reverse((row.seen, key))).collect();
        }
        while let Some(Reverse((then, key))) = self.by_age.pop() {
            match self.rows.get(&key) {
                Some(row) if row.seen > then => self.by_age.push(Reverse((row.seen, key))),
                Some(_) => {
                    self.rows.remove(&key);
                    self.evictions += 1;
                    return;
                }
                None => {}
            }
        }
    }

    /// Forgets flows not seen after `since`.
    pub fn collect(&mut self, since: SimTime) {
        let before = self.rows.len();
        self.rows.retain(|_, row| row.seen > since);
        self.expirations += (before - self.rows.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(time: u64) -> SimTime {
        SimTime::from_picos(time)
    }

    #[test]
    fn idle_flows_are_forgotten() {
        let mut table = FlowTable::new(10);
        table.pin(1, 7, at(1));
        table.pin(2, 8, at(1));
        assert_eq!(table.touch(2, at(5)), Some(8));
        table.collect(at(1));
        assert_eq!((table.touch(1, at(6)), table.flows()), (None, 1));
        assert_eq!((table.expirations, table.evictions), (1, 0));
    }

    proptest! {
        #[test]
        fn a_full_table_loses_the_least_recently_seen(
            keys in prop::collection::vec(0..12u64, 1..200),
        ) {
            const MOST: usize = 5;
            let mut table = FlowTable::new(5);
            // Least recently seen first.
            let mut model: Vec<u64> = Vec::new();
            let mut evicted = 0;
            for (time, key) in (1..).zip(keys) {
                let known = table.touch(key, at(time)).is_some();
                prop_assert_eq!(known, model.contains(&key));
                if !known {
                    table.pin(key, 0, at(time));
                    if model.len() == MOST {
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
