//! Tests of SoftRoCE hosts, which scaled plans have as the kernel engine does.

use lab_plan::{HostProfile, Plan, timer_wheel::WheelTimer};
use lab_records::StoryEvent;
use lab_sim::EndReason;
use lab_units::Nanos;

use crate::lab::{ACK, HOST_DELAY, MILLI, PACKET, Run, pair, plan, scaled, simulate};

/// Scale with factors of 1, which gives SoftRoCE hosts in a network with the paper's numbers.
const AS_IS: &str = "scale: { rate: 1, time: 1 }";

/// Propagation delay of a round trip in the network of [`pair`], in picoseconds.
const WIRES: u64 = 2 * (2 * HOST_DELAY + 5 * MILLI);

/// Serialisation time of an ACK, or of a data packet's headers, on all three links, in picoseconds.
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

/// Simulates one flow of `packets` full packets in five messages; returns the plan and the run.
fn one(packets: u64, more: &str) -> (Plan, Run) {
    let flow = format!("size: {} B", packets * 4_096);
    run(&pair(&flow, "", &format!("{AS_IS}\n{more}")))
}

/// Returns a scenario with a flow of `size` from a host at `host_rate` over a link of 100 Mbit/s, on which a packet
/// takes 332 us.
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

/// The plan computes the ideal FCT from each message's packets, with the headers of the flow's RDMA operation.
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

/// The flow has five messages of 40 packets; only the last packet of each message requests an ACK.
#[test]
fn each_message_is_acknowledged_once() {
    let (_, run) = one(200, "");
    assert_eq!(run.outcome.work.data_packets, 200);
    assert_eq!(run.outcome.work.packet_hops, 3 * (200 + 5));
}

/// ACKs are sent for the 66th, the 132nd and the last packet of a message.
#[test]
fn every_66th_packet_of_a_long_message_is_acknowledged() {
    for (packets, acks) in [(66, 1), (67, 2), (132, 2), (133, 3)] {
        let (_, run) = one(5 * packets, "");
        let expected = 3 * 5 * (packets + acks);
        assert_eq!(run.outcome.work.packet_hops, expected, "{packets}");
    }
}

/// Messages have 60 packets, and 129 packets leave at once. The ACK of packet 59 returns one round trip after that
/// packet left and opens the window for packets 129 to 188, which are already queued when the ACK of packet 119
/// arrives, and so on. The last packet, 299, leaves 111 packets after packet 188; 60 of these wait for the second round
/// trip.
#[test]
fn a_window_is_129_packets_and_moves_with_each_ack() {
    let (_, run) = one(300, "");
    let ack_of = |left: u64| left + 2 * PACKET + ACK_PATH + WIRES;
    // In the first round trip, packet k, numbered from 0, has left the host after k + 1 packet times.
    let first = ack_of(60 * PACKET);
    // Packets 129 to 188 follow that ACK; packets 189 to 248 follow the ACK that arrives 60 packets later.
    let third = ack_of(first + 51 * PACKET);
    // Packets 249 to 299 follow the ACK of packet 179, the 51st packet after packet 128.
    assert_eq!(run.end_of(0), Some(ack_of(third + 51 * PACKET)));
    assert_eq!(run.outcome.reason, EndReason::Finished);
}

/// Two hosts send 128 packets each into one link, whose queue grows by one packet per packet time until both are done.
/// So a later packet finds a longer queue in front of it. If the queue behind a packet counted, the last packets would
/// not be marked.
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
        // The n-th packet of the first flow finds n − 1 packets in the queue, and the n-th packet of the second flow
        // one more.
        let first = 33 - flow;
        assert_eq!(marked, (first..=128).collect::<Vec<_>>(), "flow {flow}");
    }
}

/// A host starts two flows at the same time; all packets of the first flow leave before those of the second.
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
    // A hardware NIC serves its QPs in turn, so both flows finish at about the same time.
    let rnic = simulate(&crate::lab::plan(&text("")), 0, 1);
    let ends = [0, 1].map(|flow| rnic.end_of(flow).expect("finished"));
    assert!(ends[0].abs_diff(ends[1]) <= PACKET, "{ends:?}");
}

/// An ACK waits behind the data that its host has queued.
#[test]
fn acks_wait_in_the_hosts_queue() {
    let text = pair(
        "size: 5 B }, { from: dc2/h1, to: dc1/h1, size: 500 kB, start: 5001 us",
        "",
        AS_IS,
    );
    let (plan, run) = run(&text);
    let late = run.end_of(0).expect("finished") / 1_000 - plan.flows[0].ideal_fct_ns.get();
    // 500 kB are 122.07 packets: five messages with 24 full packets and a short one each.
    assert!((40_000..41_500).contains(&late), "{late} ns");
}

/// The link is cut for 50 ns with packets 0 to 50 on it, of 100 in messages of 20. The receiver sends one NACK for the
/// gap, and all packets are sent again, as five messages with an ACK each.
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

/// Links have 100 Mbit/s, so a packet takes 332 us and a wire of 1 ms holds four packets. The first cut loses packets 7
/// to 10 of the first message's 20. The retransmitted packets queue behind the 100 packets that were queued before. The
/// second cut loses the packets after packet 7, and their NACK arrives before the first message's ACK.
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
    // The last answer is the second NACK, which arrives at 37 to 40 ms, in jiffy 9.
    let expiry = timer(&plan).expiry(Nanos::from_millis(38));
    assert_eq!(run.times_of(0, StoryEvent::TimedOut), [expiry]);
}

/// The QP's retry count of 7 means no limit: the QP retries until the lab aborts the flow at its deadline.
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

/// Under congestion control, a flow of 100 packets puts 65 packets into its pacer. Its link is cut while packets 8 to
/// 11 are on it. When the NACK arrives, some of the 65 packets are still in the pacer; they leave first, followed by
/// all packets from 8 on.
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

/// A receiver sends CNPs as soon as marked packets arrive, at least 50 us apart, although it acknowledges only every
/// 66th packet.
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

/// Two flows, one in each direction, have 60 packets each from 1 Gbit/s hosts; a packet takes 332.32 us on the link.
/// Packet 23 is the first one that finds more than 20 packets in the queue, and its CNP arrives at dc2's switch at 9
/// ms. There, the other flow's packets, the first of which arrived at 33.23 + 1 us, are being sent until 19,973.4 us.
/// The ACK of packet 11, 62 B, leaves before the CNP, 74 B, and the CNP takes another 1,001 us and 0.6 us. The queue in
/// front of the CNP is long enough for a mark, but a CNP is not ECN-capable: at most the ACKs of packets 11, 23 and 35
/// in each direction are marked.
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

/// Two QPs of a host send into a link with a tenth of the host's rate. When paused, packets wait in the QPs' pacers,
/// not in the NIC's queue, and the NIC serves the QPs in turn, so the flows end together.
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
    let nic = run
        .ports()
        .find(|sample| sample.counts.pauses > 0)
        .expect("a NIC is paused");
    assert_eq!(
        nic.counts.peak_bytes, 0,
        "no packet waits behind the pacers"
    );
    let ends = [0, 1].map(|flow| run.end_of(flow).expect("it finished"));
    // Each flow has 245 packets, and they end within two packet times of each other on the slow link.
    assert!(ends[0].abs_diff(ends[1]) < 3 * 332_320_000, "{ends:?}");
}

/// With a transport setting that rxe lacks, the simulated hosts are hardware NICs.
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
