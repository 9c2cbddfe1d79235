//! Tests of packet loss and go-back-N.

use lab_records::StoryEvent;
use lab_sim::EndReason;

use crate::lab::{
    ACK, HOST_DELAY, MILLI, PACKET, Run, pair, plan, simulate_repetition, simulate_text,
};

/// Simulates a flow of `packets` full packets over a link with a delay of 5 ms.
fn run(packets: u64, transport: &str, faults: &str) -> Run {
    let more = format!("transport: {{ {transport} }}\nfaults: [{faults}]");
    simulate_text(&pair(&format!("size: {} B", packets * 4_096), "", &more))
}

/// Faults that cut the link a millisecond after a flow's only packet has left, and restore it before the sender's
/// time-out.
const FLAP: &str = "{ at: 1 ms, link: [dc1, dc2], down: true }, \
                    { at: 2 ms, link: [dc1, dc2], up: true }";

/// FCT of a flow with a single packet in an empty network, in picoseconds.
const ALONE: u64 = 3 * (PACKET + ACK) + 2 * (2 * HOST_DELAY + 5 * MILLI);

#[test]
fn a_lost_tail_is_sent_again_after_the_time_out() {
    let run = run(1, "retransmit_timeout: 50 ms", FLAP);
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
        // The flows have as many packets as the window holds, or more.
        for packets in [10, 40] {
            let transport = format!("retransmit_timeout: none, {transport}");
            let run = run(packets, transport.trim_end_matches(", "), FLAP);
            if packets == 10 || transport.contains("window") {
                assert_eq!(run.outcome.reason, EndReason::Stuck, "{transport}");
                assert_eq!(run.outcome.unfinished, [0], "{transport}");
            }
        }
    }
}

/// Marks start the controller's timers. If the cut then loses all packets that could reopen the window, these timers
/// must not keep the run alive.
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

/// The link stays down, so the QP fails after a limited number of retransmissions.
#[test]
fn a_flow_without_a_live_path_is_given_up() {
    let down = "{ at: 1 ms, link: [dc1, dc2], down: true }";
    let run = run(10, "retransmit_timeout: 50 ms", down);
    assert_eq!(run.outcome.reason, EndReason::Stuck);
    assert_eq!(run.outcome.unfinished, [0]);
    assert_eq!(run.go_backs(), (7, 7));
}

/// Faults that cut the link for 50 ns and lose packets 0 to 50. Packet k, numbered from 0, begins to leave the switch
/// at 1 µs + (k + 1) packet times: packet 50 at 17,948.32 ns, so it is in transmission at the cut, and packet 51 at
/// 18,280.64 ns.
const FIRST_51: &str = "{ at: 17950 ns, link: [dc1, dc2], down: true }, \
                        { at: 18000 ns, link: [dc1, dc2], up: true }";

/// The link is cut for 50 ns, with packets 0 to 50 of 200 on it.
///
/// The receiver sends a NACK when packet 51 arrives, and none for the 148 packets after it. The sender has sent all
/// packets by then and sends all of them again, so the flow ends like one that starts when the NACK arrives.
#[test]
fn a_gap_causes_one_nack_and_go_back_n() {
    let run = run(200, "", FIRST_51);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
    assert_eq!(run.count(0, StoryEvent::TimedOut), 0);
    let nacked = run
        .flow_events(0)
        .find(|event| event.event == StoryEvent::Nacked)
        .expect("counted")
        .at
        .picos();
    let again = 200 * PACKET + 2 * PACKET + 3 * ACK + 2 * (2 * HOST_DELAY + 5 * MILLI);
    assert_eq!(run.end_of(0), Some(nacked + again));
    assert_eq!(run.outcome.work.drops, 51);
    assert_eq!(run.outcome.work.data_packets, 200 + 200);
    assert_eq!(run.go_backs(), (1, 0));
}

