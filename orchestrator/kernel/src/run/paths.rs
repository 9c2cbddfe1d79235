//! Paths of flows, derived from the ports to which switches pinned the flows.

use std::{collections::BTreeMap, net::Ipv4Addr};

use lab_abi::{
    dcqcn::{CNP_QP, QpKey},
    wire::DecisionReport,
};
use lab_generators::contract::{QpAddress, Side, Tool};
use lab_plan::model::{Flow, Plan};
use lab_recorder::{Hops, Packets, PathRange, ReachedDc};
use lab_records::DcPath;
use lab_units::{DcId, FlowId, Nanos};

/// Ports to which DCI switches have pinned flows, and the paths that result.
#[derive(Debug)]
pub(super) struct PinnedPaths<'a> {
    plan: &'a Plan,
    tool: Tool,
    hops: BTreeMap<FlowDirection, Pinned>,
    /// Flow to which each direction (data or acknowledgements) belongs; a flow is added once its QPs are known.
    flows: BTreeMap<FlowDirection, FlowId>,
}

/// Hops of a flow in one direction, and the sequence number of the first packet in that direction.
#[derive(Clone, Debug, Default)]
struct Pinned {
    hops: Hops,
    /// Packet sequence number (PSN) of the first packet for which a decision was recorded.
    first_psn: Option<u32>,
}

/// One direction of a flow, identified by header fields that every switch on the path sees.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct FlowDirection {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    dest_qp: u32,
}

/// The directions of a flow's packets. A CNP has the addresses and ports of an ACK, but the QP number of the data.
#[derive(Clone, Copy, Debug)]
struct Directions {
    data: FlowDirection,
    ack: FlowDirection,
    cnp: FlowDirection,
}

/// Start and end of a flow, in emulated time relative to the repetition's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowTime {
    pub start: Nanos,
    /// `None` unless the flow has finished.
    pub end: Option<Nanos>,
}

/// Paths of a flow's data and acknowledgements; `None` while a path is unknown.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct FlowPaths {
    pub data: Option<DcPath>,
    pub ack: Option<DcPath>,
}

impl<'a> PinnedPaths<'a> {
    /// Creates an empty set of paths, for flows that `tool` generates.
    pub(super) const fn new(plan: &'a Plan, tool: Tool) -> Self {
        Self {
            plan,
            tool,
            hops: BTreeMap::new(),
            flows: BTreeMap::new(),
        }
    }

    /// Registers the QPs of a flow, so that decisions can be assigned to the flow.
    pub(super) fn connect(&mut self, flow: &Flow, client_qp: QpAddress, server_qp: QpAddress) {
        for direction in self.directions([client_qp, server_qp]).all() {
            self.flows.insert(direction, flow.id);
        }
    }

    /// Adds a routing decision of the switch in `dc`; returns the flow that the decision is for, if the flow is in the
    /// schedule.
    pub(super) fn decide(&mut self, dc: DcId, report: &DecisionReport) -> Option<FlowId> {
        let direction = FlowDirection {
            src: report.src_ip,
            dst: report.dst_ip,
            dest_qp: report.dest_qp?,
        };
        let pinned = self.hops.entry(direction).or_default();
        let packet = pinned.packet(report.psn);
        let to = ReachedDc::through(self.plan, report.port);
        pinned.hops.add(dc, to, packet);
        self.flows.get(&direction).copied()
    }

    /// Returns the paths of the flow between these QPs.
    pub(super) fn of(&self, flow: &Flow, time: FlowTime, qps: [QpAddress; 2]) -> FlowPaths {
        let Directions { data, ack, cnp } = self.directions(qps);
        let [there, back] = self.ends(flow);
        let sent = self.forwarded_at(data, there, time);
        let path = |direction, ends, at| self.hops_of(direction).path(self.plan, ends, at);
        // The first acknowledgement is sent when data arrives.
        let arrival = self.hops_of(data).arrival(self.plan, there, sent);
        let ack_time = FlowTime {
            start: arrival.unwrap_or(sent),
            ..time
        };
        let ack_path = |direction| {
            path(
                direction,
                back,
                self.forwarded_at(direction, back, ack_time),
            )
        };
        FlowPaths {
            data: path(data, there, sent),
            // If a CNP arrived before the first ACK, the decision for the CNP also applies to ACKs.
            ack: ack_path(ack).or_else(|| ack_path(cnp)),
        }
    }

