//! Estimate of a simulation's size before it runs.

use lab_plan::{CcPlan, Flow, HostProfile, Plan, frame};
use lab_units::{Bytes, DcId, NodeId};
use rustc_hash::FxHashMap;

use crate::{error::SimError, network::Network, semantics::rxe::MAX_NOT_ACKED, time::SimTime};

/// Estimated size of one repetition under one policy.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RepetitionCost {
    /// Number of flows that start in the repetition.
    pub flows: u64,
    /// Number of data packets without retransmissions.
    pub data_packets: u64,
    /// Number of times that a packet is put on a wire: data and ACKs on least-delay paths.
    pub packet_hops: u64,
    /// Number of times that a train is put on a wire; without trains equal to `packet_hops`.
    pub train_hops: u64,
    /// Memory for packets in flight and for flows, in bytes.
    pub memory: Bytes,
}

impl RepetitionCost {
    /// Estimates one repetition of `plan` in trains of at most `train` packets, for the flows that start before `until`
    /// (`None` for all flows).
    ///
    /// # Errors
    /// Fails if some switch has no route to a host.
    pub fn of(
        plan: &Plan,
        repetition: u32,
        until: Option<SimTime>,
        train: u32,
    ) -> Result<Self, SimError> {
        let train = u64::from(train.max(1));
        let mut trains: u64 = 0;
        let network = Network::new(plan)?;
        let until = until.unwrap_or(SimTime::MAX);
        let mut lengths = PathLengths::new(plan, &network);
        let mut longest = 0;
        let mut estimate = Self::default();
        let is_counted =
            |flow: &&Flow| flow.repetition == repetition && SimTime::from(flow.start_ns) < until;
        for flow in plan.flows.iter().filter(is_counted) {
            let links = lengths.between(flow.src, flow.dst);
            longest = longest.max(links);
            let (packets, acks) = packets_of(plan, flow);
            estimate.flows += 1;
            estimate.data_packets = estimate.data_packets.saturating_add(packets);
            let hops = packets.saturating_add(acks).saturating_mul(links);
            estimate.packet_hops = estimate.packet_hops.saturating_add(hops);
            trains = trains.saturating_add(packets.div_ceil(train));
            let units = packets.div_ceil(train).saturating_add(acks.div_ceil(train));
            let hops = units.saturating_mul(links);
            estimate.train_hops = estimate.train_hops.saturating_add(hops);
        }
        estimate.memory = memory(plan, &estimate, trains, longest.saturating_sub(1));
        Ok(estimate)
    }
}

/// Returns the numbers of data packets and of ACKs that a flow sends.
fn packets_of(plan: &Plan, flow: &Flow) -> (u64, u64) {
    let payload = plan.transport.payload_bytes;
    match plan.transport.profile {
        HostProfile::Rnic => {
            let packets = frame::packets(flow.size_bytes, payload);
            (packets, packets)
        }
        HostProfile::Rxe => {
            let in_message = frame::packets(flow.message_bytes, payload);
            let requests = in_message.div_ceil(u64::from(MAX_NOT_ACKED) + 1);
            let messages = u64::from(flow.messages);
            (messages * in_message, messages * requests)
        }
    }
}

/// Numbers of links on the least-delay paths between hosts.
struct PathLengths<'a> {
    plan: &'a Plan,
    network: &'a Network,
    /// Known lengths by the numbers of a node and of the receiving host; 0 without a path. Paths to one host share their
    /// last links, so for most paths only the first links must still be walked.
    known: FxHashMap<(u32, u32), u64>,
}

impl<'a> PathLengths<'a> {
    fn new(plan: &'a Plan, network: &'a Network) -> Self {
        Self {
            plan,
            network,
            known: FxHashMap::default(),
        }
    }

    /// Returns the number of links from `src` to `dst`; 0 without a path.
    fn between(&mut self, src: NodeId, dst: NodeId) -> u64 {
        let [mut at, to] = [src, dst].map(|node| self.network.node(node));
        let mut passed = Vec::new();
        let rest = loop {
            if at == to {
                break Some(0);
            }
            if let Some(&known) = self.known.get(&(at, to)) {
                break Some(known).filter(|&known| known > 0);
            }
            passed.push(at);
            match self.next(at, to) {
                Some(next) if passed.len() <= self.network.nodes.len() => at = next,
                _ => break None,
            }
        };
        let length = |links: u64| rest.map_or(0, |rest| rest + links);
        for (node, links) in passed.iter().rev().zip(1..) {
            self.known.insert((*node, to), length(links));
        }
        length(passed.len() as u64)
    }

    /// Returns the next node on the path from node `at` to host `to`; `None` if there is none.
    fn next(&self, at: u32, to: u32) -> Option<u32> {
        let Self { plan, network, .. } = *self;
        let decided = || {
            let switch = plan.switches.get(network.nodes[at as usize].dc as usize)?;
            let row = switch.towards(DcId(network.nodes[to as usize].dc))?;
            Some(network.port(row.candidates.first()?.port))
        };
        let port = network
            .next_hops(at, to)
            .first()
            .copied()
            .or_else(decided)?;
        Some(network.ports[network.ports[port as usize].peer as usize].node)
    }
}

