//! Tests of switches whose agent is down for a time.

use lab_plan::Plan;
use lab_policy::Rule;
use lab_sim::EndReason;

use crate::{
    dynamic_tables::crossing,
    lab::{EQUAL_PATHS, MILLI, Run, plan, port_towards, simulate},
    policy::busy_path,
};

/// Returns a list of faults: dc1's agent crashes at `at` and starts again at `restart` unless that is empty.
fn crash(at: &str, restart: &str) -> String {
    let back = format!(", {{ at: {restart}, agent: dc1, up: true }}");
    let back = if restart.is_empty() {
        String::new()
    } else {
        back
    };
    format!("faults: [{{ at: {at}, agent: dc1, down: true }}{back}]")
}

/// Plans flows from dc1 to dc4, one every 5 ms, while two other flows fill one of their two paths from time 0 on.
fn busy(policy: &str, more: &str) -> Plan {
    plan(&format!("{}{more}\n", busy_path(policy, "")))
}

/// Decision of dc1's switch for data: time in ms, rule, port, and the C_cong of both candidates.
fn decided(run: &Run) -> Vec<(u64, Rule, u32, Vec<u8>)> {
    let decisions = run.data_decisions();
    let with_choice = decisions.filter(|event| event.dc == 0 && event.ports.len() == 2);
    let decided = with_choice.map(|event| {
        let rows = event.decision.candidates().iter();
        (
            event.at.picos() / MILLI,
            event.decision.rule,
            event.ports[event.decision.chosen],
            rows.map(|row| row.candidate.congestion).collect(),
        )
    });
    decided.collect()
}

/// A queue that builds up while the agent is down changes no decision: all of them are those of a policy that ignores queues.
/// Without the crash, all flows avoid the busy path. The last sample is that of the start.
#[test]
fn lcmp_keeps_the_costs_of_before_the_crash() {
    let blind = simulate(&busy("lcmp: { beta: 0 }", ""), 0, 1);
    let crashed = simulate(&busy("lcmp", &crash("0 ms", "")), 0, 1);
    let healthy = simulate(&busy("lcmp", ""), 0, 1);
    let ports = |run: &Run| {
        assert_eq!(run.outcome.reason, EndReason::Finished);
        let ports: Vec<u32> = decided(run).iter().map(|(_, _, port, _)| *port).collect();
        assert_eq!(ports.len(), 16);
        ports
    };
    assert_eq!(ports(&crashed), ports(&blind));
    assert_ne!(ports(&crashed), ports(&healthy));
    assert!(
        decided(&crashed)
            .iter()
            .all(|(.., congestion)| *congestion == [0, 0])
    );
    let mut decisions = crashed.data_decisions().filter(|event| event.dc == 0);
    assert!(decisions.all(|event| event.signal_age == event.at.nanos_trunc()));
}

/// The agent is back at 40 ms, and its first sample finds a queue of about 500 MB in a buffer of 1 GB, so flows from then on
/// avoid the busy path. The flow at 40 ms reaches the switch after the restart.
#[test]
fn from_the_restart_on_lcmp_knows_of_the_queue() {
    let plan = busy("lcmp", &crash("0 ms", "40 ms"));
    let busy = port_towards(&plan, "dc2");
    let run = simulate(&plan, 0, 1);
    let (before, after): (Vec<_>, Vec<_>) =
        decided(&run).into_iter().partition(|(at, ..)| *at < 40);
    assert_eq!((before.len(), after.len()), (7, 9));
    assert!(before.iter().all(|(.., congestion)| *congestion == [0, 0]));
    assert!(
        after.iter().all(|(_, _, port, _)| *port != busy),
        "{after:?}"
    );
    assert!(
        after[0].3.iter().any(|congestion| *congestion > 0),
        "{after:?}"
    );
}