    /// Returns the send time of the first packets in `direction` that arrive, as far as the plan's cuts tell: the
    /// flow's start or, if a cut loses the packets sent then, the flow's end, because a finished flow's last packets
    /// arrive.
    fn forwarded_at(&self, direction: FlowDirection, ends: [DcId; 2], time: FlowTime) -> Nanos {
        let is_lost = self
            .hops_of(direction)
            .is_cut_off(self.plan, ends, time.start);
        time.end.filter(|_| is_lost).unwrap_or(time.start)
    }

    fn hops_of(&self, direction: FlowDirection) -> &Hops {
        const NONE: &Hops = &Hops::NONE;
        self.hops.get(&direction).map_or(NONE, |it| &it.hops)
    }

    /// Returns the flow's datacenters from the data's source to its destination, and the other way.
    fn ends(&self, flow: &Flow) -> [[DcId; 2]; 2] {
        let [from, to] = [flow.src, flow.dst].map(|node| self.plan.nodes[node.index()].dc);
        [[from, to], [to, from]]
    }

    /// Returns the path of each byte range of the flow between these QPs, in byte order.
    pub(super) fn ranges(
        &self,
        flow: &Flow,
        time: FlowTime,
        qps: [QpAddress; 2],
    ) -> Vec<PathRange> {
        let data = self.directions(qps).data;
        let Some(pinned) = self.hops.get(&data) else {
            return Vec::new();
        };
        let [there, _] = self.ends(flow);
        let mtu = self.plan.rdma.path_mtu;
        let messages = u64::from(flow.messages);
        let packets = Packets {
            messages,
            of_message: flow.packets(mtu) / messages.max(1),
            message_bytes: flow.message_bytes.get(),
            payload: mtu.into(),
        };
        let sent = self.forwarded_at(data, there, time);
        pinned.hops.ranges(self.plan, there, sent, packets)
    }

    /// Returns the key by which host programs identify the QP that sends a flow's data packets.
    pub(super) fn sending_qp(&self, client_qp: QpAddress, server_qp: QpAddress) -> QpKey {
        let data = self.directions([client_qp, server_qp]).data;
        QpKey::new(data.src, data.dst, data.dest_qp)
    }

    fn directions(&self, [client_qp, server_qp]: [QpAddress; 2]) -> Directions {
        let (data, ack) = match self.tool.data_destination() {
            Side::Server => (server_qp, client_qp),
            Side::Client => (client_qp, server_qp),
        };
        let direction = |from: QpAddress, to: QpAddress| FlowDirection {
            src: address(from),
            dst: address(to),
            dest_qp: to.qp.0,
        };
        Directions {
            data: direction(ack, data),
            ack: direction(data, ack),
            cnp: FlowDirection {
                dest_qp: data.qp.0 | CNP_QP,
                ..direction(data, ack)
            },
        }
    }
}

impl Pinned {
    /// Returns the index of a packet in its flow; 0 for packets before the first packet with a recorded decision.
    fn packet(&mut self, psn: Option<u32>) -> u64 {
        let Some(psn) = psn else {
            return 0;
        };
        let first = *self.first_psn.get_or_insert(psn);
        let after = psn.wrapping_sub(first) & PSN_MASK;
        // Sequence numbers wrap: a number in the half below the first one counts as earlier.
        if after > PSN_MASK / 2 {
            0
        } else {
            u64::from(after)
        }
    }
}

/// Mask of a packet sequence number, which has 24 bits.
const PSN_MASK: u32 = (1 << 24) - 1;

/// Returns the IPv4 address from which a QP sends. No packet of a lab has a GID without an IPv4 address.
fn address(qp: QpAddress) -> Ipv4Addr {
    qp.gid.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED)
}

impl Directions {
    const fn all(self) -> [FlowDirection; 3] {
        [self.data, self.ack, self.cnp]
    }
}

#[cfg(test)]
mod tests {
    use lab_units::CandidateSet;

    use lab_plan::model::{Candidate, FaultChange, FaultPlan, NewRow, Reconvergence};

    use super::*;
    use crate::run::testing::{CLIENT, SERVER, decision, flow, plan};

