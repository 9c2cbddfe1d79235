//! Tests with a single flow in an empty network.

use lab_sim::EndReason;

use crate::lab::{ACK, HOST_DELAY, MILLI, PACKET, pair, plan, simulate, simulate_text};

/// 20 MB are 4,882 full packets and one of 3,328 B (3,386 B on the wire), which waits behind the last full packet on
/// the second and third link.
#[test]
fn one_flow_takes_its_ideal_time_to_the_nanosecond() {
    let plan = plan(&pair("size: 20 MB", "", ""));
    let run = simulate(&plan, 0, 1);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let end = run.end_of(0).expect("it finished");
    let data = 4_882 * PACKET + 2 * PACKET + 270_880;
    let wires = 2 * (2 * HOST_DELAY + 5 * MILLI);
    assert_eq!(end, data + wires + 3 * ACK);
    assert_eq!(end / 1_000, plan.flows[0].ideal_fct_ns.get());
}

#[test]
fn each_packet_crosses_each_link_once_and_so_does_its_ack() {
    let run = simulate_text(&pair("size: 20 MB", "", ""));
    assert_eq!(run.outcome.work.data_packets, 4_883);
    assert_eq!(run.outcome.work.packet_hops, 2 * 3 * 4_883);
    assert_eq!(run.outcome.work.drops, 0);
}

#[test]
fn the_ideal_time_holds_for_any_size_and_through_fabrics() {
    for size in ["1 B", "4095 B", "4096 B", "4097 B", "40960 B", "3 MB"] {
        let plan = plan(&format!(
            "
name: fabric
topology:
  dcs:
    - {{ name: dc1, fabric: {{ spines: 2, leaves: 2, hosts_per_leaf: 2 }} }}
    - {{ name: dc2 }}
    - {{ name: dc3, fabric: {{ spines: 1, leaves: 2, hosts_per_leaf: 1, host_link: {{ rate: 25 Gbit }} }} }}
  links:
    - {{ between: [dc1, dc2], rate: 40 Gbit, delay: 5 ms }}
    - {{ between: [dc2, dc3], rate: 400 Gbit, delay: 7 ms }}
traffic:
  - flows: [{{ from: dc1/h3, to: dc3/h2, size: {size} }}]
policies: [ecmp]
"
        ));
        let run = simulate(&plan, 0, 1);
        let end = run.end_of(0).expect("it finished");
        assert_eq!(end / 1_000, plan.flows[0].ideal_fct_ns.get(), "{size}");
    }
}

/// At most ten packets may be unacknowledged. The eleventh packet leaves when the first packet's ACK returns, one round
/// trip later, and the next ones follow one packet time apart, as their ACKs return. Three windows take three round
/// trips and nine packet times.
#[test]
fn a_windows_bytes_leave_per_round_trip() {
    let run = simulate_text(&pair(
        "size: 122880 B",
        "",
        "transport: { window: 40960 B }",
    ));
    let round_trip = 3 * (PACKET + ACK) + 2 * (2 * HOST_DELAY + 5 * MILLI);
    assert_eq!(run.end_of(0), Some(3 * round_trip + 9 * PACKET));
}

/// Whatever the window, a packet may leave when no other packet is in flight.
#[test]
fn a_window_under_a_packet_allows_one_packet() {
    let run = simulate_text(&pair("size: 12288 B", "", "transport: { window: 64 B }"));
    let round_trip = 3 * (PACKET + ACK) + 2 * (2 * HOST_DELAY + 5 * MILLI);
    assert_eq!(run.end_of(0), Some(3 * round_trip));
}

/// At 1 kbit/s, a 4,154 B packet takes 33.232 s and its 62 B ACK 0.496 s.
#[test]
fn a_packet_takes_its_time_on_a_slow_link() {
    let run = simulate_text(
        "
name: slow
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 1 kbit, delay: 5 ms }]
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 4096 B }]
policies: [ecmp]
transport: { retransmit_timeout: none }
measure: { links: 1 s, queues: 1 s, switches: 1 s }
",
    );
    let nics = 2 * (PACKET + ACK) + 2 * (2 * HOST_DELAY + 5 * MILLI);
    assert_eq!(run.end_of(0), Some((33_232 + 496) * MILLI + nics));
}
