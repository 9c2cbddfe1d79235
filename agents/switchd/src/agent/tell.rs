//! What the controller is told.

use lab_abi::{
    rows::{Counters, FlowEntry, FlowKey},
    wire::{AgentMessage, Ready, Stats},
};
use lab_units::Nanos;

use super::Agent;
use crate::{SwitchdError, clock::now, controller::Controller, decisions, flows};

/// What the agent counts itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Samples taken.
    pub(super) samples: u64,
    /// Samples that began more than one interval late.
    pub(super) late_samples: u64,
    expired: u64,
    evicted: u64,
}

impl Agent<'_> {
    /// The first message.
    pub(super) fn ready(&self) -> Result<Ready, SwitchdError> {
        Ok(Ready {
            time_ns: now()?.get(),
            dc: self.config.dc.clone(),
            pid: std::process::id(),
            attachment: self.attached.attachment(),
            ports: u32::try_from(self.config.ports.len()).unwrap_or(u32::MAX),
            load_ns: self.program.load_ns,
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

    /// Takes out idle flows, and tells of them and of the counters.
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
        let stats = self.stats(counters, busy, now, controller);
        self.send_flows(idle, controller);
        controller.send(&AgentMessage::Stats(stats));
        Ok(())
    }

    /// The counters, with the table's occupancy as it was found after they were read.
    ///
    /// The kernel does not count what it evicts; but who was entered, is not there and was not
    /// taken out has been evicted. A flow entered while the table was read hides one that was
    /// evicted until the next time.
    fn stats(
        &mut self,
        counters: Counters,
        occupancy: usize,
        now: Nanos,
        controller: &Controller,
    ) -> Stats {
        let occupancy = count(occupancy);
        let entered = counters.new_flows - counters.not_pinned;
        let evicted = entered.saturating_sub(self.tally.expired + occupancy);
        self.tally.evicted = self.tally.evicted.max(evicted);
        Stats {
            time_ns: now.get(),
            received: counters.received,
            hits: counters.hits,
            new_flows: counters.new_flows,
            failovers: counters.failovers,
            fallbacks: counters.fallbacks,
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
        let stats = self.stats(self.program.counters()?, rows.len(), ended, controller);
        self.send_flows(rows, controller);
        controller.send(&AgentMessage::Stats(stats));
        detached
    }
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
