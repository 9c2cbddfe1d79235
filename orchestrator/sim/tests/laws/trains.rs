//! Laws of trains: what is exact, and what comes closer to packets the shorter the trains are.

use lab_plan::Plan;
use lab_records::StoryEvent;
use lab_sim::{Job, trains};
use proptest::prelude::*;

use crate::lab::{ACK, HOST_DELAY, MILLI, PACKET, Run, pair, plan, simulate, simulate_job};

/// Simulates the policy with index `policy` in trains of at most `length` packets, on `threads` threads.
fn in_trains(plan: &Plan, policy: usize, length: u32, threads: usize) -> Run {
    let job = Job {
        train: length,
        ..Job::new(plan, policy, 0)
    };
    simulate_job(job, threads, 60_000 * MILLI)
}

/// Lengths of trains, shorter than, as long as, and longer than the flows of 1,000 packets.
const LENGTHS: [u32; 6] = [1, 2, 7, 64, 1_000, 5_000];

/// Returns true if the end of a flow over three links is `expected`, where the arrival of a train's last packet is rounded
/// up to a nanosecond at each link.
fn is_rounded(end: u64, expected: u64) -> bool {
    (expected..=expected + 3 * 1_000).contains(&end)
}

/// 1,000 packets follow each other at 100 Gbit/s, and every switch forwards the first one as soon as it has arrived: the
/// last packet passes three links behind the 999 before it, and its ACK passes them back.
#[test]
fn a_flow_alone_takes_the_time_of_its_packets() {
    let plan = plan(&pair("size: 4096000 B", "", ""));
    let expected = 1_002 * PACKET + 3 * ACK + 2 * (5 * MILLI + 2 * HOST_DELAY);
    for length in LENGTHS {
        let end = in_trains(&plan, 0, length, 1)
            .end_of(0)
            .expect("it finished");
        assert!(is_rounded(end, expected), "{end}, trains of {length}");
    }
}

/// Two flows of 1,000 packets keep the link of 100 Gbit/s between dc1 and dc2 busy for 2,000 packet times, in whatever
/// order it takes their trains. They end at most one train apart.
#[test]
fn two_flows_share_a_link_train_by_train() {
    let plan = plan(
        "
name: two
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 2 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 4096000 B }
      - { from: dc1/h2, to: dc2/h2, size: 4096000 B }
policies: [ecmp]
",
    );
    let last = 2_002 * PACKET + 3 * ACK + 2 * (5 * MILLI + 2 * HOST_DELAY);
    for length in LENGTHS {
        let run = in_trains(&plan, 0, length, 1);
        let ends = [0, 1].map(|flow| run.end_of(flow).expect("it finished"));
        let end = ends.into_iter().max().expect("two");
        assert!(is_rounded(end, last), "{end}, trains of {length}");
        let apart = ends[0].abs_diff(ends[1]);
        assert!(
            apart <= u64::from(length) * PACKET + 3_000,
            "{apart} ps, trains of {length}"
        );
    }
}

/// Two hosts send 1,000 packets each into a queue of 50 kB, twelve packets. A train is cut where the queue is full, so that
/// the queue fills to the last packet, and the senders go back to what was lost.
#[test]
fn a_full_queue_takes_the_part_of_a_train_that_fits() {
    let plan = plan(
        "
name: full
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 2 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms, buffer: 50 kB }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 4096000 B }
      - { from: dc1/h2, to: dc2/h2, size: 4096000 B }
policies: [ecmp]
",
    );
    for length in [8, 64] {
        let run = in_trains(&plan, 0, length, 1);
        assert!([0, 1].iter().all(|flow| run.end_of(*flow).is_some()));
        let work = run.outcome.work;
        assert!(work.drops > 0 && work.go_backs > 0);
        assert_eq!(work.queue_drops, work.drops);
        let peak = run.ports().map(|port| port.counts.peak_bytes).max();
        assert_eq!(peak, Some(12 * 4_154), "trains of {length}");
    }
}

