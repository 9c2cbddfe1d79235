//! Flow-cache garbage collection (section 3.1.2), the agent's part: removes idle entries from the flow
//! table, and counts what left it.

use aya::maps::MapError;
use lab_abi::rows::{Counters, FlowEntry, FlowKey, SwitchTable};
use lab_policy::flow_gc;
use lab_units::Nanos;

use crate::{
    SwitchdError,
    program::{FlowTable, Row},
};

/// Returns every flow in the table, in the order of their keys.
///
/// The table changes while it is read. If the kernel removes the entry under the cursor, the walk
/// starts again; so at most twice the table is read, and duplicates are dropped.
pub(crate) fn all(
    flows: &FlowTable,
    entries: u32,
) -> Result<Vec<(FlowKey, FlowEntry)>, SwitchdError> {
    let max = usize::try_from(entries).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for row in flows.iter().take(max.saturating_mul(2)) {
        match row {
            Ok((Row(key), Row(entry))) => found.push((key, entry)),
            Err(MapError::KeyNotFound) => {}
            Err(source) => return Err(SwitchdError::map("read", "flows")(source)),
        }
    }
    found.sort_unstable_by_key(|(key, _)| *key);
    found.dedup_by_key(|(key, _)| *key);
    Ok(found)
}

/// Removes the flows idle for `idle_timeout`; returns them and the number of flows that stay.
///
/// A flow that sends between the check and its removal is decided again by its next packet.
pub(crate) fn expire(
    flows: &mut FlowTable,
    entries: u32,
    now: Nanos,
    idle_timeout: Nanos,
) -> Result<(Vec<(FlowKey, FlowEntry)>, usize), SwitchdError> {
    let horizon = now.saturating_sub(idle_timeout);
    let is_idle = |entry: &FlowEntry| flow_gc::is_idle(Nanos::new(entry.last_seen_ns), horizon);
    let all = all(flows, entries)?.into_iter();
    let (idle, busy): (Vec<_>, Vec<_>) = all.partition(|(_, entry)| is_idle(entry));
    for (key, _) in &idle {
        match flows.remove(&Row(*key)) {
            Ok(()) | Err(MapError::KeyNotFound) => {}
            Err(source) => return Err(SwitchdError::map("remove a flow from", "flows")(source)),
        }
    }
    Ok((idle, busy.len()))
}

/// Numbers of flows that entered and left the flow table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowCounts {
    /// Idle flows removed.
    pub(crate) expired: u64,
    /// Flows evicted by the kernel.
    pub(crate) evicted: u64,
    /// Flows in the table when it was last read.
    occupancy: u64,
    /// Flows entered until then.
    entered: u64,
}

impl FlowCounts {
    /// Returns the counts of a table that a previous agent left with `occupancy` flows.
    pub(crate) fn inherited(before: &SwitchTable, counters: &Counters, occupancy: u64) -> Self {
        let mut counts = Self {
            expired: before.expired,
            evicted: before.evicted,
            ..Self::default()
        };
        counts.update(counters, occupancy);
        counts
    }

    /// Takes in the occupancy that was found after the counters were read.
    ///
    /// The kernel does not count evictions; but a flow that was entered, is not there and did not expire
    /// was evicted. A flow entered during the read hides one eviction until the next update.
    pub(crate) fn update(&mut self, counters: &Counters, occupancy: u64) {
        self.entered = counters.new_flows - counters.not_pinned;
        self.occupancy = occupancy;
        let evicted = self.entered.saturating_sub(self.expired + occupancy);
        self.evicted = self.evicted.max(evicted);
    }

    /// Returns an estimate of the flows in the table, without reading it.
    pub(crate) fn occupancy(&self, counters: &Counters, flow_table_entries: u32) -> u64 {
        let entered = counters.new_flows - counters.not_pinned;
        let since = entered.saturating_sub(self.entered);
        (self.occupancy + since).min(u64::from(flow_table_entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_is_neither_there_nor_expired_was_evicted() {
        let counters = |new_flows| Counters {
            new_flows,
            not_pinned: 5,
            ..Counters::default()
        };
        let before = SwitchTable {
            expired: 10,
            ..SwitchTable::default()
        };
        let mut counts = FlowCounts::inherited(&before, &counters(105), 80);
        assert_eq!((counts.expired, counts.evicted), (10, 10));
        assert_eq!(counts.occupancy(&counters(115), 1_000), 90);
        assert_eq!(counts.occupancy(&counters(115), 85), 85);
        counts.expired += 20;
        counts.update(&counters(115), 70);
        assert_eq!(counts.evicted, 10);
    }
}
