//! Flow-cache garbage collection (Sec. 3.1.2): entries of idle flows leave the flow table.

use lab_policy::flow_gc::is_idle;

use super::{Partition, flow_table::FlowTable};
use crate::{
    cc::CongestionControl, event::EventKind, semantics::SemanticsRules, time::SimTime,
    world::RunPolicy,
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Collects the entries of flows idle for LCMP's `idle_timeout`, every `gc_interval`.
    pub(super) fn flow_gc_due(&mut self) {
        let RunPolicy::Lcmp(config) = &self.world.policy else {
            return;
        };
        let idle = SimTime::from(config.idle_timeout_ns);
        self.dci.table.collect(self.now.saturating_sub(idle));
        self.schedule_after(EventKind::FlowGc, config.gc_interval_ns);
    }
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
