//! Links that change while flows run.

use lab_policy::Trigger;
use lab_records::StoryEvent;
use lab_sim::EndReason;

use crate::lab::{ACK, ALIKE_WAYS, HOST_DELAY, MILLI, PACKET, plan, simulate, simulate_text};

fn pair(packets: u64, start: &str, fault: &str) -> String {
    format!(
        "
name: pair
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}]
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: {} B, start: {start} }}]
policies: [ecmp]
faults: [{{ at: 100 us, link: [dc1, dc2], {fault} }}]
",
        packets * 4_096
    )
}

/// Packet j, from 1, leaves the switch at 1 µs + j · 332.32 ns: 297 have by 100 µs, the others take
/// twice the time each. The last ACK comes back at the new rate, too: 9.92 ns on the link.
#[test]
fn a_new_rate_counts_from_the_next_packet_on() {
    let run = simulate_text(&pair(1_000, "0 ms", "rate: 50 Gbit"));
    let left = HOST_DELAY + 298 * PACKET + (1_000 - 297) * 2 * PACKET;
    let after = 5 * MILLI + PACKET + HOST_DELAY + 4 * ACK + 2 * HOST_DELAY + 5 * MILLI;
    assert_eq!(run.end_of(0), Some(left + after));
}

#[test]
fn a_new_delay_is_that_of_what_is_sent_later() {
    let run = simulate_text(&pair(10, "1 ms", "delay: 2 ms"));
    let alone = 12 * PACKET + 3 * ACK + 2 * (2 * HOST_DELAY + 2 * MILLI);
    assert_eq!(run.end_of(0), Some(MILLI + alone));
}

/// The 298th packet would overtake the 297th, sent at 1 µs + 297 packets' time and 5 ms under way.
/// It and those behind arrive with it, and then wait for the host's link, one by one.
#[test]
fn a_wire_that_gets_shorter_keeps_its_order() {
    let run = simulate_text(&pair(1_000, "0 ms", "delay: 2 ms"));
    let arrival = HOST_DELAY + 298 * PACKET + 5 * MILLI;
    let drained = arrival + (1_000 - 296) * PACKET + HOST_DELAY;
    assert_eq!(
        run.end_of(0),
        Some(drained + 3 * ACK + 2 * HOST_DELAY + 2 * MILLI)
    );
    assert_eq!(run.outcome.work.drops, 0);
}

#[test]
fn a_new_share_of_loss_loses() {
    let run = simulate_text(&pair(1_000, "0 ms", "loss: 0.5"));
    assert!(run.outcome.work.drops > 100, "{}", run.outcome.work.drops);
    let run = simulate_text(&pair(1_000, "0 ms", "loss: 0"));
    assert_eq!(run.outcome.work.drops, 0);
}

/// Two ways from dc1 to dc4; the one that flows are pinned to dies for good.
fn two_ways(policy: &str, faults: &str) -> String {
    let flows: Vec<_> = (1..=4)
        .map(|host| format!("{{ from: dc1/h{host}, to: dc4/h{host}, size: 20 MB }}"))
        .collect();
    format!(
        "
name: ways
topology:
  dcs: [{{ name: dc1, hosts: 4 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 4 }}]
  links: [{ALIKE_WAYS}]
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
fn flows_of_a_dead_link_are_decided_again_and_finish() {
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
            // Both links of the way: a switch sees its own die, not those further on.
            let down = format!(
                "{{ at: 3 ms, link: [dc1, {dead}], down: true }}, \
                 {{ at: 3 ms, link: [{dead}, dc4], down: true }}"
            );
            let plan = plan(&two_ways(policy, &down));
            let run = simulate(&plan, 0, 1);
            assert_eq!(run.outcome.reason, EndReason::Finished, "{policy}");
            let port = plan.switches[0]
                .destinations
                .iter()
                .flat_map(|row| &row.candidates);
            let dead_dc = plan
                .dcs
                .iter()
                .position(|dc| dc.name == *dead)
                .expect("a dc");
            let dead_port = port
                .clone()
                .find(|candidate| candidate.next_dc.index() == dead_dc)
                .map(|candidate| candidate.port)
                .expect("a candidate");
            let network = lab_sim::network::Network::new(&plan).expect("a network");
            let dead_port = network.port(dead_port);
            let here = run.decisions().filter(|decision| decision.dc == 0);
            let cut = 3 * MILLI;
            let (before, after): (Vec<_>, Vec<_>) =
                here.partition(|decision| decision.at.picos() < cut);
            let pinned = |flow| {
                before
                    .iter()
                    .any(|note| note.flow == flow && note.ports[note.decision.chosen] == dead_port)
            };
            for flow in 0..4 {
                let again = after
                    .iter()
                    .filter(|note| note.flow == flow && !note.is_ack);
                let again: Vec<_> = again.collect();
                assert_eq!(!again.is_empty(), pinned(flow), "{policy} {dead} {flow}");
                assert!(again.iter().all(|note| note.trigger == Trigger::Failover));
                let avoided = |note: &&&_| -> bool {
                    let note: &lab_sim::trace::DecisionEvent = note;
                    note.ports[note.decision.chosen] != dead_port
                };
                assert!(again.iter().all(avoided), "{policy} {dead} {flow}");
            }
        }
    }
}

