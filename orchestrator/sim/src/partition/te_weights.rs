//! Traffic engineering at a DCI switch: reports demands and installs weights.

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

/// Demands that a switch with an agent measures, and the weights that it has installed.
pub(super) struct TeWeights {
    /// Bytes that the datacenter's hosts have sent since the last tick, by destination datacenter.
    sent: Vec<u64>,
    /// Installed hash buckets by destination datacenter; an empty list means the provisioned buckets.
    tables: Vec<Buckets>,
}

impl TeWeights {
    /// Creates the state of the switch in `dc`; `None` if the policy is not traffic engineering or the switch has no
    /// agent.
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

    /// Returns the number of hash buckets of `candidate` for the datacenter `to_dc`.
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
    /// Counts a packet to `to_dc` as demand, if a host of this datacenter sent it.
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

    /// Installs the weights computed from the demands of the previous interval, and reports the demands of the interval
    /// that ends.
    ///
    /// A switch without an agent reports zero demands. The rates of its links are reported too, because the controller
    /// has them from provisioning.
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

    /// Returns all ports of the DCI switch with their rates, whether up or down, because the TE controller detects no
    /// cuts.
    fn link_rates(&self) -> Vec<(u32, BitsPerSec)> {
        let node = self.world.switches[self.dc as usize].node;
        let ports = self.world.network.nodes[node as usize].ports.clone();
        let rate = |port: u32| (port, self.ports[(port - self.first_port) as usize].rate);
        ports.map(rate).collect()
    }
}
