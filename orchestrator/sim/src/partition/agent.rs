//! Time without the agent of the DCI switch, from its crash to the start of the next agent.
//!
//! The switch goes on with its last tables: flows stay pinned, new flows are decided by the last path costs, levels and
//! buckets, and a port whose link goes down is dead at once, because the switch program marks it. Everything else that
//! changes a switch waits for the next agent: samples, new tables, garbage collection, evictions, and the revival of ports
//! whose links are up again. Once the tables are older than `max_table_age`, counted from the crash, new flows are hashed
//! over all live candidates, except under policies compiled into the simulator (`own`).

use super::Partition;
use crate::{
    cc::CongestionControl, semantics::SemanticsRules, te::Buckets, time::SimTime, world::RunPolicy,
};

/// Time without an agent, with the changes of tables that the next agent makes when it starts.
pub(super) struct WithoutAgent {
    since: SimTime,
    /// Changes in the order in which they were due.
    missed: Vec<MissedTable>,
    /// True if candidates or transit rows are among them.
    has_old_next_hops: bool,
}

/// Change of a table that was due while the switch had no agent.
enum MissedTable {
    /// New path costs or candidates, as an index into [`World::path_cost_updates`](crate::World::path_cost_updates).
    PathCosts(usize),
    /// Transit rows, as an index into [`World::transits`](crate::World::transits).
    Transits(usize),
    /// Hash buckets of the next hops to a datacenter.
    Buckets(u32, Buckets),
}

impl WithoutAgent {
    fn miss_next_hops(&mut self, due: MissedTable) {
        self.missed.push(due);
        self.has_old_next_hops = true;
    }

    /// Adds buckets that were due, by destination datacenter.
    pub fn miss_buckets(&mut self, due: Vec<(u32, Buckets)>) {
        let missed = due.into_iter();
        self.missed
            .extend(missed.map(|(to_dc, buckets)| MissedTable::Buckets(to_dc, buckets)));
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Returns true while the DCI switch has lost its agent; false at a legacy switch, which never has one.
    #[inline]
    pub(super) const fn is_agent_down(&self) -> bool {
        self.dci.without_agent.is_some()
    }

    /// Returns true if the switch has missed a change of its path costs, candidates or transit rows. Its neighbours' new
    /// tables may then lead back to it.
    #[inline]
    pub(super) fn has_old_tables(&self) -> bool {
        let without_agent = self.dci.without_agent.as_ref();
        without_agent.is_some_and(|it| it.has_old_next_hops)
    }

    /// Returns true if the agent has been down for longer than tables are valid.
    pub(super) fn tables_are_stale(&self) -> bool {
        let max_age: SimTime = self.world.plan.max_table_age_ns.into();
        let without_agent = self.dci.without_agent.as_ref();
        without_agent.is_some_and(|it| self.now > it.since.saturating_add(max_age))
    }

    pub(super) fn crash_agent(&mut self) {
        self.dci.without_agent = Some(WithoutAgent {
            since: self.now,
            missed: Vec::new(),
            has_old_next_hops: false,
        });
    }

    /// Starts an agent that takes over the switch's tables and makes the changes that were due. Its own state begins anew:
    /// the trend and duration of queues, and the demands of the current interval.
    pub(super) fn restart_agent(&mut self) {
        let world = self.world;
        let Some(WithoutAgent { missed, .. }) = self.dci.without_agent.take() else {
            return;
        };
        for port in &mut self.ports {
            port.is_marked_dead = false;
        }
        for change in missed {
            match change {
                MissedTable::PathCosts(index) => self.update_path_costs(index),
                MissedTable::Transits(index) => self.update_transits(index),
                MissedTable::Buckets(to_dc, buckets) => self.install(to_dc, buckets),
            }
        }
        if let RunPolicy::Lcmp(config) = &world.policy {
            let now = self.now;
            self.each_monitored(|monitored, port| monitored.restart(now, port, config));
        }
        self.restart_te();
        self.resume_eviction();
    }

    /// Installs the path costs or candidates at `index`. If the switch has no agent, they are kept for the next agent.
    pub(super) fn update_path_costs(&mut self, index: usize) {
        let update = &self.world.path_cost_updates[index];
        match &mut self.dci.without_agent {
            Some(without_agent) => without_agent.miss_next_hops(MissedTable::PathCosts(index)),
            None => self.dci.provision(update.to_dc, &update.candidates),
        }
    }

    /// Installs the transit rows at `index`. If the switch has no agent, they are kept for the next agent.
    pub(super) fn update_transits(&mut self, index: usize) {
        let world = self.world;
        match &mut self.dci.without_agent {
            Some(without_agent) => without_agent.miss_next_hops(MissedTable::Transits(index)),
            None => self.dci.transits = world.transits[index].1.get(self.dc as usize),
        }
    }
}