/// Packets 0 to 14 of a 2 GB flow are lost on a link with a delay of 50 ms. Packet 15 triggers the NACK, which returns
/// like an ACK. Meanwhile the sender sends 300,929 more packets, which the receiver ignores. The sender completes its
/// current packet and starts again, so the FCT is the ideal FCT, 262.3 ms, plus a round trip of 100 ms.
#[test]
fn a_gap_causes_one_nack_however_long_the_round_trip() {
    // Packet 14 begins to leave the switch at 5,984.8 ns, packet 15 at 6,317.12 ns.
    let flap = "{ at: 5990 ns, link: [dc1, dc2], down: true }, \
                { at: 6040 ns, link: [dc1, dc2], up: true }";
    let packets = 488_282;
    let text = pair(&format!("size: {} B", packets * 4_096), "", "")
        .replace("delay: 5 ms", "delay: 50 ms");
    let run = simulate_text(&format!("{text}faults: [{flap}]\n"));
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
    assert_eq!(run.go_backs(), (1, 0));
    assert_eq!(run.outcome.work.drops, 15);
    let travel = 2 * PACKET + 3 * ACK + 2 * (2 * HOST_DELAY + 50 * MILLI);
    let nacked = 16 * PACKET + travel;
    let sent_before = nacked.div_ceil(PACKET);
    let end = (sent_before + packets) * PACKET + travel;
    assert_eq!(end / MILLI, 362);
    assert_eq!(run.end_of(0), Some(end));
    assert_eq!(run.outcome.work.data_packets, sent_before + packets);
}

/// Packets 0 to 50 are lost, and the retransmitted packet 0 is lost again. The receiver has already sent its NACK for
/// this gap and ignores later packets. So the sender goes back only at its time-out, which counts from the NACK.
#[test]
fn a_retransmission_that_is_lost_again_waits_for_the_time_out() {
    // Packet 51 leaves its host after 52 packet times.
    let travel = 2 * PACKET + 3 * ACK + 2 * (2 * HOST_DELAY + 5 * MILLI);
    let nacked = 52 * PACKET + travel;
    // The retransmitted packet 0 begins to leave the switch 1 µs and one packet time later, at 10,023,292.48 ns.
    assert_eq!(nacked + PACKET + HOST_DELAY, 10_023_292_480);
    let again = "{ at: 10023400 ns, link: [dc1, dc2], down: true }, \
                 { at: 10023450 ns, link: [dc1, dc2], up: true }";
    let faults = format!("{FIRST_51}, {again}");
    let run = run(200, "retransmit_timeout: 50 ms", &faults);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
    assert_eq!(run.go_backs(), (2, 1));
    assert_eq!(run.outcome.work.drops, 52);
    let end = nacked + 50 * MILLI + 200 * PACKET + travel;
    assert_eq!(run.end_of(0), Some(end));
}

#[test]
fn a_flow_finishes_in_spite_of_random_loss() {
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

/// Four repetitions of a 10 MB flow over a link that loses 1 % of its packets and marks half the queued ones.
///
/// Each repetition has at least 2,442 packets, each of which is lost independently. Two repetitions lose the same
/// packets with a probability below 0.99^(2 · 2,442) = 10^-21, so each repetition has its own FCT and its own marks.
#[test]
fn each_repetition_draws_its_own_losses_and_marks() {
    let plan = plan(
        "
name: repetitions
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links:
    - between: [dc1, dc2]
      rate: 10 Gbit
      delay: 100 us
      loss: 0.01
      ecn: { k_min: 0 B, k_max: 100 MB, p_max: 1 }
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 10 MB }]
policies: [ecmp]
repetitions: 4
transport: { retransmit_timeout: 20 ms }
",
    );
    let runs: Vec<Run> = (0..4).map(|it| simulate_repetition(&plan, it)).collect();
    for event in [StoryEvent::Dropped, StoryEvent::Marked] {
        let mut drawn: Vec<_> = runs.iter().map(|run| run.times_of(0, event)).collect();
        assert!(drawn.iter().all(|times| !times.is_empty()), "{event:?}");
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 4, "{event:?}");
    }
    let again = simulate_repetition(&plan, 3);
    assert_eq!(again.end_of(0), runs[3].end_of(0));
}