/// A queue of 50 kB holds twelve packets. A flow alone never waits there, so that trains longer than the queue pass.
#[test]
fn a_train_that_leaves_at_once_needs_no_room() {
    let plan = plan(&pair("size: 4096000 B", ", buffer: 50 kB", ""));
    for length in [8, 64, 1_000] {
        let run = in_trains(&plan, 0, length, 1);
        assert_eq!(run.outcome.work.drops, 0, "trains of {length}");
    }
}

/// A flow with a window of 250 packets sends its 1,000 packets in four round trips of 10 ms, in trains as well, because a
/// window holds at least eight trains.
#[test]
fn a_window_holds_several_trains() {
    let plan = plan(&pair(
        "size: 4096000 B",
        "",
        "transport: { window: 1024000 B }",
    ));
    let packets = simulate(&plan, 0, 1).end_of(0).expect("it finished");
    assert!(packets > 40 * MILLI && packets < 41 * MILLI, "{packets}");
    for length in [8, 64, 1_000] {
        let trains = in_trains(&plan, 0, length, 1)
            .end_of(0)
            .expect("it finished");
        let window = 250 * PACKET;
        assert!(
            trains.abs_diff(packets) < window,
            "{trains}, trains of {length}"
        );
    }
}

/// Nine packets pass links of 400, 10, 30 and 400 Gbit/s, the last of them with 900 bytes. It follows the one before it by
/// less than that one takes at 30 Gbit/s, so it waits there, whatever the length of the trains in front.
#[test]
fn a_short_last_packet_waits_for_the_one_before_it() {
    let payload = 900 - (4_154 - 4_096);
    let plan = plan(&format!(
        "
name: short-last
topology:
  defaults: {{ host_link: {{ rate: 400 Gbit }} }}
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: 10 Gbit, delay: 5 ms }}
    - {{ between: [dc2, dc3], rate: 30 Gbit, delay: 5 ms }}
traffic:
  - flows: [{{ from: dc1/h1, to: dc3/h1, size: {} B }}]
policies: [ecmp]
",
        8 * 4_096 + payload
    ));
    let last = PACKET * 900 / 4_154;
    let there = PACKET / 4 + 8 * PACKET * 10 + PACKET * 10 / 3 + last * 10 / 3 + last / 4;
    let back = ACK / 4 + ACK * 10 / 3 + ACK * 10 + ACK / 4;
    let expected = there + back + 2 * (10 * MILLI + 2 * HOST_DELAY);
    for length in [1, 2, 3, 4, 5, 8, 9] {
        let end = in_trains(&plan, 0, length, 1)
            .end_of(0)
            .expect("it finished");
        let late = end.abs_diff(expected);
        assert!(late <= 4 * 1_000, "{late} ps, trains of {length}");
    }
}

/// A cut loses the trains whose first packets have not arrived, and the NIC's time-out sends them again.
#[test]
fn trains_on_a_cut_link_are_lost_and_sent_again() {
    let faults = "faults: [{ at: 1 ms, link: [dc1, dc2], down: true }, { at: 2 ms, link: [dc1, dc2], up: true }]";
    let plan = plan(&pair("size: 4096000 B", "", faults));
    let run = in_trains(&plan, 0, 64, 1);
    let (go_backs, timeouts) = run.go_backs();
    assert!(run.end_of(0).is_some() && timeouts > 0 && go_backs >= timeouts);
    assert_eq!(run.count(0, StoryEvent::Finished), 1);
}

/// Randomly generated network of two switches between senders and receivers.
#[derive(Clone, Debug)]
struct Drawn {
    rates: [u32; 3],
    delays_us: [u32; 3],
    /// Size in bytes and start in microseconds of each flow, from a host of its own.
    flows: Vec<(u32, u32)>,
}

