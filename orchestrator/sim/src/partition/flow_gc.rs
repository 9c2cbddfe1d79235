//! Flow-cache garbage collection (Sec. 3.1.2): idle flows are removed from the flow table, and the least recently seen
//! flows are evicted when the table is over its capacity.

use lab_plan::Semantics;
use lab_policy::flow_gc::is_idle;
use lab_units::Nanos;

use super::{Partition, flow_table::FlowTable};
use crate::{
    cc::CongestionControl, event::EventKind, semantics::SemanticsRules, time::SimTime,
    world::RunPolicy,
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Schedules the next garbage collection. Under `semantics: artifact`, only LCMP has garbage collection.
    pub(super) fn schedule_flow_gc(&mut self) {
        let is_paper = self.world.plan.transport.semantics == Semantics::Paper;
        if is_paper || matches!(self.world.policy, RunPolicy::Lcmp(_)) {
            self.schedule_after(EventKind::FlowGc, self.world.flow_table.gc_interval);
        }
    }

    /// Removes the entries of idle flows, unless the switch has no agent, and schedules the next garbage collection.
    pub(super) fn flow_gc_due(&mut self) {
        if !self.is_agent_down() {
            let idle_timeout = self.world.flow_table.idle_timeout;
            let horizon = self.now.saturating_sub(idle_timeout.into());
            self.dci.table.collect(horizon);
        }
        self.schedule_flow_gc();
    }

    /// Pins flow `key` to `port`. If the table is then over its capacity, the least recently seen flows are evicted at
    /// the next sample, as by the lab's agents. A flow for which the table has no room gets a decision for each packet.
    pub(super) fn pin(&mut self, key: u64, port: u32) {
        if !self.dci.table.pin(key, port, self.now) {
            self.work.not_pinned += 1;
        }
        if self.dci.table.wants_eviction() {
            self.schedule_eviction();
        }
    }

    fn schedule_eviction(&mut self) {
        let at = next_multiple(self.now, self.world.flow_table.sample_interval);
        self.events.push(at, EventKind::Eviction, 0);
    }

    /// Evicts the least recently seen flows beyond the table's capacity; without an agent, nothing is evicted until the next
    /// agent starts.
    pub(super) fn eviction_due(&mut self) {
        if !self.is_agent_down() {
            self.dci.table.evict_excess();
        }
    }

    /// Schedules the eviction that was due while the switch had no agent, if there was one.
    pub(super) fn resume_eviction(&mut self) {
        if self.dci.table.awaits_eviction() {
            self.schedule_eviction();
        }
    }
}

/// Returns the first multiple of `interval` that is not before `now`.
fn next_multiple(now: SimTime, interval: Nanos) -> SimTime {
    let interval = SimTime::from(interval).picos();
    SimTime::from_picos(now.picos().next_multiple_of(interval))
}

impl FlowTable {
    /// Removes the entries of flows that were last seen at or before `horizon`.
    pub fn collect(&mut self, horizon: SimTime) {
        let before = self.entries.len();
        self.entries
            .retain(|_, entry| !is_idle(entry.seen, horizon));
        self.expirations += (before - self.entries.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_idle_flows_are_collected() {
        let at = SimTime::from_picos;
        let mut table = FlowTable::new(10);
        table.pin(1, 7, at(1));
        table.pin(2, 8, at(1));
        assert_eq!(table.touch(2, at(5)), Some(8));
        table.collect(at(1));
        assert_eq!((table.touch(1, at(6)), table.flows()), (None, 1));
        assert_eq!((table.expirations, table.evictions), (1, 0));
    }

    #[test]
    fn a_full_table_evicts_at_the_next_sample() {
        let micros = SimTime::from_micros;
        let next = |now| next_multiple(now, Nanos::from_millis(1));
        assert_eq!(next(micros(1_001)), micros(2_000));
        assert_eq!(
            next(micros(2_000)),
            micros(2_000),
            "the sample comes after the packet"
        );
    }
}
