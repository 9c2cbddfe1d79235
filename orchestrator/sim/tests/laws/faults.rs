//! Tests of link faults while flows run.

use lab_policy::Trigger;
use lab_records::StoryEvent;
use lab_sim::{EndReason, network::Network};

use crate::lab::{
    ACK, EQUAL_PATHS, HOST_DELAY, MICRO, MILLI, PACKET, Run, pair, plan, port_towards, simulate,
    simulate_text, simulate_until,
};

fn pair_with_fault(packets: u64, start: &str, fault: &str) -> String {
    let flow = format!("size: {} B, start: {start}", packets * 4_096);
    let fault = format!("faults: [{{ at: 100 us, link: [dc1, dc2], {fault} }}]");
    pair(&flow, "", &fault)
}

/// Packet j, numbered from 1, leaves the switch at 1 µs + j · 332.32 ns. So 297 packets have left by 100 µs, when the
/// rate is halved, and each later packet takes twice the time. The last ACK also crosses the link at the new rate, in
/// 9.92 ns.
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

/// Simulates two hosts on each side of a 100 Gbit/s link whose delay is `delay` until 10 ms, and 1 ms afterwards.
/// dc1/h1 sends `early` full packets from time 0; dc1/h2 sends `late`, a number of bytes and the time of their start.
/// Both go to dc2/h1 through its port of 100 Gbit/s, which has room for 100 kB.
fn shortened(delay: &str, early: u64, late: (u64, &str), more: &str) -> Run {
    let (bytes, start) = late;
    let early = early * 4_096;
    simulate_text(&format!(
        "
name: shortened
topology:
  defaults: {{ host_link: {{ buffer: 100 kB }} }}
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: {delay} }}]
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc2/h1, size: {early} B }}
      - {{ from: dc1/h2, to: dc2/h1, size: {bytes} B, start: {start} }}
policies: [ecmp]
transport: {{ retransmit_timeout: 10 s }}
faults: [{{ at: 10 ms, link: [dc1, dc2], delay: 1 ms }}{more}]
"
    ))
}

/// A packet of 1,000 B takes 1,058 B on the wire and 84.64 ns on each of three links, and its ACK takes 4.96 ns per
/// link. One link has a delay of 1 ms, two have 1 µs. The round trip takes 2.004 ms, although 1,000 packets are still
/// on the wire for 80 ms.
#[test]
fn a_flow_after_a_shortening_does_not_wait_for_packets_on_the_old_way() {
    let run = shortened("100 ms", 1_000, (1_000, "20 ms"), "");
    let alone = 3 * (84_640 + ACK) + 2 * (MILLI + 2 * HOST_DELAY);
    assert_eq!(alone, 2_004_268_800);
    assert_eq!(run.end_of(1), Some(20 * MILLI + alone));
    // Packets on the old path keep its delay; their ACKs return on the new path.
    let early = 1_002 * PACKET + 3 * ACK + 4 * HOST_DELAY + 101 * MILLI;
    assert_eq!(run.end_of(0), Some(early));
    assert_eq!(run.outcome.work.drops, 0);
}

/// 30,000 packets leave in the 9.97 ms from time 0 and take 20 ms; as many packets leave from 19 ms on and take 1 ms,
/// so both groups arrive together. They share the receiver's rate, the early packets first, so the last late packet is
/// the 60,000th. The port to the host has the link's rate, so it never has a queue.
#[test]
fn packets_of_both_ways_arrive_no_faster_than_the_link() {
    const PACKETS: u64 = 30_000;
    let run = shortened("20 ms", PACKETS, (PACKETS * 4_096, "19 ms"), "");
    let first = 20 * MILLI + HOST_DELAY + 2 * PACKET;
    let back = PACKET + 3 * ACK + 3 * HOST_DELAY + MILLI;
    assert_eq!(run.outcome.work.drops, 0);
    assert_eq!(
        run.end_of(0),
        Some(first + (2 * PACKETS - 2) * PACKET + back)
    );
    assert_eq!(
        run.end_of(1),
        Some(first + (2 * PACKETS - 1) * PACKET + back)
    );
    assert_eq!(run.outcome.work.go_backs, 0);
}

