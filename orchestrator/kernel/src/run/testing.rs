//! Fixtures for tests of this module: a plan with two paths, its only flow, and reports about the flow.

use std::net::Ipv4Addr;

use lab_abi::{
    Rule, Trigger,
    wire::{CandidateReport, DecisionReport, LinkReport, LinkReports, QueueReport, Queues},
};
use lab_generators::contract::{
    Fct, FctSource, FlowOutcome, FlowStart, MonotonicTime, QpAddress, QpNumber, Status,
};
use lab_plan::model::{Flow, Plan};
use lab_units::{Bytes, FlowId, Nanos, NodeId, PortId};

use crate::testing;

pub(super) const CLIENT: QpAddress = qp(0x11, Ipv4Addr::new(10, 0, 16, 1));
pub(super) const SERVER: QpAddress = qp(0x12, Ipv4Addr::new(10, 0, 64, 1));

const fn qp(number: u32, host: Ipv4Addr) -> QpAddress {
    QpAddress {
        qp: QpNumber(number),
        gid: host.to_ipv6_mapped(),
    }
}

/// Returns the plan of a network in which DC1 and DC4 have a host each, with paths over DC2 and DC3. Its only flow is
/// [`flow`].
pub(super) fn plan() -> Plan {
    let mut plan = testing::routed(0);
    plan.flows = vec![flow()];
    plan
}

/// Returns the flow from the host in DC1 to the host in DC4.
pub(super) fn flow() -> Flow {
    Flow {
        id: FlowId(0),
        repetition: 0,
        src: NodeId(4),
        dst: NodeId(5),
        paper_size_bytes: Bytes::new(10_000_000),
        paper_start_ns: Nanos::from_millis(4),
        size_bytes: Bytes::new(50_000),
        messages: 5,
        message_bytes: Bytes::new(10_000),
        start_ns: Nanos::from_millis(40),
        base_rtt_ns: Nanos::from_millis(100),
        ideal_fct_ns: Nanos::from_millis(200),
        is_listed: true,
    }
}

/// Returns the outcome of the flow if it started at `at` and took `fct`.
pub(super) fn finished(at: MonotonicTime, fct: Nanos) -> FlowOutcome {
    FlowOutcome {
        flow: FlowId(0),
        status: Status::Finished(Fct {
            time: fct,
            resolution: Nanos::new(5),
            source: FctSource::Printed,
        }),
        start: Some(FlowStart {
            at,
            lateness: Nanos::new(700),
            exact: true,
        }),
        client_qp: Some(CLIENT),
        server_qp: Some(SERVER),
        bandwidth: None,
        marker: None,
        stdout_tail: String::new(),
    }
}

/// Returns the report of a decision by which the switch in `dc` pins packets for the QP `to` to its candidate `chosen`.
pub(super) fn decision(plan: &Plan, dc: u32, to: QpAddress, chosen: usize) -> DecisionReport {
    let flow = flow();
    let addr = |node: NodeId| plan.nodes[node.index()].addr;
    let ends = (addr(flow.src), addr(flow.dst));
    let (src_ip, dst_ip) = if dc == 0 { ends } else { (ends.1, ends.0) };
    let switch = usize::try_from(dc).unwrap();
    let candidates = &plan.switches[switch].destinations[0].candidates;
    let report = |port: PortId| CandidateReport {
        port,
        c_path: 10,
        c_cong: 0,
        cost: 30,
        is_alive: true,
        is_kept: true,
    };
    DecisionReport {
        time_ns: 5_000_000_000,
        src_ip,
        dst_ip,
        sport: 50_000,
        dport: 4791,
        proto: 17,
        dest_qp: Some(to.qp.0),
        psn: Some(0),
        hash: 1,
        trigger: Trigger::NewFlow,
        rule: Rule::Scored,
        signal_age_ns: 30_000_000,
        candidates: candidates.iter().map(|c| report(c.port)).collect(),
        port: candidates[chosen].port,
    }
}

/// Returns the report of a port that has sent `tx_bytes` in `drops` packets and has dropped the same number of packets.
pub(super) fn links(time_ns: u64, port: PortId, tx_bytes: u64, drops: u64) -> LinkReports {
    let port = LinkReport {
        port,
        tx_bytes,
        tx_packets: drops,
        drops,
        marks: None,
    };
    LinkReports {
        time_ns,
        ports: vec![port],
    }
}

/// Returns the report of one port's queue, with a backlog of `backlog_bytes`.
pub(super) fn queues(time_ns: u64, port: PortId, backlog_bytes: u64) -> Queues {
    let port = QueueReport {
        port,
        backlog_bytes,
        max_backlog_bytes: backlog_bytes,
        q: 51,
        t: 0,
        d: 0,
        c_cong: 7,
    };
    Queues {
        time_ns,
        ports: vec![port],
    }
}
