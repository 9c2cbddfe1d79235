//! Tests of windows when a flow's paths differ in delay.

use lab_sim::EndReason;

use crate::lab::{MILLI, plan, simulate};

/// Simulates a 25 MB flow over the longer of two paths, with one-way delays of 500 ms and 10 ms. The shorter path has a
/// hundredth of the capacity, and so one of a hundred WCMP buckets. Returns the FCT in picoseconds.
fn on_the_long_path(transport: &str) -> u64 {
    let plan = plan(&format!(
        "
name: detour
topology:
  defaults: {{ host_link: {{ rate: 1 Gbit }} }}
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: 10 Mbit, delay: 5 ms }}
    - {{ between: [dc2, dc4], rate: 10 Mbit, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: 1 Gbit, delay: 250 ms }}
    - {{ between: [dc3, dc4], rate: 1 Gbit, delay: 250 ms }}
traffic:
  - flows: [{{ from: dc1/h1, to: dc4/h1, size: 25 MB }}]
policies: [wcmp]
transport: {{ {transport} }}
"
    ));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    for decision in run
        .decisions()
        .filter(|event| event.dc == 0 || event.dc == 3)
    {
        assert_eq!(decision.decision.chosen, 1, "the long path");
    }
    run.end_of(0).expect("it finished")
}

/// 25 MB take 203 ms at 1 Gbit/s, and a round trip takes 1,000 ms. With the shorter path's window, 3.4 MB, the flow on
/// the longer path would take eight round trips.
#[test]
fn a_window_covers_the_longest_path_of_a_flow() {
    let free = on_the_long_path("window: none");
    assert!(free < 1_210 * MILLI, "{free} ps");
    assert_eq!(on_the_long_path("window: bdp"), free);
}

/// HPCC's base round-trip time T is also the round trip of the longest path. T determines HPCC's own window and the
/// weight of each telemetry measurement.
#[test]
fn hpccs_round_trip_is_that_of_the_longest_path() {
    let time = on_the_long_path("cc: hpcc");
    assert!(time < 1_300 * MILLI, "{time} ps");
}
