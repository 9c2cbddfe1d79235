//! Tests of the DCI switches' decisions.

use lab_sim::EndReason;

use crate::lab::{MILLI, Run, plan, port_towards, simulate, simulate_until};

/// Returns a scenario with two equal paths from dc1 to dc4; flows from two hosts in dc1 to dc2 fill one of them.
pub fn busy_path(policies: &str, agent: &str) -> String {
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

/// LCMP chooses among the cheaper half of the candidates, here one, and a growing queue raises a candidate's cost.
/// ECMP's hash ignores queues, so it sends some of the sixteen flows over each path.
#[test]
fn lcmp_avoids_the_congested_candidate_and_ecmp_does_not() {
    let plan = plan(&busy_path("ecmp, lcmp", ""));
    let busy = port_towards(&plan, "dc2");
    let by_busy = |policy: usize| {
        let run = simulate(&plan, policy, 1);
        assert_eq!(run.outcome.reason, EndReason::Finished);
        let decided: Vec<bool> = run
            .data_decisions()
            .filter(|event| event.ports.len() == 2)
            .map(|event| event.ports[event.decision.chosen] == busy)
            .collect();
        assert_eq!(decided.len(), 16, "one decision a flow");
        decided.iter().filter(|&&is_busy| is_busy).count()
    };
    let ecmp = by_busy(0);
    let lcmp = by_busy(1);
    assert!((1..16).contains(&ecmp), "{ecmp}");
    assert_eq!(lcmp, 0);
}

#[test]
fn a_legacy_switch_forwards_without_decisions() {
    let plan = plan(&busy_path("lcmp", ", agent: legacy"));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(decisions_of(&run, 0), 0);
    assert!(decisions_of(&run, 3) > 0, "the ACKs' switch decides");
    assert!(
        run.switches().all(|event| event.dc != 0),
        "it has no samples"
    );
}

/// Idle flows are removed from a switch's flow table, and the least recently seen flows are evicted at each sample if
/// the table is over its capacity. After that, the table is within its capacity, and all flows finish.
#[test]
fn a_flow_table_is_bounded() {
    let plan = plan(&busy_path(
        "lcmp: { flow_table_entries: 3, idle_timeout: 500 ms }",
        "",
    ));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let max = run.switches().map(|event| event.flows).max();
    assert_eq!(max, Some(3));
    let last = run.switches().filter(|event| event.dc == 0).last();
    let last = last.expect("a last sample");
    assert!(last.evicted > 0, "{last:?}");
    // Each first decision created an entry, which is now in the table, evicted or expired.
    assert_eq!(
        last.flows + last.evicted + last.expired,
        last.counters.decisions() - last.counters.failovers
    );
    assert_eq!(last.counters.decisions(), decisions_of(&run, 0));
}

/// Without faults, every flow gets one decision per direction.
#[test]
fn a_flow_keeps_its_path() {
    let plan = plan(&busy_path("ecmp, wcmp, lcmp", ""));
    for policy in 0..3 {
        let run = simulate(&plan, policy, 1);
        for flow in 0..18 {
            for is_ack in [false, true] {
                let decisions = run
                    .decisions()
                    .filter(|event| event.flow == flow && event.is_ack == is_ack)
                    .count();
                assert!(decisions <= 1, "policy {policy}, flow {flow}");
            }
        }
    }
}

fn decisions_of(run: &Run, dc: u32) -> u64 {
    run.decisions().filter(|event| event.dc == dc).count() as u64
}

/// Two hosts with 97 Gbit/s fill a link of 100 Gbit/s, whose queue grows at 94 % of the link's rate. So after 24
/// smoothed samples, the trend level T is ⌊255 · 9 / 10⌋ = 229, the level for 90 % to 100 %: 0.94 · (1 − (7/8)²⁴) >
/// 0.9.
#[test]
fn a_queues_trend_does_not_depend_on_the_sample_interval() {
    for interval in ["1 ms", "100 us", "10 us"] {
        let text = format!(
            "
name: trend
topology:
  defaults: {{ host_link: {{ rate: 97 Gbit }} }}
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 2 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 2 ms, buffer: 2 GB }}]
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc2/h1, size: 600 MB }}
      - {{ from: dc1/h2, to: dc2/h2, size: 600 MB }}
policies: [lcmp: {{ sample_interval: {interval} }}]
measure: {{ queues: 1 ms }}
transport: {{ window: none, retransmit_timeout: 10 s }}
"
        );
        let plan = plan(&text);
        let run = simulate_until(&plan, 0, 1, 45 * MILLI);
        let busy = port_towards(&plan, "dc2");
        let settled = run
            .queues()
            .filter(|queue| queue.port == busy && queue.at.picos() > 30 * MILLI);
        let trends: Vec<u8> = settled.map(|queue| queue.levels.trend).collect();
        assert!(trends.len() >= 10, "{}", trends.len());
        assert!(
            trends.iter().all(|&trend| trend == 229),
            "{interval}: {trends:?}"
        );
    }
}
