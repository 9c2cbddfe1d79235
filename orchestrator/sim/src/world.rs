//! What all shards share: the plan, looked up once.

use std::marker::PhantomData;

use lab_plan::{
    FaultPlan, Flow, Plan, PolicyPlan, PolicyRun, Role, TransportPlan, UcmpPlan, WindowPlan,
};
use lab_policy::{LcmpConfig, OwnPolicy, UcmpConfig, own};
use lab_units::{BitsPerSec, FlowId, Nanos, NodeId, Ratio};

use crate::{
    cc::CongestionControl,
    error::SimError,
    network::{Network, count},
    packet::{DATA_CLASS, STRICT},
    physics::{FlowIdentity, Identities, NextHopOrder, Physics},
    te::Board,
    time::SimTime,
};

/// One policy's run of one repetition, before it starts.
pub struct World<'p, P: Physics, C: CongestionControl> {
    /// The plan.
    pub plan: &'p Plan,
    /// Its network.
    pub network: Network,
    /// The repetition's flows, by start.
    pub flows: Vec<SimFlow>,
    /// Seed of each node's hash.
    pub hash_seeds: Vec<u32>,
    /// What each datacenter's DCI switch decides with.
    pub switches: Vec<SwitchFacts>,
    /// How they decide.
    pub policy: RunPolicy,
    /// Where their demands meet, under traffic engineering.
    pub board: Option<Board>,
    /// Paper bytes for one here.
    pub paper_size: Ratio,
    /// Paper rate for one here.
    pub paper_rate: Ratio,
    /// Ways that a fault gives other scores, by the time of the faults.
    pub rescored: Vec<Rescored>,
    /// The policy is ECMP, without weights.
    pub is_plain_ecmp: bool,
    /// Parameters of the congestion control.
    pub control: C::Parameters,
    /// The round trip that every QP's congestion control starts from; its own flow's if absent.
    pub common_base_rtt: Option<SimTime>,
    /// What windows are made of.
    pub largest_window: u64,
    /// Time shared by all hosts and switches.
    pub transport: Transport,
    /// The shortest way from one datacenter to another: shards may be this far apart in time.
    pub lookahead: SimTime,
    physics: PhantomData<P>,
}

/// The plan's transport in the simulator's units.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// Payload of a full packet.
    pub payload: u32,
    /// Bytes of a full data packet.
    pub full_bytes: u32,
    /// Bytes congestion control adds to a data packet.
    pub data_extra: u32,
    /// Bytes of an ACK.
    pub ack_bytes: u32,
    /// Class of ACKs.
    pub ack_class: u8,
    /// The shortest time between two NACKs for one packet.
    pub nack_interval: SimTime,
    /// Retransmission time-out.
    pub timeout: Option<SimTime>,
    /// Bytes that may be unacknowledged.
    pub window: WindowPlan,
    /// PFC instead of drops.
    pub pfc: bool,
}

/// A flow.
///
/// What every switch and both hosts look up for a packet comes first, in one line of the cache:
/// flows are thousands, and packets of any of them follow each other.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct SimFlow {
    /// What it is known by.
    pub who: FlowIdentity,
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
    /// Its place among those its datacenter sends.
    pub sending: u32,
    /// Its place among those its destination receives.
    pub receiving: u32,
    /// In the plan.
    pub plan: FlowId,
    /// Packets it is cut into.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
    /// When it starts.
    pub start: SimTime,
    /// Round trip on the path of least delay.
    pub base_rtt: SimTime,
}

const _: () = assert!(std::mem::offset_of!(SimFlow, packets) + size_of::<u32>() == 64);

impl SimFlow {
    /// Payload of the packet of number `seq`.
    #[inline]
    #[must_use]
    pub fn payload_of(&self, seq: u32, payload: u32) -> u32 {
        if seq + 1 < self.packets {
            return payload;
        }
        let before = u64::from(self.packets - 1) * u64::from(payload);
        u32::try_from(self.bytes - before).unwrap_or(payload)
    }
}