/// Flows that moved away stay where they are when the link is back; new flows use it again.
#[test]
fn a_link_that_is_back_is_for_new_flows() {
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
        let text = two_ways(policy, &faults)
            .replace(
                "size: 20 MB }]",
                &format!("size: 20 MB }}, {}]", late.join(", ")),
            )
            .replace("size: 20 MB", "size: 900 MB");
        let plan = plan(&text);
        let run = simulate(&plan, 0, 1);
        assert_eq!(run.outcome.reason, EndReason::Finished, "{policy}");
        let network = lab_sim::network::Network::new(&plan).expect("a network");
        let back = plan.switches[0].destinations[0].candidates[0];
        assert_eq!(plan.dcs[back.next_dc.index()].name, "dc2");
        let back = network.port(back.port);
        let here = || run.decisions().filter(|note| note.dc == 0 && !note.is_ack);
        let moved = here()
            .filter(|note| note.trigger == Trigger::Failover)
            .count();
        assert!(moved > 0, "{policy}: some flow was on the link");
        for flow in 0..4 {
            let again = here().filter(|note| note.flow == flow && note.at.picos() > 40 * MILLI);
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
        let new = here().filter(|note| note.flow >= 4);
        let by_back = new.filter(|note| note.ports[note.decision.chosen] == back);
        assert!(by_back.count() > 0, "{policy}: new flows use it again");
    }
}

/// A switch without an agent pins nothing: its flows go by the hash over what is up.
#[test]
fn a_legacy_switch_avoids_dead_links_without_deciding() {
    let down = "{ at: 3 ms, link: [dc1, dc2], down: true }, \
                { at: 3 ms, link: [dc2, dc4], down: true }";
    let text = two_ways("lcmp", down).replace(
        "{ name: dc1, hosts: 4 }",
        "{ name: dc1, hosts: 4, agent: legacy }",
    );
    let plan = plan(&text);
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.decisions().filter(|note| note.dc == 0).count(), 0);
    assert!(
        run.decisions().any(|note| note.dc == 3),
        "the others decide"
    );
}

/// What is on the wire when a link is cut is lost, even if the link is back before it would have
/// arrived; what is sent afterwards is not.
#[test]
fn a_cut_loses_what_is_on_the_wire_and_nothing_sent_later() {
    let flap = "{ at: 100 us, link: [dc1, dc2], down: true }, \
                { at: 101 us, link: [dc1, dc2], up: true }";
    let text = pair(1_000, "0 ms", "loss: 0").replace(
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

/// The link's delay grows while packets are on it; a cut long before has nothing to do with them.
#[test]
fn a_cut_has_no_say_in_what_is_sent_after_it() {
    let run = simulate_text(&pair(10, "5 ms", "down: true").replace(
        "down: true }",
        "down: true }, { at: 4 ms, link: [dc1, dc2], up: true }, \
             { at: 7 ms, link: [dc1, dc2], delay: 8 ms }",
    ));
    assert_eq!(run.outcome.work.drops, 0);
    // Out in 5 ms, as it was then, back in 8.
    let alone = 12 * PACKET + 3 * ACK + 4 * HOST_DELAY + 13 * MILLI;
    assert_eq!(run.end_of(0), Some(5 * MILLI + alone));
}
/// The plan scores paths anew when a link changes; a switch that is told of it follows, wherever
/// the link is.
#[test]
fn a_changed_link_changes_path_scores_from_then_on() {
    let slow = "{ at: 1 ms, link: [dc2, dc4], delay: 400 ms }";
    let text = two_ways("lcmp: { max_delay: 524288 us }", slow)
        .replace("dc4/h3, size: 20 MB", "dc4/h3, size: 20 MB, start: 600 ms")
        .replace("dc4/h4, size: 20 MB", "dc4/h4, size: 20 MB, start: 600 ms");
    let plan = plan(&text);
    assert!(
        !plan.faults[0].path_cost_updates.is_empty(),
        "the plan has new scores"
    );
    let run = simulate(&plan, 0, 1);
    let rows = |late: bool| {
        let decisions = run.decisions().filter(move |note| {
            note.dc == 0 && !note.is_ack && (note.at.picos() > 100 * MILLI) == late
        });
        let rows: Vec<Vec<u8>> = decisions
            .map(|note| {
                note.decision
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
