//! Flow-cache garbage collection (Sec. 3.1.2): entries of idle flows leave the flow table.

use lab_plan::Semantics;
use lab_policy::flow_gc::is_idle;
use lab_units::Nanos;

use super::{Partition, flow_table::FlowTable};
use crate::{
    cc::CongestionControl, event::EventKind, semantics::SemanticsRules, time::SimTime,
    world::RunPolicy,
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Schedules the next collection; the artifact's policies without parameters have none.
    pub(super) fn schedule_flow_gc(&mut self) {
        if let Some(times) = self.flow_gc_times() {
            self.schedule_after(EventKind::FlowGc, times.interval);
        }
    }

    /// Collects the entries of idle flows.
    pub(super) fn flow_gc_due(&mut self) {
        let Some(times) = self.flow_gc_times() else {
            return;
        };
        let horizon = self.now.saturating_sub(times.idle.into());
        self.dci.table.collect(horizon);
        self.schedule_flow_gc();
    }

    /// Returns LCMP's times or, as the lab's agents have them under other policies, the deadline of a
    /// flow, after which no packet of it can come.
    fn flow_gc_times(&self) -> Option<GcTimes> {
        match &self.world.policy {
            RunPolicy::Lcmp(config) => Some(GcTimes {
                interval: config.gc_interval_ns,
                idle: config.idle_timeout_ns,
            }),
            RunPolicy::Buckets | RunPolicy::FlowAgeing(_) | RunPolicy::Own(_) => {
                let deadline = self.world.plan.rdma.flow_deadline_ns;
                let is_paper = self.world.plan.transport.semantics == Semantics::Paper;
                is_paper.then_some(GcTimes {
                    interval: deadline,
                    idle: deadline,
                })
            }
        }
    }
}

/// Times of the garbage collection.
struct GcTimes {
    /// Time between two collections.
    interval: Nanos,
    /// Time without a packet after which an entry is collected.
    idle: Nanos,
}

impl FlowTable {
    /// Removes the entries last seen at or before `horizon`.
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
}
