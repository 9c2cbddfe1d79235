//! Splits that traffic engineering or trained weights installed, and decisions after them.

use std::collections::{BTreeMap, BTreeSet};

use lab_records::{SplitCounts, SplitRow};
use lab_units::Nanos;

use super::share::count;
use crate::decision::NumberedDecision;

/// Splits (hash buckets per next hop) that were installed under one policy.
#[derive(Default)]
pub(super) struct Splits {
    /// Buckets in force, by repetition, switch and destination; no entry before the first split.
    tables: BTreeMap<(u32, String, String), Vec<u16>>,
    /// Installations of splits.
    installed: BTreeSet<Installation>,
    /// Installations that changed a table.
    changed: BTreeSet<Installation>,
    after_first: u64,
}

/// Repetition, time and switch of an installation; the switch is `None` if a controller installs splits at all switches
/// together.
type Installation = (u32, Nanos, Option<String>);

impl Splits {
    /// Adds a split; `is_local` tells whether each switch decides for itself, and `provisioned` returns the buckets
    /// that were in force before the first split.
    pub fn add(
        &mut self,
        row: &SplitRow,
        is_local: bool,
        provisioned: impl FnOnce() -> Option<Vec<u16>>,
    ) {
        let key = (row.repetition, row.switch.clone(), row.to_dc.clone());
        let before = self.tables.remove(&key).or_else(provisioned);
        let switch = is_local.then(|| row.switch.clone());
        let at = (row.repetition, row.time_ns, switch);
        self.installed.insert(at.clone());
        if before.is_none_or(|before| !is_alike(&before, &row.buckets)) {
            self.changed.insert(at);
        }
        self.tables.insert(key, row.buckets.0.clone());
    }

    /// Adds a decision for a new flow; splits until the decision's time must have been added before.
    pub fn decide(&mut self, decision: &NumberedDecision) {
        self.after_first += u64::from(self.is_after_first(decision.repetition, decision.time));
    }

    /// Returns true if a split in this repetition had changed a table by `time`.
    fn is_after_first(&self, repetition: u32, time: Nanos) -> bool {
        let of_repetition = (repetition, Nanos::ZERO, None)..(repetition + 1, Nanos::ZERO, None);
        let first = self.changed.range(of_repetition).next();
        first.is_some_and(|(_, first, _)| time >= *first)
    }

    /// Returns the counts; `decisions` is the total number of decisions.
    pub fn counts(&self, decisions: u64) -> SplitCounts {
        SplitCounts {
            installed: count(self.installed.len()),
            changed: count(self.changed.len()),
            decisions,
            after_first: self.after_first,
        }
    }
}

/// Returns true if every next hop has the same share of the hash buckets in both lists.
fn is_alike(one: &[u16], other: &[u16]) -> bool {
    let sum = |buckets: &[u16]| buckets.iter().map(|&it| u64::from(it)).sum::<u64>();
    let all = sum(one);
    let others = sum(other);
    let same = |(&a, &b): (&u16, &u16)| u64::from(a) * others == u64::from(b) * all;
    one.len() == other.len() && one.iter().zip(other).all(same)
}

#[cfg(test)]
mod tests {
    use lab_records::List;

    use super::*;

    fn split(repetition: u32, millis: u64, to: &str, buckets: [u16; 2]) -> SplitRow {
        SplitRow {
            policy: "te-100ms".to_owned(),
            repetition,
            time_ns: Nanos::from_millis(millis),
            switch: "dc1".to_owned(),
            to_dc: to.to_owned(),
            next_dcs: List(vec!["dc2".to_owned(), "dc3".to_owned()]),
            buckets: List(buckets.to_vec()),
        }
    }

    #[test]
    fn a_split_that_changes_no_share_is_installed_and_changes_nothing() {
        let mut splits = Splits::default();
        let provisioned = || Some(vec![2, 1]);
        for row in [
            split(0, 200, "dc4", [66, 33]),
            split(0, 300, "dc4", [60, 40]),
            split(0, 300, "dc5", [66, 33]),
            split(0, 400, "dc4", [60, 40]),
            split(1, 200, "dc4", [50, 50]),
        ] {
            splits.add(&row, false, provisioned);
        }
        let counts = splits.counts(9);
        assert_eq!((counts.installed, counts.changed), (4, 2));
    }

    #[test]
    fn a_decision_follows_the_first_change_of_its_own_repetition() {
        let mut splits = Splits::default();
        for row in [split(0, 200, "dc4", [66, 33]), split(0, 300, "dc4", [1, 1])] {
            splits.add(&row, false, || Some(vec![2, 1]));
        }
        let after =
            |repetition, millis| splits.is_after_first(repetition, Nanos::from_millis(millis));
        assert_eq!(
            [after(0, 299), after(0, 300), after(1, 400)],
            [false, true, false]
        );
    }

    #[test]
    fn switches_that_decide_for_themselves_count_one_by_one() {
        let of_switch = |switch: &str, row: SplitRow| SplitRow {
            switch: switch.to_owned(),
            ..row
        };
        let rows = [
            of_switch("dc1", split(0, 100, "dc4", [66, 33])),
            of_switch("dc2", split(0, 100, "dc4", [50, 50])),
            of_switch("dc1", split(0, 200, "dc4", [66, 33])),
            of_switch("dc2", split(0, 200, "dc4", [50, 50])),
        ];
        for (is_local, expected) in [(true, (4, 1)), (false, (2, 1))] {
            let mut splits = Splits::default();
            for row in &rows {
                splits.add(row, is_local, || Some(vec![2, 1]));
            }
            let counts = splits.counts(9);
            assert_eq!((counts.installed, counts.changed), expected, "{is_local}");
        }
    }

    #[test]
    fn another_number_of_next_hops_is_another_table() {
        assert!(is_alike(&[2, 1], &[66, 33]));
        assert!(!is_alike(&[2, 1], &[67, 33]));
        assert!(!is_alike(&[2, 1], &[2, 1, 0]));
    }
}