/// As in [`packets_of_both_ways_arrive_no_faster_than_the_link`], but a cut at 9.999 ms loses the early packets on the
/// wire, so the late packets have the wire for themselves.
#[test]
fn packets_that_a_cut_lost_hold_no_others_back() {
    let cut = ", { at: 9999 us, link: [dc1, dc2], down: true }, \
               { at: 10 ms, link: [dc1, dc2], up: true }";
    let run = shortened("20 ms", 30_000, (30_000 * 4_096, "19 ms"), cut);
    let alone = 30_002 * PACKET + 3 * ACK + 2 * (MILLI + 2 * HOST_DELAY);
    assert_eq!(run.end_of(1), Some(19 * MILLI + alone));
}

/// At 1 Mbit/s, a packet of 4,154 B takes 33.232 ms. The cut at 10 ms ends the first packet's transmission, so the
/// second packet, sent once the link is up again, does not wait for it.
#[test]
fn a_half_sent_packet_does_not_occupy_the_link_after_a_cut() {
    let run = simulate_text(
        "
name: half
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 1 Mbit, delay: 5 ms }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 4096 B }
      - { from: dc1/h2, to: dc2/h1, size: 4096 B, start: 12 ms }
policies: [ecmp]
transport: { retransmit_timeout: 1 s }
faults:
  - { at: 10 ms, link: [dc1, dc2], down: true }
  - { at: 11 ms, link: [dc1, dc2], up: true }
",
    );
    let packet = 33_232 * MICRO;
    let ack = 496 * MICRO;
    let alone = 2 * PACKET + packet + 2 * ACK + ack + 2 * (5 * MILLI + 2 * HOST_DELAY);
    assert_eq!(run.end_of(1), Some(12 * MILLI + alone));
}

#[test]
fn a_new_loss_rate_applies() {
    let run = simulate_text(&pair_with_fault(1_000, "0 ms", "loss: 0.5"));
    assert!(run.outcome.work.drops > 100, "{}", run.outcome.work.drops);
    let run = simulate_text(&pair_with_fault(1_000, "0 ms", "loss: 0"));
    assert_eq!(run.outcome.work.drops, 0);
}

/// Returns a scenario with two equal paths from dc1 to dc4 and four flows.
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
            // Both links of the path are cut, because a switch detects only cuts of its own links.
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
                let again: Vec<_> = after
                    .iter()
                    .filter(|event| event.flow == flow && !event.is_ack)
                    .collect();
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

/// Flows that failed over stay on their new path when the link comes up again; new flows may use the link.
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

/// Only the second link of a path is cut. No policy detects this, because a DCI switch detects only carrier loss at its
/// own ports, so dc1's decisions for new flows are the same as without a cut. The first 20 ms contain two
/// traffic-engineering intervals.
#[test]
fn no_policy_sees_a_cut_beyond_the_first_switch() {
    for policy in [
        "ecmp",
        "wcmp",
        "ucmp",
        "ucmp-artifact",
        "te: { interval: 5 ms }",
        "own: { name: delay-only }",
        "rm-alpha",
        "rm-beta",
        "lcmp",
    ] {
        let far = "{ at: 1 ms, link: [dc2, dc4], down: true }";
        let seen = |faults: &str| {
            let text = two_paths(policy, faults);
            let starts: Vec<_> = (1..=16)
                .map(|flow| {
                    let host = flow % 4 + 1;
                    let start = 20 + flow;
                    format!(
                        "{{ from: dc1/h{host}, to: dc4/h{host}, size: 4 kB, start: {start} ms }}"
                    )
                })
                .collect();
            let text = text.replace("20 MB }]", &format!("20 MB }}, {}]", starts.join(", ")));
            let plan = plan(&text);
            let run = simulate_until(&plan, 0, 1, 40 * MILLI);
            let late: Vec<_> = run
                .data_decisions()
                .filter(|event| event.flow >= 4)
                .map(|event| {
                    let rows = event
                        .decision
                        .candidates()
                        .iter()
                        .map(|row| (row.candidate.is_alive, row.candidate.buckets));
                    (event.flow, event.trigger, rows.collect::<Vec<_>>())
                })
                .collect();
            let dead = port_towards(&plan, "dc2");
            let chosen = run
                .data_decisions()
                .filter(|event| event.flow >= 4 && event.ports[event.decision.chosen] == dead);
            (late, chosen.count())
        };
        let (cut, lost) = seen(far);
        assert_eq!(cut.len(), 16, "{policy}");
        assert_eq!(cut, seen("").0, "{policy}");
        assert!(
            cut.iter()
                .all(|(_, _, rows)| rows.iter().all(|(is_alive, _)| *is_alive))
        );
        assert!(lost > 0, "{policy}: some are sent into the cut");
    }
}

