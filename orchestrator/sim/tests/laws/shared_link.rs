//! Tests with two flows from two hosts over one link.

use lab_records::StoryEvent;

use crate::lab::{ACK, HOST_DELAY, MICRO, MILLI, PACKET, Run, simulate_text};

/// Number of packets in each of the two flows.
const PACKETS: u64 = 1_000;

/// Simulates two flows of 1,000 packets each, which start together, over a link with the ECN marking `ecn`.
fn two(ecn: &str) -> Run {
    simulate_text(&format!(
        "
name: two
topology:
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 2 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms{ecn} }}]
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc2/h1, size: 4096000 B }}
      - {{ from: dc1/h2, to: dc2/h2, size: 4096000 B }}
policies: [ecmp]
measure: {{ queues: 100 us, links: 100 us }}
"
    ))
}

/// Packets of both flows arrive at the switch at the same times and leave it alternately, so the link is busy for 2,000
/// packet times from the first arrival on.
#[test]
fn two_flows_share_a_link_packet_by_packet() {
    let run = two("");
    let first = PACKET + HOST_DELAY;
    let after = 5 * MILLI + PACKET + HOST_DELAY + 3 * ACK + 2 * HOST_DELAY + 5 * MILLI;
    let last = first + 2 * PACKETS * PACKET + after;
    assert_eq!(run.end_of(0), Some(last - PACKET));
    assert_eq!(run.end_of(1), Some(last));
}

/// Packet k of each host arrives at 1 µs + k · 332.32 ns, and one packet leaves per packet time. So the queue grows by
/// one packet per packet time until the hosts are done, then shrinks at the same rate.
#[test]
fn a_queue_grows_by_arrivals_less_departures() {
    let run = two("");
    let queue_at = |time: u64| {
        let mut queues = run.queues();
        let sample = queues.find(|event| event.at.picos() == time && event.bytes > 0);
        sample.map(|event| event.bytes)
    };
    let expected = |time: u64| {
        let steps = (time - HOST_DELAY) / PACKET;
        4_154 * (2 * steps.min(PACKETS) - steps)
    };
    assert_eq!(expected(100 * MICRO), 4_154 * 297);
    assert_eq!(expected(400 * MICRO), 4_154 * 800);
    for time in [100, 200, 300, 400, 500, 600] {
        let time = time * MICRO;
        assert_eq!(queue_at(time), Some(expected(time)), "at {time} ps");
    }
    assert_eq!(queue_at(700 * MICRO), None, "the last one left at 666 µs");
}

/// The j-th packet leaves when the first of the next two packets arrives, so it leaves j − 1 packets behind, or 2,000 −
/// j once the hosts are done. A packet is marked if and only if it leaves more than 500 packets behind: j from 502 to
/// 1,499.
#[test]
fn all_packets_above_k_max_are_marked_and_none_below_k_min() {
    let run = two(", ecn: { k_min: 2077000 B, k_max: 2077001 B, p_max: 0.01 }");
    let marks = run.links().map(|event| event.counts.marks).max();
    assert_eq!(marks, Some(998));
    let traced: usize = [0, 1]
        .map(|flow| run.count(flow, StoryEvent::Marked))
        .iter()
        .sum();
    assert_eq!(traced, 998);
}

/// Between the thresholds, the marking probability grows from 0 to p_max, which it reaches at 1,000 packets. Each queue
/// length from 1 to 1,000 packets occurs twice, so the mean number of marks is 1,000 · p_max. The standard deviation of
/// 500 marks is √(500 · 2/3) = 18.
#[test]
fn marks_between_the_thresholds_grow_with_the_queue() {
    let run = two(", ecn: { k_min: 1 B, k_max: 4154000 B, p_max: 0.5 }");
    let marks = run
        .links()
        .map(|event| event.counts.marks)
        .max()
        .expect("links are sampled");
    assert!((500 - 4 * 18..=500 + 4 * 18).contains(&marks), "{marks}");
}
