//! Iterations of an agent: wake-ups, and the work that each of them causes.

use std::{net::Ipv4Addr, os::fd::AsFd};

use lab_abi::{
    rows::{FlowEntry, FlowKey},
    wire::{AgentCommand, AgentMessage, Splits},
};
use lab_units::{Nanos, PortId};

use super::{Agent, RepetitionEnd, Timers, unpin::LostCandidates};
use crate::{
    SwitchdError,
    clock::{Due, now},
    controller::ControllerConnection,
    failover::interfaces,
    flow_gc::{self, FlowCounts},
    install,
    maps::flow_map_rows,
    program::Program,
    wait::{Signals, WakeSource},
};

impl Agent {
    /// Runs the event loop until the repetition ends, then detaches the program and sends the last reports. Returns the
    /// empty program if another repetition may follow and can use it.
    pub(super) fn serve(
        mut self,
        signals: &Signals,
        controller: &mut ControllerConnection,
    ) -> Result<(RepetitionEnd, Option<Program>), SwitchdError> {
        for (source, descriptor) in [
            (WakeSource::Alarm, self.alarm.as_fd()),
            (WakeSource::Controller, controller.as_fd()),
            (WakeSource::Decisions, self.program.decisions.as_fd()),
            (WakeSource::Links, self.links.as_fd()),
            (WakeSource::Signals, signals.as_fd()),
        ] {
            self.sleeper.add(source, descriptor)?;
        }
        controller.send(&AgentMessage::Ready(self.ready()?));
        // The controller subtracts these first counters from all later ones.
        controller.send(&AgentMessage::Links(self.links()));
        if self.adopted.is_some() {
            // The killed agent may have missed new candidates.
            self.unpin(&LostCandidates::all(&self.config, &self.slots), controller)?;
        }
        let ending = loop {
            if let Some(ending) = self.iterate(signals, controller)? {
                break ending;
            }
        };
        Ok((ending, self.finish(controller)?))
    }

    /// Sleeps until an event occurs, then handles all events; returns how the repetition ends if one of them ends it.
    fn iterate(
        &mut self,
        signals: &Signals,
        controller: &mut ControllerConnection,
    ) -> Result<Option<RepetitionEnd>, SwitchdError> {
        self.alarm.set(self.timers.due())?;
        for source in self.sleeper.sleep()? {
            match source {
                WakeSource::Controller => {
                    if !self.handle_commands(controller)? {
                        return Ok(Some(RepetitionEnd::Stopped));
                    }
                }
                WakeSource::Signals => {
                    if signals.has_sigterm()? {
                        return Ok(Some(RepetitionEnd::Terminated));
                    }
                }
                WakeSource::Links => {
                    self.links.drain()?;
                    for slot in self.ports.set_links(&interfaces()?) {
                        self.publish_liveness(slot, controller)?;
                    }
                    self.empty_queues();
                    self.revive_ports();
                }
                WakeSource::Decisions => self.send_decisions(controller),
                WakeSource::Alarm => {
                    self.alarm.clear()?;
                    self.run_timers(controller)?;
                }
            }
        }
        self.watch_writability(controller)?;
        Ok(None)
    }

    /// Makes the controller's socket wake the agent when it is writable, but only while unsent messages wait.
    fn watch_writability(&mut self, controller: &ControllerConnection) -> Result<(), SwitchdError> {
        let is_waiting = controller.is_waiting();
        if is_waiting == self.wants_to_write {
            return Ok(());
        }
        self.wants_to_write = is_waiting;
        self.sleeper
            .set_writable(WakeSource::Controller, controller, is_waiting)
    }

    /// Handles the controller's commands; returns false if the controller ends the repetition or has disconnected.
    fn handle_commands(
        &mut self,
        controller: &mut ControllerConnection,
    ) -> Result<bool, SwitchdError> {
        controller.flush();
        let received = controller.receive()?;
        let mut lost = LostCandidates::default();
        for command in received.commands {
            if command == AgentCommand::Stop {
                return Ok(false);
            }
            if let AgentCommand::Begin(_) = &command {
                return Err(SwitchdError::StillRunning);
            }
            if let AgentCommand::SetDestination(row) = &command {
                lost.add(&self.config, row, &self.slots);
            }
            self.config.apply(&command)?;
            self.apply(&command, controller)?;
        }
        // One reading of the flow table serves all rows of a reconvergence.
        if !lost.is_empty() {
            self.unpin(&lost, controller)?;
        }
        Ok(!received.is_closed)
    }

