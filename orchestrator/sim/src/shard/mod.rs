//! One datacenter, simulated by itself.
//!
//! A shard owns its datacenter's nodes and ports, and the events that happen there. What leaves for
//! another datacenter goes to an outbox; it takes at least the shortest inter-DC delay, so shards
//! may run that far ahead of each other and give the same result in any order and on any number of
//! threads.
//!
//! - `link`: egress queues, wires
//! - `mail`: what leaves for other datacenters
//! - `nic`, `round`: what a host sends next, its round over its QPs
//! - `sender`, `timers`: sending QPs, and when they look again
//! - `receiver`: what hosts answer
//! - `switch`: buffers, PFC, next hops in the fabric
//! - `dci`: the policy's tables and the flow table; `decide`: the policy
//! - `ageing`, `engineering`: what single policies measure
//! - `watch`: faults, samples

mod ageing;
mod dci;
mod decide;
mod engineering;
mod link;
mod mail;
mod nic;
mod qp;
mod receiver;
mod round;
mod sender;
mod switch;
mod timers;
mod watch;

use std::collections::BTreeSet;

use lab_plan::{FaultChange, Role};
use lab_records::StoryEvent;
use lab_units::FlowId;

pub use self::mail::Mail;
use self::{
    dci::Dci,
    mail::Bundle,
    nic::Nic,
    qp::{Qp, Slab},
    receiver::Receiver,
};
use crate::{
    cc::{CongestionControl, IntHop},
    event::{Event, EventQueue, What},
    fifo::{Pool, Queued},
    mmu::{IngressFacts, Mmu},
    network::{PortFacts, count},
    note::{Note, StoryNote},
    packet::Packet,
    port::Port,
    semantics::Semantics,
    time::SimTime,
    world::{World, nic_rate},
};

/// One datacenter.
pub struct Shard<'w, P: Semantics, C: CongestionControl> {
    world: &'w World<'w, P, C>,
    dc: u32,
    /// Nodes and ports before these belong to others.
    first_node: u32,
    first_port: u32,
    now: SimTime,
    events: EventQueue,
    queued: Pool<Packet>,
    on_wires: Pool<Queued>,
    ports: Vec<Port>,
    /// By node; nothing where there is no buffer to share.
    mmus: Vec<Option<Mmu<P>>>,
    /// By node; those of switches stay empty.
    nics: Vec<Nic>,
    qps: Slab<Qp<C>>,
    /// The QP of each flow that is sent here, by [`crate::world::SimFlow::sending`].
    qp_of: Vec<u32>,
    /// Flows whose QP broke.
    given_up: Vec<u32>,
    /// When a flow last got all its ACKs.
    last_finish: SimTime,
    /// By [`crate::world::SimFlow::receiving`].
    receivers: Vec<Receiver>,
    /// Flows that start here, by start, and how many have.
    starts: Vec<u32>,
    started: usize,
    dci: Dci<'w>,
    faults: Vec<ShardFault>,
    /// Switch telemetry of packets under way.
    telemetry: Slab<Telemetry>,
    /// What has left since the last exchange, link by link.
    outboxes: Vec<Mail>,
    /// Empty ones to come.
    spare: Vec<Bundle>,
    /// What happened since the last exchange.
    pub notes: Vec<Note>,
    told: &'w Told,
    /// Work done.
    pub work: Work,
}

/// Which flows' stories are told.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Told {
    /// Nobody's.
    #[default]
    None,
    /// Everybody's.
    All,
    /// These flows'.
    Flows(BTreeSet<FlowId>),
}

/// Work done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Work {
    /// Events.
    pub events: u64,
    /// Packets put on a wire.
    pub packet_hops: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Data packets sent by hosts, those sent again included.
    pub data_packets: u64,
    /// Flows that have all their ACKs.
    pub finished: u64,
}

/// What switches wrote into a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Telemetry {
    hops: [IntHop; MAX_HOPS],
    count: u8,
}

/// Switches on the longest way whose telemetry is kept: seven datacenters and their fabrics.
const MAX_HOPS: usize = 12;

impl Telemetry {
    fn push(&mut self, hop: IntHop) {
        if let Some(free) = self.hops.get_mut(usize::from(self.count)) {
            *free = hop;
            self.count += 1;
        }
    }