impl Drawn {
    fn plan(&self) -> Plan {
        let hosts = self.flows.len();
        let [a, b, c] = self.rates;
        let [first, second, third] = self.delays_us;
        let flow = |(host, (size, start)): (usize, &(u32, u32))| {
            let host = host + 1;
            format!(
                "      - {{ from: dc1/h{host}, to: dc4/h{host}, size: {size} B, start: {start} us }}\n"
            )
        };
        let flows: String = self.flows.iter().enumerate().map(flow).collect();
        plan(&format!(
            "
name: chain
topology:
  dcs: [{{ name: dc1, hosts: {hosts} }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: {hosts} }}]
  links:
    - {{ between: [dc1, dc2], rate: {a} Gbit, delay: {first} us }}
    - {{ between: [dc2, dc3], rate: {b} Gbit, delay: {second} us }}
    - {{ between: [dc3, dc4], rate: {c} Gbit, delay: {third} us }}
traffic:
  - flows:
{flows}policies: [ecmp]
"
        ))
    }
}

fn drawn(flows: std::ops::Range<usize>) -> impl Strategy<Value = Drawn> {
    let rate = || prop::sample::select(vec![10u32, 25, 40, 100, 200, 400]);
    let delay = || 500..20_000u32;
    let flow = (prop_oneof![1..50_000u32, 50_000..8_000_000u32], 0..200u32);
    (
        [rate(), rate(), rate()],
        [delay(), delay(), delay()],
        prop::collection::vec(flow, flows),
    )
        .prop_map(|(rates, delays_us, flows)| Drawn {
            rates,
            delays_us,
            flows,
        })
}

fn ends(run: &Run, flows: usize) -> Vec<u64> {
    let numbers = 0..u32::try_from(flows).expect("a few");
    numbers
        .map(|flow| run.end_of(flow).expect("it finished"))
        .collect()
}

/// Returns the sum over all flows of the difference of their ends in picoseconds.
fn error(drawn: &Drawn, packets: &[u64], plan: &Plan, length: u32) -> u64 {
    let found = ends(&in_trains(plan, 0, length, 1), drawn.flows.len());
    let pairs = packets.iter().zip(&found);
    pairs
        .map(|(packets, trains)| packets.abs_diff(*trains))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A flow alone takes as long as its packets, but for two small differences: a switch does not know when the packet
    /// before the last one arrived, so that the last one can be late by a packet at each of five links; and the ACK of a
    /// short last packet waits for no ACK before it.
    #[test]
    fn a_flow_alone_is_as_fast_as_its_packets(drawn in drawn(1..2), length in 2..300u32) {
        let plan = drawn.plan();
        let packets = ends(&simulate(&plan, 0, 1), 1)[0];
        let trains = ends(&in_trains(&plan, 0, length, 1), 1)[0];
        let slowest = u64::from(drawn.rates.into_iter().min().expect("three").min(100));
        let packet = PACKET * 100 / slowest;
        let ack = ACK * 100 / slowest;
        prop_assert!(packets <= trains + ack, "{packets} {trains}");
        prop_assert!(trains <= packets + 5 * (packet + 1_000), "{packets} {trains}");
    }

    /// A flow's end differs from that with packets by at most the trains of the others at the bottleneck, so by less the
    /// shorter they are; with one packet each there is no difference.
    #[test]
    fn the_error_is_bounded_by_the_length(drawn in drawn(4..12)) {
        let plan = drawn.plan();
        let packets = ends(&simulate(&plan, 0, 1), drawn.flows.len());
        let error = |length| error(&drawn, &packets, &plan, length);
        let flows = u64::try_from(drawn.flows.len()).expect("a few");
        let slowest = u64::from(drawn.rates.into_iter().min().expect("three").min(100));
        for length in [2, 16, 128] {
            let bound = flows * flows * u64::from(length) * PACKET * 100 / slowest;
            prop_assert!(error(length) <= bound, "{} > {bound} at {length}", error(length));
        }
        prop_assert_eq!(error(1), 0);
    }

    #[test]
    fn threads_do_not_change_the_trace(drawn in drawn(2..8), length in 2..100u32) {
        let plan = drawn.plan();
        let one = in_trains(&plan, 0, length, 1);
        for threads in [2, 4] {
            let other = in_trains(&plan, 0, length, threads);
            prop_assert_eq!(format!("{:?}", one.trace), format!("{:?}", other.trace));
        }
    }
}

