//! Estimated cost of a plan's run: on the reference guest, which has one virtual CPU with 10^9 instructions per second,
//! and on a machine of known capacity.

use std::collections::BTreeMap;

use lab_units::{BitsPerSec, Bytes, Clock, Nanos, NodeId, Tool};
use serde::{Deserialize, Serialize};

use crate::{
    capacity::Capacity,
    frame, ideal,
    model::{Estimate, Flow, LinkKind, MeasurePlan, Plan, PolicyRun, Rdma, Role},
    network::Network,
    offer::{Costs, Offer, WINDOW, busy, count, peak_percent, percent, saturating_times},
    paths::{self, Paths},
    round_trip::{self, RoundTrips},
    transport::TransportPlan,
};

/// Estimated cost of a plan's flows on a machine, for all policies and repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PlaceEstimate {
    /// Time for which flows and sampling keep the machine busy, by the lab's clock.
    pub busy_ns: Nanos,
    /// Wall-clock time of all runs, if no policy overloads a path.
    pub wall_ns: Nanos,
    /// Sum over data packets and ACKs of the number of links that each crosses, without retransmissions.
    pub packet_hops: u64,
    /// Time of all runs by the lab's clock, if no policy overloads a path.
    pub lab_ns: Nanos,
    /// Maximum percentage of the machine's capacity that flows use in any second of the lab's clock.
    pub peak_percent: u32,
}

/// Estimates the cost of all flows in `plan` on a machine with `capacity`.
#[must_use]
pub fn estimate_at(plan: &Plan, capacity: &Capacity) -> PlaceEstimate {
    let network = Network::of(plan);
    let inputs = EstimateInputs {
        network: &network,
        paths: &Paths::find(&network, plan.candidate_set),
        flows: &plan.flows,
        repetitions: plan.repetitions,
        rdma: &plan.rdma,
        policies: &plan.policies,
        measure: &plan.measure,
        transport: &plan.transport,
    };
    at_place(&inputs, capacity)
}

/// Estimates the cost of all flows on a machine with `capacity`.
pub(crate) fn at_place(inputs: &EstimateInputs<'_>, capacity: &Capacity) -> PlaceEstimate {
    let costs = Costs::at(capacity, inputs.rdma.tool);
    let offers = offers(inputs);
    let span = round_trip::ideal_end(inputs.flows);
    let once = |costs: &Costs| busy(&offers, costs).saturating_add(sampling(inputs, span, costs));
    let wall_costs = Costs::on_the_wall(capacity, inputs.rdma.tool);
    let policies = count(inputs.policies.len());
    let runs = policies.saturating_mul(u64::from(inputs.repetitions));
    let busy_ns = saturating_times(once(&costs), policies);
    let busy_wall = saturating_times(once(&wall_costs), policies);
    let packet_hops: u64 = offers.iter().map(|offer| offer.packet_hops).sum();
    // In a resolved network, every host can reach every other host.
    let mtu = inputs.rdma.path_mtu;
    let longest = RoundTrips::longest(inputs.network, inputs.paths, mtu, Bytes::ZERO)
        .map_or(Nanos::ZERO, |trips| trips.base);
    let last = inputs.flows.iter().map(|flow| flow.start_ns).max();
    let end = last.unwrap_or(Nanos::ZERO).saturating_add(longest);
    let lab = span.max(end);
    PlaceEstimate {
        busy_ns,
        wall_ns: wall(capacity, busy_wall, lab, runs),
        packet_hops: packet_hops.saturating_mul(policies),
        lab_ns: saturating_times(lab, runs),
        peak_percent: peak_percent(&offers, &costs),
    }
}

/// Returns the wall-clock time of `runs` runs. Each takes `lab` by the lab's clock if nothing is overloaded, and
/// together they keep the machine busy for `busy` of wall-clock time.
pub(crate) fn wall(capacity: &Capacity, busy: Nanos, lab: Nanos, runs: u64) -> Nanos {
    match capacity.place.clock() {
        // A virtual clock skips idle time.
        Clock::Virtual => busy,
        Clock::Real => saturating_times(lab.saturating_add(REAL_START), runs).max(busy),
    }
}

pub(crate) struct EstimateInputs<'a> {
    pub network: &'a Network,
    pub paths: &'a Paths,
    pub flows: &'a [Flow],
    pub repetitions: u32,
    pub rdma: &'a Rdma,
    pub policies: &'a [PolicyRun],
    pub measure: &'a MeasurePlan,
    pub transport: &'a TransportPlan,
}

