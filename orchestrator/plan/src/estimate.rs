//! Cost of a plan's run: on the reference guest, one virtual CPU of 10^9 instructions a second, and at a
//! place of known capacity.

use std::collections::BTreeMap;

use lab_units::{Bytes, Clock, Nanos, NodeId, Ratio, Tool};
use serde::{Deserialize, Serialize};

use crate::{
    capacity::{Capacity, REFERENCE_FLOW, REFERENCE_HOP},
    frame,
    model::{Estimate, Flow, LinkKind, MeasurePlan, Plan, PolicyRun, Rdma, Role},
    network::Network,
    paths::{self, Paths},
    round_trip::{self, RoundTrips},
};

/// Cost of all flows of a plan at a place: all policies, all repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PlaceEstimate {
    /// Time for which flows keep the place busy, lab's clock.
    pub busy_ns: Nanos,
    /// Wall-clock time of the flows, unless a policy overloads a path.
    pub wall_ns: Nanos,
    /// Data and ACK packets times the links they cross, without retransmissions.
    pub packet_hops: u64,
    /// Time of the flows by the lab's clock, unless a policy overloads a path.
    pub lab_ns: Nanos,
    /// Largest share of the place that one second of the lab's clock takes, percent.
    pub peak_percent: u32,
}

/// Returns the cost of all flows of `plan` at a place of `capacity`.
#[must_use]
pub fn estimate_at(plan: &Plan, capacity: &Capacity) -> PlaceEstimate {
    let network = Network::of(plan);
    let paths = Paths::find(&network);
    let inputs = EstimateInputs {
        network: &network,
        paths: &paths,
        flows: &plan.flows,
        repetitions: plan.repetitions,
        rdma: &plan.rdma,
        policies: &plan.policies,
        measure: &plan.measure,
    };
    let costs = Costs::at(capacity, plan.rdma.tool);
    let offers = offers(&inputs);
    let span = round_trip::ideal_end(&plan.flows);
    let wake_ups = wake_ups(&inputs, span);
    let once = |costs: &Costs| {
        busy(&offers, costs).saturating_add(saturating_times(costs.wake_up, wake_ups))
    };
    let wall_costs = Costs::on_the_wall(capacity, plan.rdma.tool);
    let policies = count(plan.policies.len());
    let runs = policies.saturating_mul(u64::from(plan.repetitions));
    let busy_ns = saturating_times(once(&costs), policies);
    let busy_wall = saturating_times(once(&wall_costs), policies);
    let packet_hops: u64 = offers.iter().map(|offer| offer.packet_hops).sum();
    // A plan has been resolved, so every host reaches every other.
    let longest = RoundTrips::longest(&network, &paths, plan.rdma.path_mtu, Bytes::ZERO);
    let longest = longest.map_or(Nanos::ZERO, |trips| trips.base);
    let last = plan.flows.iter().map(|flow| flow.start_ns).max();
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

/// Returns the wall-clock time of `runs` runs that take `lab` each, if nothing overloads a path, and keep
/// the place busy for `busy` of wall-clock time together.
pub(crate) fn wall(capacity: &Capacity, busy: Nanos, lab: Nanos, runs: u64) -> Nanos {
    match capacity.place.clock() {
        // Idle time is skipped.
        Clock::Virtual => busy,
        Clock::Real => saturating_times(lab.saturating_add(REAL_START), runs).max(busy),
    }
}

/// Inputs of an estimate.
pub(crate) struct EstimateInputs<'a> {
    pub network: &'a Network,
    pub paths: &'a Paths,
    pub flows: &'a [Flow],
    pub repetitions: u32,
    pub rdma: &'a Rdma,
    pub policies: &'a [PolicyRun],
    pub measure: &'a MeasurePlan,
}

/// Returns the estimate of `inputs`.
pub(crate) fn estimate(inputs: &EstimateInputs<'_>) -> Estimate {
    let offers = offers(inputs);
    let data_packets = offers.iter().map(|offer| offer.data_packets).sum();
    let packet_hops = offers.iter().map(|offer| offer.packet_hops).sum();
    let span_ns = round_trip::ideal_end(inputs.flows);
    let costs = Costs::reference(inputs.rdma.tool);
    let cpu = [
        busy(&offers, &costs),
        saturating_times(costs.wake_up, wake_ups(inputs, span_ns)),
    ];
    Estimate {
        data_packets,
        packet_hops,
        cpu_ns: cpu.into_iter().sum(),
        span_ns,
        memory_bytes: memory(inputs),
        forwarding_percent: peak_percent(&offers, &costs),
        sub_packet_flows_percent: sub_packet_percent(inputs),
        packet_vs_delay_percent: packet_vs_delay_percent(inputs),
    }
}

/// Packets that one flow offers to the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub repetition: u32,
    pub start: Nanos,
    pub data_packets: u64,
    pub packet_hops: u64,
}

