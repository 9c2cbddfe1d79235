//! Tests of priority flow control.

use std::collections::BTreeMap;

use lab_sim::EndReason;

use crate::lab::{HOST_DELAY, MICRO, MILLI, PACKET, plan, simulate, simulate_text};

/// A host with 100 Gbit/s sends into a link with 50 Gbit/s.
///
/// The switch's buffer holds the reserves of two ports, 2 · 8 · 4,096 B, the headroom of the host port, 25,000 B for a
/// round trip of 2 µs and 3 · 4,154 B + 64 B, and 90,000 B to share. The long link's headroom, a bandwidth-delay
/// product, does not fit into the buffer and is set to 0. The switch pauses the host once its port uses an eighth of
/// the free shared bytes, 10,000 B. That is when four packets are in the buffer, 4 · 4,154 − 4,096 B. Packet i arrives
/// at 1 µs + i · 332.32 ns, and one packet leaves for every two that arrive, so the first packet that finds three in
/// the buffer is the seventh: 3,326.24 ns. The pause of 64 B is sent in 5.12 ns and travels for 1 µs.
#[test]
fn a_pause_is_sent_at_the_threshold_and_arrives_a_delay_later() {
    let run = simulate_text(
        "
name: pause
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 50 Gbit, delay: 5 ms }]
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 4096000 B }]
policies: [ecmp]
transport: { pfc: true, dci_buffer: 193062 B }
",
    );
    let first = run.pfc().next().expect("it is paused");
    assert!(first.is_pause);
    let sent = HOST_DELAY + 7 * PACKET;
    assert_eq!(first.at.picos(), sent + 5_120 + HOST_DELAY);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.outcome.work.drops, 0);
    // The flow takes as long as the slow link needs, twice the packet time for each of 1,000 packets.
    let after = 5 * MILLI + PACKET + HOST_DELAY + 2 * 4_960 + 9_920 + 2 * HOST_DELAY + 5 * MILLI;
    let busy = PACKET + HOST_DELAY + 1_000 * 2 * PACKET;
    assert!(run.end_of(0) >= Some(busy + after));
}

/// Returns a scenario in which eight hosts send into one link that has a host's rate, at switches with almost no buffer
/// to share.
fn incast(more: &str) -> String {
    let flows = (1..=8)
        .map(|host| format!("{{ from: dc1/h{host}, to: dc2/h1, size: 2 MB, start: {host} us }}"));
    let back = (1..=8)
        .map(|host| format!("{{ from: dc2/h1, to: dc1/h{host}, size: 500 kB, start: {host} us }}"));
    let flows: Vec<String> = flows.chain(back).collect();
    format!(
        "
name: incast
topology:
  dcs: [{{ name: dc1, hosts: 8 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 10 us }}]
traffic:
  - flows: [{}]
policies: [ecmp]
transport: {{ pfc: true, dci_buffer: 1000 kB, {more} }}
",
        flows.join(", ")
    )
}

#[test]
fn an_incast_loses_nothing_and_every_pause_ends() {
    for more in [
        "ack_priority: false",
        "ack_priority: true",
        "cc: dcqcn",
        "payload: 512",
    ] {
        let run = simulate(&plan(&incast(more)), 0, 1);
        assert_eq!(run.outcome.reason, EndReason::Finished, "{more}");
        assert_eq!(run.outcome.work.drops, 0, "{more}");
        let mut paused = BTreeMap::new();
        for event in run.pfc() {
            let before = paused.insert((event.port, event.class), event.is_pause);
            assert_eq!(
                before.unwrap_or(false),
                !event.is_pause,
                "one ends the other, {more}"
            );
        }
        assert!(!paused.is_empty(), "{more}");
        assert!(paused.values().all(|&is_paused| !is_paused), "{more}");
    }
}

/// PFC frames are exempt from a link's random loss, because otherwise a host could stay paused forever.
#[test]
fn lossy_links_do_not_lose_the_end_of_a_pause() {
    let text = incast("retransmit_timeout: 1 ms").replace(
        "topology:",
        "topology:\n  defaults: { host_link: { loss: 0.01 } }",
    );
    let run = simulate_text(&text);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert!(run.pfc().count() > 0);
    assert!(
        run.outcome.end.picos() < 100_000 * MICRO,
        "{}",
        run.outcome.end
    );
}

/// The link is cut while its queue holds the excess traffic of five hosts, which is counted in the switch's buffer and
/// whose flows never continue. A host that sends later is paused at the same time as in a run without these flows and
/// the cut.
#[test]
fn a_cut_link_gives_its_part_of_the_buffer_back() {
    let first_pause = |earlier: &str, faults: &str| {
        let run = simulate_text(&format!(
            "
name: cut
topology:
  dcs: [{{ name: dc1, hosts: 6 }}, {{ name: dc2, hosts: 6 }}]
  links: [{{ between: [dc1, dc2], rate: 50 Gbit, delay: 1 ms }}]
traffic:
  - flows: [{earlier}{{ from: dc1/h6, to: dc2/h6, size: 2 MB, start: 20 ms }}]
policies: [ecmp]
transport: {{ pfc: true, dci_buffer: 800 kB, retransmit_timeout: none }}
faults: [{faults}]
"
        ));
        run.pfc()
            .find(|event| event.at.picos() > 20 * MILLI)
            .expect("the host is paused")
            .at
    };
    let alone = first_pause("", "");
    let flap = "{ at: 100 us, link: [dc1, dc2], down: true }, \
                { at: 200 us, link: [dc1, dc2], up: true }";
    let earlier =
        (1..=5).map(|host| format!("{{ from: dc1/h{host}, to: dc2/h{host}, size: 4 MB }}, "));
    assert_eq!(first_pause(&earlier.collect::<String>(), flap), alone);
}

/// The delay of dc1's link to dc2 grows a hundredfold while dc2, whose next link has a tenth of the rate, pauses dc1.
/// Then 2.5 MB are in flight in a round trip, instead of 25 kB at the start.
#[test]
fn headroom_holds_the_longest_link_that_a_fault_makes() {
    let run = simulate_text(
        "
name: longer
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 1 us }
    - { between: [dc2, dc3], rate: 10 Gbit, delay: 1 us }
traffic:
  - flows: [{ from: dc1/h1, to: dc3/h1, size: 100 MB }]
policies: [ecmp]
transport: { pfc: true, dci_buffer: 10 MB, window: none, retransmit_timeout: none }
faults:
  - { at: 100 us, link: [dc1, dc2], delay: 100 us }
",
    );
    assert!(run.pfc().count() > 0, "dc1 is paused");
    assert_eq!((run.outcome.work.drops, run.go_backs()), (0, (0, 0)));
}