/// Estimates the cost of a plan's run on the reference guest.
pub(crate) fn estimate(inputs: &EstimateInputs<'_>) -> Estimate {
    let offers = offers(inputs);
    let data_packets = offers.iter().map(|offer| offer.data_packets).sum();
    let packet_hops = offers.iter().map(|offer| offer.packet_hops).sum();
    let span_ns = round_trip::ideal_end(inputs.flows);
    let costs = Costs::reference(inputs.rdma.tool);
    let cpu = [busy(&offers, &costs), sampling(inputs, span_ns, &costs)];
    Estimate {
        data_packets,
        packet_hops,
        cpu_ns: cpu.into_iter().sum(),
        span_ns,
        memory_bytes: memory(inputs),
        forwarding_percent: busiest_percent(inputs, &offers, &costs),
        sub_packet_flows_percent: sub_packet_percent(inputs),
        packet_vs_delay_percent: packet_vs_delay_percent(inputs),
    }
}

fn offers(inputs: &EstimateInputs<'_>) -> Vec<Offer> {
    let is_paced = inputs.transport.cc.in_lab().is_some();
    let mut ways: BTreeMap<(NodeId, NodeId), (usize, Option<BitsPerSec>)> = BTreeMap::new();
    let offers = inputs.flows.iter().map(|flow| {
        let &mut (links, rate) = ways.entry((flow.src, flow.dst)).or_insert_with(|| {
            let ports = paths::host_path(inputs.network, inputs.paths, flow.src, flow.dst);
            let slowest = ideal::hops(inputs.network, &ports)
                .into_iter()
                .map(|hop| hop.rate)
                .min();
            (ports.len(), slowest)
        });
        let packets = frame::packets(flow.message_bytes, inputs.rdma.path_mtu);
        let offer = Offer::new(
            flow.repetition,
            flow.start_ns,
            flow.messages,
            packets,
            links,
        );
        let span = rate.and_then(|rate| rate.serialize(flow.size_bytes));
        Offer {
            span: span.unwrap_or(Nanos::ZERO),
            paced_packets: if is_paced { offer.data_packets } else { 0 },
            ..offer
        }
    });
    offers.collect()
}

/// Returns the maximum percentage of a second for which flows and samples keep the machine busy.
fn busiest_percent(inputs: &EstimateInputs<'_>, offers: &[Offer], costs: &Costs) -> u32 {
    if offers.is_empty() {
        return 0;
    }
    let sampling = sampling_once(inputs, WINDOW, costs);
    peak_percent(offers, costs).saturating_add(percent(sampling.get(), WINDOW.get()))
}

/// Returns the time for which agents and recorders keep the machine busy in one policy's run, whose repetitions take
/// `span` each.
fn sampling(inputs: &EstimateInputs<'_>, span: Nanos, costs: &Costs) -> Nanos {
    saturating_times(
        sampling_once(inputs, span, costs),
        u64::from(inputs.repetitions),
    )
}

fn sampling_once(inputs: &EstimateInputs<'_>, span: Nanos, costs: &Costs) -> Nanos {
    let every = |period: Nanos| span.get() / period.get().max(1);
    let lcmp = inputs.policies.iter().filter_map(|run| run.policy.lcmp());
    let sampling = lcmp.map(|config| every(config.sample_interval_ns)).max();
    let recording = every(inputs.measure.queues_ns).saturating_add(every(inputs.measure.links_ns));
    let wake_ups = sampling.unwrap_or(0).saturating_add(recording);
    let switches = inputs
        .network
        .nodes
        .iter()
        .filter(|node| node.role == Role::DciSwitch);
    let once = switches
        .map(|node| {
            let links = saturating_times(costs.read_link, count(node.ports.len()));
            costs.wake_up.saturating_add(links)
        })
        .fold(Nanos::ZERO, Nanos::saturating_add);
    saturating_times(once, wake_ups)
}

/// Estimates the memory for namespaces, rxe devices, agents, flows, and packets in queues and in flight.
fn memory(inputs: &EstimateInputs<'_>) -> Bytes {
    let nodes = count(inputs.network.nodes.len()).saturating_mul(NODE_MEMORY);
    let hosts = inputs
        .network
        .nodes
        .iter()
        .filter(|node| node.role == Role::Host)
        .count();
    let devices = count(hosts).saturating_mul(RXE_MEMORY);
    let agents = agents(inputs.network).saturating_mul(AGENT_MEMORY + AGENT_MAP_MEMORY);
    let flows = max_concurrent(inputs.flows).saturating_mul(flow_memory(inputs.rdma.tool));
    let repetitions = inputs.flows.chunk_by(|a, b| a.repetition == b.repetition);
    let sent: Bytes = repetitions
        .map(|flows| flows.iter().map(|flow| flow.size_bytes).sum())
        .max()
        .unwrap_or(Bytes::ZERO);
    let held = inputs.network.links.iter().map(|link| {
        let wire = &link.emu;
        let in_flight = wire.rate_bps.bytes_in(wire.delay_ns);
        in_flight.saturating_add(wire.buffer_bytes)
    });
    // A queue or delay line never holds more than the flows send.
    let held: Bytes = held.sum();
    let packets = sent.min(held).get().saturating_mul(PACKET_OVERHEAD);
    let total = nodes
        .saturating_add(devices)
        .saturating_add(agents)
        .saturating_add(flows)
        .saturating_add(packets);
    Bytes::new(total)
}