/// The agent records the queues of its ports every millisecond; the other switches' agents go on.
#[test]
fn a_switch_without_an_agent_takes_no_samples() {
    let plan = busy("lcmp", &crash("10 ms", "20 ms"));
    let port = port_towards(&plan, "dc2");
    let run = simulate(&plan, 0, 1);
    let down = 10 * MILLI..20 * MILLI;
    let is_down = |at: u64| down.contains(&at);
    let queues = run.queues().filter(|sample| sample.port == port);
    assert_eq!(
        queues.filter(|sample| is_down(sample.at.picos())).count(),
        0
    );
    let counted = |dc: u32| {
        let samples = run.switches().filter(move |sample| sample.dc == dc);
        samples.filter(|sample| is_down(sample.at.picos())).count()
    };
    assert_eq!(counted(0), 0);
    let all = simulate(&busy("lcmp", ""), 0, 1);
    let dc4 = |run: &Run| run.switches().filter(|sample| sample.dc == 3).count();
    assert_eq!(dc4(&run), dc4(&all));
}

/// ECMP's tables never change, so the crash changes neither a decision nor a time.
#[test]
fn ecmp_does_not_notice_a_crash() {
    let healthy = simulate(&busy("ecmp", ""), 0, 1);
    for restart in ["", "40 ms"] {
        for threads in [1, 2] {
            let crashed = simulate(&busy("ecmp", &crash("1 ms", restart)), 0, threads);
            assert_eq!(decided(&crashed), decided(&healthy));
            for flow in 0..18 {
                assert_eq!(crashed.end_of(flow), healthy.end_of(flow), "flow {flow}");
            }
        }
    }
}

/// Nobody confirms the tables after the crash at 0 ms, so from 20 ms on they are too old: flows are hashed over both
/// candidates alike. The flow at 20 ms reaches the switch just after that.
#[test]
fn tables_that_nobody_confirms_become_stale() {
    let more = format!("max_table_age: 20 ms\n{}", crash("0 ms", "60 ms"));
    let run = simulate(&busy("lcmp", &more), 0, 1);
    for (at, rule, ..) in decided(&run) {
        let is_stale = (20..60).contains(&at);
        assert_eq!(rule == Rule::Stale, is_stale, "{at} ms");
    }
    let last = run.switches().filter(|sample| sample.dc == 0).last();
    assert_eq!(last.map(|sample| sample.counters.stale), Some(8));
}

/// Returns a scenario with two equal paths from dc1 to dc4, and a small flow every millisecond up to 59 ms.
fn probes(more: &str) -> String {
    let flows: Vec<_> = (1..60)
        .map(|at| format!("{{ from: dc1/h1, to: dc4/h1, size: 4096 B, start: {at} ms }}"))
        .collect();
    format!(
        "
name: probes
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 1 }}]
  links: [{EQUAL_PATHS}]
traffic: [{{ flows: [{}] }}]
policies: [ecmp]
transport: {{ retransmit_timeout: 20 ms }}
{more}
",
        flows.join(", ")
    )
}

/// Returns the ports that dc1's switch has chosen for flows that start from `from` to before `to`, in ms.
fn chosen(run: &Run, from: u64, to: u64) -> Vec<u32> {
    let decided = decided(run).into_iter();
    let in_time = decided.filter(|(at, ..)| (from..to).contains(at));
    in_time.map(|(_, _, port, _)| port).collect()
}

/// The link is cut at 10 ms and back at 20 ms. The switch program marks the port dead without the agent, but only the agent
/// that starts at 40 ms revives it. Meanwhile the port still receives: ACKs from dc4 may return over dc2.
#[test]
fn a_port_dies_at_once_and_comes_back_with_the_agent() {
    let faults = crash("5 ms", "40 ms").replace(
        ']',
        ", { at: 10 ms, link: [dc1, dc2], down: true }, { at: 20 ms, link: [dc1, dc2], up: true }]",
    );
    let plan = plan(&probes(&faults));
    let dc2 = port_towards(&plan, "dc2");
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let uses = |from, to| chosen(&run, from, to).contains(&dc2);
    assert!(uses(5, 10), "the tables are kept");
    assert!(!uses(10, 40), "dead from the cut to the restart");
    assert!(uses(40, 60), "both paths again");
}