/// How DCI switches decide.
#[derive(Clone, Debug)]
pub enum RunPolicy {
    /// The hash over buckets.
    Buckets,
    /// The hash over the buckets of UCMP, which change as a flow grows.
    Ageing(UcmpConfig),
    /// LCMP.
    Lcmp(LcmpConfig),
    /// The user's own.
    Own(&'static dyn OwnPolicy),
}

impl RunPolicy {
    fn of(plan: &PolicyPlan) -> Result<Self, SimError> {
        Ok(match plan {
            PolicyPlan::Ucmp(plan @ UcmpPlan { ageing: true, .. }) => Self::Ageing(plan.config()),
            PolicyPlan::Ecmp
            | PolicyPlan::Wcmp
            | PolicyPlan::Ucmp(_)
            | PolicyPlan::UcmpArtifact
            | PolicyPlan::Te(_) => Self::Buckets,
            PolicyPlan::Lcmp(config) => Self::Lcmp(config.clone()),
            PolicyPlan::Ebpf(plan) => {
                let object = plan.object.clone();
                return Err(SimError::SwitchProgram { object });
            }
            PolicyPlan::Own(name) => Self::Own(
                own::find(name).ok_or_else(|| SimError::NoOwnPolicy { name: name.clone() })?,
            ),
        })
    }
}

/// What a datacenter's DCI switch decides with.
#[derive(Clone, Debug)]
pub struct SwitchFacts {
    /// The node.
    pub node: u32,
    /// No agent: kernel ECMP.
    pub is_legacy: bool,
    /// Ways to each datacenter, by its number.
    pub ways: Vec<Vec<Way>>,
}

/// The ways of a DCI switch to a datacenter, from a fault on.
#[derive(Clone, Debug)]
pub struct Rescored {
    /// When.
    pub at: SimTime,
    /// The switch's datacenter.
    pub dc: u32,
    /// The other one.
    pub to_dc: u32,
    /// The ways.
    pub ways: Vec<Way>,
}

/// One candidate.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The egress port.
    pub port: u32,
    /// C_path.
    pub c_path: u8,
    /// Its hash buckets.
    pub buckets: u16,
    /// One-way delay of the path behind it, in paper time.
    pub delay: Nanos,
    /// Least capacity on that path, in paper units.
    pub capacity: BitsPerSec,
    /// Links between DCI switches on it.
    pub hops: u32,
}

impl<'p, P: Physics, C: CongestionControl> World<'p, P, C> {
    /// Of the plan's policy at `policy` and its repetition `repetition`.
    ///
    /// # Errors
    /// What cannot be simulated: see [`SimError`].
    pub fn new(
        plan: &'p Plan,
        policy: usize,
        repetition: u32,
        control: C::Parameters,
    ) -> Result<Self, SimError> {
        Self::with_order(plan, policy, repetition, control, None)
    }

    /// The same with equal next hops in `order`, as a routing table has them, instead of in that of
    /// the physics.
    ///
    /// # Errors
    /// What cannot be simulated: see [`SimError`].
    pub fn with_order(
        plan: &'p Plan,
        policy: usize,
        repetition: u32,
        control: C::Parameters,
        order: Option<&NextHopOrder>,
    ) -> Result<Self, SimError> {
        let mut network = Network::new(plan)?;
        let run = plan.policies.get(policy).ok_or(SimError::NoPolicy {
            index: policy,
            count: plan.policies.len(),
        })?;
        let of_repetition = plan.flows.iter();
        let mut planned: Vec<&Flow> = of_repetition
            .filter(|flow| flow.repetition == repetition)
            .collect();
        planned.sort_by_key(|flow| (flow.start_ns, flow.id));
        let identities = P::identities(plan, &planned);
        let order = order.or(identities.next_hop_order.as_ref());
        if let Some(order) = order {
            order_next_hops(&mut network, order);
        }
        let transport = transport::<P, C>(&plan.transport, &control);
        let flows = flows(&network, &planned, &identities, transport.payload)?;
        let is_plain_ecmp = run.policy == PolicyPlan::Ecmp;
        let rescored = rescored(plan, &network, policy);
        let inverse = |ratio: Ratio| ratio.inverse().unwrap_or(Ratio::ONE);
        let switches = switches(plan, &network, run, order);
        let peers: Vec<u32> = network.ports.iter().map(|port| port.peer_dc).collect();
        let board = Board::of(&run.policy, &switches, &peers);
        let least_delay = lookahead(plan)?;
        Ok(Self {
            hash_seeds: by_sim_node(&network, &identities.hash_seeds),
            // What is told at one tick must be known to all before the next.
            lookahead: board
                .as_ref()
                .map_or(least_delay, |board| least_delay.min(board.interval)),
            switches,
            board,
            paper_size: inverse(plan.scale.size),
            paper_rate: inverse(plan.scale.rate),
            common_base_rtt: identities.common_base_rtt,
            largest_window: identities.largest_window,
            plan,
            network,
            flows,
            policy: RunPolicy::of(&run.policy)?,
            rescored,
            is_plain_ecmp,
            control,
            transport,
            physics: PhantomData,
        })
    }