    /// Applies a command to the running switch; `config` already includes the command's changes.
    fn apply(
        &mut self,
        command: &AgentCommand,
        controller: &mut ControllerConnection,
    ) -> Result<(), SwitchdError> {
        match command {
            AgentCommand::SetPort { port, is_enabled } => {
                return self.set_port(*port, *is_enabled, controller);
            }
            AgentCommand::SetLink { port, .. } => {
                self.sampler.provision(&self.config);
                if let Some(slot) = self.slots.of(*port) {
                    let queue = install::queue(&self.config, &self.config.ports[slot]);
                    self.program.table.set_queue(slot, &queue, now()?);
                }
                return Ok(());
            }
            AgentCommand::SetLcmp(_) => {
                self.sampler.provision(&self.config);
                let params = install::params(&self.config);
                self.program.table.set_params(&params);
                return Ok(());
            }
            AgentCommand::Start { rest_until_ns, .. } => {
                self.timers = Timers::resting(&self.config, *rest_until_ns);
                return Ok(());
            }
            AgentCommand::Begin(_) | AgentCommand::Stop => return Ok(()),
            AgentCommand::SetDestination(row) => {
                self.write_destination(row.addr, row.prefix_len)?;
            }
            AgentCommand::AddTransits(rows) => {
                let ports = self.program.table()?.ports;
                let rows = install::transits(&self.config, rows, |slot| ports[slot].ifindex);
                self.program.add_transits(&rows)?;
                self.program
                    .table
                    .set_params(&install::params(&self.config));
            }
            AgentCommand::SetBuckets(rows) => {
                for row in rows {
                    self.write_destination(row.addr, row.prefix_len)?;
                }
            }
            AgentCommand::ConfirmTables => {}
        }
        self.program.table.set_tables_at(now()?.get());
        Ok(())
    }

    /// Enables or disables a port.
    fn set_port(
        &mut self,
        port: PortId,
        is_enabled: bool,
        controller: &mut ControllerConnection,
    ) -> Result<(), SwitchdError> {
        match self.slots.of(port) {
            Some(slot) if self.ports.set_enabled(slot, is_enabled) => {
                self.publish_liveness(slot, controller)
            }
            _ => Ok(()),
        }
    }

    /// Empties the program's virtual queues of ports whose links are down. The kernel has purged its own queues; if no
    /// carrier program ran at that moment, only this call empties the virtual queues.
    fn empty_queues(&self) {
        for slot in self.ports.cut() {
            self.program.table.empty_queue(slot);
        }
    }

    /// Revives the ports that the kernel marked dead and whose links are up again by now.
    ///
    /// The agent does not notice a link that goes down and up between two readings of the link states. A link that goes
    /// down after the reading wakes the agent again.
    fn revive_ports(&self) {
        for slot in 0..self.config.ports.len() {
            if self.ports.is_alive(slot) && !self.program.table.is_alive(slot) {
                self.program.table.set_alive(slot, true);
            }
        }
    }

    /// Publishes a port's liveness to the program first, then to the controller.
    fn publish_liveness(
        &mut self,
        slot: usize,
        controller: &mut ControllerConnection,
    ) -> Result<(), SwitchdError> {
        let is_alive = self.ports.is_alive(slot);
        self.program.table.set_alive(slot, is_alive);
        self.report_liveness(slot, is_alive, controller)
    }

    /// Writes a destination of the configuration to the program's table, for new flows.
    fn write_destination(&mut self, addr: Ipv4Addr, prefix_len: u8) -> Result<(), SwitchdError> {
        let Some(index) = self.config.destination_index(addr, prefix_len) else {
            return Ok(());
        };
        let (prefix, row) = install::destination(&self.config, index, &self.slots);
        self.program.set_destination(prefix, &row)
    }

    fn run_timers(&mut self, controller: &mut ControllerConnection) -> Result<(), SwitchdError> {
        let now = now()?;
        match self.timers.sample.take(now) {
            Due::NotYet => {}
            due @ (Due::Now | Due::Late) => {
                self.late_samples += u64::from(due == Due::Late);
                self.sample()?;
            }
        }
        if self.timers.records.take(now) != Due::NotYet {
            self.send_decisions(controller);
            controller.send(&AgentMessage::Queues(self.sampler.queues()));
        }
        if self.timers.links.take(now) != Due::NotYet {
            controller.send(&AgentMessage::Links(self.links()));
        }
        if let Some(demands) = &mut self.timers.demands
            && demands.take(now) != Due::NotYet
        {
            self.end_demand_interval(now, controller)?;
        }
        if self.timers.flow_gc.take(now) != Due::NotYet {
            self.collect_idle_flows(now, controller)?;
        }
        if self.timers.eviction.take(now) != Due::NotYet {
            self.evict_flows(controller)?;
        }
        if self.timers.stats.take(now) != Due::NotYet {
            let stats = self.stats(self.program.counters()?, now, controller);
            controller.send(&AgentMessage::Stats(stats));
        }
        Ok(())
    }

