//! Tests of parallel links: a policy spreads flows over them, and a cut moves flows to the links that are left.

use std::collections::BTreeMap;

use lab_plan::Plan;
use lab_policy::Trigger;
use lab_sim::EndReason;
use lab_units::LinkId;

use crate::lab::{MILLI, Run, plan, simulate};

/// Returns a scenario with sixteen flows of 4 MB from dc1 over two links to dc2, of 100 and 40 Gbit/s, and on to dc3.
fn twins(faults: &str) -> String {
    let flows = (1..=16).map(|n| {
        let start = (n - 1) * 100;
        format!("{{ from: dc1/h{n}, to: dc3/h{n}, size: 4 MB, start: {start} us }}")
    });
    format!(
        "
name: twins
topology:
  parallel: keep
  dcs: [{{ name: dc1, hosts: 16 }}, {{ name: dc2 }}, {{ name: dc3, hosts: 16 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 2 ms }}
    - {{ between: [dc2, dc1], rate: 40 Gbit, delay: 3 ms }}
    - {{ between: [dc2, dc3], rate: 400 Gbit, delay: 1 ms }}
traffic: [{{ flows: [{}] }}]
policies: [ecmp]
faults: [{faults}]
",
        flows.collect::<Vec<_>>().join(", ")
    )
}

/// Returns the link on which each flow's data leaves dc1, first and last.
fn links(run: &Run, plan: &Plan) -> BTreeMap<u32, [LinkId; 2]> {
    let network = lab_sim::network::Network::new(plan).expect("a network");
    let row = &plan.switches[0].destinations[0];
    let link = |port: u32| {
        let mut ports = row.candidates.iter().map(|candidate| candidate.port);
        let port = ports.find(|other| network.port(*other) == port);
        port.expect("a candidate").link()
    };
    let mut links = BTreeMap::new();
    for event in run.data_decisions() {
        let now = link(event.ports[event.decision.chosen]);
        links.entry(event.flow).or_insert([now, now])[1] = now;
    }
    links
}

#[test]
fn flows_are_spread_over_parallel_links_and_each_has_its_own_rate_and_delay() {
    let plan = plan(&twins(""));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let links = links(&run, &plan);
    assert_eq!(links.len(), 16);
    let second = links.values().filter(|link| link[0] == LinkId(1)).count();
    assert!((1..16).contains(&second), "{second} of 16 flows");
    // The first packet of the first flow needs at least the delays of its links, and ACKs come back over dc2's choice.
    for (flow, [link, _]) in &links {
        let start = u64::from(*flow) * MILLI / 10;
        let data = if *link == LinkId(0) { 2 } else { 3 };
        let end = run.end_of(*flow).expect("it finished");
        assert!(end > start + (data + 1 + 2 + 1) * MILLI, "flow {flow}");
    }
    // Each port sent the data of the flows that chose it: 977 packets of 4,154 B and less for each, and ACKs.
    let sent = |link: LinkId| {
        let network = lab_sim::network::Network::new(&plan).expect("a network");
        let ports = [link.port_a(), link.port_b()].map(|port| network.port(port));
        let totals = run.ports().filter(|total| ports.contains(&total.port));
        totals
            .map(|total| total.counts.tx_bytes)
            .max()
            .expect("its totals")
    };
    let [fast, slow] = [LinkId(0), LinkId(1)].map(sent);
    let of = |count: usize| count as u64 * 4_000_000;
    assert!(
        fast >= of(16 - second) && fast < of(16 - second) * 11 / 10,
        "{fast}"
    );
    assert!(slow >= of(second) && slow < of(second) * 11 / 10, "{slow}");
}

#[test]
fn flows_on_a_cut_link_go_on_over_its_parallel() {
    let plan = plan(&twins("{ at: 1 ms, link: dc1-dc2_2, down: true }"));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let links = links(&run, &plan);
    let moved: Vec<u32> = links
        .iter()
        .filter(|(_, [first, last])| first != last)
        .map(|(flow, _)| *flow)
        .collect();
    assert!(!moved.is_empty(), "{links:?}");
    // All flows end on the first link, and those that start after the cut begin there.
    for (flow, [first, last]) in &links {
        assert_eq!(*last, LinkId(0), "flow {flow}");
        assert!(*flow < 10 || *first == LinkId(0), "flow {flow}");
    }
    let failovers = run
        .data_decisions()
        .filter(|event| event.trigger == Trigger::Failover);
    let failed: Vec<u32> = failovers.map(|event| event.flow).collect();
    assert_eq!(failed.len(), moved.len());
    assert!(failed.iter().all(|flow| moved.contains(flow)));
}