/// The pair's round trip is 10 ms and 4 µs. A hundredth of half of it is 50.02 µs, in which 625,250 B pass at 100 Gbit/s,
/// 152 payloads of 4,096 B.
#[test]
fn the_default_length_is_a_hundredth_of_the_delay() {
    let long = plan(&pair("size: 4096000 B", "", ""));
    let base = long.flows[0].base_rtt_ns.get();
    assert!((10_004_000..10_006_000).contains(&base), "{base}");
    assert_eq!(trains::default_length(&long), 152);
    let short = plan(&pair("size: 1 MB", ", buffer: 410 kB", ""));
    assert_eq!(
        trains::longest(&short),
        10,
        "a tenth of 410,000 B is ten packets of 4,096 B"
    );
    assert_eq!(trains::default_length(&short), 10);
}

/// One direction takes 5.002 ms. In an eighth of it, a link of 1 Gbit/s sends 18 packets, which take 33.2 µs each.
#[test]
fn the_default_length_is_short_beside_the_delay_at_a_slow_link_too() {
    let text = pair("size: 4096000 B", "", "").replace("rate: 100 Gbit", "rate: 1 Gbit");
    assert_eq!(trains::default_length(&plan(&text)), 18);
}

/// A fault shortens the delay from 1 ms to 100 µs while the first flow sends. Its later packets, and the second flow,
/// arrive among its earlier ones, and all keep to the rate of the link: 98 packets of each flow take 3.3 µs each. Trains
/// keep to it as well, but for a train that waits for another.
#[test]
fn trains_that_overtake_others_keep_to_the_rate_of_the_link() {
    let plan = plan(
        "
name: overtake
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 2 }]
  links: [{ between: [dc1, dc2], rate: 10 Gbit, delay: 1 ms }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 400 kB }
      - { from: dc1/h2, to: dc2/h2, size: 400 kB, start: 900 us }
faults: [{ at: 500 us, link: [dc1, dc2], delay: 100 us }]
policies: [ecmp]
",
    );
    let packets = simulate(&plan, 0, 1);
    let packet = 10 * PACKET;
    for length in [2, 4, 8] {
        let trains = in_trains(&plan, 0, length, 1);
        for flow in [0, 1] {
            let [exact, end] =
                [&packets, &trains].map(|run| run.end_of(flow).expect("it finished"));
            let apart = end.abs_diff(exact) / packet;
            assert!(
                apart <= 2 * u64::from(length),
                "{apart} packets, trains of {length}"
            );
        }
    }
}

#[test]
fn what_depends_on_single_packets_is_refused() {
    let refusal =
        |flow: &str, link: &str, more: &str| trains::refusal(&plan(&pair(flow, link, more)));
    let small = "size: 1 MB";
    assert_eq!(refusal(small, "", ""), None);
    assert_eq!(refusal(small, "", "transport: { cc: dcqcn }"), None);
    // In the round trip of 10 ms, 125 MB pass at 100 Gbit/s, and 50 MB at 40 Gbit/s.
    for (found, words) in [
        (
            refusal("size: 130 MB", "", "transport: { cc: dcqcn }"),
            "1 of 1 flows are sent for longer",
        ),
        (
            trains::refusal(&plan(
                &pair("size: 60 MB", "", "transport: { cc: dcqcn }")
                    .replace("rate: 100 Gbit", "rate: 40 Gbit"),
            )),
            "1 of 1 flows are sent for longer",
        ),
        (refusal(small, "", "transport: { cc: hpcc }"), "`cc: hpcc`"),
        (
            refusal(small, "", "transport: { cc: timely }"),
            "`cc: timely`",
        ),
        (
            refusal(small, "", "transport: { cc: dctcp }"),
            "`cc: dctcp`",
        ),
        (
            refusal(small, ", loss: 0.001", ""),
            "link `dc1-dc2` loses single packets",
        ),
        (
            refusal(
                small,
                "",
                "faults: [{ at: 1 ms, link: [dc1, dc2], loss: 0.01 }]",
            ),
            "a fault makes link `dc1-dc2` lose single packets",
        ),
    ] {
        let found = found.expect(words);
        assert!(found.contains(words), "{found}");
    }
}
