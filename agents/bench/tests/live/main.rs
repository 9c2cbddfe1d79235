//! Live tests of the agent in network namespaces, which each test creates for itself. They need root.
//!
//! - [`lab`][]: the testbed with slow links and a receiver
//! - [`tables`][]: tables that change while the switch runs
//! - [`killed`][]: agents that are killed, and their successors

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

mod killed;
mod lab;
mod tables;

use std::{collections::BTreeMap, ops::Range, os::unix::thread::JoinHandleExt};

use lab::{Lab, Result};
use lab_abi::{
    LcmpConfig, Rule, Trigger,
    wire::{AgentCommand, AgentMessage, AttachMode, Attachment, DecisionReport, PolicyConfig},
};
use lab_bench::{
    Side,
    testbed::{P1, P2, SWITCH_ID},
};
use lab_policy::{FlowTuple, flow_hash};
use lab_units::{BitsPerSec, Bytes, Nanos, PortId};
use nix::sys::{pthread::pthread_kill, signal::Signal};

/// Source ports of the flows.
const FLOWS: Range<u16> = 50_000..50_040;

/// Returns the chosen port of each flow, by the flow's source port.
fn chosen(decisions: &[DecisionReport]) -> BTreeMap<u16, PortId> {
    let chosen = |decision: &DecisionReport| (decision.sport, decision.port);
    decisions.iter().map(chosen).collect()
}

fn ecmp_flows_are_pinned_moved_and_accounted_for(attach: AttachMode) -> Result {
    Lab::test(|lab| {
        // On Linux 6.1, a killed agent leaves a clsact qdisc behind.
        lab.testbed.tc("qdisc add dev p1 clsact")?;
        let (mut controller, agent) =
            lab.start_unready(PolicyConfig::Buckets, |config| config.attach = attach)?;
        let ready = controller.ready()?;
        assert_eq!(ready.ports, 3);
        if attach == AttachMode::Netlink {
            assert_eq!(ready.attachment, Attachment::Netlink);
        }

        // First packets get the same decisions as from the reference implementation.
        assert_eq!(lab.send(FLOWS, 3)?, FLOWS.len() * 3);
        let decisions = controller.decisions(FLOWS.len())?;
        for decision in &decisions {
            let tuple = FlowTuple {
                src: decision.src_ip,
                dst: decision.dst_ip,
                sport: decision.sport,
                dport: decision.dport,
            };
            let hash = flow_hash(tuple, SWITCH_ID);
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

        // The link of one port goes down at its far end: the flows on that port move, the others stay.
        lab.testbed.ip(Side::Target, "link set r1 down")?;
        controller.port_is(P1, false)?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let moved = controller.decisions(on_p1)?;
        assert!(
            moved
                .iter()
                .all(|decision| decision.trigger == Trigger::Failover
                    && pinned[&decision.sport] == P1
                    && decision.port == P2)
        );
        lab.testbed.ip(Side::Target, "link set r1 up")?;
        controller.port_is(P1, true)?;

        // The controller disables the other port.
        controller.enable(P2, false)?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let moved = chosen(&controller.decisions(FLOWS.len())?);
        assert!(moved.values().all(|&port| port == P1));

        // At the end, every flow and packet is accounted for, and the agent has removed everything.
        let last = controller.stop()?;
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
                last.stats.counters.new_flows,
                last.stats.counters.failovers,
                last.stats.occupancy
            ),
            (flows, failovers, flows)
        );
        assert_eq!(last.stats.counters.hits, 5 * flows - flows - failovers);
        assert_eq!(
            (last.stats.evicted, last.stats.counters.records_lost),
            (0, 0)
        );
        assert_eq!(last.end, AgentMessage::Bye);
        agent.join().expect("no panic")?;
        assert!(!lab.qdiscs()?.contains("clsact"), "{}", lab.qdiscs()?);
        lab.nobody_forwards(&FLOWS)?;
        Ok(())
    })
}

#[test]
fn flows_are_pinned_moved_and_accounted_for() -> Result {
    ecmp_flows_are_pinned_moved_and_accounted_for(AttachMode::Auto)
}

