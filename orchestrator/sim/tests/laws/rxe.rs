//! SoftRoCE hosts of scaled plans, as the kernel engine runs them.

use lab_plan::{HostProfile, Plan, timer_wheel::WheelTimer};
use lab_records::StoryEvent;
use lab_sim::EndReason;
use lab_units::Nanos;

use crate::lab::{ACK, HOST_DELAY, MILLI, PACKET, Run, pair, plan, scaled, simulate};

/// Factors of one: SoftRoCE hosts in a network of the paper's numbers.
const AS_IS: &str = "scale: { rate: 1, time: 1 }";

/// Propagation delay of a round trip in [`pair`]'s network.
const WIRES: u64 = 2 * (2 * HOST_DELAY + 5 * MILLI);

/// Serialization time of an ACK or of nothing more than a packet's headers on all three links.
const ACK_PATH: u64 = 3 * ACK;

fn run(text: &str) -> (Plan, Run) {
    let plan = scaled(text);
    assert_eq!(plan.transport.profile, HostProfile::Rxe);
    let run = simulate(&plan, 0, 1);
    (plan, run)
}

/// Returns the retransmission timer of the plan's QPs.
fn timer(plan: &Plan) -> WheelTimer {
    WheelTimer::new(plan.transport.retransmit_timeout_ns.0.expect("it has one"))
}

/// Returns a run of one flow of `packets` full packets, in five messages.
fn one(packets: u64, more: &str) -> (Plan, Run) {
    let flow = format!("size: {} B", packets * 4_096);
    run(&pair(&flow, "", &format!("{AS_IS}\n{more}")))
}

/// Returns the scenario of a flow of `size` over 100 Mbit/s, a packet of 332 us each, from hosts at `host_rate`.
fn slow(host_rate: &str, size: &str, link: &str, more: &str) -> String {
    format!(
        "
name: slow
topology:
  defaults: {{ host_link: {{ rate: {host_rate} }} }}
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Mbit, delay: 1 ms{link} }}]
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: {size} }}]
policies: [ecmp]
{AS_IS}
{more}"
    )
}

/// The plan's ideal FCT counts the packets of each message, with the headers of its operation.
#[test]
fn one_flow_takes_its_ideal_time_to_the_nanosecond() {
    for tool in ["ib_send_bw", "ib_write_bw"] {
        for size in ["5 B", "4 kB", "20480 B", "20485 B", "300 kB", "500 kB"] {
            let more = format!("{AS_IS}\ngenerator: {{ tool: {tool} }}");
            let (plan, run) = run(&pair(&format!("size: {size}"), "", &more));
            let end = run.end_of(0).expect("it finished");
            assert_eq!(
                end / 1_000,
                plan.flows[0].ideal_fct_ns.get(),
                "{tool} {size}"
            );
        }
    }
}

/// Five messages of 40 packets: a request with the last packet of each, none in between.
#[test]
fn each_message_is_acknowledged_once() {
    let (_, run) = one(200, "");
    assert_eq!(run.outcome.work.data_packets, 200);
    assert_eq!(run.outcome.work.packet_hops, 3 * (200 + 5));
}

/// The 66th and 132nd packet of a message, and its last.
#[test]
fn every_66th_packet_of_a_long_message_is_acknowledged() {
    for (packets, acks) in [(66, 1), (67, 2), (132, 2), (133, 3)] {
        let (_, run) = one(5 * packets, "");
        let expected = 3 * 5 * (packets + acks);
        assert_eq!(run.outcome.work.packet_hops, expected, "{packets}");
    }
}