    /// Returns the paths that a flow of `tool` takes after `decisions`; each decision is a datacenter, a destination QP
    /// and a candidate.
    fn paths(tool: Tool, decisions: &[(u32, QpAddress, usize)]) -> [Option<String>; 2] {
        let plan = plan();
        // The client of a read is at the flow's destination.
        let (client_gid, server_gid) = match tool.source_side() {
            Side::Client => (CLIENT.gid, SERVER.gid),
            Side::Server => (SERVER.gid, CLIENT.gid),
        };
        let mut client = CLIENT;
        let mut server = SERVER;
        (client.gid, server.gid) = (client_gid, server_gid);
        let mut paths = PinnedPaths::new(&plan, tool);
        paths.connect(&flow(), client, server);
        for &(dc, qp, candidate) in decisions {
            let report = decision(&plan, dc, qp, candidate);
            assert_eq!(paths.decide(DcId(dc), &report), Some(FlowId(0)));
        }
        let FlowPaths { data, ack } = paths.of(&flow(), time(40, 140), [client, server]);
        [data, ack].map(|path| Some(path?.to_string()))
    }

    /// Returns the time of a flow from `start` to `end`, in ms.
    fn time(start: u64, end: u64) -> FlowTime {
        FlowTime {
            start: Nanos::from_millis(start),
            end: Some(Nanos::from_millis(end)),
        }
    }

    /// Both ends have DC2 and DC3 as next hops until 500 ms, only DC3 from 500 ms, only DC2 from 560 ms, only DC3 from
    /// 600 ms, and only DC2 from 800 ms. The link between DC3 and DC4 is cut from 700 ms on. A path takes 50 ms.
    #[test]
    fn a_path_without_decisions_follows_the_tables_of_its_time() {
        let mut plan = plan();
        let only = |at: u64, candidate: usize| Reconvergence {
            at_ns: Nanos::from_millis(at),
            paper_at_ns: Nanos::from_millis(at),
            rows: [0, 3]
                .map(|switch: usize| {
                    let row = &plan.switches[switch].destinations[0];
                    NewRow {
                        tunnels: Vec::new(),
                        switch,
                        destination: 0,
                        hops: row.hops,
                        candidates: vec![row.candidates[candidate]],
                    }
                })
                .into(),
        };
        plan.reconvergences = vec![only(500, 1), only(560, 0), only(600, 1), only(800, 0)];
        let cut = plan.switches[3].destinations[0].candidates[1].port.link();
        plan.faults = vec![FaultPlan {
            link: cut,
            at_ns: Nanos::from_millis(700),
            paper_at_ns: Nanos::from_millis(700),
            change: FaultChange::Down,
            path_cost_updates: Vec::new(),
        }];
        let paths = PinnedPaths::new(&plan, Tool::SendBw);
        let found = |start, end| {
            let FlowPaths { data, ack } = paths.of(&flow(), time(start, end), [CLIENT, SERVER]);
            [data, ack].map(|path| path.map(|path| path.to_string()))
        };
        let known = |path: [&str; 2]| path.map(|path| Some(path.to_owned()));
        assert_eq!(found(400, 410), [None, None]);
        assert_eq!(found(505, 610), known(["dc1-dc3-dc4", "dc4-dc3-dc1"]));
        // The first acknowledgement is sent after the second reconvergence.
        assert_eq!(found(520, 625), known(["dc1-dc3-dc4", "dc4-dc2-dc1"]));
        // The first packets are lost at the cut, and the flow ends after the last reconvergence.
        assert_eq!(found(710, 900), known(["dc1-dc2-dc4", "dc4-dc2-dc1"]));
    }