    fn hops(&self) -> &[IntHop] {
        &self.hops[..usize::from(self.count)]
    }
}

/// What a fault does in the shard.
struct ShardFault {
    at: SimTime,
    change: ShardChange,
}

enum ShardChange {
    /// To a port.
    Port(u32, FaultChange),
    /// To the ways to another datacenter: those at this place of [`World::rescored`].
    Ways(usize),
}

impl<'w, P: Semantics, C: CongestionControl> Shard<'w, P, C> {
    /// Of datacenter `dc`, before anything happened.
    #[must_use]
    pub fn new(world: &'w World<'w, P, C>, dc: u32, told: &'w Told) -> Self {
        let owned = &world.network.dcs[dc as usize];
        let facts = &world.network.ports[range(&owned.ports)];
        let nodes = &world.network.nodes[range(&owned.nodes)];
        let is_here = |node: u32| world.network.nodes[node as usize].dc == dc;
        let starts: Vec<u32> = (0u32..)
            .zip(&world.flows)
            .filter(|(_, flow)| is_here(flow.src))
            .map(|(id, _)| id)
            .collect();
        let receiving = world.flows.iter().filter(|flow| is_here(flow.dst)).count();
        let mut shard = Self {
            world,
            dc,
            first_node: owned.nodes.start,
            first_port: owned.ports.start,
            now: SimTime::ZERO,
            events: EventQueue::new(owned.ports.clone()),
            queued: Pool::default(),
            on_wires: Pool::default(),
            ports: facts.iter().map(|port| make_port(world, port)).collect(),
            mmus: owned
                .nodes
                .clone()
                .map(|node| make_mmu(world, node))
                .collect(),
            nics: nodes.iter().map(|_| Nic::new(P::ROUND_KEEPS)).collect(),
            qps: Slab::default(),
            qp_of: vec![qp::NONE; starts.len()],
            given_up: Vec::new(),
            last_finish: SimTime::ZERO,
            receivers: vec![Receiver::default(); receiving],
            starts,
            started: 0,
            dci: Dci::new(world, dc),
            faults: shard_faults(world, dc),
            telemetry: Slab::default(),
            outboxes: Vec::new(),
            spare: Vec::new(),
            notes: Vec::new(),
            told,
            work: Work::default(),
        };
        shard.make_outboxes();
        shard.schedule_all();
        shard
    }

    /// One for each port whose link leads to another datacenter.
    fn make_outboxes(&mut self) {
        let facts = &self.world.network.ports[self.first_port as usize..];
        for (port, facts) in self.ports.iter_mut().zip(facts) {
            if facts.peer_dc != self.dc {
                port.outbox = Some(count(self.outboxes.len()));
                self.outboxes.push(Mail::to(facts.peer_dc, facts.peer));
            }
        }
    }

    fn schedule_all(&mut self) {
        if let Some(&flow) = self.starts.first() {
            let at = self.world.flows[flow as usize].start;
            self.events.push(at, What::Start, 0);
        }
        for (place, fault) in (0u32..).zip(&self.faults) {
            self.events.push(fault.at, What::Fault, place);
        }
        self.schedule_watch();
    }

