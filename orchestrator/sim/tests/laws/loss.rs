//! Go-back-N.

use lab_records::StoryEvent;
use lab_sim::EndReason;

use crate::lab::{ACK, HOST_DELAY, MILLI, PACKET, Run, simulate_text};

/// A flow of `packets` over a link of 5 ms.
fn pair(packets: u64, link: &str, transport: &str, faults: &str) -> Run {
    simulate_text(&format!(
        "
name: pair
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms{link} }}]
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: {} B }}]
policies: [ecmp]
transport: {{ {transport} }}
faults: [{faults}]
",
        packets * 4_096
    ))
}

/// Cut off a millisecond after the only packet left, back before its sender notices.
const FLAP: &str = "{ at: 1 ms, link: [dc1, dc2], down: true }, \
                    { at: 2 ms, link: [dc1, dc2], up: true }";

/// FCT of a packet alone.
const ALONE: u64 = 3 * (PACKET + ACK) + 2 * (2 * HOST_DELAY + 5 * MILLI);

#[test]
fn a_lost_tail_is_sent_again_after_the_time_out() {
    let run = pair(1, "", "retransmit_timeout: 50 ms", FLAP);
    assert_eq!(run.end_of(0), Some(50 * MILLI + ALONE));
    assert_eq!(run.count(0, StoryEvent::TimedOut), 1);
    assert_eq!(run.outcome.work.data_packets, 2);
    assert_eq!(run.outcome.work.drops, 1);
}

#[test]
fn without_a_time_out_a_lost_tail_ends_the_run_stuck() {
    for transport in [
        "",
        "window: 40960 B",
        "cc: dcqcn",
        "cc: { dcqcn: { preset: artifact } }, window: 40960 B",
        "cc: hpcc",
        "cc: timely",
        "cc: dctcp",
    ] {
        // A window's worth, and more than that, which waits in the host.
        for packets in [10, 40] {
            let transport = format!("retransmit_timeout: none, {transport}");
            let run = pair(packets, "", transport.trim_end_matches(", "), FLAP);
            if packets == 10 || transport.contains("window") {
                assert_eq!(run.outcome.reason, EndReason::Stuck, "{transport}");
                assert_eq!(run.outcome.unfinished, [0], "{transport}");
            }
        }
    }
}

/// The switch's marks have the controller's timers run, and a full window must not keep them running
/// for ever: the cut loses all that could open it.
#[test]
fn timers_of_congestion_control_do_not_keep_a_run_alive() {
    for cc in ["dcqcn", "{ dcqcn: { preset: artifact } }"] {
        let run = simulate_text(&format!(
            "
name: timers
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links:
    - between: [dc1, dc2]
      rate: 50 Gbit
      delay: 5 ms
      ecn: {{ k_min: 4 kB, k_max: 8 kB, p_max: 1 }}
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: 20 MB }}]
policies: [ecmp]
transport: {{ cc: {cc}, window: 400 kB, retransmit_timeout: none }}
faults: [{{ at: 10100 us, link: [dc1, dc2], down: true }}]
"
        ));
        assert!(run.count(0, StoryEvent::RateSet) > 0, "{cc}");
        assert_eq!(run.outcome.reason, EndReason::Stuck, "{cc}");
        assert_eq!(run.outcome.unfinished, [0], "{cc}");
    }
}

/// A link that never comes back: the sender tries again, but not for ever.
#[test]
fn a_flow_whose_only_way_is_dead_is_given_up() {
    let down = "{ at: 1 ms, link: [dc1, dc2], down: true }";
    let run = pair(10, "", "retransmit_timeout: 50 ms", down);
    assert_eq!(run.outcome.reason, EndReason::Stuck);
    assert_eq!(run.outcome.unfinished, [0]);
}

/// The link is cut for 50 ns, with packets 0 to 50 of 200 on it.
///
/// The receiver asks for the first one when packet 51 arrives, and not again for the 148 behind it.
/// The sender, which is done by then, sends all again: the end is that of a flow which began when
/// the NACK arrived.
#[test]
fn a_gap_is_asked_for_once_and_everything_from_it_is_sent_again() {
    // Packet k, from 0, leaves the switch from 1 µs + (k + 1) packets' time on: 50 at 17,948.32 ns,
    // so it is being sent, and 51 at 18,280.64 ns.
    let flap = "{ at: 17950 ns, link: [dc1, dc2], down: true }, \
                { at: 18000 ns, link: [dc1, dc2], up: true }";
    let run = pair(200, "", "nack_interval: 1 s", flap);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
    assert_eq!(run.count(0, StoryEvent::TimedOut), 0);
    let nacked = run.story(0).find(|note| note.event == StoryEvent::Nacked);
    let nacked = nacked.expect("counted").at.picos();
    let again = 200 * PACKET + 2 * PACKET + 3 * ACK + 2 * (2 * HOST_DELAY + 5 * MILLI);
    assert_eq!(run.end_of(0), Some(nacked + again));
    assert_eq!(run.outcome.work.drops, 51);
    assert_eq!(run.outcome.work.data_packets, 200 + 200);
}

#[test]
fn random_loss_delays_a_flow_and_takes_nothing_from_it() {
    for seed in 1..=5 {
        for transport in [
            "retransmit_timeout: 20 ms",
            "retransmit_timeout: 20 ms, window: 400 kB",
        ] {
            let run = simulate_text(&format!(
                "
name: lossy
seed: {seed}
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 10 Gbit, delay: 100 us, loss: 0.01 }}]
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: 4096000 B }}]
policies: [ecmp]
transport: {{ {transport} }}
"
            ));
            assert_eq!(run.outcome.reason, EndReason::Finished, "{transport}");
            assert!(run.outcome.work.drops > 0, "{transport}");
            assert!(run.outcome.work.data_packets > 1_000, "{transport}");
            assert!(run.count(0, StoryEvent::Retransmitted) > 0, "{transport}");
            assert_eq!(run.count(0, StoryEvent::Finished), 1, "{transport}");
        }
    }
}