    /// Samples all queues and publishes the levels to the program.
    fn sample(&mut self) -> Result<(), SwitchdError> {
        let roots = self.qdiscs.roots()?;
        // The trend refers to the time at which the dump ended.
        let now = now()?;
        self.sampler.take_in(now, &roots);
        self.sampler.publish(&self.program.table);
        self.samples += 1;
        Ok(())
    }

    /// Ends a demand interval: the trained weights compute new buckets from its demands; without trained weights, sends
    /// the demands to the controller.
    fn end_demand_interval(
        &mut self,
        now: Nanos,
        controller: &mut ControllerConnection,
    ) -> Result<(), SwitchdError> {
        let (since, demands) = self.take_demands(now)?;
        let Some(actor) = &mut self.actor else {
            self.send_demands(since, now, demands, controller);
            return Ok(());
        };
        self.sampler.take_in(now, &self.qdiscs.roots()?);
        let counters = self.sampler.links(|_| None);
        let slots = &self.slots;
        let ports = &self.ports;
        let is_live = |port| slots.of(port).is_some_and(|slot| ports.is_alive(slot));
        let decision = actor.end_interval(now, &self.config, &counters, &demands, is_live);
        let Some(rows) = decision else {
            return Ok(());
        };
        let command = AgentCommand::SetBuckets(rows.clone());
        self.config.apply(&command)?;
        self.apply(&command, controller)?;
        controller.send(&AgentMessage::Splits(Splits {
            time_ns: now.get(),
            rows,
        }));
        Ok(())
    }

    /// Runs the flow-cache garbage collection and reports the removed flows.
    fn collect_idle_flows(
        &mut self,
        now: Nanos,
        controller: &mut ControllerConnection,
    ) -> Result<(), SwitchdError> {
        let counters = self.program.counters()?;
        let (idle, busy) = flow_gc::expire(
            &mut self.program.flows,
            flow_map_rows(self.config.flow_table_entries),
            now,
            self.config.idle_timeout_ns,
        )?;
        let counts = &mut self.flow_counts;
        counts.expired += u64::try_from(idle.len()).unwrap_or(u64::MAX);
        counts.update(&counters, u64::try_from(busy).unwrap_or(u64::MAX));
        self.report_gone(idle, controller);
        Ok(())
    }

    /// Evicts the least recently seen flows beyond the flow table's capacity, and reports them.
    fn evict_flows(&mut self, controller: &mut ControllerConnection) -> Result<(), SwitchdError> {
        let occupancy = self.flow_counts.occupancy(&self.program.counters()?);
        let capacity = self.config.flow_table_entries;
        let excess = occupancy.saturating_sub(capacity.into());
        if excess == 0 {
            return Ok(());
        }
        let rows = flow_map_rows(capacity);
        let evicted = self.evictor.evict(&mut self.program.flows, rows, excess)?;
        self.flow_counts.evicted += u64::try_from(evicted.len()).unwrap_or(u64::MAX);
        self.report_gone(evicted, controller);
        Ok(())
    }

    /// Removes the flows whose next hop is no longer a candidate, and reports them; the next packet of each triggers a
    /// decision. They count as removed by garbage collection.
    fn unpin(
        &mut self,
        lost: &LostCandidates,
        controller: &mut ControllerConnection,
    ) -> Result<(), SwitchdError> {
        let rows = flow_map_rows(self.config.flow_table_entries);
        let is_stale = |flow: &FlowKey, entry: &FlowEntry| lost.is_stale(flow, entry);
        let stale = flow_gc::unpin(&mut self.program.flows, rows, is_stale)?;
        self.flow_counts.expired += u64::try_from(stale.len()).unwrap_or(u64::MAX);
        self.report_gone(stale, controller);
        Ok(())
    }

    /// Reports the flows that were removed from the table, and stores how many were, so that an agent that replaces this
    /// one continues the counts.
    fn report_gone(
        &mut self,
        gone: Vec<(FlowKey, FlowEntry)>,
        controller: &mut ControllerConnection,
    ) {
        let FlowCounts {
            expired, evicted, ..
        } = self.flow_counts;
        self.program.table.set_gone(expired, evicted);
        self.send_flows(gone, controller);
    }
}
