//! Tests of the section `transport`.

use lab_scenario::{TransportSpec, parse};
use serde_json::Value;

mod validator;

/// Returns a scenario with the section `transport`; an empty text leaves the section out.
fn text(transport: &str) -> String {
    format!(
        "name: case\n\
         topology:\n\
         \x20 dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 2 }}]\n\
         \x20 links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}]\n\
         traffic:\n\
         \x20 - flows: [{{ from: dc1/h1, to: dc2/h1, size: 30 MB }}]\n\
         policies: [ecmp]\n\
         {transport}\n"
    )
}

fn read(transport: &str) -> TransportSpec {
    let text = text(transport);
    parse("case.yaml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{errors}"))
        .transport
}

/// Returns the schema violations that an editor would show.
fn marked(transport: &str) -> Vec<String> {
    let value: Value = serde_saphyr::from_str(&text(transport)).unwrap();
    validator::violations(&lab_scenario::schema(), &value)
}

const ALL: &[&str] = &[
    "transport: {}",
    "transport:
  semantics: artifact
  cc: dctcp
  payload: 1000
  window: bdp
  ack_priority: true
  pfc: false
  nack_interval: 100 us
  retransmit_timeout: none
  fabric_buffer: 64 MB
  dci_buffer: 1 GiB",
    "transport:
  window: 3 MB
  retransmit_timeout: 4 ms
  cc:
    dcqcn:
      gain: 1/16
      cnp_interval: 10 us
      alpha_interval: 20 us
      increase_interval: 30 us
      byte_counter: 40 MB
      fast_recovery: 5
      additive_rate: 60 Mbit
      hyper_rate: 70 Mbit
      min_rate: 80 Mbit",
    "transport:
  window: none
  cc: { dcqcn: { preset: artifact, decrease_interval: 8 us } }",
    "transport:
  cc: { hpcc: { utilisation: 0.9, max_stage: 0, additive_rate: 1 Mbit, min_rate: 2 Mbit, int_hops: 9 } }",
    "transport:
  cc:
    timely:
      segment: 64 kB
      difference_weight: 0.5
      decrease: 0.25
      t_low: 1 ms
      t_high: 2 ms
      min_rtt: 3 ms
      additive_rate: 4 Mbit
      hyper_rate: 5 Mbit
      hyper_after: 6
      min_rate: 7 Mbit",
    "transport:
  cc: { dctcp: { preset: paper, gain: 0.1, additive_rate: 1 Gbit, min_rate: 2 Mbit } }",
    "transport:
  cc: { none: {} }",
];

#[test]
fn every_key_is_read() {
    insta::assert_json_snapshot!(ALL.iter().map(|text| read(text)).collect::<Vec<_>>());
}

#[test]
fn editors_accept_what_is_read() {
    for text in ALL {
        assert_eq!(marked(text), [""; 0], "{text}");
    }
}

#[test]
fn without_the_section_all_is_default() {
    assert_eq!(read(""), TransportSpec::default());
}

#[test]
fn editors_refuse_wrong_values() {
    for text in [
        "transport: dcqcn",
        "transport: { semantics: papers }",
        "transport: { cc: dcqnc }",
        "transport: { cc: {} }",
        "transport: { cc: { dcqcn: {}, hpcc: {} } }",
        "transport: { cc: { dctcp: { byte_counter: 10 MB } } }",
        "transport: { cc: { dcqcn: { gain: 2 } } }",
        "transport: { cc: { hpcc: { int_hops: 65 } } }",
        "transport: { window: bpd }",
        "transport: { window: 3 }",
        "transport: { retransmit_timeout: never }",
        "transport: { payload: 10 }",
        "transport: { pfc: 1 }",
    ] {
        assert!(!marked(text).is_empty(), "{text}");
    }
}
