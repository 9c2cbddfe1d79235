//! Which way flows took, by what the switches said they pinned.

use std::{collections::BTreeMap, net::Ipv4Addr};

use lab_abi::wire::DecisionReport;
use lab_perftest::{QpAddress, Side, Tool};
use lab_plan::model::{Flow, Plan};
use lab_records::DcPath;
use lab_units::{DcId, FlowId, PortId};

/// The port each DCI switch pinned each direction of a flow to.
#[derive(Debug)]
pub(super) struct Pins<'a> {
    plan: &'a Plan,
    tool: Tool,
    /// At a switch's first decision: a failover is not the way the flow began on.
    ports: BTreeMap<Direction, BTreeMap<DcId, PortId>>,
    /// The flow each direction belongs to, once its QPs are known.
    flows: BTreeMap<Direction, FlowId>,
}

/// One direction of a flow, as every switch on its way sees it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Direction {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    dest_qp: u32,
}

/// The ways of a flow's data and of its acknowledgements; nothing where that is not known yet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Ways {
    pub data: Option<DcPath>,
    pub ack: Option<DcPath>,
}

impl<'a> Pins<'a> {
    pub(super) const fn new(plan: &'a Plan, tool: Tool) -> Self {
        Self {
            plan,
            tool,
            ports: BTreeMap::new(),
            flows: BTreeMap::new(),
        }
    }

    /// Learns the QPs of a flow, by which its decisions are known.
    pub(super) fn connect(&mut self, flow: &Flow, client_qp: QpAddress, server_qp: QpAddress) {
        let (data, ack) = self.directions(flow, client_qp, server_qp);
        self.flows.insert(data, flow.id);
        self.flows.insert(ack, flow.id);
    }

    /// Takes in a decision; the flow it was about, if that is one of the schedule's.
    pub(super) fn decide(&mut self, dc: DcId, report: &DecisionReport) -> Option<FlowId> {
        let direction = Direction {
            src: report.src_ip,
            dst: report.dst_ip,
            dest_qp: report.dest_qp?,
        };
        let ports = self.ports.entry(direction).or_default();
        ports.entry(dc).or_insert(report.port);
        self.flows.get(&direction).copied()
    }

    /// The ways of a flow of these QPs.
    pub(super) fn ways(&self, flow: &Flow, client_qp: QpAddress, server_qp: QpAddress) -> Ways {
        let (data, ack) = self.directions(flow, client_qp, server_qp);
        let dc = |node: lab_units::NodeId| self.plan.nodes[node.index()].dc;
        Ways {
            data: self.path(data, dc(flow.src), dc(flow.dst)),
            ack: self.path(ack, dc(flow.dst), dc(flow.src)),
        }
    }

    fn directions(
        &self,
        flow: &Flow,
        client_qp: QpAddress,
        server_qp: QpAddress,
    ) -> (Direction, Direction) {
        let addr = |node: lab_units::NodeId| self.plan.nodes[node.index()].addr;
        let (src, dst) = (addr(flow.src), addr(flow.dst));
        let (data, ack) = match self.tool.data_destination() {
            Side::Server => (server_qp, client_qp),
            Side::Client => (client_qp, server_qp),
        };
        let direction = |src, dst, qp: QpAddress| Direction {
            src,
            dst,
            dest_qp: qp.qp.0,
        };
        (direction(src, dst, data), direction(dst, src, ack))
    }

    /// The DCs a direction crosses; `None` where a switch on the way said nothing and had a choice.
    fn path(&self, direction: Direction, from: DcId, to: DcId) -> Option<DcPath> {
        let ports = self.ports.get(&direction);
        let mut crossed = vec![from];
        while let Some(&at) = crossed.last().filter(|at| **at != to) {
            let pinned = ports.and_then(|ports| ports.get(&at)).copied();
            let next = next_dc(self.plan, pinned.or_else(|| self.only_way(at, to))?);
            if crossed.contains(&next) {
                return None;
            }
            crossed.push(next);
        }
        let names = crossed.into_iter();
        Some(DcPath::new(
            names.map(|dc| self.plan.dcs[dc.index()].name.as_str()),
        ))
    }

    fn only_way(&self, at: DcId, to: DcId) -> Option<PortId> {
        let mut destinations = self.plan.switches.get(at.index())?.destinations.iter();
        match destinations.find(|row| row.dc == to)?.candidates.as_slice() {
            [only] => Some(only.port),
            _ => None,
        }
    }
}

/// The DC at the other end of a port's link.
pub(super) fn next_dc(plan: &Plan, port: PortId) -> DcId {
    plan.nodes[plan.ports[port.peer().index()].node.index()].dc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::{CLIENT, SERVER, decision, flow, plan};

    /// DC1's switch pins data to the way over DC2, DC4's its acknowledgements to the one over DC3.
    fn pinned() -> Vec<(u32, DecisionReport)> {
        let plan = plan();
        vec![
            (0, decision(&plan, 0, SERVER, 0)),
            (3, decision(&plan, 3, CLIENT, 1)),
        ]
    }

    #[test]
    fn a_flow_went_where_the_switches_with_a_choice_pinned_it() {
        let plan = plan();
        let mut pins = Pins::new(&plan, Tool::SendBw);
        pins.connect(&flow(), CLIENT, SERVER);
        for (dc, report) in pinned() {
            assert_eq!(pins.decide(DcId(dc), &report), Some(FlowId(0)));
        }
        let ways = pins.ways(&flow(), CLIENT, SERVER);
        assert_eq!(ways.data.unwrap().to_string(), "dc1-dc2-dc4");
        assert_eq!(ways.ack.unwrap().to_string(), "dc4-dc3-dc1");
    }

    #[test]
    fn until_a_switch_with_a_choice_has_spoken_the_way_is_not_known() {
        let plan = plan();
        let mut pins = Pins::new(&plan, Tool::SendBw);
        let (dc, report) = pinned().remove(0);
        pins.decide(DcId(dc), &report);
        let ways = pins.ways(&flow(), CLIENT, SERVER);
        assert!(ways.data.is_some() && ways.ack.is_none());
    }

    #[test]
    fn the_way_a_flow_began_on_stays_its_way_after_a_failover() {
        let plan = plan();
        let mut pins = Pins::new(&plan, Tool::SendBw);
        pins.decide(DcId(0), &decision(&plan, 0, SERVER, 0));
        pins.decide(DcId(0), &decision(&plan, 0, SERVER, 1));
        let ways = pins.ways(&flow(), CLIENT, SERVER);
        assert_eq!(ways.data.unwrap().to_string(), "dc1-dc2-dc4");
    }

    #[test]
    fn what_is_no_flow_of_the_schedule_is_not_taken_for_one() {
        let plan = plan();
        let mut pins = Pins::new(&plan, Tool::SendBw);
        assert_eq!(pins.decide(DcId(0), &decision(&plan, 0, SERVER, 0)), None);
        let not_roce = DecisionReport {
            dest_qp: None,
            ..decision(&plan, 0, SERVER, 0)
        };
        assert_eq!(pins.decide(DcId(0), &not_roce), None);
    }

    #[test]
    fn a_read_sends_its_data_towards_the_client() {
        let plan = plan();
        let mut pins = Pins::new(&plan, Tool::ReadBw);
        pins.decide(DcId(0), &decision(&plan, 0, CLIENT, 1));
        let ways = pins.ways(&flow(), CLIENT, SERVER);
        assert_eq!(ways.data.unwrap().to_string(), "dc1-dc3-dc4");
    }
}
