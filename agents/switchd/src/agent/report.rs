//! Messages of an agent to its controller.

use lab_abi::{
    rows::{Counters, FlowEntry, FlowKey, PrefixKey},
    wire::{
        AgentMessage, DemandReport, Demands, DestinationConfig, LinkReports, PolicyConfig,
        PortLiveness, Ready, Stats,
    },
};
use lab_units::Nanos;

use super::{Agent, demands::sums};
use crate::{
    SwitchdError, clock::now, controller::ControllerConnection, flow_gc, maps::flow_map_rows,
    program::Program, reports,
};

impl Agent {
    /// Returns the agent's first message, sent when the program is attached.
    pub(super) fn ready(&self) -> Result<Ready, SwitchdError> {
        Ok(Ready {
            time_ns: now()?.get(),
            dc: self.config.dc.clone(),
            pid: std::process::id(),
            attachment: self.attached.attachment(),
            has_carriers: self.attached.has_carriers(),
            ports: u32::try_from(self.config.ports.len()).unwrap_or(u32::MAX),
            load_ns: self.program.load_ns,
            adopted: self.adopted,
            tables: self.tables()?,
        })
    }

    /// Reads the destinations back from the program's table.
    fn tables(&self) -> Result<Vec<DestinationConfig>, SwitchdError> {
        self.config
            .destinations
            .iter()
            .map(|row| {
                let prefix = PrefixKey::new(row.addr, row.prefix_len);
                let found = self.program.destination(prefix)?;
                Ok(DestinationConfig {
                    addr: row.addr,
                    prefix_len: row.prefix_len,
                    candidates: found
                        .map_or_else(Vec::new, |row| reports::candidates(&row, &self.slots)),
                    size_thresholds: Vec::new(),
                })
            })
            .collect()
    }

    /// Sends the decisions since the previous report to the controller.
    pub(super) fn send_decisions(&mut self, controller: &mut ControllerConnection) {
        let records = self.program.drain_decisions();
        if records.is_empty() {
            return;
        }
        let report = |record| reports::decision(record, &self.slots);
        controller.send(&AgentMessage::Decisions(
            records.iter().map(report).collect(),
        ));
    }

    pub(super) fn report_liveness(
        &self,
        slot: usize,
        is_alive: bool,
        controller: &mut ControllerConnection,
    ) -> Result<(), SwitchdError> {
        controller.send(&AgentMessage::PortState(PortLiveness {
            time_ns: now()?.get(),
            port: self.config.ports[slot].id,
            is_alive,
        }));
        Ok(())
    }

    /// Returns the link counters of the latest sample, with the number of packets marked up to now.
    pub(super) fn links(&self) -> LinkReports {
        self.sampler.links(|slot| self.program.table.marks(slot))
    }

    /// Returns the counters and the flow table's occupancy.
    pub(super) fn stats(
        &self,
        counters: Counters,
        now: Nanos,
        controller: &ControllerConnection,
    ) -> Stats {
        Stats {
            time_ns: now.get(),
            counters,
            occupancy: self.flow_counts.occupancy(&counters),
            expired: self.flow_counts.expired,
            evicted: self.flow_counts.evicted,
            messages_lost: controller.messages_lost,
            samples: self.samples,
            late_samples: self.late_samples,
        }
    }

    pub(super) fn send_flows(
        &self,
        rows: Vec<(FlowKey, FlowEntry)>,
        controller: &mut ControllerConnection,
    ) {
        if rows.is_empty() {
            return;
        }
        let report = |(key, entry)| reports::flow(key, entry, &self.slots);
        controller.send(&AgentMessage::Flows(rows.into_iter().map(report).collect()));
    }

    /// Returns the time of the previous demand interval's end, and the bytes sent to each destination since.
    pub(super) fn take_demands(&mut self, now: Nanos) -> Result<(Nanos, Vec<u64>), SwitchdError> {
        let sums = sums(self.config.destinations.len(), &self.program)?;
        Ok(self.demands.take(now, sums))
    }

    /// Sends the demands (bytes sent to each destination) between `since` and `now` to the controller.
    pub(super) fn send_demands(
        &self,
        since: Nanos,
        now: Nanos,
        bytes: Vec<u64>,
        controller: &mut ControllerConnection,
    ) {
        let report = |(row, bytes): (&DestinationConfig, u64)| DemandReport {
            addr: row.addr,
            prefix_len: row.prefix_len,
            bytes,
        };
        let destinations = self.config.destinations.iter().zip(bytes);
        controller.send(&AgentMessage::Demands(Demands {
            since_ns: since.get(),
            time_ns: now.get(),
            destinations: destinations.map(report).collect(),
        }));
    }

    /// Detaches the program and sends the last reports. Returns the program, with empty maps; `None` if it is a user's
    /// own, which may have further maps.
    pub(super) fn finish(
        mut self,
        controller: &mut ControllerConnection,
    ) -> Result<Option<Program>, SwitchdError> {
        let detached = self.attached.detach(&mut self.program, &mut self.qdiscs);
        let ended = now()?;
        self.sampler.take_in(ended, &self.qdiscs.roots()?);
        self.send_decisions(controller);
        controller.send(&AgentMessage::Queues(self.sampler.queues()));
        controller.send(&AgentMessage::Links(self.links()));
        let map_rows = flow_map_rows(self.config.flow_table_entries);
        let rows = flow_gc::all(&self.program.flows, map_rows)?;
        let counters = self.program.counters()?;
        let occupancy = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        self.flow_counts.update(&counters, occupancy);
        let mut stats = self.stats(counters, ended, controller);
        if self.timers.demands.is_some() && self.actor.is_none() {
            let (since, demands) = self.take_demands(ended)?;
            self.send_demands(since, ended, demands, controller);
        }
        self.send_flows(rows, controller);
        // Sending these reports may have dropped further messages.
        stats.messages_lost = controller.messages_lost;
        controller.send_past_limit(&AgentMessage::Stats(stats));
        detached?;
        if let PolicyConfig::Own(_) = self.config.policy {
            return Ok(None);
        }
        self.program.clear()?;
        Ok(Some(self.program))
    }
}
