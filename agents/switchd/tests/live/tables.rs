//! Tables that change while the switch is at work.

use lab_abi::{
    LcmpConfig, Rule,
    wire::{AgentCommand, AgentMessage, AttachMode, BucketRow, PolicyConfig},
};
use lab_units::{BitsPerSec, Nanos};

use crate::{
    FLOWS, chosen,
    controller::Controller,
    lab::{self, Lab, P1, P2},
};

fn buckets(p1: u16, p2: u16) -> AgentCommand {
    AgentCommand::SetBuckets(vec![BucketRow {
        addr: lab::DESTINATION,
        prefix_len: 16,
        buckets: vec![p1, p2],
    }])
}

#[test]
fn rewritten_buckets_are_for_new_flows_and_demands_are_counted() {
    let Some(lab) = Lab::new("te") else { return };
    let (mut controller, agent) = Controller::start_with(&lab, PolicyConfig::Buckets, |config| {
        config.demand_interval_ns = Some(Nanos::from_millis(100));
    });
    controller.ready();
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    let pinned = chosen(&controller.decisions(FLOWS.len()));

    controller.command(&buckets(0, 100));
    controller.queue_of(P1, |_| true);
    controller.queue_of(P1, |_| true);
    let later = 51_000..51_020;
    lab.send(later.clone(), 1);
    let led = chosen(&controller.decisions(later.len()));
    assert!(led.values().all(|&port| port == P2), "{led:?}");
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    controller.command(&AgentCommand::Stop);
    let last = controller.rest();
    for flow in last.flows.iter().filter(|flow| FLOWS.contains(&flow.sport)) {
        assert_eq!((flow.port, flow.decisions), (pinned[&flow.sport], 1));
    }
    let sent = lab::bytes_of(2 * FLOWS.len() + later.len());
    assert_eq!(controller.demands, [(lab::DESTINATION, sent)].into());
    agent.join().expect("no panic").expect("a clean end");
}

#[test]
fn tables_that_nobody_confirms_are_not_decided_by() {
    let Some(lab) = Lab::new("stale") else { return };
    let (mut controller, agent) = Controller::start_with(&lab, PolicyConfig::Buckets, |config| {
        config.max_table_age_ns = Some(Nanos::from_millis(300));
        config.destinations[0].candidates[0].buckets = 0;
    });
    controller.ready();
    let send = |controller: &mut Controller, flows: std::ops::Range<u16>| {
        lab.send(flows.clone(), 1);
        controller.decisions(flows.len())
    };
    // Young: by buckets, of which one port has none.
    let young = send(&mut controller, 50_000..50_005);
    assert!(
        young
            .iter()
            .all(|made| (made.rule, made.port) == (Rule::Hash, P2))
    );
    // Old: over both ports alike, and counted.
    std::thread::sleep(std::time::Duration::from_millis(400));
    let old = send(&mut controller, 51_000..51_030);
    assert!(old.iter().all(|made| made.rule == Rule::Stale));
    assert!(old.iter().any(|made| made.port == P1));
    controller.stats_where(|stats| stats.stale == 30 && stats.fallbacks == 30);
    // Confirmed: young again.
    controller.command(&AgentCommand::ConfirmTables);
    controller.queue_of(P1, |_| true);
    controller.queue_of(P1, |_| true);
    let again = send(&mut controller, 52_000..52_005);
    assert!(
        again
            .iter()
            .all(|made| (made.rule, made.port) == (Rule::Hash, P2))
    );
    controller.command(&AgentCommand::Stop);
    controller.rest();
    agent.join().expect("no panic").expect("a clean end");
}