/// Estimates the memory for `trains` and flows, where paths have at most `switches` switches. The packets in flight are
/// limited by the links and their queues and by the flows' packets; each train (a single packet without trains) counts twice, for its ACK.
fn memory(plan: &Plan, estimate: &RepetitionCost, trains: u64, switches: u64) -> Bytes {
    let held = plan
        .links
        .iter()
        .map(|link| {
            let wire = &link.emu;
            let in_flight = wire.rate_bps.bytes_in(wire.delay_ns);
            in_flight
                .saturating_add(wire.buffer_bytes)
                .get()
                .saturating_mul(2)
        })
        .fold(0, u64::saturating_add);
    let room = held / u64::from(plan.transport.payload_bytes.max(1));
    let packets = trains.min(room).saturating_mul(2);
    let each = match &plan.transport.cc {
        CcPlan::Hpcc(hpcc) => {
            // A growing vector doubles its capacity, starting with four.
            let hops = switches.min(hpcc.int_hops.into()).next_power_of_two();
            PACKET_MEMORY + TELEMETRY_MEMORY + HOP_MEMORY * hops.max(4)
        }
        CcPlan::None | CcPlan::Dcqcn(_) | CcPlan::Timely(_) | CcPlan::Dctcp(_) => PACKET_MEMORY,
    };
    let flows = estimate.flows.saturating_mul(FLOW_MEMORY);
    Bytes::new(packets.saturating_mul(each).saturating_add(flows))
}

/// Bytes of memory for a packet on a wire.
const PACKET_MEMORY: u64 = 40;

/// Bytes of memory for a packet's telemetry, without its hops.
const TELEMETRY_MEMORY: u64 = 64;

/// Bytes of memory for the telemetry that one switch writes into a packet.
const HOP_MEMORY: u64 = 32;

/// Bytes of memory for a flow: its static data, QP, receiver, and flow-table entries on its path.
const FLOW_MEMORY: u64 = 1_000;

#[cfg(test)]
mod tests {
    use lab_plan::transport::HpccConfig;

    use super::*;
    use crate::{
        run::{Observer, Progress, RunOptions},
        simulate::{Job, simulate},
        testing,
    };

    struct Silent;

    impl Observer for Silent {
        fn on_event(&mut self, _: crate::trace::TraceEvent) {}

        fn on_progress(&mut self, _: Progress) -> bool {
            true
        }
    }

    #[test]
    fn without_loss_the_packet_hops_are_those_simulated() {
        let plan = testing::pair("ecmp");
        let estimate = RepetitionCost::of(&plan, 0, None, 1).expect("an estimate");
        let outcome = simulate(Job::new(&plan, 0, 0), &RunOptions::default(), &mut Silent)
            .expect("a simulation");
        assert_eq!(estimate.packet_hops, outcome.work.packet_hops);
        assert_eq!(estimate.data_packets, outcome.work.data_packets);
    }

    /// Hosts a1, a2 and c1 send one packet each to b1. From a1 and a2 it crosses the links host, a to c, c to b and host,
    /// from c1 the last two and its own: 4 + 4 + 3 links, and as many for the ACKs.
    #[test]
    fn flows_to_one_host_share_the_end_of_their_paths() {
        let plan = testing::plan(
            "
name: chain
topology:
  dcs: [{ name: a, hosts: 2 }, { name: b, hosts: 1 }, { name: c, hosts: 1 }]
  links: [{ between: [a, c], rate: 100 Gbit, delay: 5 ms }, { between: [c, b], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows:
      - { from: a/h1, to: b/h1, size: 1 kB }
      - { from: a/h2, to: b/h1, size: 1 kB }
      - { from: c/h1, to: b/h1, size: 1 kB }
policies: [ecmp]
",
        );
        let estimate = RepetitionCost::of(&plan, 0, None, 1).expect("an estimate");
        assert_eq!((estimate.data_packets, estimate.packet_hops), (3, 22));
    }

    /// A packet stores telemetry for the two switches on its path, however many it has room for: 40 + 64 bytes, and 32
    /// bytes per entry of a vector that starts with four.
    #[test]
    fn telemetry_takes_the_memory_of_the_switches_on_a_path() {
        let [small, large] = [5, 64].map(|int_hops| {
            let mut plan = testing::pair("ecmp");
            plan.transport.cc = CcPlan::Hpcc(HpccConfig {
                int_hops,
                ..HpccConfig::PAPER
            });
            RepetitionCost::of(&plan, 0, None, 1).expect("an estimate")
        });
        assert_eq!(small, large);
        let by_hand = 2 * small.data_packets * 232 + small.flows * 1_000;
        assert_eq!(small.memory.get(), by_hand);
    }

    #[test]
    fn flows_that_start_too_late_cost_nothing() {
        let plan = testing::pair("ecmp");
        let none = RepetitionCost::of(&plan, 0, Some(SimTime::ZERO), 1).expect("an estimate");
        assert_eq!(none, RepetitionCost::default());
        let other = RepetitionCost::of(&plan, 1, None, 1).expect("an estimate");
        assert_eq!(other.flows, 0);
    }
}
