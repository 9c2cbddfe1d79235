//! What the controller is told.

use lab_abi::{
    rows::{Counters, FlowEntry, FlowKey, SwitchTable},
    wire::{AgentMessage, Ready, Stats},
};
use lab_units::Nanos;

use super::Agent;
use crate::{SwitchdError, clock::now, controller::Controller, decisions, flows, program::Program};

/// What the agent counts itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Samples taken.
    pub(super) samples: u64,
    /// Samples that began more than one interval late.
    pub(super) late_samples: u64,
    expired: u64,
    evicted: u64,
    /// Flows in the table when it was last read.
    occupancy: u64,
    /// Flows that had been entered in it by then.
    entered: u64,
}

impl Tally {
    /// From what an agent that was killed left; and how many flows that are.
    pub(super) fn start(
        before: &SwitchTable,
        program: &Program,
        flow_table_entries: u32,
    ) -> Result<(Self, u64), SwitchdError> {
        let found = count(flows::all(&program.flows, flow_table_entries)?.len());
        let mut tally = Self {
            expired: before.expired,
            evicted: before.evicted,
            ..Self::default()
        };
        tally.read(&program.counters()?, found);
        Ok((tally, found))
    }

    /// Takes in how many flows the table was found to have after the counters were read.
    ///
    /// The kernel does not count what it evicts; but who was entered, is not there and was not
    /// taken out has been evicted. A flow entered while the table was read hides one that was
    /// evicted until the next time.
    fn read(&mut self, counters: &Counters, occupancy: u64) {
        self.entered = counters.new_flows - counters.not_pinned;
        self.occupancy = occupancy;
        let evicted = self.entered.saturating_sub(self.expired + occupancy);
        self.evicted = self.evicted.max(evicted);
    }

    /// Flows in the table, as far as that is known without reading it.
    fn occupancy(&self, counters: &Counters, flow_table_entries: u32) -> u64 {
        let entered = counters.new_flows - counters.not_pinned;
        let since = entered.saturating_sub(self.entered);
        (self.occupancy + since).min(u64::from(flow_table_entries))
    }
}

impl Agent {
    /// The first message.
    pub(super) fn ready(&self) -> Result<Ready, SwitchdError> {
        Ok(Ready {
            time_ns: now()?.get(),
            dc: self.config.dc.clone(),
            pid: std::process::id(),
            attachment: self.attached.attachment(),
            ports: u32::try_from(self.config.ports.len()).unwrap_or(u32::MAX),
            load_ns: self.program.load_ns,
            adopted: self.adopted,
        })
    }

    /// Decisions made since the last time.
    pub(super) fn send_decisions(&mut self, controller: &mut Controller) {
        let records = decisions::drain(&mut self.program.decisions);
        if records.is_empty() {
            return;
        }
        let reports = records
            .iter()
            .map(|record| decisions::report(record, &self.slots))
            .collect();
        controller.send(&AgentMessage::Decisions(reports));
    }

    /// Takes out idle flows, and tells of them.
    pub(super) fn collect(
        &mut self,
        now: Nanos,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        let counters = self.program.counters()?;
        let (idle, busy) = flows::expire(
            &mut self.program.flows,
            self.config.flow_table_entries,
            now,
            self.config.idle_timeout_ns,
        )?;
        self.tally.expired += count(idle.len());
        self.tally.read(&counters, count(busy));
        self.leave_tally();
        self.send_flows(idle, controller);
        Ok(())
    }

    /// Leaves to the next agent what the kernel does not count.
    fn leave_tally(&self) {
        let Tally {
            expired, evicted, ..
        } = self.tally;
        self.program.table.set_gone(expired, evicted);
    }

    /// The counters and the flow table.
    pub(super) fn stats(&self, counters: Counters, now: Nanos, controller: &Controller) -> Stats {
        let entries = self.config.flow_table_entries;
        let occupancy = self.tally.occupancy(&counters, entries);
        Stats {
            time_ns: now.get(),
            received: counters.received,
            hits: counters.hits,
            new_flows: counters.new_flows,
            failovers: counters.failovers,
            aged: counters.aged,
            fallbacks: counters.fallbacks,
            stale: counters.stale,
            passed: counters.passed,
            ttl_expired: counters.ttl_expired,
            no_destination: counters.no_destination,
            not_pinned: counters.not_pinned,
            occupancy,
            expired: self.tally.expired,
            evicted: self.tally.evicted,
            records_lost: counters.records_lost,
            messages_lost: controller.messages_lost,
            samples: self.tally.samples,
            late_samples: self.tally.late_samples,
        }
    }

    fn send_flows(&self, rows: Vec<(FlowKey, FlowEntry)>, controller: &mut Controller) {
        if rows.is_empty() {
            return;
        }
        let reports = rows
            .into_iter()
            .map(|(key, entry)| flows::report(key, entry, &self.slots))
            .collect();
        controller.send(&AgentMessage::Flows(reports));
    }

    /// Takes the program off the ports and tells what is left to tell.
    pub(super) fn finish(mut self, controller: &mut Controller) -> Result<(), SwitchdError> {
        let detached = self.attached.detach(&mut self.program, &mut self.qdiscs);
        let ended = now()?;
        self.sampler.take_in(ended, &self.qdiscs.roots()?);
        self.send_decisions(controller);
        controller.send(&AgentMessage::Queues(self.sampler.queues()));
        controller.send(&AgentMessage::Links(self.sampler.links()));
        let rows = flows::all(&self.program.flows, self.config.flow_table_entries)?;
        let counters = self.program.counters()?;
        self.tally.read(&counters, count(rows.len()));
        let stats = self.stats(counters, ended, controller);
        if self.demanding.is_some() {
            self.send_demands(ended, controller)?;
        }
        self.send_flows(rows, controller);
        controller.send(&AgentMessage::Stats(stats));
        detached
    }
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
