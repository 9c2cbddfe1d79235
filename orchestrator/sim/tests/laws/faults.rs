//! Faults of links while flows run.

use lab_policy::Trigger;
use lab_records::StoryEvent;
use lab_sim::EndReason;

use crate::lab::{
    ACK, EQUAL_PATHS, HOST_DELAY, MILLI, PACKET, pair, plan, port_towards, simulate, simulate_text,
};

fn pair_with_fault(packets: u64, start: &str, fault: &str) -> String {
    let flow = format!("size: {} B, start: {start}", packets * 4_096);
    let fault = format!("faults: [{{ at: 100 us, link: [dc1, dc2], {fault} }}]");
    pair(&flow, "", &fault)
}

/// Packet j, from 1, leaves the switch at 1 µs + j · 332.32 ns: 297 have by 100 µs, the others take
/// twice the time each. The last ACK returns at the new rate, too: 9.92 ns on the link.
#[test]
fn a_new_rate_applies_from_the_next_packet_on() {
    let run = simulate_text(&pair_with_fault(1_000, "0 ms", "rate: 50 Gbit"));
    let left = HOST_DELAY + 298 * PACKET + (1_000 - 297) * 2 * PACKET;
    let after = 5 * MILLI + PACKET + HOST_DELAY + 4 * ACK + 2 * HOST_DELAY + 5 * MILLI;
    assert_eq!(run.end_of(0), Some(left + after));
}

#[test]
fn a_new_delay_applies_to_packets_sent_later() {
    let run = simulate_text(&pair_with_fault(10, "1 ms", "delay: 2 ms"));
    let alone = 12 * PACKET + 3 * ACK + 2 * (2 * HOST_DELAY + 2 * MILLI);
    assert_eq!(run.end_of(0), Some(MILLI + alone));
}

/// The 298th packet would overtake the 297th, sent at 1 µs + 297 packets' time and 5 ms under way. It and
/// the next ones arrive together with the 297th, and then queue for the host's link.
#[test]
fn a_shorter_delay_keeps_the_order() {
    let run = simulate_text(&pair_with_fault(1_000, "0 ms", "delay: 2 ms"));
    let arrival = HOST_DELAY + 298 * PACKET + 5 * MILLI;
    let drained = arrival + (1_000 - 296) * PACKET + HOST_DELAY;
    assert_eq!(
        run.end_of(0),
        Some(drained + 3 * ACK + 2 * HOST_DELAY + 2 * MILLI)
    );
    assert_eq!(run.outcome.work.drops, 0);
}

#[test]
fn a_new_loss_rate_applies() {
    let run = simulate_text(&pair_with_fault(1_000, "0 ms", "loss: 0.5"));
    assert!(run.outcome.work.drops > 100, "{}", run.outcome.work.drops);
    let run = simulate_text(&pair_with_fault(1_000, "0 ms", "loss: 0"));
    assert_eq!(run.outcome.work.drops, 0);
}

/// Two equal paths from dc1 to dc4, and four flows.
fn two_paths(policy: &str, faults: &str) -> String {
    let flows: Vec<_> = (1..=4)
        .map(|host| format!("{{ from: dc1/h{host}, to: dc4/h{host}, size: 20 MB }}"))
        .collect();
    format!(
        "
name: paths
topology:
  dcs: [{{ name: dc1, hosts: 4 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 4 }}]
  links: [{EQUAL_PATHS}]
traffic:
  - flows: [{}]
policies: [{policy}]
transport: {{ retransmit_timeout: 20 ms }}
faults: [{faults}]
",
        flows.join(", ")
    )
}

#[test]
fn flows_of_a_dead_link_fail_over_and_finish() {
    let policies = [
        "ecmp",
        "wcmp",
        "ucmp",
        "ucmp-artifact",
        "te: { interval: 1 ms }",
        "own: { name: delay-only }",
        "rm-alpha",
        "rm-beta",
        "lcmp",
        "lcmp: { preset: artifact }",
    ];
    for policy in policies {
        for dead in ["dc2", "dc3"] {
            // Both links of the path: a switch sees only its own links go down.
            let down = format!(
                "{{ at: 3 ms, link: [dc1, {dead}], down: true }}, \
                 {{ at: 3 ms, link: [{dead}, dc4], down: true }}"
            );
            let plan = plan(&two_paths(policy, &down));
            let run = simulate(&plan, 0, 1);
            assert_eq!(run.outcome.reason, EndReason::Finished, "{policy}");
            let dead_port = port_towards(&plan, dead);
            let here = run.decisions().filter(|decision| decision.dc == 0);
            let cut = 3 * MILLI;
            let (before, after): (Vec<_>, Vec<_>) =
                here.partition(|decision| decision.at.picos() < cut);
            let pinned = |flow| {
                before.iter().any(|event| {
                    event.flow == flow && event.ports[event.decision.chosen] == dead_port
                })
            };
            for flow in 0..4 {
                let again = after
                    .iter()
                    .filter(|event| event.flow == flow && !event.is_ack);
                let again: Vec<_> = again.collect();
                assert_eq!(!again.is_empty(), pinned(flow), "{policy} {dead} {flow}");
                assert!(again.iter().all(|event| event.trigger == Trigger::Failover));
                let mut chosen = again.iter().map(|event| event.ports[event.decision.chosen]);
                assert!(
                    chosen.all(|port| port != dead_port),
                    "{policy} {dead} {flow}"
                );
            }
        }
    }
}

