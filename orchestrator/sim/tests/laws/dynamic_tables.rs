//! Tests of tables that change while flows run, by traffic engineering and by UCMP's flow ageing.

use lab_policy::Trigger;
use lab_records::StoryEvent;
use lab_sim::{EndReason, Job};

use crate::lab::{EQUAL_PATHS, HOST_DELAY, MILLI, PACKET, plan, simulate, simulate_job};

/// Returns a scenario with two equal paths from dc1 to dc4; dc2's own traffic to dc4 fills one of them for 40 ms.
pub fn crossing(agent: &str) -> String {
    let small: Vec<_> = [5, 15, 25, 35]
        .map(|at| format!("{{ from: dc1/h1, to: dc4/h2, size: 80 kB, start: {at} ms }}"))
        .to_vec();
    format!(
        "
name: crossing
topology:
  dcs:
    - {{ name: dc1, hosts: 1{agent} }}
    - {{ name: dc2, hosts: 1 }}
    - {{ name: dc3 }}
    - {{ name: dc4, hosts: 2 }}
  links: [{EQUAL_PATHS}]
traffic:
  - flows:
      - {{ from: dc2/h1, to: dc4/h1, size: 500 MB }}
      - {}
policies: [te: {{ interval: 10 ms }}]
transport: {{ window: none }}
",
        small.join("\n      - ")
    )
}

/// With a traffic-engineering interval of 10 ms, the demands up to 10 ms determine the weights installed at 20 ms. The
/// flow at 15 ms gets the provisioned weights; the flow at 25 ms gets weights that avoid dc2's link.
#[test]
fn weights_are_one_interval_stale_and_avoid_the_busy_link() {
    let plan = plan(&crossing(""));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let seen: Vec<_> = run
        .data_decisions()
        .map(|event| {
            let buckets: Vec<u16> = event
                .decision
                .candidates()
                .iter()
                .map(|row| row.candidate.buckets)
                .collect();
            (event.at.picos() / MILLI, buckets)
        })
        .collect();
    // Candidates are in the order of delay, then port, so dc2 comes first.
    let expected = [
        (5, vec![1, 1]),
        (15, vec![1, 1]),
        (25, vec![0, 100]),
        (35, vec![0, 100]),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_switch_without_an_agent_has_no_te_weights() {
    let plan = plan(&crossing(", agent: legacy"));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.decisions().filter(|event| event.dc == 0).count(), 0);
}

/// A cut of the idle link from dc3 to dc4 does not change the weights, which still avoid dc2's busy link. So the flows
/// at 25 and 35 ms are sent into the cut, and finish only after the link is up again.
#[test]
fn traffic_engineering_knows_of_no_remote_cut() {
    let text = crossing("").replace(
        "policies:",
        "faults: [{ at: 1 ms, link: [dc3, dc4], down: true }, { at: 60 ms, link: [dc3, dc4], up: true }]\n\
         policies:",
    );
    let plan = plan(&text.replace("window: none", "window: none, retransmit_timeout: 15 ms"));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let late = run
        .data_decisions()
        .filter(|event| event.at.picos() > 20 * MILLI);
    let mut count = 0;
    for event in late {
        let buckets: Vec<u16> = event
            .decision
            .candidates()
            .iter()
            .map(|row| row.candidate.buckets)
            .collect();
        assert_eq!(buckets, [0, 100], "at {}", event.at);
        assert!(run.end_of(event.flow) > Some(60 * MILLI));
        count += 1;
    }
    assert_eq!(count, 2, "the flows of 25 and 35 ms");
}

/// Returns a scenario with two paths from dc1 to dc4: via dc2 with 4 ms and 100 Gbit/s, via dc3 with 5 ms and 200
/// Gbit/s.
fn near_and_wide(policy: &str, flows: &str) -> String {
    format!(
        "
name: sizes
topology:
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 2 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 2 ms }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 2 ms }}
    - {{ between: [dc1, dc3], rate: 200 Gbit, delay: 2 ms }}
    - {{ between: [dc3, dc4], rate: 200 Gbit, delay: 3 ms }}
traffic:
  - flows: [{flows}]
policies: [{policy}]
transport: {{ window: none }}
"
    )
}