    /// DC2 chooses between DC4 and DC1 for its own packets to DC4. Those of DC1 follow the tunnel that DC1 has chosen,
    /// so that no decision of DC2 is missing.
    #[test]
    fn a_path_in_a_tunnel_needs_only_the_first_decision() {
        let mut plan = plan();
        plan.candidate_set = CandidateSet::Tunnels { k: 2 };
        let row = &mut plan.switches[0].destinations[0];
        let [over_dc2, over_dc3] = [0, 1].map(|at: usize| row.candidates[at].port);
        let end = |plan: &Plan, dc: usize| {
            let row = plan.switches[dc].towards(DcId(3)).expect("a row");
            row.candidates[0].port
        };
        let tunnels = vec![vec![over_dc2, end(&plan, 1)], vec![over_dc3, end(&plan, 2)]];
        plan.switches[0].destinations[0].tunnels = tunnels;
        let mut rows = plan.switches[1].destinations.iter_mut();
        let row = rows.find(|row| row.dc == DcId(3)).expect("a row");
        let back = Candidate {
            port: over_dc2.peer(),
            next_dc: DcId(0),
            ..row.candidates[0]
        };
        row.candidates.insert(0, back);
        let mut paths = PinnedPaths::new(&plan, Tool::SendBw);
        paths.connect(&flow(), CLIENT, SERVER);
        let report = decision(&plan, 0, SERVER, 0);
        assert_eq!(paths.decide(DcId(0), &report), Some(FlowId(0)));
        let FlowPaths { data, .. } = paths.of(&flow(), time(40, 140), [CLIENT, SERVER]);
        assert_eq!(data.expect("a path").to_string(), "dc1-dc2-dc4");
    }

    #[test]
    fn a_path_follows_the_first_decision_of_each_switch_with_a_choice() {
        let some = |path: &str| Some(path.to_owned());
        let send = Tool::SendBw;
        let read = Tool::ReadBw;
        for (tool, decisions, expected) in [
            (send, &[(0, SERVER, 0)][..], [some("dc1-dc2-dc4"), None]),
            (
                send,
                &[(0, SERVER, 0), (3, CLIENT, 1)],
                [some("dc1-dc2-dc4"), some("dc4-dc3-dc1")],
            ),
            // A failover moves the flow to another path.
            (
                send,
                &[(0, SERVER, 0), (0, SERVER, 1)],
                [some("dc1-dc2-dc4"), None],
            ),
            // A read sends its data towards the client.
            (read, &[(0, CLIENT, 1)], [some("dc1-dc3-dc4"), None]),
        ] {
            assert_eq!(paths(tool, decisions), expected, "{decisions:?}");
        }
    }

    #[test]
    fn a_cnp_before_the_first_ack_decides_for_both() {
        let mut cnp = SERVER;
        cnp.qp.0 |= CNP_QP;
        let found = paths(Tool::SendBw, &[(0, SERVER, 0), (3, cnp, 1)]);
        let expected = ["dc1-dc2-dc4", "dc4-dc3-dc1"].map(|path| Some(path.to_owned()));
        assert_eq!(found, expected);
    }

    /// Each of the flow's five messages of 10,000 B has ten packets: nine with 1,024 B and one with 784 B. Packets 0 to
    /// 22 (2 · 10,000 + 3 · 1,024 = 23,072 B) go over DC2, and later packets over DC3. The first PSN is two below the
    /// 24-bit wrap. A retransmission of packet 12 does not change DC3's share.
    #[test]
    fn bytes_of_a_re_routed_flow_are_counted_by_its_sequence_numbers() {
        let mut plan = plan();
        plan.rdma.path_mtu = 1_024;
        let mut paths = PinnedPaths::new(&plan, Tool::SendBw);
        paths.connect(&flow(), CLIENT, SERVER);
        let first = (1 << 24) - 2;
        for (packet, candidate) in [(0, 0), (23, 1), (12, 1)] {
            let report = DecisionReport {
                psn: Some((first + packet) & PSN_MASK),
                ..decision(&plan, 0, SERVER, candidate)
            };
            paths.decide(DcId(0), &report);
        }
        let ranges: Vec<_> = paths
            .ranges(&flow(), time(40, 140), [CLIENT, SERVER])
            .into_iter()
            .map(|range| (range.path.to_string(), range.start, range.end))
            .collect();
        let expected = [("dc1-dc2-dc4", 0, 23_072), ("dc1-dc3-dc4", 23_072, 50_000)];
        assert_eq!(
            ranges,
            expected.map(|(path, start, end)| (path.to_owned(), start, end))
        );
    }

    #[test]
    fn a_decision_on_other_packets_has_no_flow() {
        let plan = plan();
        let mut paths = PinnedPaths::new(&plan, Tool::SendBw);
        let report = decision(&plan, 0, SERVER, 0);
        assert_eq!(paths.decide(DcId(0), &report), None);
        let not_roce = DecisionReport {
            dest_qp: None,
            ..report
        };
        assert_eq!(paths.decide(DcId(0), &not_roce), None);
    }
}