    /// Bytes a QP at `rate` may have unacknowledged, on a line of `line_rate`.
    #[must_use]
    pub fn window(&self, rate: BitsPerSec, line_rate: BitsPerSec) -> u64 {
        match self.transport.window {
            WindowPlan::None => u64::MAX,
            WindowPlan::Bdp => P::window(self.largest_window, rate, line_rate),
            WindowPlan::Bytes(bytes) => bytes.get(),
        }
    }

    /// The same, and no more than its congestion control wants.
    #[must_use]
    pub fn window_of(&self, control: &C, line_rate: BitsPerSec) -> u64 {
        let common = self.window(control.rate(), line_rate);
        control.window_bytes().unwrap_or(u64::MAX).min(common)
    }

    /// Bytes of a data packet with `payload`.
    #[inline]
    #[must_use]
    pub fn data_bytes(&self, payload: u32) -> u32 {
        P::DATA_HEADER_BYTES
            + self.transport.data_extra
            + payload.next_multiple_of(P::PAYLOAD_ALIGN)
    }
}

fn transport<P: Physics, C: CongestionControl>(
    plan: &TransportPlan,
    control: &C::Parameters,
) -> Transport {
    let extra = C::extra_wire_bytes(control);
    let payload = plan.payload_bytes;
    Transport {
        payload,
        full_bytes: P::DATA_HEADER_BYTES + extra.data + payload.next_multiple_of(P::PAYLOAD_ALIGN),
        data_extra: extra.data,
        ack_bytes: P::ACK_BYTES + extra.ack,
        ack_class: if plan.ack_priority {
            STRICT
        } else {
            DATA_CLASS
        },
        nack_interval: plan.nack_interval_ns.into(),
        timeout: plan.retransmit_timeout_ns.map(SimTime::from),
        window: plan.window,
        pfc: plan.pfc,
    }
}

fn flows(
    network: &Network,
    planned: &[&Flow],
    identities: &Identities,
    payload: u32,
) -> Result<Vec<SimFlow>, SimError> {
    let mut sent = vec![0; network.dcs.len()];
    let mut received = vec![0; network.dcs.len()];
    let next = |counts: &mut Vec<u32>, node: u32| {
        let counter = &mut counts[network.nodes[node as usize].dc as usize];
        *counter += 1;
        *counter - 1
    };
    let flow = |(flow, &who): (&&Flow, &FlowIdentity)| {
        let bytes = flow.size_bytes.get();
        let packets = bytes.div_ceil(u64::from(payload)).max(1);
        let (src, dst) = (network.node(flow.src), network.node(flow.dst));
        Ok(SimFlow {
            plan: flow.id,
            src,
            dst,
            sending: next(&mut sent, src),
            receiving: next(&mut received, dst),
            packets: u32::try_from(packets).map_err(|_| SimError::FlowTooLong {
                flow: flow.id.0,
                bytes,
            })?,
            bytes,
            start: flow.start_ns.into(),
            base_rtt: flow.base_rtt_ns.into(),
            who,
        })
    };
    planned.iter().zip(&identities.flows).map(flow).collect()
}

fn switches(
    plan: &Plan,
    network: &Network,
    run: &PolicyRun,
    order: Option<&NextHopOrder>,
) -> Vec<SwitchFacts> {
    let dcs = plan.dcs.iter().zip(&plan.switches).enumerate();
    dcs.map(|(at, (dc, switch))| {
        let mut ways = vec![Vec::new(); plan.dcs.len()];
        for (row, destination) in switch.destinations.iter().enumerate() {
            let way = |(place, candidate): (usize, &lab_plan::Candidate)| Way {
                port: network.port(candidate.port),
                c_path: path_score(run, at, row, place),
                buckets: run.buckets_of(at, row, place),
                delay: candidate.paper_delay_ns,
                capacity: candidate.paper_bottleneck_bps,
                hops: destination.hops,
            };
            let candidates = destination.candidates.iter().enumerate();
            ways[destination.dc.index()] = candidates.map(way).collect();
        }
        if let Some(order) = order {
            order_ways(plan, network, switch.node, &mut ways, order);
        }
        SwitchFacts {
            node: network.node(switch.node),
            is_legacy: dc.legacy,
            ways,
        }
    })
    .collect()
}

