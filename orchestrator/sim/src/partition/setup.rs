//! Creation of a partition from the world.

use lab_plan::{Role, pfc};

use super::{
    Channel, Partition, Work, dci::Dci, faults::partition_faults, nic::Nic, qp, qp::Slab, range,
    receiver::Receiver, sampling::SampleTimes,
};
use crate::{
    cc::CongestionControl,
    dice::Dice,
    event::{EventKind, EventQueue},
    fifo::Pool,
    mmu::{IngressFacts, Mmu},
    network::{PortFacts, count},
    port::Port,
    semantics::SemanticsRules,
    time::SimTime,
    trace::TraceFilter,
    world::World,
};

/// Flows of a partition's hosts.
#[derive(Clone, Debug, Default)]
pub struct OwnFlows {
    /// Flows that the hosts send, in the order of their starts.
    sent: Vec<u32>,
    /// Number of flows that the hosts receive.
    received: usize,
}

impl OwnFlows {
    /// Returns the flows of all partitions of `world`, by datacenter.
    #[must_use]
    pub fn of_all<S: SemanticsRules, C: CongestionControl>(world: &World<'_, S, C>) -> Vec<Self> {
        let mut all = vec![Self::default(); world.network.dcs.len()];
        let dc = |node: u32| world.network.nodes[node as usize].dc as usize;
        for (id, flow) in (0u32..).zip(&world.flows) {
            all[dc(flow.src)].sent.push(id);
            all[dc(flow.dst)].received += 1;
        }
        all
    }
}

impl<'w, S: SemanticsRules, C: CongestionControl> Partition<'w, S, C> {
    /// Creates the partition of datacenter `dc`, with the flows `flows`, at time 0, with its first events scheduled.
    #[must_use]
    pub fn new(
        world: &'w World<'w, S, C>,
        (dc, flows): (u32, OwnFlows),
        filter: &'w TraceFilter,
        sample_times: SampleTimes,
    ) -> Self {
        let owned = &world.network.dcs[dc as usize];
        let facts = &world.network.ports[range(&owned.ports)];
        let nodes = &world.network.nodes[range(&owned.nodes)];
        let mut partition = Self {
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
            nics: nodes
                .iter()
                .map(|_| Nic::new(S::SCHEDULER_KEEPS_QPS))
                .collect(),
            qps: Slab::default(),
            qp_of: vec![qp::NONE; flows.sent.len()],
            given_up: Vec::new(),
            last_finish: SimTime::ZERO,
            receivers: vec![Receiver::default(); flows.received],
            starts: flows.sent,
            started: 0,
            dci: Dci::new(world, dc),
            faults: partition_faults(world, dc),
            telemetry: Slab::default(),
            held: Slab::default(),
            spare_hops: Vec::new(),
            channels: Vec::new(),
            trace: Vec::new(),
            filter,
            sample_times,
            work: Work::default(),
        };
        partition.make_channels();
        partition.schedule_all();
        partition
    }

    /// Creates a channel for each port at a link to another datacenter.
    fn make_channels(&mut self) {
        let facts = &self.world.network.ports[self.first_port as usize..];
        for (port, facts) in self.ports.iter_mut().zip(facts) {
            if facts.peer_dc != self.dc {
                port.channel = Some(count(self.channels.len()));
                self.channels.push(Channel::new(facts.peer_dc, facts.peer));
            }
        }
    }

    fn schedule_all(&mut self) {
        if let Some(&flow) = self.starts.first() {
            let at = self.world.flows[flow as usize].start;
            self.events.push(at, EventKind::FlowStart, 0);
        }
        for (index, fault) in (0u32..).zip(&self.faults) {
            self.events.push(fault.at, EventKind::Fault, index);
        }
        self.schedule_periodic();
    }
}

fn make_port<S: SemanticsRules, C: CongestionControl>(
    world: &World<'_, S, C>,
    facts: &PortFacts,
) -> Port {
    let link = &world.plan.links[facts.plan.link().index()];
    let role = world.network.nodes[facts.node as usize].role;
    let dice = Dice::of(world.plan, world.repetition, facts.plan);
    let mut port = Port::new(link, facts, role, dice);
    if world.transport.pfc || S::PORT_LIMIT_BYTES.is_some() {
        port.limit = S::PORT_LIMIT_BYTES.unwrap_or(u64::MAX);
    }
    if role == Role::Host {
        // The NIC's own queue holds only answers, has room for all of them, and does not mark packets.
        port.limit = u64::MAX;
        port.congestion = None;
    }
    port
}

fn make_mmu<S: SemanticsRules, C: CongestionControl>(
    world: &World<'_, S, C>,
    node: u32,
) -> Option<Mmu<S>> {
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
    let nic = pfc::nic_rate(&world.plan.nodes, &world.plan.links)?;
    // A pause does not stop a train that has begun to leave, and a buffer counts a train when its first packet arrives.
    let trains = match world.trains.max {
        1 => 0,
        max => 4 * u64::from(max) * u64::from(world.full_bytes),
    };
    let ports: Vec<_> = world.network.ports[range(&node.ports)]
        .iter()
        .map(|port| {
            let wire = &world.plan.links[port.plan.link().index()].emu;
            let largest = pfc::largest_packet(transport);
            let wires = world.plan.wires().of(port.plan.link());
            let headrooms = wires.map(|it| S::headroom(it.rate_bps, it.delay_ns.into(), largest));
            IngressFacts {
                headroom: headrooms.max().map_or(0, |headroom| headroom + trains),
                threshold_shift: pfc::threshold_shift(wire.rate_bps, nic),
            }
        })
        .collect();
    Some(Mmu::new(buffer.get(), &ports))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cc::NoControl, semantics::Paper, testing};

    /// The plan's warnings name exactly the ports that drop packets in the simulator.
    #[test]
    fn the_plan_names_the_ports_that_drop_in_spite_of_pfc() {
        for (buffer, are_expected) in [("188908 B", true), ("6 GB", false)] {
            let text = format!(
                "
name: lossy
topology:
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 1 }}, {{ name: dc3, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: 50 Gbit, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 50 ms }}
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: 1 MB }}]
policies: [ecmp]
transport: {{ pfc: true, dci_buffer: {buffer} }}
"
            );
            let plan = testing::plan(&text);
            let planned = pfc::overcommitted(&plan.nodes, plan.wires(), &plan.transport);
            let world: World<'_, Paper, NoControl> = World::new(&plan, 0, 0, ()).expect("a world");
            let mut simulated = Vec::new();
            for node in (0u32..).take(world.network.nodes.len()) {
                let mmu = make_mmu(&world, node);
                let ports: Vec<usize> = mmu.iter().flat_map(Mmu::lossy_ports).collect();
                if !ports.is_empty() {
                    simulated.push((world.network.nodes[node as usize].plan, ports));
                }
            }
            simulated.sort_unstable();
            let indices = |found: pfc::Overcommitted| {
                let ports = found.lossy_ports.iter().map(|port| port.index);
                (found.switch, ports.collect::<Vec<_>>())
            };
            let planned = planned.into_iter().map(indices);
            assert_eq!(planned.collect::<Vec<_>>(), simulated, "{buffer}");
            assert_eq!(!simulated.is_empty(), are_expected, "{buffer}");
            let is_warned = plan
                .warnings
                .iter()
                .any(|warning| warning.code == "pfc-lossy");
            assert_eq!(is_warned, are_expected);
        }
    }
}