impl Offer {
    /// A flow of `messages` of `packets` each over `links` links.
    pub fn new(repetition: u32, start: Nanos, messages: u32, packets: u64, links: usize) -> Self {
        let messages = u64::from(messages);
        let data_packets = messages * packets;
        let acks = messages * packets.div_ceil(frame::PACKETS_PER_ACK);
        Self {
            repetition,
            start,
            data_packets,
            packet_hops: (data_packets + acks) * count(links),
        }
    }

    /// Returns the offer with its start scaled by `time`.
    pub fn stretched(&self, time: Ratio) -> Self {
        Self {
            start: Nanos::new(time.scale_nearest(self.start.get())),
            ..*self
        }
    }
}

/// Time for which one of each keeps a place busy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// A packet on one link.
    hop: Nanos,
    /// A flow's end points, over the whole run.
    flow: Nanos,
    /// A flow's end points while time runs: perftest's processes start before.
    flow_in_time: Nanos,
    /// A wake-up of an agent or a recorder.
    wake_up: Nanos,
}

impl Costs {
    /// Costs on the reference guest.
    pub const fn reference(tool: Tool) -> Self {
        let (flow, flow_in_time) = match tool {
            Tool::Verbs => (REFERENCE_FLOW, REFERENCE_FLOW),
            Tool::SendBw | Tool::WriteBw | Tool::ReadBw => {
                (Nanos::new(2 * PROCESS_CPU.get()), Nanos::ZERO)
            }
        };
        Self {
            hop: REFERENCE_HOP,
            flow,
            flow_in_time,
            wake_up: WAKE_UP_CPU,
        }
    }

    /// Costs at a place of `capacity`, lab's clock.
    pub fn at(capacity: &Capacity, tool: Tool) -> Self {
        Self::of(capacity.flow_ns, capacity.hop_ns, tool)
    }

    /// Costs at a place of `capacity`, wall-clock time.
    pub fn on_the_wall(capacity: &Capacity, tool: Tool) -> Self {
        Self::of(capacity.flow_wall_ns, capacity.hop_wall_ns, tool)
    }

    /// Costs that are not measured are the reference guest's, processes in proportion to a flow's, wake-ups
    /// to a packet's.
    fn of(flow_ns: Nanos, hop_ns: Nanos, tool: Tool) -> Self {
        let reference = Self::reference(tool);
        let in_proportion = |cost: Nanos, measured: Nanos, of: Nanos| {
            let cost = u128::from(cost.get()) * u128::from(measured.get()) / u128::from(of.get());
            Nanos::new(u64::try_from(cost).unwrap_or(u64::MAX))
        };
        let (flow, flow_in_time) = match tool {
            Tool::Verbs => (flow_ns, flow_ns),
            Tool::SendBw | Tool::WriteBw | Tool::ReadBw => (
                in_proportion(reference.flow, flow_ns, REFERENCE_FLOW),
                Nanos::ZERO,
            ),
        };
        Self {
            hop: hop_ns,
            flow,
            flow_in_time,
            wake_up: in_proportion(reference.wake_up, hop_ns, REFERENCE_HOP),
        }
    }
}

/// Returns the time for which `offers` keep a place busy.
pub(crate) fn busy(offers: &[Offer], costs: &Costs) -> Nanos {
    let hops = offers.iter().map(|offer| offer.packet_hops).sum();
    saturating_times(costs.hop, hops)
        .saturating_add(saturating_times(costs.flow, count(offers.len())))
}

fn offers(inputs: &EstimateInputs<'_>) -> Vec<Offer> {
    let mut lengths: BTreeMap<(NodeId, NodeId), usize> = BTreeMap::new();
    let offers = inputs.flows.iter().map(|flow| {
        let links = *lengths.entry((flow.src, flow.dst)).or_insert_with(|| {
            paths::host_path(inputs.network, inputs.paths, flow.src, flow.dst, None).len()
        });
        let packets = frame::packets(flow.message_bytes, inputs.rdma.path_mtu);
        Offer::new(
            flow.repetition,
            flow.start_ns,
            flow.messages,
            packets,
            links,
        )
    });
    offers.collect()
}

/// Times an agent or a recorder wakes up in one policy's run.
fn wake_ups(inputs: &EstimateInputs<'_>, span: Nanos) -> u64 {
    let switches = count(inputs.network.dcs.len());
    let every = |period: Nanos| span.get() / period.get().max(1) * switches;
    let lcmp = inputs.policies.iter().filter_map(|run| run.policy.lcmp());
    let sampling = lcmp.map(|config| every(config.sample_interval_ns));
    let recording = every(inputs.measure.queues_ns).saturating_add(every(inputs.measure.links_ns));
    let once = sampling.max().unwrap_or(0).saturating_add(recording);
    once.saturating_mul(u64::from(inputs.repetitions))
}

