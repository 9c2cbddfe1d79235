//! Tests of candidates by delay, whose paths have different numbers of links.

use lab_sim::EndReason;

use crate::lab::{ACK, HOST_DELAY, MILLI, PACKET, Run, plan, port_towards, simulate};

/// Returns a scenario with flows from dc1 to dc4, which are 30 ms apart on a direct link, 10 ms via dc2, and 10.5 ms via
/// dc3 and dc2.
fn wan(policy: &str, flows: &str, more: &str) -> String {
    format!(
        "
name: wan
topology:
  dcs: [{{ name: dc1, hosts: 4 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 4 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 4500 us }}
    - {{ between: [dc2, dc3], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc1, dc4], rate: 100 Gbit, delay: 30 ms }}
traffic:
  - flows: [{flows}]
policies: [{policy}]
{more}
"
    )
}

const DOWNHILL: &str = "routing: { candidates: downhill-delay }";

/// Returns the ports of dc1 that the flows' data takes, in the order of flows.
fn ports(run: &Run) -> Vec<u32> {
    let decisions = run.data_decisions();
    let mut chosen: Vec<_> = decisions
        .map(|event| (event.flow, event.ports[event.decision.chosen]))
        .collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|(_, port)| port).collect()
}

/// A full packet and its ACK cross two host links (1 µs each), and two links with 5 ms each or the direct link with 30 ms.
#[test]
fn a_flow_takes_the_nearer_path_of_more_links() {
    let flow = "{ from: dc1/h1, to: dc4/h1, size: 4096 B }";
    let nearest = "own: { name: delay-only }";
    let fewest = simulate(&plan(&wan(nearest, flow, "")), 0, 1);
    let direct = 3 * (PACKET + ACK) + 4 * HOST_DELAY + 60 * MILLI;
    assert_eq!(fewest.end_of(0), Some(direct));
    let plan = plan(&wan(nearest, flow, DOWNHILL));
    let run = simulate(&plan, 0, 1);
    let near = 4 * (PACKET + ACK) + 4 * HOST_DELAY + 20 * MILLI;
    assert_eq!(run.end_of(0), Some(near));
    // Ideal times are in whole nanoseconds, rounded down.
    assert_eq!(plan.flows[0].ideal_fct_ns.get(), near / 1_000);
    assert_eq!(ports(&run), [port_towards(&plan, "dc2")]);
}

/// Under ECMP, flows take both candidates of dc1, also the one whose path has a link more, and all finish.
#[test]
fn flows_take_all_candidates_under_every_control() {
    let flows: Vec<_> = (0..32)
        .map(|flow| {
            let host = flow % 4 + 1;
            format!("{{ from: dc1/h{host}, to: dc4/h{host}, size: 100 kB, start: {flow} ms }}")
        })
        .collect();
    for more in ["", "transport: { cc: hpcc }", "transport: { window: bdp }"] {
        let text = wan("ecmp", &flows.join(", "), &format!("{DOWNHILL}\n{more}"));
        let plan = plan(&text);
        for threads in [1, 2] {
            let run = simulate(&plan, 0, threads);
            assert_eq!(run.outcome.reason, EndReason::Finished, "{more}");
            let taken = ports(&run);
            assert_eq!(taken.len(), 32);
            for next in ["dc2", "dc3"] {
                assert!(taken.contains(&port_towards(&plan, next)), "{more} {next}");
            }
            let least = 4 * (PACKET + ACK) / 10 + 20 * MILLI;
            for flow in 0..32 {
                let start = u64::from(flow) * MILLI;
                assert!(run.end_of(flow).unwrap() - start > least);
            }
        }
    }
}

/// The link to the nearest candidate is cut for good: the flow goes on over dc3, and so do its ACKs from dc2, whose next
/// hops to dc1 are dc1 itself and dc3.
#[test]
fn flows_fail_over_to_a_longer_path() {
    let flow = "{ from: dc1/h1, to: dc4/h1, size: 40 MB }";
    let cut = format!(
        "{DOWNHILL}\ntransport: {{ retransmit_timeout: 100 ms }}\nfaults: [{{ at: 1 ms, link: [dc1, dc2], down: true }}]"
    );
    let plan = plan(&wan("own: { name: delay-only }", flow, &cut));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let here = run
        .data_decisions()
        .map(|event| event.ports[event.decision.chosen]);
    let wanted = ["dc2", "dc3"].map(|next| port_towards(&plan, next));
    assert_eq!(here.collect::<Vec<_>>(), wanted);
    let failovers = run
        .data_decisions()
        .filter(|event| event.trigger == lab_policy::Trigger::Failover);
    assert_eq!(failovers.count(), 1);
}