/// Returns the maximum number of switch agents at one time: one for each switch that has an agent, and one more, because
/// the memory of an agent that was killed may not be free yet when the next one starts.
fn agents(network: &Network) -> u64 {
    let with_agent = network
        .nodes
        .iter()
        .filter(|node| node.role == Role::DciSwitch && !network.dcs[node.dc.index()].legacy);
    match with_agent.count() {
        0 => 0,
        agents => count(agents).saturating_add(1),
    }
}

/// Returns the memory of a flow's two end points, in bytes.
const fn flow_memory(tool: Tool) -> u64 {
    match tool {
        Tool::Verbs => PAIR_MEMORY,
        Tool::SendBw | Tool::WriteBw | Tool::ReadBw => 2 * PROCESS_MEMORY,
    }
}

/// Returns the maximum number of concurrent flows if each flow takes [`SLOWDOWN`] times its ideal FCT.
fn max_concurrent(flows: &[Flow]) -> u64 {
    let mut max = 0;
    for repetition in flows.chunk_by(|a, b| a.repetition == b.repetition) {
        let mut steps = Vec::new();
        for flow in repetition {
            let slow = Nanos::new(flow.ideal_fct_ns.get().saturating_mul(SLOWDOWN));
            steps.push((flow.start_ns, 1i64));
            steps.push((flow.start_ns.saturating_add(slow), -1));
        }
        steps.sort_unstable();
        let mut now = 0i64;
        for (_, step) in steps {
            now += step;
            max = max.max(now);
        }
    }
    u64::try_from(max).unwrap_or(0)
}

fn sub_packet_percent(inputs: &EstimateInputs<'_>) -> u32 {
    let packet = u64::from(inputs.rdma.path_mtu);
    let small = inputs
        .flows
        .iter()
        .filter(|flow| flow.size_bytes.get() < packet)
        .count();
    percent(count(small), count(inputs.flows.len()))
}

fn packet_vs_delay_percent(inputs: &EstimateInputs<'_>) -> u32 {
    let inter_dc = || {
        inputs
            .network
            .links
            .iter()
            .filter(|link| link.kind == LinkKind::InterDc)
    };
    let packet = Bytes::new(frame::HEADERS + u64::from(inputs.rdma.path_mtu));
    let slowest = inter_dc().filter_map(|link| link.emu.rate_bps.serialize(packet));
    let shortest = inter_dc().map(|link| link.emu.delay_ns).min();
    match (slowest.max(), shortest) {
        (Some(packet), Some(delay)) => percent(packet.get(), delay.get()),
        _ => 0,
    }
}

/// Time to start a run's agents and to align its start, on the real clock.
const REAL_START: Nanos = Nanos::from_millis(3_000);

/// Memory of a network namespace with its interfaces, in bytes. Measured: about 60 MB for 200 namespaces.
const NODE_MEMORY: u64 = 300_000;

/// Memory of an rxe device, mostly kernel tables, in bytes. Measured: about 14 MB.
const RXE_MEMORY: u64 = 14_000_000;

/// Memory of a switch agent's process that it shares with no other process, in bytes. Measured: 29,132 kB of anonymous
/// memory, as a guest of 2 GiB without free memory reported it for each of 28 agents.
const AGENT_MEMORY: u64 = 30_000_000;

/// Kernel memory of a switch's eBPF maps and programs, in bytes. Measured by `lcmp-lab account`: 7.34 MB for the flow
/// table, which is allocated at once, and 0.6 MB for all others.
const AGENT_MAP_MEMORY: u64 = 8_000_000;

/// Memory of a perftest process, in bytes. Measured: 400 MB for 32 processes with 304 QPs.
const PROCESS_MEMORY: u64 = 12_000_000;

/// Memory of a verbs flow's two queue pairs, in bytes.
const PAIR_MEMORY: u64 = 100_000;

/// Maximum memory per byte of a queued packet: buffer sizes are powers of two, so a buffer has up to twice the packet's
/// size.
const PACKET_OVERHEAD: u64 = 2;

/// Assumed slowdown of a flow under load.
const SLOWDOWN: u64 = 4;