/// Namespaces, rxe devices, processes, and packets in queues and on the way.
fn memory(inputs: &EstimateInputs<'_>) -> Bytes {
    let nodes = count(inputs.network.nodes.len()).saturating_mul(NODE_MEMORY);
    let hosts = inputs.network.nodes.iter();
    let hosts = hosts.filter(|node| node.role == Role::Host).count();
    let devices = count(hosts).saturating_mul(RXE_MEMORY);
    let flows = max_concurrent(inputs.flows).saturating_mul(flow_memory(inputs.rdma.tool));
    let repetitions = inputs.flows.chunk_by(|a, b| a.repetition == b.repetition);
    let sent = repetitions.map(|flows| flows.iter().map(|flow| flow.size_bytes).sum());
    let sent: Bytes = sent.max().unwrap_or(Bytes::ZERO);
    let held = inputs.network.links.iter().map(|link| {
        let wire = &link.emu;
        let in_flight = wire.rate_bps.bytes_in(wire.delay_ns);
        in_flight.saturating_add(wire.buffer_bytes)
    });
    // Nothing holds more than is sent.
    let held: Bytes = held.sum();
    let packets = sent.min(held).get().saturating_mul(PACKET_OVERHEAD);
    let total = nodes
        .saturating_add(devices)
        .saturating_add(flows)
        .saturating_add(packets);
    Bytes::new(total)
}

/// Bytes of memory of a flow's end points.
const fn flow_memory(tool: Tool) -> u64 {
    match tool {
        Tool::Verbs => PAIR_MEMORY,
        Tool::SendBw | Tool::WriteBw | Tool::ReadBw => 2 * PROCESS_MEMORY,
    }
}

/// Largest number of concurrent flows, each [`SLOWDOWN`] times slower than its ideal.
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

/// Returns the largest share of a place that the flows of one [`WINDOW`] take, percent.
///
/// `offers` are by repetition, then start.
pub(crate) fn peak_percent(offers: &[Offer], costs: &Costs) -> u32 {
    let cost = |offer: &Offer| {
        let packets = costs.hop.get().saturating_mul(offer.packet_hops);
        packets.saturating_add(costs.flow_in_time.get())
    };
    let mut max = 0u64;
    let (mut first, mut taken) = (0, 0u64);
    for offer in offers {
        taken = taken.saturating_add(cost(offer));
        let is_past = |other: &Offer| {
            other.repetition != offer.repetition
                || offer.start.saturating_sub(other.start) >= WINDOW
        };
        while is_past(&offers[first]) {
            taken = taken.saturating_sub(cost(&offers[first]));
            first += 1;
        }
        max = max.max(taken);
    }
    percent(max, WINDOW.get())
}

fn sub_packet_percent(inputs: &EstimateInputs<'_>) -> u32 {
    let packet = u64::from(inputs.rdma.path_mtu);
    let small = inputs.flows.iter();
    let small = small.filter(|flow| flow.size_bytes.get() < packet).count();
    percent(count(small), count(inputs.flows.len()))
}

fn packet_vs_delay_percent(inputs: &EstimateInputs<'_>) -> u32 {
    let inter_dc = || {
        let links = inputs.network.links.iter();
        links.filter(|link| link.kind == LinkKind::InterDc)
    };
    let packet = Bytes::new(frame::HEADERS + u64::from(inputs.rdma.path_mtu));
    let slowest = inter_dc().filter_map(|link| link.emu.rate_bps.serialize(packet));
    let shortest = inter_dc().map(|link| link.emu.delay_ns).min();
    match (slowest.max(), shortest) {
        (Some(packet), Some(delay)) => percent(packet.get(), delay.get()),
        _ => 0,
    }
}

/// `part` in percent of `whole`, rounded up so that little is not nothing.
fn percent(part: u64, whole: u64) -> u32 {
    if part == 0 {
        return 0;
    }
    let percent = (u128::from(part) * 100).div_ceil(u128::from(whole.max(1)));
    u32::try_from(percent).unwrap_or(u32::MAX)
}

fn saturating_times(time: Nanos, count: u64) -> Nanos {
    Nanos::new(time.get().saturating_mul(count))
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// CPU time of one perftest process, max of it calibrating its clock. Measured: 0.25 s.
pub(crate) const PROCESS_CPU: Nanos = Nanos::from_millis(250);

/// CPU time of dumping a switch's queues. Measured: 43 µs, and the wake-up.
const WAKE_UP_CPU: Nanos = Nanos::new(50_000);

/// Window over which offered packets and flows are counted: queues hold about this much.
const WINDOW: Nanos = Nanos::from_millis(1_000);

/// Time on the real clock for starting the agents of a run and for aligning its start.
const REAL_START: Nanos = Nanos::from_millis(3_000);

/// A namespace with its interfaces. Measured: 200 namespaces in some 60 MB.
const NODE_MEMORY: u64 = 300_000;

/// An rxe device, max of it kernel tables made with it. Measured: some 14 MB.
const RXE_MEMORY: u64 = 14_000_000;

/// A perftest process. Measured: 32 of them with 304 QPs in 400 MB.
const PROCESS_MEMORY: u64 = 12_000_000;

/// The two queue pairs of a verbs flow.
const PAIR_MEMORY: u64 = 100_000;

/// Bytes of memory for each wire byte of a packet: buffers are powers of two.
const PACKET_OVERHEAD: u64 = 2;

/// Assumed slowdown of a flow under load.
const SLOWDOWN: u64 = 4;
