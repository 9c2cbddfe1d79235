//! A DCI switch's part in traffic engineering: demands out, tables in.

use lab_units::BitsPerSec;

use super::Shard;
use crate::{
    cc::CongestionControl,
    event::What,
    packet::{Kind, Packet},
    semantics::Semantics,
    te::Buckets,
    world::{Way, World},
};

/// What the agent measures and was told.
pub(super) struct Engineered {
    /// Bytes that its own datacenter's hosts sent since the last tick, by datacenter.
    sent: Vec<u64>,
    /// Buckets by datacenter; none: as provisioned.
    tables: Vec<Buckets>,
}

impl Engineered {
    pub fn new<P: Semantics, C: CongestionControl>(
        world: &World<'_, P, C>,
        dc: u32,
    ) -> Option<Self> {
        let is_engineered = world.te.is_some() && !world.switches[dc as usize].is_legacy;
        is_engineered.then(|| Self {
            sent: vec![0; world.network.dcs.len()],
            tables: vec![Vec::new(); world.network.dcs.len()],
        })
    }

    /// Buckets of `way` to `to_dc`.
    pub fn buckets_of(&self, to_dc: u32, way: &Way) -> u16 {
        let table = &self.tables[to_dc as usize];
        if table.is_empty() {
            return way.buckets;
        }
        let mut rows = table.iter();
        let row = rows.find(|(port, _)| *port == way.port);
        row.map_or(0, |(_, buckets)| *buckets)
    }
}

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// Counts a packet that leaves for `to_dc`, if it is one of this datacenter's own.
    #[inline]
    pub(super) fn count_demand(&mut self, to_dc: u32, packet: &Packet) {
        let Some(engineered) = &mut self.dci.engineered else {
            return;
        };
        let flow = &self.world.flows[packet.flow as usize];
        let from = if packet.kind == Kind::Data {
            flow.src
        } else {
            flow.dst
        };
        if self.world.network.nodes[from as usize].dc == self.dc {
            engineered.sent[to_dc as usize] += u64::from(packet.bytes);
        }
    }

    pub(super) fn schedule_engineering(&mut self) {
        if let Some(te) = &self.world.te {
            let at = self.now.saturating_add(te.interval);
            self.events.push(at, What::Engineer, 0);
        }
    }

    /// A tick: what was computed from the last one's demands is installed, and this one's are told.
    ///
    /// The links of a switch without an agent are known all the same, for they are provisioned; what
    /// its datacenter sends is not.
    pub(super) fn engineer(&mut self) {
        let Some(te) = &self.world.te else {
            return;
        };
        let links = self.link_rates();
        let nothing = vec![0; self.world.network.dcs.len()];
        let tick = self.now.picos() / te.interval.picos().max(1);
        match &mut self.dci.engineered {
            None => te.report(tick, self.dc, &nothing, &links),
            Some(engineered) => {
                for (to_dc, buckets) in te.due(tick, self.dc) {
                    engineered.tables[to_dc as usize] = buckets;
                }
                te.report(tick, self.dc, &engineered.sent, &links);
                engineered.sent = nothing;
            }
        }
        self.schedule_engineering();
    }

    /// The rates of the DCI switch's links, as far as they are up.
    fn link_rates(&self) -> Vec<(u32, Option<BitsPerSec>)> {
        let node = self.world.switches[self.dc as usize].node;
        let ports = self.world.network.nodes[node as usize].ports.clone();
        let rate = |port: u32| {
            let state = &self.ports[(port - self.first_port) as usize];
            (port, state.is_up.then_some(state.rate))
        };
        ports.map(rate).collect()
    }
}