/// Messages of 60 packets: 129 packets leave at once. The ACK of packet 59 returns a round trip after that
/// packet left and opens the window for packets 129 to 188, which queue up to the ACK of packet 119, and
/// so on. The last packet, 299, leaves 111 packets after 188, of which 60 wait for the second round.
#[test]
fn a_window_is_129_packets_and_moves_with_each_ack() {
    let (_, run) = one(300, "");
    let ack_of = |left: u64| left + 2 * PACKET + ACK_PATH + WIRES;
    // First round: packet k has left the host at (k + 1) packets' time.
    let first = ack_of(60 * PACKET);
    // Packets 129 to 188 follow that ACK, packets 189 to 248 the one 60 packets later.
    let third = ack_of(first + 51 * PACKET);
    // Packets 249 to 299 follow the ACK of packet 179, the 51st after 128.
    assert_eq!(run.end_of(0), Some(ack_of(third + 51 * PACKET)));
    assert_eq!(run.outcome.reason, EndReason::Finished);
}

/// Two hosts send 128 packets each to one link, whose queue grows by one in a packet's time until both are
/// done: the later a packet, the more it meets. By what they leave behind, the last ones would not be marked.
#[test]
fn packets_are_marked_by_the_queue_that_they_meet() {
    let size = format!("size: {} B", 128 * 4_096);
    let ecn = format!(
        ", ecn: {{ k_min: {0} B, k_max: {0} B, p_max: 1 }}",
        32 * 4_154
    );
    let both = format!("{size} }}, {{ from: dc1/h2, to: dc2/h2, {size}");
    let (_, run) = run(&pair(&both, &ecn, AS_IS).replace("hosts: 1", "hosts: 2"));
    for flow in [0, 1] {
        let events = run.flow_events(flow);
        let marks = events.filter(|event| event.event == StoryEvent::Marked);
        let marked: Vec<u32> = marks.filter_map(|event| event.packet).collect();
        // The n-th packet of the first flow meets n - 1 others, that of the second one meets it too.
        let first = 33 - flow;
        assert_eq!(marked, (first..=128).collect::<Vec<_>>(), "flow {flow}");
    }
}

/// Two flows that one host starts together: the first one's packets leave before the second one's.
#[test]
fn a_host_sends_its_qps_packets_first_in_first_out() {
    let text = |more: &str| {
        let second = "size: 409600 B }, { from: dc1/h1, to: dc2/h1, size: 409600 B";
        pair(second, "", more)
    };
    let (plan, run) = run(&text(AS_IS));
    let alone = plan.flows[0].ideal_fct_ns.get();
    let end = |flow| run.end_of(flow).expect("finished") / 1_000;
    assert_eq!(end(0), alone);
    assert_eq!(end(1), alone + 100 * PACKET / 1_000);
    // A hardware NIC takes turns: both end at the end.
    let rnic = simulate(&crate::lab::plan(&text("")), 0, 1);
    let ends = [0, 1].map(|flow| rnic.end_of(flow).expect("finished"));
    assert!(ends[0].abs_diff(ends[1]) <= PACKET, "{ends:?}");
}

/// An ACK waits behind the data that the host has queued.
#[test]
fn acks_wait_in_the_hosts_queue() {
    let text = pair(
        "size: 5 B }, { from: dc2/h1, to: dc1/h1, size: 500 kB, start: 5001 us",
        "",
        AS_IS,
    );
    let (plan, run) = run(&text);
    let late = run.end_of(0).expect("finished") / 1_000 - plan.flows[0].ideal_fct_ns.get();
    // 122.07 packets of 500 kB in five messages of 24 full ones and a short one.
    assert!((40_000..41_500).contains(&late), "{late} ns");
}

/// The link is cut for 50 ns, with packets 0 to 50 on it, of 100 in messages of 20: one NACK for the gap, and
/// all again, as five more messages with an ACK each.
#[test]
fn a_gap_causes_one_nack_and_go_back_n() {
    let flap = "faults: [{ at: 17950 ns, link: [dc1, dc2], down: true }, \
                { at: 18000 ns, link: [dc1, dc2], up: true }]";
    let (_, run) = one(100, flap);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
    assert_eq!(run.count(0, StoryEvent::TimedOut), 0);
    assert_eq!(run.outcome.work.data_packets, 100 + 100);
    assert_eq!(run.go_backs(), (1, 0));
    assert_eq!(run.outcome.work.drops, 51);
}