fn rescored(plan: &Plan, network: &Network, policy: usize) -> Vec<Rescored> {
    let mut all = Vec::new();
    for fault in &plan.faults {
        for row in fault.rescored.iter().filter(|row| row.policy == policy) {
            let destination = &plan.switches[row.switch].destinations[row.destination];
            let way = |candidate: &lab_plan::ScoredCandidate| Way {
                port: network.port(candidate.port),
                c_path: candidate.c_path,
                buckets: candidate.buckets,
                delay: candidate.paper_delay_ns,
                capacity: candidate.paper_bottleneck_bps,
                hops: destination.hops,
            };
            all.push(Rescored {
                at: fault.at_ns.into(),
                dc: count(row.switch),
                to_dc: destination.dc.0,
                ways: row.candidates.iter().map(way).collect(),
            });
        }
    }
    all
}

/// C_path of a candidate; 0 where the policy has no path scores.
fn path_score(run: &PolicyRun, at: usize, row: usize, place: usize) -> u8 {
    run.path_scores.get(at).map_or(0, |rows| rows[row][place])
}

fn by_sim_node(network: &Network, by_plan_node: &[u32]) -> Vec<u32> {
    let seeds = network.nodes.iter();
    seeds
        .map(|node| by_plan_node.get(node.plan.index()).copied().unwrap_or(0))
        .collect()
}

/// Puts equal next hops inside datacenters in the order given, where there is one.
fn order_next_hops(network: &mut Network, order: &NextHopOrder) {
    let neighbours: Vec<NodeId> = (0..count(network.ports.len()))
        .map(|port| network.neighbour(port))
        .collect();
    for ((node, host), wanted) in &order.neighbours {
        let (node, host) = (network.node(*node), network.node(*host));
        network.order_next_hops(node, host, |&port| place(wanted, neighbours[port as usize]));
    }
}

/// Puts the ways of a switch to a datacenter in the order given for its first host.
fn order_ways(
    plan: &Plan,
    network: &Network,
    node: NodeId,
    ways: &mut [Vec<Way>],
    order: &NextHopOrder,
) {
    for (ways, dc) in ways.iter_mut().zip(&plan.dcs) {
        let Some(host) = dc.hosts.first() else {
            continue;
        };
        if let Some(wanted) = order.neighbours.get(&(node, *host)) {
            ways.sort_by_key(|way| place(wanted, network.neighbour(way.port)));
        }
    }
}

/// Those that are not listed come last.
fn place(wanted: &[NodeId], node: NodeId) -> usize {
    let place = wanted.iter().position(|&other| other == node);
    place.unwrap_or(wanted.len())
}

/// The shortest inter-DC delay, now or after any fault.
fn lookahead(plan: &Plan) -> Result<SimTime, SimError> {
    let inter_dc = |link: &&lab_plan::Link| link.kind == lab_plan::LinkKind::InterDc;
    let mut least = SimTime::MAX;
    for link in plan.links.iter().filter(inter_dc) {
        least = least.min(link.emu.delay_ns.into());
        if least == SimTime::ZERO {
            return Err(SimError::NoDelay {
                link: link.name.clone(),
            });
        }
    }
    for FaultPlan { link, change, .. } in &plan.faults {
        if let lab_plan::FaultChange::Wire(wire) = change {
            least = least.min(wire.delay_ns.into());
            if least == SimTime::ZERO {
                return Err(SimError::NoDelay {
                    link: plan.links[link.index()].name.clone(),
                });
            }
        }
    }
    Ok(least)
}

/// The rate of a host's NIC.
pub(crate) fn nic_rate(plan: &Plan) -> Option<BitsPerSec> {
    let host = plan.nodes.iter().find(|node| node.role == Role::Host)?;
    let link = host.ports.first()?.link();
    Some(plan.links[link.index()].emu.rate_bps)
}
