//! The agent at work between real network namespaces.
//!
//! host `a` — DCI switch `s` — two links — host `r`. As root; each test in namespaces of its own.
//!
//! - [`lab`][]: the namespaces and their links, gone when the test ends
//! - [`controller`][]: the agent's other end
//! - [`tables`][]: tables that change while the switch is at work
//! - [`killed`][]: agents that are killed, and those that come after them

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

mod controller;
mod killed;
mod lab;
mod tables;

use std::{collections::BTreeMap, os::unix::thread::JoinHandleExt};

use controller::Controller;
use lab::{Lab, P1, P2};
use lab_abi::{
    LcmpConfig, Rule, Trigger,
    wire::{AgentCommand, AgentMessage, AttachMode, Attachment, DecisionReport, PolicyConfig},
};
use lab_policy::{FlowTuple, flow_hash};
use lab_units::{BitsPerSec, Bytes, PortId};

/// The source ports of the test's flows.
const FLOWS: std::ops::Range<u16> = 50_000..50_040;

fn chosen(decisions: &[DecisionReport]) -> BTreeMap<u16, PortId> {
    decisions
        .iter()
        .map(|decision| (decision.sport, decision.port))
        .collect()
}

fn ecmp_flows_are_pinned_moved_and_accounted_for(name: &str, attach: AttachMode) {
    let Some(lab) = Lab::new(name) else { return };
    // What an agent that was killed leaves behind under 6.1.
    lab.tc("qdisc add dev p1 clsact");
    let (mut controller, agent) = Controller::start(&lab, PolicyConfig::Buckets, attach);
    let ready = controller.ready();
    assert_eq!(ready.ports, 3);
    if attach == AttachMode::Netlink {
        assert_eq!(ready.attachment, Attachment::Netlink);
    }

    // First packets: decided as the reference decides.
    assert_eq!(lab.send(FLOWS, 3), FLOWS.len() * 3);
    let decisions = controller.decisions(FLOWS.len());
    for decision in &decisions {
        let tuple = FlowTuple {
            src: decision.src_ip,
            dst: decision.dst_ip,
            sport: decision.sport,
            dport: decision.dport,
        };
        let hash = flow_hash(tuple, lab::SWITCH_ID);
        let expected = if hash.is_multiple_of(2) { P1 } else { P2 };
        assert_eq!((decision.hash, decision.port), (hash, expected));
        assert_eq!(
            (decision.trigger, decision.rule),
            (Trigger::NewFlow, Rule::Hash)
        );
        assert_eq!(decision.dest_qp, Some(u32::from(decision.sport)));
    }
    let pinned = chosen(&decisions);
    let on_p1 = pinned.values().filter(|&&port| port == P1).count();
    assert!(
        on_p1 > 5 && on_p1 < 35,
        "{on_p1} of 40 flows on one of two ports"
    );

    // The link of one port goes down at its far end: its flows move, the others stay.
    lab.ip("r", "link set r1 down");
    assert_eq!(controller.port_state(), (P1, false));
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    let moved = controller.decisions(on_p1);
    assert!(
        moved
            .iter()
            .all(|decision| decision.trigger == Trigger::Failover
                && pinned[&decision.sport] == P1
                && decision.port == P2)
    );
    lab.ip("r", "link set r1 up");
    assert_eq!(controller.port_state(), (P1, true));

    // By command.
    controller.command(&AgentCommand::SetPort {
        port: P2,
        is_enabled: false,
    });
    assert_eq!(controller.port_state(), (P2, false));
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    let moved = chosen(&controller.decisions(FLOWS.len()));
    assert!(moved.values().all(|&port| port == P1));

    // The end: every flow and packet is accounted for, and nothing stays.
    controller.command(&AgentCommand::Stop);
    let last = controller.rest();
    assert_eq!(last.flows.len(), FLOWS.len());
    for flow in &last.flows {
        let was_on_p1 = pinned[&flow.sport] == P1;
        assert_eq!((flow.port, flow.packets), (P1, 5));
        assert_eq!(flow.decisions, if was_on_p1 { 3 } else { 2 });
    }
    let flows = u64::try_from(FLOWS.len()).expect("few");
    let failovers = flows + u64::try_from(on_p1).expect("few");
    assert_eq!(
        (
            last.stats.new_flows,
            last.stats.failovers,
            last.stats.occupancy
        ),
        (flows, failovers, flows)
    );
    assert_eq!(last.stats.hits, 5 * flows - flows - failovers);
    assert_eq!((last.stats.evicted, last.stats.records_lost), (0, 0));
    assert_eq!(last.end, AgentMessage::Bye);
    agent.join().expect("no panic").expect("a clean end");
    assert!(!lab.qdiscs().contains("clsact"), "{}", lab.qdiscs());
    assert_eq!(lab.send(FLOWS, 1), 0, "nobody forwards any more");
}

#[test]
fn flows_are_pinned_moved_and_accounted_for() {
    ecmp_flows_are_pinned_moved_and_accounted_for("auto", AttachMode::Auto);
}

#[test]
fn flows_are_pinned_moved_and_accounted_for_by_netlink_as_well() {
    ecmp_flows_are_pinned_moved_and_accounted_for("netlink", AttachMode::Netlink);
}

