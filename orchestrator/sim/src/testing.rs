//! Plans, rates and ACKs for unit tests.

use lab_plan::{Engine, Plan, PlanOptions};
use lab_units::BitsPerSec;

use crate::{
    cc::{Ack, PathFacts, QpFacts},
    time::SimTime,
};

/// Parses a scenario text and plans it for the simulator.
pub(crate) fn plan(text: &str) -> Plan {
    let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).expect("a scenario");
    let files = lab_scenario::Files::new();
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    lab_plan::resolve(&scenario, text, &files, &options).expect("a plan")
}

/// Returns a plan for the policy `policy`, written as in a scenario: a 20 MB flow between two datacenters with one host
/// each and a link of 100 Gbit/s and 5 ms.
pub(crate) fn pair(policy: &str) -> Plan {
    plan(&format!(
        "
name: pair
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}]
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: 20 MB }}]
policies: [{policy}]
"
    ))
}

pub(crate) fn bits(rate: u64) -> BitsPerSec {
    BitsPerSec::new(rate).expect("not zero")
}

pub(crate) fn mbit(rate: u64) -> BitsPerSec {
    bits(rate * 1_000_000)
}

pub(crate) fn gbit(rate: u64) -> BitsPerSec {
    bits(rate * 1_000_000_000)
}

/// Returns the facts of a QP at 100 Gbit/s with 1,000 B payloads; `base_rtt` is in microseconds and `full_window` in
/// bytes.
pub(crate) fn qp_facts(base_rtt: u64, full_window: u64) -> QpFacts {
    QpFacts {
        line_rate: gbit(100),
        base_rtt: SimTime::from_micros(base_rtt),
        full_window,
        payload_bytes: 1_000,
    }
}

/// Returns an unmarked ACK that newly acknowledges 1,000 bytes and has no telemetry.
pub(crate) fn ack(acked_bytes: u64, next_bytes: u64) -> Ack<'static> {
    Ack {
        acked_bytes,
        next_bytes,
        newly_bytes: 1_000,
        is_marked: false,
        round_trip: SimTime::ZERO,
        hops: &[],
        path: PathFacts::default(),
    }
}
