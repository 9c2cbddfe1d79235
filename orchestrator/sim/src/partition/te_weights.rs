//! Hash buckets that change every interval: a DCI switch measures demands, reports them to the TE controller or decides by
//! its own trained weights, and installs the buckets.

use lab_units::{BitsPerSec, Bytes};

use super::Partition;
use crate::{
    cc::CongestionControl,
    event::EventKind,
    packet::{Kind, Packet},
    semantics::SemanticsRules,
    te::{Buckets, TeController},
    trace::{SplitEvent, TraceEvent},
    trained::{Measurements, TrainedPolicy},
    world::{PortCandidate, World},
};

/// Demands that a switch with an agent measures, and the weights that it has installed.
pub(super) struct TeWeights {
    /// Bytes that the datacenter's hosts have sent since the last tick, by destination datacenter.
    sent: Vec<u64>,
    /// Installed hash buckets by destination datacenter; an empty list means the provisioned buckets.
    tables: Vec<Buckets>,
    /// Bytes that each of [`TrainedSwitch::ports`](crate::trained::TrainedSwitch::ports) had sent at the last tick.
    tx_bytes: Vec<u64>,
}

impl TeWeights {
    /// Creates the state of the switch in `dc`; `None` if the policy is not traffic engineering or the switch has no
    /// agent.
    pub fn new<S: SemanticsRules, C: CongestionControl>(
        world: &World<'_, S, C>,
        dc: u32,
    ) -> Option<Self> {
        let trained = world.trained.as_ref().and_then(|it| it.switch(dc));
        let has_te = world.te.is_some() && !world.switches[dc as usize].is_legacy;
        (has_te || trained.is_some()).then(|| Self {
            tx_bytes: vec![0; trained.map_or(0, |it| it.ports.len())],
            sent: vec![0; world.network.dcs.len()],
            tables: vec![Vec::new(); world.network.dcs.len()],
        })
    }

    /// Discards the buckets for the datacenter `to_dc`, which has new candidates; their provisioned buckets are in force
    /// until the next tick.
    pub fn provision(&mut self, to_dc: u32) {
        self.tables[to_dc as usize].clear();
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
        let bytes = self.size_of(packet);
        let Some(te_weights) = &mut self.dci.te_weights else {
            return;
        };
        let flow = &self.world.flows[packet.flow as usize];
        let from = if packet.kind() == Kind::Data {
            flow.src
        } else {
            flow.dst
        };
        if self.world.network.nodes[from as usize].dc == self.dc {
            te_weights.sent[to_dc as usize] += bytes;
        }
    }

    pub(super) fn schedule_te_tick(&mut self) {
        let world = self.world;
        let engineered = world.te.as_ref().map(|it| it.interval);
        let trained = world.trained.as_ref().map(|it| it.interval);
        if let Some(interval) = engineered.or(trained) {
            let at = self.now.saturating_add(interval);
            self.events.push(at, EventKind::TeTick, 0);
        }
    }

    pub(super) fn te_tick_due(&mut self) {
        let world = self.world;
        if let Some(te) = &world.te {
            self.engineer(te);
        }
        if let Some(trained) = world.trained.as_ref().filter(|_| !self.is_agent_down()) {
            self.decide_split(trained);
        }
        self.schedule_te_tick();
    }

    /// Installs the buckets that the switch's actor computes from the interval that ends.
    fn decide_split(&mut self, trained: &TrainedPolicy) {
        let Some(switch) = trained.switch(self.dc) else {
            return;
        };
        let port = |number: &u32| &self.ports[(number - self.first_port) as usize];
        let sent: Vec<u64> = switch
            .ports
            .iter()
            .map(|it| port(it).counts.tx_bytes)
            .collect();
        let rates: Vec<BitsPerSec> = switch.ports.iter().map(|it| port(it).rate).collect();
        let Some(te_weights) = &mut self.dci.te_weights else {
            return;
        };
        let since = sent.iter().zip(&te_weights.tx_bytes);
        let links: Vec<_> = since
            .map(|(now, before)| Bytes::new(now - before))
            .zip(rates)
            .collect();
        te_weights.tx_bytes = sent;
        let demands =
            std::mem::replace(&mut te_weights.sent, vec![0; self.world.network.dcs.len()]);
        let measured = Measurements {
            links: &links,
            demands: &demands,
        };
        for (to_dc, buckets) in trained.decide(switch, &measured, |port| self.is_up(port)) {
            self.install(to_dc, buckets);
        }
    }

    /// Discards the demands and sent bytes of the current interval, which an agent that starts now has not measured.
    pub(super) fn restart_te(&mut self) {
        let world = self.world;
        let trained = world.trained.as_ref().and_then(|it| it.switch(self.dc));
        let sent = |number: &u32| {
            let port = &self.ports[(number - self.first_port) as usize];
            port.counts.tx_bytes
        };
        let tx_bytes = trained.map(|switch| switch.ports.iter().map(sent).collect());
        if let Some(te_weights) = &mut self.dci.te_weights {
            te_weights.sent.fill(0);
            te_weights.tx_bytes = tx_bytes.unwrap_or_default();
        }
    }

    /// Installs the buckets for the flows to `to_dc` that start from now on.
    pub(super) fn install(&mut self, to_dc: u32, buckets: Buckets) {
        if let Some(te_weights) = &mut self.dci.te_weights {
            te_weights.tables[to_dc as usize].clone_from(&buckets);
            self.trace.push(TraceEvent::Split(Box::new(SplitEvent {
                at: self.now,
                dc: self.dc,
                to_dc,
                buckets,
            })));
        }
    }

    /// Installs the weights computed from the demands of the previous interval, and reports the demands of the interval
    /// that ends.
    ///
    /// A switch without an agent, whether legacy or down, reports zero demands. The rates of its links are reported
    /// all the same, because the controller knows them from provisioning. Weights that are due while an agent is down
    /// are kept for the next agent.
    fn engineer(&mut self, te: &TeController) {
        let links = self.link_rates();
        let nothing = vec![0; self.world.network.dcs.len()];
        let tick = self.now.picos() / te.interval.picos().max(1);
        let Some(te_weights) = &mut self.dci.te_weights else {
            te.report(tick, self.dc, &nothing, &links);
            return;
        };
        let sent = std::mem::replace(&mut te_weights.sent, nothing.clone());
        let due = te.due(tick, self.dc);
        if let Some(without_agent) = &mut self.dci.without_agent {
            without_agent.miss_buckets(due);
            te.report(tick, self.dc, &nothing, &links);
            return;
        }
        for (to_dc, buckets) in due {
            self.install(to_dc, buckets);
        }
        te.report(tick, self.dc, &sent, &links);
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
