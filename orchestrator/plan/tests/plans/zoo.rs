//! Plans of all published networks.

use std::collections::BTreeSet;

use lab_plan::{LinkKind, Plan};
use lab_topologies::zoo;

use crate::common;

/// Plans a graph with ECMP and LCMP; `parallel` is the key of its topology, and `candidates` that of its routing.
fn planned(name: &str, parallel: &str, candidates: &str) -> Plan {
    let plan = common::simulated(&format!(
        "
name: zoo
topology:
  zoo: {name}
  missing_coordinates: neighbours
  unlabelled: number
  largest_component: true
  default_delay: 5 ms
  parallel: {parallel}
traffic:
  - workload:
      sizes: workloads/websearch.csv
      pairs: all-to-all
      load: 50%
      load_base: busiest-link
      duration: 20 ms
policies: [ecmp, lcmp]
routing: {{ candidates: {candidates} }}
"
    ));
    // Each switch has a row for each datacenter but its own.
    let others = plan.dcs.len() - 1;
    let rows = plan.switches.iter().map(|switch| switch.destinations.len());
    assert!(rows.into_iter().all(|rows| rows == others), "{name}");
    plan
}

/// The graphs have 4 to 754 nodes, parallel links, parts that no link connects, and nodes without labels or coordinates.
#[test]
fn every_graph_of_the_topology_zoo_is_planned_for_the_simulator() {
    let mut count = 0;
    for name in zoo::names() {
        let plan = planned(name, "merge", "fewest-hops");
        // A graph with links of 128 kbit/s has no arrivals in this time.
        let is_said = plan
            .warnings
            .iter()
            .any(|warning| warning.code == "no-flows");
        assert_eq!(is_said, plan.flows.is_empty(), "{name}");
        count += 1;
    }
    assert_eq!(count, 276);
}

/// Each edge between two nodes of the largest connected part is a link of its own. Graphs without parallel edges are the
/// same as above. One of the others has 21 next hops on paths of fewest hops, so candidates are the nearest by delay.
#[test]
fn every_graph_of_the_topology_zoo_is_planned_with_its_parallel_links() {
    let mut count = 0;
    for name in zoo::names() {
        let graph = zoo::graph(name).unwrap();
        let edges = graph.edges.iter().map(|edge| edge.ends);
        let mut ends: Vec<_> = edges.map(|[a, b]| [a.min(b), a.max(b)]).collect();
        ends.retain(|[a, b]| a != b);
        let all = ends.len();
        ends.sort_unstable();
        ends.dedup();
        if ends.len() == all {
            continue;
        }
        let plan = planned(name, "keep", "downhill-delay");
        let inter_dc = plan
            .links
            .iter()
            .filter(|link| link.kind == LinkKind::InterDc);
        let names: BTreeSet<&str> = inter_dc.clone().map(|link| link.name.as_str()).collect();
        assert_eq!(names.len(), inter_dc.count(), "{name}");
        assert!(names.iter().any(|link| link.ends_with("_2")), "{name}");
        count += 1;
    }
    assert_eq!(count, 96);
}
