//! Tests of tunnels: the first switch chooses, and all others follow.

use std::collections::BTreeSet;

use lab_sim::EndReason;

use crate::lab::{ACK, HOST_DELAY, MILLI, PACKET, Run, plan, simulate, simulate_until};

/// Returns a scenario with two tunnels from dc1 to dc4 that cross at dc5: over dc2, dc5 and dc6 in 4 ms, and over dc3,
/// dc5 and dc7 in 7 ms. Sixteen flows of one packet start at `start`, one per millisecond.
fn crossing(start: u64, more: &str) -> String {
    let flows = (0..16).map(|flow| {
        format!(
            "{{ from: dc1/h{0}, to: dc4/h{0}, size: 4096 B, start: {1} ms }}",
            flow % 8 + 1,
            start + flow
        )
    });
    format!(
        "
name: crossing
topology:
  dcs:
    - {{ name: dc1, hosts: 8 }}
    - {{ name: dc2 }}
    - {{ name: dc3 }}
    - {{ name: dc4, hosts: 8 }}
    - {{ name: dc5 }}
    - {{ name: dc6 }}
    - {{ name: dc7 }}
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc2, dc5], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc5, dc6], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc6, dc4], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc3, dc5], rate: 100 Gbit, delay: 2 ms }}
    - {{ between: [dc5, dc7], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc7, dc4], rate: 100 Gbit, delay: 3 ms }}
traffic:
  - flows: [{}]
policies: [ecmp]
transport: {{ retransmit_timeout: 20 ms }}
{more}
",
        flows.collect::<Vec<_>>().join(", ")
    )
}

const TUNNELS: &str = "routing: { candidates: tunnels }";
const RECONVERGING: &str = "routing: { candidates: tunnels, reconverge: { after: 50 ms } }";

/// Cuts at 10 ms that leave the path over dc3, dc5 and dc6, which is no tunnel before a reconvergence.
const CUTS: &str = "\
    { at: 10 ms, link: [dc1, dc2], down: true }, \
    { at: 10 ms, link: [dc7, dc4], down: true }";

/// Returns the delays there and back on the links between the datacenters, in ms, by flow; waiting times of some
/// nanoseconds, where packets meet, are left out.
fn delays(run: &Run) -> Vec<u64> {
    let between = |(flow, start): (u32, u64)| {
        let whole = run.end_of(flow).expect("it ends") - start * MILLI;
        let inside = 6 * (PACKET + ACK) + 4 * HOST_DELAY;
        (whole - inside) / MILLI
    };
    (0u32..16).zip(0u64..).map(between).collect()
}

/// A packet takes 4 or 7 ms, and its ACK does. At dc5 a packet from dc2 goes on to dc6, and one from dc3 to dc7: were
/// they to change the tunnel there, they would take 5 or 6 ms. Only dc1 decides about data, and only dc4 about ACKs.
#[test]
fn tunnels_that_cross_stay_apart() {
    for threads in [1, 3] {
        let run = simulate(&plan(&crossing(0, TUNNELS)), 0, threads);
        assert_eq!(run.outcome.reason, EndReason::Finished);
        let found: BTreeSet<u64> = delays(&run).into_iter().collect();
        assert_eq!(found, BTreeSet::from([8, 11, 14]));
        let decided: Vec<_> = run.decisions().map(|it| (it.dc, it.is_ack)).collect();
        assert_eq!(decided.len(), 32);
        assert!(
            decided
                .iter()
                .all(|it| [(0, false), (3, true)].contains(it))
        );
    }
}

/// After the cuts dc1 still has a live first link, to dc3. It does not know that its tunnel is cut at dc7, and dc5,
/// which could send the packets to dc6, follows the tunnel.
#[test]
fn a_switch_on_the_way_does_not_repair_a_tunnel() {
    let text = crossing(20, &format!("{TUNNELS}\nfaults: [{CUTS}]"));
    let run = simulate_until(&plan(&text), 0, 1, 500 * MILLI);
    assert!((0..16).all(|flow| run.end_of(flow).is_none()));
}

/// Returns the times at which the first and the last of the flows end, in ms.
fn ends(text: &str) -> [u64; 2] {
    let run = simulate(&plan(text), 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let ends = (0..16).map(|flow| run.end_of(flow).expect("it ends") / MILLI);
    [ends.clone().min(), ends.max()].map(|end| end.expect("there are flows"))
}

/// From 60 ms on, the tunnel is dc1-dc3-dc5-dc6-dc4, of 5 ms. The flows' first packets are lost; their timers of 20 ms
/// end at least once between 60 and 80 ms. If dc5 has no agent from 5 ms to 100 ms, it follows the old tunnels until
/// then.
#[test]
fn reconvergence_changes_the_tunnels_at_all_switches_with_an_agent() {
    let text = |faults: &str| crossing(20, &format!("{RECONVERGING}\nfaults: [{CUTS}{faults}]"));
    let [first, last] = ends(&text(""));
    assert!(
        (70..=91).contains(&first) && (70..=91).contains(&last),
        "{first} {last}"
    );
    let crash = ", { at: 5 ms, agent: dc5, down: true }, { at: 100 ms, agent: dc5, up: true }";
    let [first, last] = ends(&text(crash));
    assert!(
        (105..=131).contains(&first) && last <= 131,
        "{first} {last}"
    );
}
