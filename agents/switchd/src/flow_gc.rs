//! Flow-cache garbage collection (section 3.1.2), the agent's part: removes idle entries from the flow table and the
//! least recently seen entries from a full table, and counts the removed flows.

use aya::maps::MapError;
use lab_abi::rows::{Counters, FlowEntry, FlowKey, SwitchTable};
use lab_loader::MapRow;
use lab_policy::flow_gc;
use lab_units::Nanos;

use crate::{SwitchdError, maps::FlowMap};

/// Returns every flow in a map of `rows` rows, in the order of their keys.
///
/// The table changes while it is read. If the kernel removes the entry under the cursor, the iteration starts again; it
/// therefore reads at most twice the map's rows, and duplicates are dropped.
pub(crate) fn all(flows: &FlowMap, rows: u32) -> Result<Vec<(FlowKey, FlowEntry)>, SwitchdError> {
    let max = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for row in flows.iter().take(max.saturating_mul(2)) {
        match row {
            Ok((MapRow(key), MapRow(entry))) => found.push((key, entry)),
            Err(MapError::KeyNotFound) => {}
            Err(source) => return Err(SwitchdError::map("read", "flows")(source)),
        }
    }
    found.sort_unstable_by_key(|(key, _)| *key);
    found.dedup_by_key(|(key, _)| *key);
    Ok(found)
}

/// Removes the flows that have been idle for `idle_timeout`; returns them and the number of flows that stay.
///
/// If a flow sends a packet between the check and its removal, its following packet triggers a new decision.
pub(crate) fn expire(
    flows: &mut FlowMap,
    rows: u32,
    now: Nanos,
    idle_timeout: Nanos,
) -> Result<(Vec<(FlowKey, FlowEntry)>, usize), SwitchdError> {
    let horizon = now.saturating_sub(idle_timeout);
    let is_idle = |entry: &FlowEntry| flow_gc::is_idle(Nanos::new(entry.last_seen_ns), horizon);
    let (idle, busy): (Vec<_>, Vec<_>) = all(flows, rows)?
        .into_iter()
        .partition(|(_, entry)| is_idle(entry));
    for (key, _) in &idle {
        remove(flows, *key)?;
    }
    Ok((idle, busy.len()))
}

/// Removes the flows for which `is_stale` is true, and returns them.
pub(crate) fn unpin(
    flows: &mut FlowMap,
    rows: u32,
    is_stale: impl Fn(&FlowKey, &FlowEntry) -> bool,
) -> Result<Vec<(FlowKey, FlowEntry)>, SwitchdError> {
    let mut stale = all(flows, rows)?;
    stale.retain(|(key, entry)| is_stale(key, entry));
    for (key, _) in &stale {
        remove(flows, *key)?;
    }
    Ok(stale)
}

/// Removes a flow from the table if it is present.
pub(crate) fn remove(flows: &mut FlowMap, key: FlowKey) -> Result<(), SwitchdError> {
    lab_loader::remove(flows, &MapRow(key))
        .map_err(SwitchdError::map("remove a flow from", "flows"))
}

/// Evictor of the least recently seen flows, exact to the nanosecond.
///
/// A flow that has sent no packet since the latest reading of the table was last seen before all flows that have sent
/// one, and before all flows that arrived since. One reading therefore serves until each of its flows has left or sent
/// a packet.
#[derive(Debug, Default)]
pub(crate) struct Evictor {
    /// Flows of the latest reading that are not evicted yet, with the times at which they were last seen; latest first.
    unseen: Vec<(u64, FlowKey)>,
}