#[test]
fn lcmp_sees_a_queue_and_leads_new_flows_around_it() {
    let Some(lab) = Lab::new("lcmp") else { return };
    let rate = BitsPerSec::new(lab::RATE_BPS).expect("not zero");
    let policy = PolicyConfig::Lcmp(LcmpConfig::paper(rate));
    let (mut controller, agent) = Controller::start(&lab, policy, AttachMode::Auto);
    controller.ready();

    // Equal paths: the hash spreads the flows.
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    let spread = chosen(&controller.decisions(FLOWS.len()));
    let flow_on_p1 = spread.iter().find(|&(_, &port)| port == P1);
    let (&elephant, _) = flow_on_p1.expect("some flow of 40 is on p1");

    // One of them fills its port's queue; the agent sees it.
    lab.send_unheeded(elephant, lab::BUFFER_BYTES / 1_000);
    let queue = controller.queue_of(P1, |queue| queue.q >= 204);
    assert!(queue.c_cong > 100, "{queue:?}");
    assert!(queue.max_backlog_bytes >= queue.backlog_bytes);
    controller.link_of(P1, |link| link.tx_bytes > 0 && link.tx_packets > 0);

    // New flows go the other way, and the record says why.
    let later = 51_000..51_020;
    lab.send(later.clone(), 1);
    for decision in controller.decisions(later.len()) {
        assert_eq!(
            (decision.rule, decision.port),
            (Rule::Scored, P2),
            "{decision:?}"
        );
        let [full, empty] = decision.candidates[..] else {
            panic!("two candidates: {decision:?}")
        };
        assert!(full.c_cong > empty.c_cong && full.cost > empty.cost);
        assert!(!full.is_kept && empty.is_kept);
    }

    // The link becomes ten times what it was: the same queue is a tenth as full.
    controller.queue_of(P1, |queue| queue.backlog_bytes == 0 && queue.c_cong == 0);
    controller.command(&AgentCommand::SetLink {
        port: P1,
        rate_bps: BitsPerSec::new(10 * lab::RATE_BPS).expect("not zero"),
        buffer_bytes: Bytes::new(10 * lab::BUFFER_BYTES),
    });
    lab.send_unheeded(elephant, lab::BUFFER_BYTES / 1_000);
    let queue = controller.queue_of(P1, |queue| queue.backlog_bytes > lab::BUFFER_BYTES / 2);
    assert_eq!(queue.q, 25, "{queue:?}");

    // Its path becomes a worse one: new flows go the other way, however idle it is.
    controller.queue_of(P1, |queue| queue.c_cong == 0);
    let mut destination = lab
        .config(PolicyConfig::Buckets, AttachMode::Auto)
        .destinations[0]
        .clone();
    destination.candidates[0].c_path = 200;
    controller.command(&AgentCommand::SetDestination(destination));
    controller.queue_of(P1, |_| true);
    let last = 52_000..52_020;
    lab.send(last.clone(), 1);
    let led = chosen(&controller.decisions(last.len()));
    assert!(led.values().all(|&port| port == P2), "{led:?}");

    // A closed socket ends it.
    drop(controller);
    agent.join().expect("no panic").expect("a clean end");
}

#[test]
fn idle_flows_are_forgotten_and_a_full_table_evicts() {
    let Some(lab) = Lab::new("gc") else { return };
    let (mut controller, agent) = Controller::start_with(&lab, PolicyConfig::Buckets, |config| {
        config.flow_table_entries = 500;
        config.gc_interval_ns = lab_units::Nanos::from_millis(50);
        config.idle_timeout_ns = lab_units::Nanos::from_millis(1_500);
    });
    controller.ready();
    assert_eq!(lab.send(20_000..22_000, 1), 2_000, "each finds room");
    let stats = controller.stats_where(|stats| stats.occupancy == 0 && stats.expired > 0);
    assert_eq!(stats.new_flows, 2_000);
    assert_eq!(stats.expired + stats.evicted, 2_000);
    assert!(stats.expired <= 500 && stats.not_pinned == 0, "{stats:?}");
    controller.command(&AgentCommand::Stop);
    controller.rest();
    agent.join().expect("no panic").expect("a clean end");
}

#[test]
fn sigterm_ends_it_cleanly_and_sigint_does_not() {
    let Some(lab) = Lab::new("signal") else {
        return;
    };
    let (mut controller, agent) =
        Controller::start(&lab, PolicyConfig::Buckets, AttachMode::Netlink);
    controller.ready();
    let thread = agent.as_pthread_t();
    nix::sys::pthread::pthread_kill(thread, nix::sys::signal::Signal::SIGINT).expect("sent");
    controller.queue_of(P1, |_| true);
    assert!(!agent.is_finished());
    nix::sys::pthread::pthread_kill(thread, nix::sys::signal::Signal::SIGTERM).expect("sent");
    assert_eq!(controller.rest().end, AgentMessage::Bye);
    agent.join().expect("no panic").expect("a clean end");
    assert!(!lab.qdiscs().contains("clsact"), "{}", lab.qdiscs());
}

#[test]
fn an_agent_that_cannot_start_says_why_and_leaves_nothing() {
    let Some(lab) = Lab::new("missing") else {
        return;
    };
    let (mut controller, agent) = Controller::start_with(&lab, PolicyConfig::Buckets, |config| {
        config.attach = AttachMode::Netlink;
        config.ports[2].interface = "p9".to_owned();
    });
    let message = "port 4: there is no interface `p9` in this network namespace".to_owned();
    assert_eq!(controller.next(), AgentMessage::Error { message });
    let error = agent.join().expect("no panic").expect_err("no such port");
    assert!(error.to_string().contains("`p9`"));
    assert!(!lab.qdiscs().contains("clsact"));
}

#[test]
fn a_configuration_that_does_not_fit_is_told_to_the_controller() {
    let Some(lab) = Lab::new("config") else {
        return;
    };
    let (mut controller, agent) =
        Controller::start_with(&lab, PolicyConfig::Buckets, |config| config.ports.clear());
    let problem = "destination `10.8.0.0/16`: candidate port 2 is no port of the switch";
    let message = format!("configuration: {problem}");
    assert_eq!(controller.next(), AgentMessage::Error { message });
    agent.join().expect("no panic").expect_err("no port");
}
