//! What happens by the clock: faults, LCMP's samples, garbage collection, records.

use lab_plan::{FaultChange, LinkKind};
use lab_policy::{Preset, lcmp::Levels};
use lab_units::Nanos;

use super::{Shard, ShardChange};
use crate::{
    cc::CongestionControl,
    event::What,
    note::{Note, PortNote, QueueNote, SwitchNote},
    semantics::Semantics,
    time::SimTime,
    world::RunPolicy,
};

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    pub(super) fn schedule_watch(&mut self) {
        if let RunPolicy::Lcmp(config) = &self.world.policy {
            if config.preset == Preset::Paper {
                self.again(What::Monitor, config.sample_interval_ns);
            }
            self.again(What::Collect, config.gc_interval_ns);
        }
        let measure = &self.world.plan.measure;
        self.again(What::SampleLinks, measure.links_ns);
        self.again(What::SampleQueues, measure.queues_ns);
        if self.has_agent() {
            self.again(What::SampleSwitch, measure.switches_ns);
        }
        self.schedule_engineering();
    }

    /// Schedules `what` an interval from now.
    fn again(&mut self, what: What, interval: Nanos) {
        let at = self.now.saturating_add(interval.into());
        self.events.push(at, what, 0);
    }

    pub(super) fn fault(&mut self, place: usize) {
        let world = self.world;
        let (port, change) = match self.faults[place].change {
            ShardChange::Port(port, change) => (port, change),
            ShardChange::Ways(place) => {
                let rescored = &world.rescored[place];
                return self.dci.provision(rescored.to_dc, &rescored.ways);
            }
        };
        match change {
            FaultChange::Down => self.cut(port),
            FaultChange::Up => {
                self.port(port).is_up = true;
                self.kick(port);
            }
            FaultChange::Wire(wire) => {
                self.port(port).rewire(&wire);
                let node = self.node_of(port);
                let first = self.world.network.nodes[node as usize].ports.start;
                if let Some(watched) = self.dci.watched.get_mut((port - first) as usize) {
                    watched.provision(world, &wire);
                }
            }
        }
    }

    /// The link is cut: what is queued for it or on the wire is lost, as where an interface goes
    /// down.
    fn cut(&mut self, port: u32) {
        let now = self.now;
        let egress = self.port(port);
        egress.is_up = false;
        egress.cuts = egress.cuts.wrapping_add(1);
        egress.forget_pauses(now);
        for class in 0..8 {
            while let Some(packet) = self.dequeue(port, class) {
                self.release_buffer(port, &packet);
                self.drop_packet(port, &packet);
            }
        }
        let node = self.node_of(port);
        let place = self.place_at_node(node, port);
        if let Some(mmu) = &mut self.mmus[(node - self.first_node) as usize] {
            mmu.forget_stops(place);
        }
    }

    pub(super) fn monitor(&mut self) {
        let world = self.world;
        let RunPolicy::Lcmp(config) = &world.policy else {
            return;
        };
        let node = world.switches[self.dc as usize].node;
        let first = world.network.nodes[node as usize].ports.start - self.first_port;
        let ports = &self.ports[first as usize..];
        for (watched, port) in self.dci.watched.iter_mut().zip(ports) {
            watched.sample(self.now, port, config);
        }
        self.again(What::Monitor, config.sample_interval_ns);
    }

    pub(super) fn collect(&mut self) {
        let RunPolicy::Lcmp(config) = &self.world.policy else {
            return;
        };
        let idle = SimTime::from(config.idle_timeout_ns);
        self.dci.table.collect(self.now.saturating_sub(idle));
        self.again(What::Collect, config.gc_interval_ns);
    }

    pub(super) fn sample_links_due(&mut self) {
        self.sample_links();
        self.again(What::SampleLinks, self.world.plan.measure.links_ns);
    }

    pub(super) fn sample_queues_due(&mut self) {
        self.sample_queues();
        self.again(What::SampleQueues, self.world.plan.measure.queues_ns);
    }

    pub(super) fn sample_switch_due(&mut self) {
        self.sample_switch();
        self.again(What::SampleSwitch, self.world.plan.measure.switches_ns);
    }

    /// What the links to other datacenters have carried until now.
    pub fn sample_links(&mut self) {
        for port in self.inter_dc_ports() {
            let state = self.port(port);
            let note = PortNote {
                counts: state.counts,
                rate: state.rate,
                at: self.now,
                port,
            };
            self.notes.push(Note::Link(note));
        }
    }

    /// What is queued for other datacenters now.
    pub fn sample_queues(&mut self) {
        let node = self.world.switches[self.dc as usize].node;
        let first = self.world.network.nodes[node as usize].ports.start;
        for port in self.inter_dc_ports() {
            let watched = self.dci.watched.get((port - first) as usize);
            let levels = watched.map_or(Levels::default(), |watched| watched.levels);
            let note = QueueNote {
                bytes: self.port(port).total_bytes,
                at: self.now,
                port,
                levels,
            };
            self.notes.push(Note::Queue(note));
        }
    }

    /// How the DCI switch has fared until now.
    fn sample_switch(&mut self) {
        let table = &self.dci.table;
        self.notes.push(Note::Switch(Box::new(SwitchNote {
            at: self.now,
            dc: self.dc,
            flows: table.flows() as u64,
            evicted: table.evictions,
            expired: table.expirations,
            tally: self.dci.tally,
        })));
    }

    /// Whether the DCI switch is one that decides, not a legacy one.
    fn has_agent(&self) -> bool {
        !self.world.switches[self.dc as usize].is_legacy
    }

    /// Brings the clock to the end of the run, samples once more, and tells what became of each port.
    pub fn close(&mut self, end: SimTime) {
        self.now = end;
        self.sample_links();
        self.sample_queues();
        if self.has_agent() {
            self.sample_switch();
        }
        for (port, state) in (self.first_port..).zip(&self.ports) {
            self.notes.push(Note::Port(PortNote {
                counts: state.counts_at(end),
                rate: state.rate,
                at: end,
                port,
            }));
        }
    }

    fn inter_dc_ports(&self) -> Vec<u32> {
        let world = self.world;
        let node = world.switches[self.dc as usize].node;
        let ports = world.network.nodes[node as usize].ports.clone();
        let is_inter_dc = |&port: &u32| {
            let link = world.network.ports[port as usize].plan.link();
            world.plan.links[link.index()].kind == LinkKind::InterDc
        };
        ports.filter(is_inter_dc).collect()
    }
}