/// dc1's packets towards the cut link find no next hop at dc2, and are counted as drops at the port through which dc2
/// would have sent them.
#[test]
fn packets_without_a_next_hop_count_at_the_dead_link() {
    let far = "{ at: 1 ms, link: [dc2, dc4], down: true }";
    let plan = plan(&two_paths("ecmp", far));
    let run = simulate_until(&plan, 0, 1, 15 * MILLI);
    let network = Network::new(&plan).expect("a network");
    let dc_of = |port: u32| network.nodes[network.ports[port as usize].node as usize].dc;
    let dropping = run
        .ports()
        .filter(|sample| sample.counts.drops > 0)
        .map(|it| (dc_of(it.port), dc_of(network.ports[it.port as usize].peer)));
    assert_eq!(dropping.collect::<Vec<_>>(), [(1, 3)]);
}

/// A switch without an agent has no flow table: its flows follow the hash over the links that are up, without
/// decisions.
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

/// Packets that are on the wire of a link when it is cut are lost, even if the link is up again before they would
/// arrive. Packets sent afterwards are not lost.
#[test]
fn a_cut_loses_packets_on_the_wire_and_none_sent_later() {
    let flap = "{ at: 100 us, link: [dc1, dc2], down: true }, \
                { at: 101 us, link: [dc1, dc2], up: true }";
    let text = pair_with_fault(1_000, "0 ms", "loss: 0").replace(
        "faults: [",
        &format!("transport: {{ retransmit_timeout: 20 ms }}\nfaults: [{flap}, "),
    );
    let run = simulate_text(&text);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    // Packet j, numbered from 1, begins to leave at 1 µs + j · 332.32 ns: 297 packets have begun by 100 µs, the last of
    // them incompletely. At 100,031.36, 100,363.68 and 100,696 ns, three more packets find the link down.
    assert_eq!(run.outcome.work.drops, 297 + 3);
    assert_eq!(run.count(0, StoryEvent::Dropped), 300);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
}

/// The link's delay grows while packets are on it. A cut before they were sent does not affect them.
#[test]
fn a_cut_does_not_affect_packets_sent_after_it() {
    let run = simulate_text(&pair_with_fault(10, "5 ms", "down: true").replace(
        "down: true }",
        "down: true }, { at: 4 ms, link: [dc1, dc2], up: true }, \
             { at: 7 ms, link: [dc1, dc2], delay: 8 ms }",
    ));
    assert_eq!(run.outcome.work.drops, 0);
    // The packets have the old delay of 5 ms, and their ACKs the new one of 8 ms.
    let alone = 12 * PACKET + 3 * ACK + 4 * HOST_DELAY + 13 * MILLI;
    assert_eq!(run.end_of(0), Some(5 * MILLI + alone));
}

/// The plan has new path costs for a changed link anywhere in the network, and the switches apply them.
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

/// The link's delay rises from 5 to 25 ms at 2 ms, while a flow of 48,828 full packets and one of 512 B (570 B on the
/// wire) is sent. A window for the initial round trip of 10 ms would stop the flow until its first ACK, 2 + 5 + 25 ms
/// after the start. A window for the longer round trip never stops it: all packets leave back to back, and the last
/// packet and its ACK take 25 ms each.
#[test]
fn a_window_holds_the_longest_round_trip_that_a_fault_makes() {
    let more = "faults: [{ at: 2 ms, link: [dc1, dc2], delay: 25 ms }]\n\
                transport: { window: bdp, retransmit_timeout: none }";
    let run = simulate_text(&pair("size: 200 MB", "", more));
    let data = 48_828 * PACKET + 2 * PACKET + 45_600;
    let wires = 2 * (2 * HOST_DELAY + 25 * MILLI);
    assert_eq!(run.end_of(0), Some(data + wires + 3 * ACK));
}