#[test]
fn flows_are_pinned_moved_and_accounted_for_by_netlink_as_well() -> Result {
    ecmp_flows_are_pinned_moved_and_accounted_for(AttachMode::Netlink)
}

#[test]
fn lcmp_routes_new_flows_around_a_queue() -> Result {
    Lab::test(|lab| {
        let rate = BitsPerSec::new(lab::RATE_BPS).expect("not zero");
        let policy = PolicyConfig::Lcmp(LcmpConfig::paper(rate));
        let (mut controller, agent) = lab.start(policy, |_| {})?;

        // The paths cost the same, so the hash spreads the flows.
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let spread = chosen(&controller.decisions(FLOWS.len())?);
        let (&elephant, _) = spread
            .iter()
            .find(|&(_, &port)| port == P1)
            .expect("some flow of 40 is on p1");

        // One of the flows fills its port's queue, and the agent reports the queue.
        let later = 51_000..51_020;
        let decisions = lab.while_flooding(elephant, || {
            let queue = controller.queue_of(P1, |queue| queue.q >= 204)?;
            assert!(queue.c_cong > 100, "{queue:?}");
            assert!(queue.max_backlog_bytes >= queue.backlog_bytes);
            controller.link_of(P1, |link| link.tx_bytes > 0 && link.tx_packets > 0)?;
            controller.queue_of(P1, |queue| queue.q >= 204)?;
            lab.send(later.clone(), 1)?;
            controller.decisions(later.len())
        })?;

        // New flows take the other link, and the decision records name the rule.
        for decision in decisions {
            let found = (decision.rule, decision.port);
            assert_eq!(found, (Rule::Scored, P2), "{decision:?}");
            let [full, empty] = decision.candidates[..] else {
                panic!("two candidates: {decision:?}")
            };
            assert!(full.c_cong > empty.c_cong && full.cost > empty.cost);
            assert!(!full.is_kept && empty.is_kept);
        }

        // With ten times the rate and buffer, the same queue length gives a tenth of the level.
        controller.queue_of(P1, |queue| queue.backlog_bytes == 0 && queue.c_cong == 0)?;
        controller.apply(&AgentCommand::SetLink {
            port: P1,
            rate_bps: BitsPerSec::new(10 * lab::RATE_BPS).expect("not zero"),
            buffer_bytes: Bytes::new(10 * lab::BUFFER_BYTES),
            ecn: None,
        })?;
        let half = lab::BUFFER_BYTES / 2;
        let queue = lab.while_flooding(elephant, || {
            controller.queue_of(P1, |queue| queue.backlog_bytes > half)
        })?;
        assert_eq!(queue.q, 25, "{queue:?}");

        // With a higher path cost on one link, new flows take the other link even if both queues are empty.
        controller.queue_of(P1, |queue| queue.c_cong == 0)?;
        let mut destination = lab.config(PolicyConfig::Buckets).destinations[0].clone();
        destination.candidates[0].c_path = 200;
        controller.apply(&AgentCommand::SetDestination(destination))?;
        let last = 52_000..52_020;
        lab.send(last.clone(), 1)?;
        let led = chosen(&controller.decisions(last.len())?);
        assert!(led.values().all(|&port| port == P2), "{led:?}");

        // A closed socket ends the agent.
        drop(controller);
        agent.join().expect("no panic")?;
        Ok(())
    })
}

#[test]
fn idle_flows_expire_and_a_full_table_evicts() -> Result {
    Lab::test(|lab| {
        // The idle time-out is far longer than the sending takes: no flow expires before all have been sent.
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |config| {
            config.flow_table_entries = 500;
            config.gc_interval_ns = Nanos::from_millis(50);
            config.idle_timeout_ns = Nanos::from_millis(20_000);
        })?;
        assert_eq!(
            lab.send(20_000..22_000, 1)?,
            2_000,
            "every packet is forwarded"
        );
        let stats = controller.stats_where(|stats| stats.occupancy == 0 && stats.expired > 0)?;
        assert_eq!(stats.counters.new_flows, 2_000);
        // The agent evicts flows to make room for each new one, and the last 500 expire.
        let counts = (stats.evicted, stats.expired, stats.counters.not_pinned);
        assert_eq!(counts, (1_500, 500, 0));
        controller.stop()?;
        agent.join().expect("no panic")?;
        Ok(())
    })
}

