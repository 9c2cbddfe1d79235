//! Plans for tests.

use lab_plan::{Engine, Plan, PlanOptions};

/// Returns the plan of a scenario's text.
pub(crate) fn plan(text: &str) -> Plan {
    let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).expect("a scenario");
    let files = lab_scenario::Files::new();
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    lab_plan::resolve(&scenario, text, &files, &options).expect("a plan")
}

/// Returns a plan of two datacenters with one host each, 100 Gbit/s and 5 ms apart, and a flow of 20 MB.
pub(crate) fn pair() -> Plan {
    plan(
        "
name: pair
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 20 MB }]
policies: [ecmp]
",
    )
}
