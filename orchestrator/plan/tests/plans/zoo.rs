//! Plans of all published networks.

use lab_topologies::zoo;

use crate::common;

/// The graphs have 4 to 754 nodes, parallel links, parts that no link connects, and nodes without labels or coordinates.
#[test]
fn every_graph_of_the_topology_zoo_is_planned_for_the_simulator() {
    let mut planned = 0;
    for name in zoo::names() {
        let plan = common::simulated(&format!(
            "
name: zoo
topology:
  zoo: {name}
  missing_coordinates: neighbours
  unlabelled: number
  largest_component: true
  default_delay: 5 ms
traffic:
  - workload:
      sizes: workloads/websearch.csv
      pairs: all-to-all
      load: 50%
      load_base: busiest-link
      duration: 20 ms
policies: [ecmp, lcmp]
"
        ));
        // A graph with links of 128 kbit/s has no arrivals in this time.
        let is_said = plan
            .warnings
            .iter()
            .any(|warning| warning.code == "no-flows");
        assert_eq!(is_said, plan.flows.is_empty(), "{name}");
        // Each switch has a row for each datacenter but its own.
        let others = plan.dcs.len() - 1;
        let rows = plan.switches.iter().map(|switch| switch.destinations.len());
        assert!(rows.into_iter().all(|rows| rows == others), "{name}");
        planned += 1;
    }
    assert_eq!(planned, 276);
}
