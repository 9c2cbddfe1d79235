//! Tests of candidates that change after cuts and repairs.

use lab_sim::EndReason;

use crate::lab::{
    ACK, HOST_DELAY, MILLI, PACKET, Run, plan, port_towards, scaled, simulate, simulate_until,
};

/// Returns a scenario of four datacenters in a ring, with flows from dc1 to dc4: over dc2, both of whose links have 1 ms,
/// or over dc3, with 1 ms and 2 ms. If dc2 loses its link to dc4, its packets have to return over dc1.
fn ring(policy: &str, flows: &str, more: &str) -> String {
    format!(
        "
name: ring
topology:
  dcs: [{{ name: dc1, hosts: 8 }}, {{ name: dc2, hosts: 1 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 8 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc3, dc4], rate: 100 Gbit, delay: 2 ms }}
traffic:
  - flows: [{flows}]
policies: [{policy}]
transport: {{ retransmit_timeout: 20 ms }}
scale: {{ rate: 1/100, time: 10 }}
{more}
"
    )
}

const RECONVERGE: &str = "routing: { reconverge: { after: 50 ms } }";
const CUT: &str = "{ at: 10 ms, link: [dc2, dc4], down: true }";
const REPAIR: &str = "{ at: 200 ms, link: [dc2, dc4], up: true }";

/// One small flow at dc2 at 20 ms, while dc2 has no next hop. The time-out of 20 ms makes its first packet leave again at
/// 40, 60 and 80 ms; the switches have new candidates from 60 ms on. At 60 ms, the host's link delays the packet until
/// after the change.
fn stranded(faults: &str, more: &str) -> String {
    let flow = "{ from: dc2/h1, to: dc4/h1, size: 4096 B, start: 20 ms }";
    ring("ecmp", flow, &format!("{more}\nfaults: [{faults}]"))
}

#[test]
fn without_reconvergence_a_stranded_flow_never_ends() {
    let run = simulate_until(&plan(&stranded(CUT, "")), 0, 1, 2_000 * MILLI);
    assert_eq!(run.end_of(0), None);
}

/// From 60 ms on, the way leads over dc1, dc3 and dc4: five links, four of them with full packets to be sent again. The
/// ACK takes the same links: 1 + 1 + 2 ms each way.
#[test]
fn a_stranded_flow_ends_over_the_longer_way() {
    let run = simulate(&plan(&stranded(CUT, RECONVERGE)), 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let way = 5 * (PACKET + ACK) + 4 * HOST_DELAY + 8 * MILLI;
    // The timer starts anew when the packet has left; it never leaves before its time.
    let end = run.end_of(0).expect("it ends");
    let sent = end - way;
    assert!(
        (60 * MILLI..81 * MILLI).contains(&sent),
        "sent again at {sent} ps"
    );
}

/// Flows that are long enough to be under way at the cut and at the change: 20 MB take 1.6 ms alone, and 12 of them on one
/// link 20 ms.
fn long_flows() -> String {
    let flows: Vec<_> = (0..16)
        .map(|flow| {
            format!(
                "{{ from: dc1/h{0}, to: dc4/h{0}, size: 20 MB }}",
                flow % 8 + 1
            )
        })
        .collect();
    flows.join(", ")
}

/// Returns the ports that the data takes at dc1 from the time `from` on, in ps, by decision.
fn ports_from(run: &Run, from: u64) -> Vec<u32> {
    let decisions = run.data_decisions();
    let late = decisions.filter(|event| event.dc == 0 && event.at.picos() >= from);
    late.map(|event| event.ports[event.decision.chosen])
        .collect()
}

/// At dc1, flows over dc2 have a live next hop, but it is no candidate any more: were they to keep it, dc2 would send their
/// packets back to dc1, which would send them to dc2 for ever. With dc5, dc1 has two candidates left.
#[test]
fn flows_leave_a_live_port_that_would_lead_back() {
    for policy in [
        "ecmp",
        "wcmp",
        "ucmp",
        "te: { interval: 5 ms }",
        "lcmp",
        "own: { name: two-choice }",
    ] {
        let more = format!("{RECONVERGE}\nfaults: [{CUT}]");
        let text = ring(policy, &long_flows(), &more)
            .replace("at: 10 ms", "at: 1 ms")
            .replace("{ name: dc3 }", "{ name: dc3 }, { name: dc5 }")
            .replace(
                "  - { between: [dc1, dc3],",
                "  - { between: [dc1, dc5], rate: 100 Gbit, delay: 1 ms }\n    \
                   - { between: [dc5, dc4], rate: 100 Gbit, delay: 2 ms }\n    \
                   - { between: [dc1, dc3],",
            );
        for plan in [plan(&text), scaled(&text)] {
            let change = plan.reconvergences[0].at_ns.get() * 1_000;
            let dc2 = port_towards(&plan, "dc2");
            for threads in [1, 2] {
                let run = simulate(&plan, 0, threads);
                assert_eq!(run.outcome.reason, EndReason::Finished, "{policy}");
                let chosen = ports_from(&run, change);
                assert!(ports_from(&run, 0).contains(&dc2), "{policy}");
                assert!(!chosen.is_empty(), "{policy}: flows were pinned to dc2");
                assert!(
                    chosen.iter().all(|port| *port != dc2),
                    "{policy}: {chosen:?}"
                );
            }
        }
    }
}

/// Flows that start between the repair's reconvergence at 250 ms and later use both candidates again.
#[test]
fn after_a_repair_the_old_candidates_return() {
    let flows: Vec<_> = [100, 260]
        .into_iter()
        .flat_map(|start| (1..=8).map(move |host| (start, host)))
        .map(|(start, host)| {
            format!("{{ from: dc1/h{host}, to: dc4/h{host}, size: 100 kB, start: {start} ms }}")
        })
        .collect();
    let text = ring(
        "ecmp",
        &flows.join(", "),
        &format!("{RECONVERGE}\nfaults: [{CUT}, {REPAIR}]"),
    );
    let plan = plan(&text);
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    // A switch with one candidate decides nothing.
    let decided: Vec<u64> = run
        .data_decisions()
        .filter(|event| event.dc == 0)
        .map(|event| event.at.picos() / MILLI)
        .collect();
    assert_eq!(decided.len(), 8, "{decided:?}");
    assert!(decided.iter().all(|at| *at >= 260));
    let ports = ports_from(&run, 0);
    for next in ["dc2", "dc3"] {
        assert!(ports.contains(&port_towards(&plan, next)), "{next}");
    }
    assert_eq!(
        run.outcome.work.drops, 0,
        "no packet met the cut after the change"
    );
}

/// The ports of a flow that keeps its candidate are not decided again: dc1's flows over dc3.
#[test]
fn a_flow_keeps_its_port_while_it_is_a_candidate() {
    let early = CUT.replace("at: 10 ms", "at: 2 ms");
    let more = format!("{RECONVERGE}\nfaults: [{early}]");
    let text = ring("ecmp", &long_flows(), &more);
    let plan = plan(&text);
    let run = simulate(&plan, 0, 1);
    let dc3 = port_towards(&plan, "dc3");
    let first: Vec<_> = run
        .data_decisions()
        .filter(|event| event.dc == 0 && event.at.picos() < 52 * MILLI)
        .filter(|event| event.ports[event.decision.chosen] == dc3)
        .map(|event| event.flow)
        .collect();
    assert!(!first.is_empty());
    let again = run
        .data_decisions()
        .filter(|event| event.dc == 0 && event.at.picos() >= 52 * MILLI)
        .filter(|event| first.contains(&event.flow));
    assert_eq!(again.count(), 0);
}