/// UCMP's path cost d + α · h · f / c (delay, links, flow size, capacity) is 4 ms + 8 f / 100 Gbit/s via dc2. Via dc3,
/// the cost is 5 ms + 8 f / 200 Gbit/s. Both costs are equal at 25,000,000 B. With the 6,019th packet of 4,154 B, the
/// flow exceeds this size.
#[test]
fn a_flow_moves_with_the_packet_that_crosses_the_size_threshold() {
    let flows = "{ from: dc1/h1, to: dc4/h1, size: 40 MB }, \
                 { from: dc1/h2, to: dc4/h2, size: 20 MB, start: 200 ms }";
    let plan = plan(&near_and_wide("ucmp: { ageing: true, quantum: 0 }", flows));
    // Trains begin with this packet, too.
    for train in [1, 64, 500] {
        let job = Job {
            train,
            ..Job::new(&plan, 0, 0)
        };
        let run = simulate_job(job, 1, 1_000 * MILLI);
        assert_eq!(run.outcome.reason, EndReason::Finished);
        let of = |flow: u32| {
            let here = run
                .decisions()
                .filter(move |event| event.dc == 0 && event.flow == flow);
            here.filter(|event| !event.is_ack)
                .map(|event| (event.at.picos(), event.trigger, event.decision.chosen))
                .collect::<Vec<_>>()
        };
        let begin = HOST_DELAY + PACKET;
        assert_eq!(
            of(0),
            [
                (begin, Trigger::NewFlow, 0),
                (HOST_DELAY + 6_019 * PACKET, Trigger::FlowAgeing, 1)
            ],
            "trains of {train}"
        );
        // The flow moved to a longer path, so no packet overtook another and nothing was retransmitted.
        assert_eq!(run.count(0, StoryEvent::Nacked), 0);
        assert_eq!(
            run.outcome.work.data_packets,
            40_000_000_u64.div_ceil(4_096) + 20_000_000_u64.div_ceil(4_096)
        );
        assert_eq!(of(1), [(200 * MILLI + begin, Trigger::NewFlow, 0)]);
    }
}

#[test]
fn without_flow_ageing_a_flow_stays_on_the_nearest_path() {
    let flows = "{ from: dc1/h1, to: dc4/h1, size: 40 MB }";
    let plan = plan(&near_and_wide("min-delay", flows));
    let run = simulate(&plan, 0, 1);
    let decisions: Vec<_> = run.decisions().filter(|event| event.dc == 0).collect();
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].decision.chosen, 0);
}

#[test]
fn the_users_own_policies_decide() {
    let flows: Vec<_> = (0..8)
        .map(|n| {
            format!(
                "{{ from: dc1/h{}, to: dc4/h1, size: 8 kB, start: {n} ms }}",
                n % 2 + 1
            )
        })
        .collect();
    let plan = plan(&near_and_wide(
        "{ own: { name: delay-only } }, { own: { name: two-choice, label: drill } }",
        &flows.join(", "),
    ));
    assert_eq!(plan.policies[1].label, "drill");
    let chosen = |policy| -> Vec<usize> {
        let run = simulate(&plan, policy, 1);
        assert_eq!(run.outcome.reason, EndReason::Finished);
        let here = run.decisions().filter(|event| event.dc == 0);
        here.map(|event| event.decision.chosen).collect()
    };
    assert_eq!(chosen(0), [0; 8], "always the nearest");
    let drill = chosen(1);
    assert!(
        drill.contains(&0) && drill.contains(&1),
        "idle queues: the hash, {drill:?}"
    );
}

/// Under a policy with buckets, a flow-table entry lives for as long as a flow may run (the flow deadline), as in the
/// lab. With a deadline of 20 ms, the entry of a short flow at 0 ms has expired when another flow starts at 60 ms.
#[test]
fn entries_of_bucket_policies_expire_after_a_flows_deadline() {
    let flows = "{ from: dc1/h1, to: dc4/h1, size: 4 kB }, \
                 { from: dc1/h2, to: dc4/h2, size: 4 kB, start: 60 ms }";
    let mut plan = plan(&near_and_wide("ecmp", flows));
    let expired = |plan: &lab_plan::Plan| {
        let run = simulate(plan, 0, 1);
        run.switches()
            .filter(|switch| switch.dc == 0)
            .last()
            .expect("a sample")
            .expired
    };
    assert_eq!(expired(&plan), 0, "a flow's deadline is seconds");
    plan.rdma.flow_deadline_ns = lab_units::Nanos::from_millis(20);
    assert_eq!(expired(&plan), 1, "the flow of 0 s");
}