/// Flows that failed over stay on their new path when the link is up again; new flows use the link.
#[test]
fn a_repaired_link_serves_new_flows() {
    let cut = |at: u32, change: &str| {
        ["dc1", "dc4"].map(|end| format!("{{ at: {at} ms, link: [{end}, dc2], {change}: true }}"))
    };
    let faults = [cut(3, "down"), cut(40, "up")].concat().join(", ");
    for policy in ["ecmp", "wcmp", "ucmp", "lcmp"] {
        let late: Vec<_> = (0..8)
            .map(|n| {
                let host = n % 4 + 1;
                format!(
                    "{{ from: dc1/h{host}, to: dc4/h{host}, size: 8 kB, start: {} ms }}",
                    60 + n
                )
            })
            .collect();
        let text = two_paths(policy, &faults)
            .replace(
                "size: 20 MB }]",
                &format!("size: 20 MB }}, {}]", late.join(", ")),
            )
            .replace("size: 20 MB", "size: 900 MB");
        let plan = plan(&text);
        let run = simulate(&plan, 0, 1);
        assert_eq!(run.outcome.reason, EndReason::Finished, "{policy}");
        let back = port_towards(&plan, "dc2");
        let moved = run
            .data_decisions()
            .filter(|event| event.trigger == Trigger::Failover)
            .count();
        assert!(moved > 0, "{policy}: some flow was on the link");
        for flow in 0..4 {
            let again = run
                .data_decisions()
                .filter(|event| event.flow == flow && event.at.picos() > 40 * MILLI);
            assert_eq!(
                again.count(),
                0,
                "{policy}: flow {flow} still runs and stays"
            );
            assert!(
                run.end_of(flow) > Some(60 * MILLI),
                "{policy}: flow {flow} is long"
            );
        }
        let new = run.data_decisions().filter(|event| event.flow >= 4);
        let by_back = new.filter(|event| event.ports[event.decision.chosen] == back);
        assert!(by_back.count() > 0, "{policy}: new flows use it again");
    }
}

/// A switch without an agent pins no flows: they follow the hash over the live links.
#[test]
fn a_legacy_switch_avoids_dead_links_without_deciding() {
    let down = "{ at: 3 ms, link: [dc1, dc2], down: true }, \
                { at: 3 ms, link: [dc2, dc4], down: true }";
    let text = two_paths("lcmp", down).replace(
        "{ name: dc1, hosts: 4 }",
        "{ name: dc1, hosts: 4, agent: legacy }",
    );
    let plan = plan(&text);
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.decisions().filter(|event| event.dc == 0).count(), 0);
    assert!(
        run.decisions().any(|event| event.dc == 3),
        "the others decide"
    );
}

/// Packets on the wire of a cut link are lost, even if the link is up again before their arrival; packets
/// sent afterwards are not.
#[test]
fn a_cut_loses_packets_on_the_wire_and_none_sent_later() {
    let flap = "{ at: 100 us, link: [dc1, dc2], down: true }, \
                { at: 101 us, link: [dc1, dc2], up: true }";
    let text = pair_with_fault(1_000, "0 ms", "loss: 0").replace(
        "faults: [",
        &format!(
            "transport: {{ retransmit_timeout: 20 ms, nack_interval: 1 s }}\nfaults: [{flap}, "
        ),
    );
    let run = simulate_text(&text);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    // Packet j, from 1, begins to leave at 1 µs + j · 332.32 ns: 297 have by 100 µs, the last of
    // which is not yet gone. At 100,031.36, 100,363.68 and 100,696 ns three more find no link.
    assert_eq!(run.outcome.work.drops, 297 + 3);
    assert_eq!(run.count(0, StoryEvent::Dropped), 300);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
}

/// The link's delay grows while packets are on it; an earlier cut does not affect them.
#[test]
fn a_cut_does_not_affect_packets_sent_after_it() {
    let run = simulate_text(&pair_with_fault(10, "5 ms", "down: true").replace(
        "down: true }",
        "down: true }, { at: 4 ms, link: [dc1, dc2], up: true }, \
             { at: 7 ms, link: [dc1, dc2], delay: 8 ms }",
    ));
    assert_eq!(run.outcome.work.drops, 0);
    // Out in 5 ms, as it was then, back in 8.
    let alone = 12 * PACKET + 3 * ACK + 4 * HOST_DELAY + 13 * MILLI;
    assert_eq!(run.end_of(0), Some(5 * MILLI + alone));
}

/// The plan has new path costs for a changed link anywhere; the switches apply them.
#[test]
fn a_changed_link_changes_path_costs_from_then_on() {
    let slow = "{ at: 1 ms, link: [dc2, dc4], delay: 400 ms }";
    let text = two_paths("lcmp: { max_delay: 524288 us }", slow)
        .replace("dc4/h3, size: 20 MB", "dc4/h3, size: 20 MB, start: 600 ms")
        .replace("dc4/h4, size: 20 MB", "dc4/h4, size: 20 MB, start: 600 ms");
    let plan = plan(&text);
    assert!(
        !plan.faults[0].path_cost_updates.is_empty(),
        "the plan has new scores"
    );
    let run = simulate(&plan, 0, 1);
    let rows = |late: bool| {
        let decisions = run
            .data_decisions()
            .filter(move |event| (event.at.picos() > 100 * MILLI) == late);
        let rows: Vec<Vec<u8>> = decisions
            .map(|event| {
                event
                    .decision
                    .candidates()
                    .iter()
                    .map(|row| row.candidate.path)
                    .collect()
            })
            .collect();
        rows
    };
    assert!(
        rows(false).iter().all(|scores| scores[0] == scores[1]),
        "{:?}",
        rows(false)
    );
    assert!(!rows(true).is_empty());
    assert!(
        rows(true).iter().all(|scores| scores[0] != scores[1]),
        "{:?}",
        rows(true)
    );
}