    /// When something happens next.
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        self.events.next_time()
    }

    /// When something last happened.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// When a flow last got all its ACKs.
    #[must_use]
    pub const fn last_finish(&self) -> SimTime {
        self.last_finish
    }

    /// Whether anything but samples is to come.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.events.has_work()
    }

    /// Lets everything happen that is due before `end`.
    pub fn run_until(&mut self, end: SimTime) {
        while let Some(event) = self.events.next_before(end) {
            debug_assert!(event.at >= self.now, "time goes forward");
            self.now = event.at;
            self.work.events += 1;
            match event.what {
                What::Arrive => self.arrive(event.index),
                What::Wake => self.wake_up(event.index),
                _ => {
                    self.events.pop_timer();
                    self.happen(event);
                }
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event.what {
            What::Arrive | What::Wake => {}
            What::Slept => self.slept(event.index),
            What::Start => self.start_flow(),
            What::Control => self.control_due(event.index),
            What::Timeout => self.timeout_due(event.index),
            What::Fault => self.fault(event.index as usize),
            What::Monitor => self.monitor(),
            What::Collect => self.collect(),
            What::SampleLinks => self.sample_links_due(),
            What::SampleQueues => self.sample_queues_due(),
            What::SampleSwitch => self.sample_switch_due(),
            What::Engineer => self.engineer(),
        }
    }

    /// The node of a port of this datacenter.
    #[inline]
    fn node_of(&self, port: u32) -> u32 {
        self.ports[(port - self.first_port) as usize].node
    }

    #[inline]
    fn port(&mut self, port: u32) -> &mut Port {
        &mut self.ports[(port - self.first_port) as usize]
    }

    /// Tells `event` if somebody wants to know of `flow`.
    #[inline]
    fn tell(&mut self, flow: u32, node: u32, event: StoryEvent) {
        if *self.told != Told::None {
            self.tell_more(flow, node, event, None, None);
        }
    }

    fn tell_more(
        &mut self,
        flow: u32,
        node: u32,
        event: StoryEvent,
        rate: Option<u64>,
        packet: Option<u32>,
    ) {
        let is_told = match self.told {
            Told::None => false,
            Told::All => true,
            Told::Flows(flows) => flows.contains(&self.world.flows[flow as usize].plan),
        };
        if is_told {
            self.notes.push(Note::Story(StoryNote {
                at: self.now,
                flow,
                event,
                node,
                rate,
                packet,
            }));
        }
    }
}

fn range(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

fn make_port<P: Semantics, C: CongestionControl>(
    world: &World<'_, P, C>,
    facts: &PortFacts,
) -> Port {
    let link = &world.plan.links[facts.plan.link().index()];
    // Each port has its own sequence, so that what happens at one does not change another's.
    let seed = world.plan.seed ^ (u64::from(facts.plan.0) + 1) << 32;
    let role = world.network.nodes[facts.node as usize].role;
    let mut port = Port::new(link, facts, role, seed);
    if world.transport.pfc || P::PORT_LIMIT_BYTES.is_some() {
        port.limit = P::PORT_LIMIT_BYTES.unwrap_or(u64::MAX);
    }
    if role == Role::Host {
        // A NIC's own queue holds ACKs, which it made room for, and marks nothing.
        port.limit = u64::MAX;
        port.ecn = None;
    }
    port
}

fn make_mmu<P: Semantics, C: CongestionControl>(
    world: &World<'_, P, C>,
    node: u32,
) -> Option<Mmu<P>> {
    let node = &world.network.nodes[node as usize];
    let transport = &world.plan.transport;
    let buffer = match node.role {
        Role::Host => return None,
        Role::DciSwitch => transport.dci_buffer_bytes,
        Role::Leaf | Role::Spine => transport.fabric_buffer_bytes,
    };
    if !world.transport.pfc {
        return None;
    }
    let nic = nic_rate(world.plan)?;
    let ports = world.network.ports[range(&node.ports)].iter().map(|port| {
        let wire = &world.plan.links[port.plan.link().index()].emu;
        let largest = world.transport.full_bytes;
        IngressFacts {
            headroom: P::headroom(wire.rate_bps, wire.delay_ns.into(), largest),
            threshold_shift: P::threshold_shift(wire.rate_bps, nic),
        }
    });
    let ports: Vec<_> = ports.collect();
    Some(Mmu::new(buffer.get(), &ports))
}

fn shard_faults<P: Semantics, C: CongestionControl>(
    world: &World<'_, P, C>,
    dc: u32,
) -> Vec<ShardFault> {
    let mut faults = Vec::new();
    for fault in &world.plan.faults {
        for port in [fault.link.port_a(), fault.link.port_b()] {
            let port = world.network.port(port);
            let node = world.network.ports[port as usize].node;
            if world.network.nodes[node as usize].dc == dc {
                faults.push(ShardFault {
                    at: fault.at_ns.into(),
                    change: ShardChange::Port(port, fault.change),
                });
            }
        }
    }
    for (place, rescored) in world.rescored.iter().enumerate() {
        if rescored.dc == dc {
            faults.push(ShardFault {
                at: rescored.at,
                change: ShardChange::Ways(place),
            });
        }
    }
    faults
}
