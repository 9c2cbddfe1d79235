//! Scenario similar to the paper's Figure 1: WebSearch flows from DC1 to DC8 over six paths.

use std::fmt::Write as _;

use lab_plan::{Engine, Plan, PlanOptions};

/// Paths of Figure 1's topology: rate in Gbit/s, and delay of each link in milliseconds.
const PATHS: [(u32, u32); 6] = [
    (200, 25),
    (200, 250),
    (100, 10),
    (100, 100),
    (25, 5),
    (25, 50),
];

/// Duration of the traffic in Figure 1, in milliseconds.
pub const DURATION_MS: u32 = 200;

/// Returns a plan for ECMP and LCMP whose workload offers `load_percent` of all hosts' NIC rates for `duration_ms`.
pub fn plan(load_percent: u32, duration_ms: u32) -> Plan {
    let text = scenario(load_percent, duration_ms);
    let scenario = lab_scenario::parse("figure1.yaml", text.as_bytes()).expect("a scenario");
    let files = [("websearch.csv".to_owned(), WEBSEARCH.to_owned())];
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    lab_plan::resolve(&scenario, &text, &files.into(), &options).expect("a plan")
}

/// Returns the scenario: packets of 1,000 B, DCQCN with marking from 4 kB per Gbit/s on, and PFC.
fn scenario(load_percent: u32, duration_ms: u32) -> String {
    let wire = |gbit: u32| {
        let k_min = gbit * 4;
        let k_max = gbit * 16;
        format!("rate: {gbit} Gbit, ecn: {{ k_min: {k_min} kB, k_max: {k_max} kB, p_max: 0.2 }}")
    };
    let mut text = format!(
        "
name: figure1
topology:
  dcs:
    - name: dc1
      fabric: &fabric
        spines: 2
        leaves: 4
        hosts_per_leaf: 4
        host_link: {{ {host} }}
        leaf_spine: {{ {host} }}
        spine_dci: {{ {up} }}
",
        host = wire(100),
        up = wire(400),
    );
    for dc in 2..=8 {
        let _ = writeln!(text, "    - {{ name: dc{dc}, fabric: *fabric }}");
    }
    let _ = writeln!(text, "  links:");
    for (dc, (gbit, delay)) in (2..).zip(PATHS) {
        for (a, b) in [(1, dc), (dc, 8)] {
            let wire = wire(gbit);
            let _ = writeln!(
                text,
                "    - {{ between: [dc{a}, dc{b}], {wire}, delay: {delay} ms }}"
            );
        }
    }
    let _ = write!(
        text,
        "
traffic:
  - workload:
      sizes: websearch.csv
      pairs: [{{ from: dc1, to: dc8 }}]
      load: {load_percent}/100
      duration: {duration_ms} ms
policies:
  - ecmp
  - lcmp: {{ max_delay: 524288 us }}
transport:
  payload: 1000
  cc: {{ dcqcn: {{ preset: artifact }} }}
  pfc: true
"
    );
    text
}

const WEBSEARCH: &str = include_str!("../../../../scenarios/workloads/websearch.csv");
