//! What is said before results are trusted.

use crate::common;

/// A scenario of two datacenters and two ways of different delay between them.
fn diamond(rates: [&str; 2], more: &str) -> String {
    let [near, far] = rates;
    format!(
        "name: diamond
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: {near}, delay: 5 ms }}
    - {{ between: [dc2, dc4], rate: {near}, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: {far}, delay: 6 ms }}
    - {{ between: [dc3, dc4], rate: {far}, delay: 6 ms }}
policies: [ecmp, lcmp]
scale: {{ rate: 1/1000, time: 10 }}
{more}
"
    )
}

const ONE_FLOW: &str = "traffic: [{ flows: [{ from: dc1/h1, to: dc4/h1, size: 20 MB }] }]";

fn warnings(text: &str) -> Vec<(String, String)> {
    let plan = common::plan(text);
    let warnings = plan.warnings.into_iter();
    warnings
        .map(|warning| (warning.code, warning.text))
        .collect()
}

fn codes(text: &str) -> Vec<String> {
    warnings(text).into_iter().map(|(code, _)| code).collect()
}

#[test]
fn nothing_is_said_of_a_lab_that_holds() {
    assert_eq!(codes(&diamond(["100 Gbit", "100 Gbit"], ONE_FLOW)), [""; 0]);
}

#[test]
fn a_longer_way_that_ends_a_flow_sooner() {
    let found = warnings(&diamond(["10 Gbit", "100 Gbit"], ONE_FLOW));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "ideal-not-least");
    insta::assert_snapshot!(found[0].1);
}

#[test]
fn delays_that_no_limit_separates() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW).replace("delay: 6 ms", "delay: 5001 us");
    let found = warnings(&text);
    assert_eq!(found[0].0, "delay-score-ties");
    assert!(
        found[0]
            .1
            .ends_with("(hint: no `max_delay` separates all: its steps are 1/255 of it)"),
        "{found:?}"
    );
}

#[test]
fn a_queue_shorter_than_its_link() {
    let more = format!("{ONE_FLOW}\n").replace("20 MB", "60 MB");
    let text = diamond(["100 Gbit", "100 Gbit"], &more).replace(
        "rate: 100 Gbit, delay: 6 ms",
        "rate: 100 Gbit, delay: 6 ms, buffer: 10 MB",
    );
    let found = warnings(&text);
    assert_eq!(found[0].0, "rxe-window");
    assert_eq!(found[1].0, "short-queues");
    insta::assert_snapshot!(found[1].1);
}

#[test]
fn a_queue_of_a_few_packets() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW)
        .replace("delay: 6 ms", "delay: 6 ms, buffer: 1 MB");
    assert!(codes(&text).contains(&"tiny-queues".to_owned()));
}

#[test]
fn marks_on_flows_that_are_not_capable() {
    let ecn = "ecn: { k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }";
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW)
        .replace("delay: 6 ms", &format!("delay: 6 ms, {ecn}"));
    assert_eq!(codes(&text), [""; 0]);
    let incapable = format!("{text}generator: {{ traffic_class: 104 }}\n");
    assert_eq!(codes(&incapable), ["ecn-not-capable"]);
}

#[test]
fn a_tool_that_polls() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW);
    let text = format!("{text}generator: {{ tool: ib_write_bw }}\n");
    assert_eq!(codes(&text), ["busy-polling"]);
}

#[test]
fn flows_smaller_than_a_packet_and_packets_longer_than_a_link() {
    let text = diamond(["10 Gbit", "10 Gbit"], ONE_FLOW).replace("time: 10", "time: 1/10");
    let found = warnings(&text);
    assert_eq!(found[0].0, "sub-packet-flows");
    assert!(
        found[0]
            .1
            .starts_with("100 % of flows are under one packet of 4096 B")
    );
    assert_eq!(found[1].0, "coarse-packets");
}

#[test]
fn more_flows_than_perftest_processes_can_make_and_the_guest_forward() {
    let flows = "traffic: [{ workload: { sizes: workloads/bulk.csv, pairs: all-to-all, load: 0.8, \
                 duration: 200 ms } }]\n";
    let text = diamond(["200 Gbit", "200 Gbit"], flows).replace("rate: 1/1000", "rate: 1/200");
    assert_eq!(codes(&text), ["rxe-window", "forwarding", "perftest-load"]);
}

#[test]
fn no_flow_at_all() {
    let flows = "traffic: [{ workload: { sizes: workloads/bulk.csv, pairs: all-to-all, load: 0.001, \
                 duration: 1 us } }]\n";
    assert_eq!(
        codes(&diamond(["200 Gbit", "200 Gbit"], flows)),
        ["no-flows"]
    );
}
