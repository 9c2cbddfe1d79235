//! Traffic engineering at a DCI switch, which reports demands and installs weights.

use lab_units::BitsPerSec;

use super::Partition;
use crate::{
    cc::CongestionControl,
    event::EventKind,
    packet::{Kind, Packet},
    semantics::SemanticsRules,
    te::Buckets,
    trace::{SplitEvent, TraceEvent},
    world::{PortCandidate, World},
};

/// Measured demands and installed weights of a switch with an agent.
pub(super) struct TeWeights {
    /// Bytes that the partition's hosts sent since the last tick, by destination datacenter.
    sent: Vec<u64>,
    /// Installed buckets by destination datacenter; an empty list stands for the provisioned buckets.
    tables: Vec<Buckets>,
}

impl TeWeights {
    /// Creates the state of the switch in `dc`; `None` without traffic engineering or without an agent.
    pub fn new<S: SemanticsRules, C: CongestionControl>(
        world: &World<'_, S, C>,
        dc: u32,
    ) -> Option<Self> {
        let has_te = world.te.is_some() && !world.switches[dc as usize].is_legacy;
        has_te.then(|| Self {
            sent: vec![0; world.network.dcs.len()],
            tables: vec![Vec::new(); world.network.dcs.len()],
        })
    }

    /// Returns the buckets of `candidate` to `to_dc`.
    pub fn buckets_of(&self, to_dc: u32, candidate: &PortCandidate) -> u16 {
        let table = &self.tables[to_dc as usize];
        if table.is_empty() {
            return candidate.buckets;
        }
        let row = table.iter().find(|(port, _)| *port == candidate.port);
        row.map_or(0, |(_, buckets)| *buckets)
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Counts a packet to `to_dc` as demand if a host of this partition sent it.
    #[inline]
    pub(super) fn count_demand(&mut self, to_dc: u32, packet: &Packet) {
        let Some(te_weights) = &mut self.dci.te_weights else {
            return;
        };
        let flow = &self.world.flows[packet.flow as usize];
        let from = if packet.kind == Kind::Data {
            flow.src
        } else {
            flow.dst
        };
        if self.world.network.nodes[from as usize].dc == self.dc {
            te_weights.sent[to_dc as usize] += u64::from(packet.bytes);
        }
    }

    pub(super) fn schedule_te_tick(&mut self) {
        if let Some(te) = &self.world.te {
            let at = self.now.saturating_add(te.interval);
            self.events.push(at, EventKind::TeTick, 0);
        }
    }

    /// Installs the weights computed from the last tick's demands, and reports the demands of this tick.
    ///
    /// A switch without an agent reports the rates of its links, which are provisioned, but no demands.
    pub(super) fn te_tick_due(&mut self) {
        let Some(te) = &self.world.te else {
            return;
        };
        let links = self.link_rates();
        let nothing = vec![0; self.world.network.dcs.len()];
        let tick = self.now.picos() / te.interval.picos().max(1);
        match &mut self.dci.te_weights {
            None => te.report(tick, self.dc, &nothing, &links),
            Some(te_weights) => {
                for (to_dc, buckets) in te.due(tick, self.dc) {
                    te_weights.tables[to_dc as usize].clone_from(&buckets);
                    self.trace.push(TraceEvent::Split(Box::new(SplitEvent {
                        at: self.now,
                        dc: self.dc,
                        to_dc,
                        buckets,
                    })));
                }
                te.report(tick, self.dc, &te_weights.sent, &links);
                te_weights.sent = nothing;
            }
        }
        self.schedule_te_tick();
    }

    /// Returns the ports of the DCI switch and their rates, whether their links are up or down: neither a switch nor
    /// the TE controller detects a cut beyond the switch's own links.
    fn link_rates(&self) -> Vec<(u32, BitsPerSec)> {
        let node = self.world.switches[self.dc as usize].node;
        let ports = self.world.network.nodes[node as usize].ports.clone();
        let rate = |port: u32| (port, self.ports[(port - self.first_port) as usize].rate);
        ports.map(rate).collect()
    }
}