/// The second repetition has another policy, and finds nothing of the first: the same packets are decided again, and
/// only they are counted. A program of another size is loaded anew.
#[test]
fn an_agent_begins_each_repetition_with_empty_maps() -> Result {
    Lab::test(|lab| {
        let bpf = lab.bpf_directory();
        let pin_dir = Some(format!("{}/s", bpf.path().display()));
        let (mut controller, agent) = lab.start_unready(PolicyConfig::Buckets, |config| {
            config.pin_dir.clone_from(&pin_dir);
        })?;
        let first = controller.ready()?;
        let mut load_times = vec![first.load_ns];
        let sent = lab.send(FLOWS, 2)?;
        controller.decisions(FLOWS.len())?;
        let last = controller.stop_repetition()?;
        assert_eq!((last.flows.len(), sent), (FLOWS.len(), 2 * FLOWS.len()));
        lab.nobody_forwards(&FLOWS)?;

        for entries in [50_000, 500] {
            let mut config = lab.config(PolicyConfig::Lcmp(LcmpConfig::artifact()));
            config.pin_dir.clone_from(&pin_dir);
            config.flow_table_entries = entries;
            let tables = config.destinations.clone();
            controller.command(&AgentCommand::Begin(Box::new(config)))?;
            let ready = controller.ready()?;
            assert_eq!((ready.pid, ready.adopted), (first.pid, None));
            assert_eq!(ready.tables.len(), tables.len());
            load_times.push(ready.load_ns);
            lab.send(FLOWS, 1)?;
            let decided = controller.decisions(FLOWS.len())?;
            assert!(decided.iter().all(|row| row.rule == Rule::Scored));
            let last = controller.stop_repetition()?;
            let counters = last.stats.counters;
            let flows = u64::try_from(FLOWS.len()).expect("few");
            assert_eq!((counters.new_flows, counters.hits), (flows, 0));
            assert!(
                last.flows
                    .iter()
                    .all(|flow| (flow.packets, flow.decisions) == (1, 1))
            );
        }
        assert_eq!(
            load_times[0], load_times[1],
            "the program is not loaded again"
        );
        assert_ne!(load_times[1], load_times[2]);
        drop(controller);
        agent.join().expect("no panic")?;
        assert!(!bpf.path().join("s").exists(), "nothing stays pinned");
        Ok(())
    })
}

#[test]
fn sigterm_ends_an_agent_cleanly_and_sigint_does_not() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |config| {
            config.attach = AttachMode::Netlink;
        })?;
        let thread = agent.as_pthread_t();
        pthread_kill(thread, Signal::SIGINT).expect("sent");
        controller.queue_of(P1, |_| true)?;
        assert!(!agent.is_finished());
        pthread_kill(thread, Signal::SIGTERM).expect("sent");
        assert_eq!(controller.last_reports()?.end, AgentMessage::Bye);
        agent.join().expect("no panic")?;
        assert!(!lab.qdiscs()?.contains("clsact"), "{}", lab.qdiscs()?);
        Ok(())
    })
}

#[test]
fn an_agent_that_cannot_start_reports_why_and_leaves_nothing() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) = lab.start_unready(PolicyConfig::Buckets, |config| {
            config.attach = AttachMode::Netlink;
            config.ports[2].interface = "p9".to_owned();
        })?;
        let message = "port 4: there is no interface `p9` in this network namespace".to_owned();
        assert_eq!(controller.message()?, Some(AgentMessage::Error { message }));
        let error = agent.join().expect("no panic").expect_err("no such port");
        assert!(error.to_string().contains("`p9`"));
        assert!(!lab.qdiscs()?.contains("clsact"));
        Ok(())
    })
}

#[test]
fn a_configuration_that_does_not_fit_is_reported_to_the_controller() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) =
            lab.start_unready(PolicyConfig::Buckets, |config| config.ports.clear())?;
        let problem = "destination `10.8.0.0/16`: candidate port 2 is not a port of the switch";
        let message = format!("configuration: {problem}");
        assert_eq!(controller.message()?, Some(AgentMessage::Error { message }));
        agent.join().expect("no panic").expect_err("no port");
        Ok(())
    })
}