#[test]
fn weights_are_tuned_while_it_runs() {
    let Some(lab) = Lab::new("tune") else { return };
    let rate = BitsPerSec::new(lab::RATE_BPS).expect("not zero");
    let lcmp = LcmpConfig::paper(rate);
    let policy = PolicyConfig::Lcmp(lcmp.clone());
    let (mut controller, agent) = Controller::start_with(&lab, policy, |config| {
        config.destinations[0].candidates[0].c_path = 60;
    });
    controller.ready();
    let costs = |controller: &mut Controller, flows: std::ops::Range<u16>| {
        lab.send(flows.clone(), 1);
        let made = controller.decisions(flows.len());
        let costs = made[0].candidates.iter().map(|row| row.cost);
        costs.collect::<Vec<_>>()
    };
    assert_eq!(costs(&mut controller, 50_000..50_010), [180, 60]);
    controller.command(&AgentCommand::SetLcmp(LcmpConfig {
        alpha: 1,
        beta: 3,
        ..lcmp
    }));
    controller.queue_of(P1, |_| true);
    controller.queue_of(P1, |_| true);
    assert_eq!(costs(&mut controller, 51_000..51_010), [60, 20]);
    drop(controller);
    agent.join().expect("no panic").expect("a clean end");
}

#[test]
fn a_port_that_came_back_is_for_new_flows() {
    let Some(lab) = Lab::new("back") else { return };
    let (mut controller, agent) = Controller::start(&lab, PolicyConfig::Buckets, AttachMode::Auto);
    controller.ready();
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    controller.decisions(FLOWS.len());
    lab.ip("r", "link set r1 down");
    assert_eq!(controller.port_state(), (P1, false));
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    lab.ip("r", "link set r1 up");
    assert_eq!(controller.port_state(), (P1, true));
    // Those that moved stay where they are.
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    let later = 51_000..51_040;
    lab.send(later.clone(), 1);
    controller.command(&AgentCommand::Stop);
    let last = controller.rest();
    let port_of = |sport| {
        let mut flows = last.flows.iter();
        flows.find(|flow| flow.sport == sport).map(|flow| flow.port)
    };
    assert!(FLOWS.into_iter().all(|flow| port_of(flow) == Some(P2)));
    let on_p1 = later.filter(|&flow| port_of(flow) == Some(P1)).count();
    assert!(on_p1 > 5, "{on_p1} of 40 new flows");
    assert_eq!(last.end, AgentMessage::Bye);
    agent.join().expect("no panic").expect("a clean end");
}

#[test]
fn a_program_of_ones_own_decides() {
    let Some(lab) = Lab::new("own") else { return };
    let rate = BitsPerSec::new(lab::RATE_BPS).expect("not zero");
    let object = |name: &str| {
        let directory = env!("CARGO_MANIFEST_DIR");
        format!("{directory}/../ebpf/examples/{name}.bpf.o")
    };
    for (name, is_expected) in [
        // Nearest first: all by the first one.
        ("delay-only", (|ports| ports == [P1]) as fn(Vec<_>) -> bool),
        // Both idle: the first one drawn, which the hash spreads.
        ("two-choice", |ports| ports == [P1, P2]),
    ] {
        let policy = PolicyConfig::Own(lab_abi::wire::OwnPolicy {
            object: object(name),
            parameters: LcmpConfig::paper(rate),
        });
        let (mut controller, agent) = Controller::start(&lab, policy, AttachMode::Auto);
        controller.ready();
        assert_eq!(lab.send(FLOWS, 2), 2 * FLOWS.len());
        let made = controller.decisions(FLOWS.len());
        assert!(made.iter().all(|made| made.rule == Rule::Own), "{name}");
        let mut ports: Vec<_> = chosen(&made).into_values().collect();
        ports.sort_unstable();
        ports.dedup();
        assert!(is_expected(ports.clone()), "{name}: {ports:?}");
        drop(controller);
        agent.join().expect("no panic").expect("a clean end");
        std::fs::remove_file(lab.socket()).expect("its listener is gone");
    }
    let policy = PolicyConfig::Own(lab_abi::wire::OwnPolicy {
        object: object("nowhere"),
        parameters: LcmpConfig::paper(rate),
    });
    let (mut controller, agent) = Controller::start(&lab, policy, AttachMode::Auto);
    let AgentMessage::Error { message } = controller.next() else {
        panic!("there is no such object")
    };
    assert!(
        message.contains("cannot read it: No such file"),
        "{message}"
    );
    agent.join().expect("no panic").expect_err("no object");
}