/// The cut of dc2's link at 10 ms gives the switches new candidates at 15 ms; dc1 then has only dc3, and no choice. Its
/// agent is down from 12 to 40 ms, so dc1 decides between two candidates until then.
#[test]
fn a_reconvergence_is_installed_at_the_restart() {
    let faults = crash("12 ms", "40 ms").replace(
        ']',
        ", { at: 10 ms, link: [dc2, dc4], down: true }, { at: 80 ms, link: [dc2, dc4], up: true }]",
    );
    let routing = "routing: { reconverge: { after: 5 ms } }";
    let with = |faults: &str| simulate(&plan(&probes(&format!("{routing}\n{faults}"))), 0, 1);
    let crashed = with(&faults);
    assert_eq!(crashed.outcome.reason, EndReason::Finished);
    let choices = |run: &Run, from, to| chosen(run, from, to).len();
    assert_eq!(choices(&crashed, 15, 40), 25);
    assert_eq!(choices(&crashed, 41, 60), 0);
    let link_alone = faults.replace(
        "{ at: 12 ms, agent: dc1, down: true }, { at: 40 ms, agent: dc1, up: true }, ",
        "",
    );
    assert_eq!(choices(&with(&link_alone), 16, 60), 0);
}

/// Without the crash, weights that avoid dc2's busy link are in force from 20 ms on. The agent is down from 12 to 32 ms, so
/// the flow at 25 ms gets the provisioned weights, and the next agent installs the weights that were due meanwhile.
#[test]
fn weights_that_were_due_meanwhile_are_installed_at_the_restart() {
    let run = simulate(
        &plan(&format!("{}{}\n", crossing(""), crash("12 ms", "32 ms"))),
        0,
        1,
    );
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let seen: Vec<_> = run
        .data_decisions()
        .map(|event| {
            let rows = event.decision.candidates().iter();
            let buckets: Vec<u16> = rows.map(|row| row.candidate.buckets).collect();
            (event.at.picos() / MILLI, buckets)
        })
        .collect();
    let expected = [
        (5, vec![1, 1]),
        (15, vec![1, 1]),
        (25, vec![1, 1]),
        (35, vec![0, 100]),
    ];
    assert_eq!(seen, expected);
}

/// dc1 has no agent when the link behind dc2 is cut, so that it still sends to dc2, whose new next hop is dc1. Packets go
/// back and forth until they reach dc1's switch for the 32nd time, and each crosses the link to dc2 31 times. The host
/// sends its 245 packets, and again after each of seven time-outs.
#[test]
fn packets_in_a_loop_end() {
    let plan = plan(
        "
name: loop
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4 }, { name: dc5, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 10 Gbit, delay: 1 ms }
    - { between: [dc2, dc5], rate: 10 Gbit, delay: 1 ms }
    - { between: [dc1, dc3], rate: 10 Gbit, delay: 2 ms }
    - { between: [dc3, dc4], rate: 10 Gbit, delay: 2 ms }
    - { between: [dc4, dc5], rate: 10 Gbit, delay: 2 ms }
routing: { reconverge: { after: 10 ms } }
traffic: [{ flows: [{ from: dc1/h1, to: dc5/h1, size: 1 MB, start: 25 ms }] }]
faults: [{ at: 5 ms, agent: dc1, down: true }, { at: 10 ms, link: [dc2, dc5], down: true }]
policies: [ecmp]
",
    );
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.end_of(0), None);
    let work = run.outcome.work;
    assert_eq!((work.data_packets, work.drops), (8 * 245, 8 * 245));
    let port = port_towards(&plan, "dc2");
    let sent = run.ports().find(|sample| sample.port == port);
    assert_eq!(sent.map(|it| it.counts.tx_packets), Some(31 * 8 * 245));
}