/// Links of 100 Mbit/s, a packet of 332 us each, so that a wire of 1 ms holds four packets. The first cut
/// loses packets 7 to 10 of the first message's 20. The packets sent again follow the 100 queued before;
/// the second cut loses the next ones after packet 7, and their NACK comes before the first message's ACK.
#[test]
fn a_second_nack_without_an_ack_between_waits_for_the_time_out() {
    let (plan, run) = run(&slow(
        "100 Mbit",
        "409600 B",
        "",
        "
faults:
  - { at: 4 ms, link: [dc1, dc2], down: true }
  - { at: 4001 us, link: [dc1, dc2], up: true }
  - { at: 35500 us, link: [dc1, dc2], down: true }
  - { at: 35501 us, link: [dc1, dc2], up: true }
transport: { retransmit_timeout: 60 ms }
",
    ));
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.count(0, StoryEvent::Nacked), 2);
    assert_eq!(run.count(0, StoryEvent::Retransmitted), 2);
    // The last answer is the second NACK, at 37 to 40 ms: jiffy 9.
    let expiry = timer(&plan).expiry(Nanos::from_millis(38));
    assert_eq!(run.times_of(0, StoryEvent::TimedOut), [expiry]);
}

/// Retry count 7 is no limit: the QP retries until the lab gives the flow up.
#[test]
fn a_flow_without_a_live_path_is_given_up_after_its_deadline() {
    let down = "faults: [{ at: 1 ms, link: [dc1, dc2], down: true }]\n\
                transport: { retransmit_timeout: 20 ms }";
    let (plan, run) = one(10, down);
    assert_eq!(run.outcome.reason, EndReason::Stuck);
    assert_eq!(run.outcome.unfinished, [0]);
    let timer = timer(&plan);
    let deadline = plan.rdma.flow_deadline_ns;
    let expiries = std::iter::successors(Some(timer.expiry(Nanos::ZERO)), |at| {
        Some(timer.expiry(*at))
    });
    let expected: Vec<Nanos> = expiries.take_while(|at| *at < deadline).collect();
    assert!(expected.len() > 7, "{expected:?}");
    assert_eq!(run.times_of(0, StoryEvent::TimedOut), expected);
}

/// A flow of 100 packets under congestion control puts 65 into its pacer. Its link is cut as packets 8 to 11 are
/// on it. The NACK finds some of the 65 still in the pacer: they leave first, and then all from 8 on.
#[test]
fn packets_in_the_pacer_leave_before_those_that_are_sent_again() {
    let (_, run) = run(&slow(
        "100 Mbit",
        "409600 B",
        ", ecn: { k_min: 100 kB, k_max: 1 MB, p_max: 1 }",
        "
faults:
  - { at: 4 ms, link: [dc1, dc2], down: true }
  - { at: 4001 us, link: [dc1, dc2], up: true }
transport: { cc: dcqcn, retransmit_timeout: 2 s }
",
    ));
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.count(0, StoryEvent::Nacked), 1);
    assert_eq!((run.go_backs(), run.count(0, StoryEvent::Cnp)), ((1, 0), 0));
    assert_eq!(run.outcome.work.drops, 4);
    assert_eq!(run.outcome.work.data_packets, 65 + (100 - 8));
}

/// A receiver sends its CNPs as the marks come, at least 50 us apart, though it acknowledges each 66th packet.
#[test]
fn cnps_do_not_wait_for_an_acknowledgement() {
    let (_, run) = run(&slow(
        "200 Mbit",
        "2 MB",
        ", ecn: { k_min: 10 kB, k_max: 20 kB, p_max: 1 }",
        "
transport: { cc: dcqcn }
",
    ));
    let cnps = run
        .flow_events(0)
        .filter(|event| event.event == StoryEvent::Cnp);
    let times: Vec<u64> = cnps.map(|event| event.at.nanos_trunc().get()).collect();
    assert!(times.len() > 10, "{times:?}");
    let apart = times.windows(2).map(|pair| pair[1] - pair[0]).min();
    assert!(apart >= Some(50_000), "{apart:?}");
}