impl Evictor {
    /// Removes the `excess` least recently seen flows from a map of `rows` rows and returns them; fewer if the table
    /// has fewer flows.
    pub(crate) fn evict(
        &mut self,
        flows: &mut FlowMap,
        rows: u32,
        excess: u64,
    ) -> Result<Vec<(FlowKey, FlowEntry)>, SwitchdError> {
        let excess = usize::try_from(excess).unwrap_or(usize::MAX);
        let mut evicted = Vec::new();
        let mut is_read = false;
        while evicted.len() < excess {
            let Some((seen, key)) = self.unseen.pop() else {
                if is_read {
                    break;
                }
                self.read(flows, rows)?;
                is_read = true;
                continue;
            };
            match flows.get(&MapRow(key), 0) {
                Ok(MapRow(entry)) if entry.last_seen_ns == seen => {
                    remove(flows, key)?;
                    evicted.push((key, entry));
                }
                Ok(_) | Err(MapError::KeyNotFound) => {}
                Err(source) => return Err(SwitchdError::map("read", "flows")(source)),
            }
        }
        Ok(evicted)
    }

    fn read(&mut self, flows: &FlowMap, rows: u32) -> Result<(), SwitchdError> {
        let all = all(flows, rows)?.into_iter();
        self.unseen = all.map(|(key, entry)| (entry.last_seen_ns, key)).collect();
        self.unseen.sort_unstable_by(|one, other| other.cmp(one));
        Ok(())
    }
}

/// Numbers of flows that entered and left the flow table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowCounts {
    /// Number of flows removed because they were idle, or because their next hop was no longer a candidate.
    pub(crate) expired: u64,
    /// Number of least recently seen flows removed because the table was full.
    pub(crate) evicted: u64,
    /// Number of duplicate entries, which arise when two CPUs enter one flow at the same time.
    twice: u64,
}

impl FlowCounts {
    /// Returns the counts for a table that a killed agent left with `occupancy` flows. Flows that are neither in the
    /// table nor counted as expired were evicted before that agent was killed.
    pub(crate) fn inherited(before: &SwitchTable, counters: &Counters, occupancy: u64) -> Self {
        let left = entered(counters).saturating_sub(before.expired + occupancy);
        Self {
            expired: before.expired,
            evicted: left.max(before.evicted),
            twice: 0,
        }
    }

    /// Updates the number of duplicate entries from the counters and from the occupancy, which was found after the
    /// counters were read. A flow that enters the table between the two readings hides a duplicate entry until the next
    /// update.
    pub(crate) fn update(&mut self, counters: &Counters, occupancy: u64) {
        let expected = entered(counters).saturating_sub(self.expired + self.evicted);
        self.twice = self.twice.max(expected.saturating_sub(occupancy));
    }

    /// Returns the number of flows in the table without reading it, which works because only the agent removes flows.
    pub(crate) fn occupancy(&self, counters: &Counters) -> u64 {
        entered(counters).saturating_sub(self.expired + self.evicted + self.twice)
    }
}

/// Returns the number of entries that the program has added to the table.
const fn entered(counters: &Counters) -> u64 {
    counters.new_flows - counters.not_pinned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(new_flows: u64) -> Counters {
        Counters {
            new_flows,
            not_pinned: 5,
            ..Counters::default()
        }
    }

    /// 100 flows entered the table; 10 of them expired, and 10 more are no longer there.
    #[test]
    fn a_flow_that_is_neither_there_nor_expired_was_evicted() {
        let before = SwitchTable {
            expired: 10,
            ..SwitchTable::default()
        };
        let mut counts = FlowCounts::inherited(&before, &counters(105), 80);
        assert_eq!((counts.expired, counts.evicted), (10, 10));
        assert_eq!(counts.occupancy(&counters(115)), 90);
        counts.expired += 20;
        assert_eq!(counts.occupancy(&counters(115)), 70);
    }

    #[test]
    fn a_flow_entered_twice_is_in_the_table_once() {
        let mut counts = FlowCounts::default();
        counts.update(&counters(105), 99);
        assert_eq!(counts.occupancy(&counters(106)), 100);
        counts.update(&counters(106), 100);
        assert_eq!((counts.evicted, counts.occupancy(&counters(106))), (0, 100));
    }
}
