//! DCI switches that decide.

use lab_sim::EndReason;

use crate::lab::{Run, plan, simulate};

/// Two like ways from dc1 to dc4, one of which two hosts of dc1 fill with flows to dc2.
fn busy_way(policies: &str, agent: &str) -> String {
    let crossing: Vec<_> = (1..=16)
        .map(|flow| {
            let host = flow % 4 + 1;
            format!(
                "{{ from: dc1/h{host}, to: dc4/h1, size: 8 kB, start: {} ms }}",
                flow * 5
            )
        })
        .collect();
    format!(
        "
name: busy
topology:
  dcs:
    - {{ name: dc1, hosts: 6{agent} }}
    - {{ name: dc2, hosts: 2 }}
    - {{ name: dc3 }}
    - {{ name: dc4, hosts: 1 }}
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 2 ms, buffer: 1 GB }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 2 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 2 ms, buffer: 1 GB }}
    - {{ between: [dc3, dc4], rate: 100 Gbit, delay: 2 ms }}
traffic:
  - flows:
      - {{ from: dc1/h5, to: dc2/h1, size: 600 MB }}
      - {{ from: dc1/h6, to: dc2/h2, size: 600 MB }}
      - {}
policies: [{policies}]
transport: {{ window: none, retransmit_timeout: 10 s }}
",
        crossing.join("\n      - ")
    )
}

/// LCMP keeps the better half of the candidates, here one, and the way whose queue grows costs more.
/// ECMP's hash does not look and sends some of sixteen flows either way.
#[test]
fn lcmp_avoids_the_congested_candidate_and_ecmp_does_not() {
    let plan = plan(&busy_way("ecmp, lcmp", ""));
    let network = lab_sim::network::Network::new(&plan).expect("a network");
    let busy = plan.switches[0]
        .destinations
        .iter()
        .flat_map(|row| &row.candidates);
    let busy = busy
        .clone()
        .find(|candidate| plan.dcs[candidate.next_dc.index()].name == "dc2");
    let busy = network.port(busy.expect("a candidate").port);
    let by_busy = |policy: usize| {
        let run = simulate(&plan, policy, 1);
        assert_eq!(run.outcome.reason, EndReason::Finished);
        let decided: Vec<bool> = run
            .decisions()
            .filter(|note| note.dc == 0 && !note.is_ack && note.ports.len() == 2)
            .map(|note| note.ports[note.decision.chosen] == busy)
            .collect();
        assert_eq!(decided.len(), 16, "one decision a flow");
        decided.iter().filter(|&&is_busy| is_busy).count()
    };
    let (ecmp, lcmp) = (by_busy(0), by_busy(1));
    assert!((1..16).contains(&ecmp), "{ecmp}");
    assert_eq!(lcmp, 0);
}

#[test]
fn a_legacy_switch_decides_nothing_and_passes_everything_on() {
    let plan = plan(&busy_way("lcmp", ", agent: legacy"));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(decisions_of(&run, 0), 0);
    assert!(decisions_of(&run, 3) > 0, "the ACKs' switch decides");
    assert!(
        run.switches().all(|note| note.dc != 0),
        "nobody tells of it"
    );
}

/// Rows of idle flows are collected and a full table forgets the flow seen longest ago: it never
/// holds more than it has room for, and flows finish whatever it forgets.
#[test]
fn a_flow_table_is_bounded() {
    let plan = plan(&busy_way(
        "lcmp: { flow_table_entries: 3, idle_timeout: 500 ms }",
        "",
    ));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let most = run.switches().map(|note| note.flows).max();
    assert_eq!(most, Some(3));
    let last = run.switches().filter(|note| note.dc == 0).last();
    let last = last.expect("it is told of at the end");
    assert!(last.evicted > 0, "{last:?}");
    // Who was decided for the first time was entered, and is still there or had to go.
    assert_eq!(
        last.flows + last.evicted + last.expired,
        last.counters.decisions - last.counters.failovers
    );
    assert_eq!(last.counters.decisions, decisions_of(&run, 0));
}

/// Every decision is for a port that is up and among the candidates, and every flow goes one way.
#[test]
fn a_flow_keeps_its_way() {
    let plan = plan(&busy_way("ecmp, wcmp, lcmp", ""));
    for policy in 0..3 {
        let run = simulate(&plan, policy, 1);
        for flow in 0..18 {
            for is_ack in [false, true] {
                let decisions = run
                    .decisions()
                    .filter(|note| note.flow == flow && note.is_ack == is_ack)
                    .count();
                assert!(decisions <= 1, "policy {policy}, flow {flow}");
            }
        }
    }
}

fn decisions_of(run: &Run, dc: u32) -> u64 {
    run.decisions().filter(|note| note.dc == dc).count() as u64
}