/// Two flows, one each way, of 60 packets of 332.32 us, from hosts of 1 Gbit/s. Packet 23 is the first to meet more
/// than 20 others, and its CNP comes to dc2's switch at 9 ms. There the other flow's packets, the first of which came
/// after 33.23 + 1 us, leave until 19,973.4 us. The ACK of packet 11, 62 B, leaves before the CNP, 74 B, and the CNP
/// has another 1,001 us and 0.6 us to go. The CNP meets enough packets to be marked, but is not capable of a mark: at
/// most the ACKs of packets 11, 23 and 35 in each direction are marked.
#[test]
fn cnps_wait_behind_data_and_are_not_marked() {
    let text = slow(
        "1 Gbit",
        "245760 B",
        ", ecn: { k_min: 83080 B, k_max: 83080 B, p_max: 1 }",
        "
transport: { cc: dcqcn }
",
    );
    let there = "{ from: dc1/h1, to: dc2/h1, size: 245760 B }";
    let back = "{ from: dc2/h2, to: dc1/h2, size: 245760 B }";
    let text = text
        .replace("hosts: 1", "hosts: 2")
        .replace(there, &format!("{there}, {back}"));
    let (_, run) = run(&text);
    let cnp = run.times_of(0, StoryEvent::Cnp)[0].get();
    let expected = 19_973_432 + (62 + 74) * 80 + 1_001_000 + 74 * 8;
    assert!(cnp.abs_diff(expected) < 1_000, "{cnp}, not {expected}");
    let of_data: usize = (0..2).map(|flow| run.count(flow, StoryEvent::Marked)).sum();
    let all: u64 = run.ports().map(|port| port.counts.marks).sum();
    let of_answers = all - u64::try_from(of_data).expect("few");
    assert!(of_answers <= 2 * 3, "{of_answers}");
}

/// Two QPs of a host into a link of a tenth of its rate. What a pause holds is in their pacers, not in the
/// NIC's queue, and the NIC takes a packet of each in turn: they end together.
#[test]
fn a_paused_nic_holds_its_qps_in_their_pacers_and_serves_them_in_turn() {
    let text = slow(
        "1 Gbit",
        "1 MB",
        "",
        "
transport: { cc: dcqcn, pfc: true, dci_buffer: 400 kB }
",
    );
    let flow = "{ from: dc1/h1, to: dc2/h1, size: 1 MB";
    let text = text.replace(&format!("{flow} }}"), &format!("{flow} }}, {flow} }}"));
    let (_, run) = run(&text);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.outcome.work.drops, 0);
    let paused = run.pfc().filter(|signal| signal.is_pause).count();
    assert!(paused > 10, "{paused}");
    let nic = run.ports().find(|sample| sample.counts.pauses > 0);
    let nic = nic.expect("a NIC is paused");
    assert_eq!(
        nic.counts.peak_bytes, 0,
        "no packet waits behind the pacers"
    );
    let ends = [0, 1].map(|flow| run.end_of(flow).expect("it finished"));
    // By a packet or two of the slow link, of 245 each.
    assert!(ends[0].abs_diff(ends[1]) < 3 * 332_320_000, "{ends:?}");
}

/// What rxe does not have makes it another device.
#[test]
fn a_scenario_that_asks_for_more_has_hardware_nics() {
    for transport in [
        "cc: timely",
        "window: bdp",
        "pfc: true",
        "retransmit_timeout: none",
    ] {
        let more = format!("{AS_IS}\ntransport: {{ {transport} }}");
        let profile = scaled(&pair("size: 1 MB", "", &more)).transport.profile;
        assert_eq!(profile, HostProfile::Rnic, "{transport}");
    }
    for transport in ["cc: dcqcn", "cc: dcqcn, pfc: true"] {
        let paced = format!("{AS_IS}\ntransport: {{ {transport} }}");
        let paced = scaled(&pair("size: 1 MB", "", &paced)).transport.profile;
        assert_eq!(paced, HostProfile::Rxe, "{transport}");
    }
    let unscaled = plan(&pair("size: 1 MB", "", "")).transport.profile;
    assert_eq!(unscaled, HostProfile::Rnic);
}
