//! Tests of congestion control, end to end.

use lab_records::StoryEvent;
use lab_sim::EndReason;

use crate::lab::{MICRO, MILLI, Run, pair, simulate_text};

/// Simulates two 1 GB flows that share a link under congestion control `cc`; the second flow starts 5 ms after the
/// first.
fn late_comer(cc: &str) -> Run {
    simulate_text(&format!(
        "
name: share
topology:
  defaults: {{ host_link: {{ ecn: {{ k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }} }} }}
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 2 }}]
  links:
    - between: [dc1, dc2]
      rate: 100 Gbit
      delay: 5 us
      ecn: {{ k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }}
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc2/h1, size: 1 GB }}
      - {{ from: dc1/h2, to: dc2/h2, size: 1 GB, start: 5 ms }}
policies: [ecmp]
transport: {{ cc: {cc}, pfc: true, window: none }}
measure: {{ queues: 1 ms, links: 1 ms }}
"
    ))
}

/// Returns the mean rate of a flow between two times (ps), in Gbit/s.
fn mean_rate(run: &Run, flow: u32, from: u64, to: u64) -> f64 {
    let mut rate = 100e9;
    let mut since = from;
    let mut sum = 0.0;
    for event in run.flow_events(flow) {
        let at = event.at.picos().clamp(from, to);
        sum += rate * (at - since) as f64;
        since = at;
        if let Some(new) = event.rate {
            rate = new as f64;
        }
    }
    (sum + rate * (to - since) as f64) / (to - from) as f64 / 1e9
}

/// DCQCN's fixed point gives each flow half the link (SIGCOMM '15, section 5): both flows get the same marks, and the
/// faster one is cut more.
#[test]
fn two_dcqcn_flows_converge_to_half_the_link_each() {
    let run = late_comer("dcqcn");
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.outcome.work.drops, 0);
    let from = 40 * MILLI;
    let to = 120 * MILLI;
    let rates = [0, 1].map(|flow| mean_rate(&run, flow, from, to));
    for rate in rates {
        assert!((40.0..=60.0).contains(&rate), "{rates:?} Gbit/s");
    }
}

#[test]
fn rates_stay_between_zero_and_the_line_rate() {
    for cc in [
        "dcqcn",
        "{ dcqcn: { preset: artifact } }",
        "hpcc",
        "timely",
        "dctcp",
    ] {
        let run = late_comer(cc);
        assert_eq!(run.outcome.reason, EndReason::Finished, "{cc}");
        let mut set = 0;
        for flow in [0, 1] {
            for event in run
                .flow_events(flow)
                .filter(|event| event.event == StoryEvent::RateSet)
            {
                let rate = event.rate.expect("a new rate");
                assert!((1..=100_000_000_000).contains(&rate), "{cc}: {rate}");
                set += 1;
            }
        }
        assert!(set > 0, "{cc} never changed a rate");
    }
}

/// Two 1 GB flows have 244,141 packets of up to 4,154 B each, which take 162 ms on the link together. Congestion
/// control keeps the queue near the marking thresholds.
#[test]
fn control_keeps_the_link_busy_and_the_queue_short() {
    let run = late_comer("dcqcn");
    let end = [0, 1].map(|flow| run.end_of(flow).expect("finished"));
    let last = end[0].max(end[1]);
    assert!(last > 162 * MILLI, "faster than the link: {last} ps");
    let early = run.queues().filter(|event| event.at.picos() > 40 * MILLI);
    let longest = early.map(|event| event.bytes).max().unwrap_or(0);
    assert!(longest < 4_000_000, "{longest} B");
}

/// Eight hosts start together at line rate, each with a bandwidth-delay product of 2.6 MB in flight. HPCC sees 18 MB in
/// the queue of a full link and cuts its rates to an eighth within a few round trips. Without the queue in its
/// telemetry, it would only see a full link and cut rates by 5 % per round trip, 40 round trips for an eighth.
#[test]
fn hpcc_sees_the_queue_in_its_telemetry() {
    let flows =
        (1..=8).map(|host| format!("{{ from: dc1/h{host}, to: dc2/h{host}, size: 10 MB }}"));
    let run = simulate_text(&format!(
        "
name: telemetry
topology:
  dcs: [{{ name: dc1, hosts: 8 }}, {{ name: dc2, hosts: 8 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 100 us }}]
traffic:
  - flows: [{}]
policies: [ecmp]
transport: {{ cc: hpcc }}
measure: {{ queues: 100 us }}
",
        flows.collect::<Vec<_>>().join(", ")
    ));
    let queued = |from: u64, to: u64| {
        let within = |at: u64| (from * MILLI..to * MILLI).contains(&at);
        let events = run.queues().filter(|event| within(event.at.picos()));
        events.map(|event| event.bytes).max().unwrap_or(0)
    };
    let first = queued(0, 1);
    let later = queued(3, 5);
    assert!(first > 10_000_000, "{first} B");
    assert!(later < 100_000, "{later} B");
}

/// Every packet with more than 8 kB queued behind it is marked, but a QP gets at most one CNP per 50 us.
#[test]
fn a_qp_has_one_cnp_an_interval() {
    let run = simulate_text(
        "
name: notified
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 2 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms, ecn: { k_min: 4 kB, k_max: 8 kB, p_max: 1 } }
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 20 MB }, { from: dc1/h2, to: dc2/h2, size: 20 MB }]
policies: [ecmp]
transport: { cc: dcqcn, pfc: true }
",
    );
    for flow in [0, 1] {
        let cnps = run
            .flow_events(flow)
            .filter(|event| event.event == StoryEvent::Cnp);
        let times: Vec<u64> = cnps.map(|event| event.at.picos()).collect();
        assert!(times.len() > 20, "{} CNPs", times.len());
        // A CNP is sent up to 5 ns late, behind an answer that the host is already sending.
        let least = times.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(least >= Some(50 * MICRO - 10_000), "{least:?} ps apart");
    }
}

/// The round trip takes 10.005 ms. With round-trip thresholds of 11 ms and more, TIMELY keeps the line rate; with an
/// upper threshold of 9 ms, it cuts the rate at every segment.
#[test]
fn timelys_round_trip_is_the_paths() {
    let changes = |thresholds: &str| {
        let transport =
            format!("transport: {{ cc: {{ timely: {{ {thresholds}, min_rtt: 10 ms }} }} }}");
        let run = simulate_text(&pair("size: 20 MB", "", &transport));
        assert_eq!(run.outcome.reason, EndReason::Finished);
        run.count(0, StoryEvent::RateSet)
    };
    assert_eq!(changes("t_low: 11 ms, t_high: 15 ms"), 0);
    assert!(changes("t_low: 8 ms, t_high: 9 ms") > 0);
}

/// A round trip of 5.000005 s is above TIMELY's upper threshold of 4 s. From line rate on, each segment multiplies the
/// rate by 1 − 0.8 · (1 − 4 / 5) = 0.84. Cut to 32 bits of nanoseconds, the round trip would be 0.705 s, below the
/// lower threshold.
#[test]
fn timelys_round_trip_may_take_seconds() {
    let transport = "transport: { cc: { timely: { t_low: 1 s, t_high: 4 s, min_rtt: 5 s } } }";
    let text = pair("size: 200 kB", "", transport).replace("delay: 5 ms", "delay: 2500 ms");
    let run = simulate_text(&text);
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let mut changes = run
        .flow_events(0)
        .filter(|event| event.event == StoryEvent::RateSet);
    let first = changes.next().and_then(|event| event.rate).expect("a cut");
    assert!(first.abs_diff(84_000_000_000) < 1_000_000, "{first} bit/s");
}

/// Simulates a 100 MB flow from a 100 Gbit/s host over a path of 50 Gbit/s and 1 ms. With `has_other`, there is a
/// second path of 250 ms; the policy chooses the path with the least delay.
fn beside_a_long_path(has_other: bool) -> Run {
    let (dc3, links) = if has_other {
        (
            "{ name: dc3 }, ",
            "
    - { between: [dc1, dc3], rate: 50 Gbit, delay: 125 ms }
    - { between: [dc3, dc4], rate: 50 Gbit, delay: 125 ms }",
        )
    } else {
        ("", "")
    };
    simulate_text(&format!(
        "
name: beside
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {dc3}{{ name: dc4, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: 50 Gbit, delay: 500 us }}
    - {{ between: [dc2, dc4], rate: 50 Gbit, delay: 500 us }}{links}
traffic:
  - flows: [{{ from: dc1/h1, to: dc4/h1, size: 100 MB }}]
policies: [ucmp: {{ ageing: false }}]
transport: {{ cc: hpcc, window: none }}
"
    ))
}

/// The host sends at line rate for one round trip of 2.006 ms, 25.1 MB. After that, it has at most the path's window in
/// flight: 25.1 MB of payload, 25.8 MB with headers and telemetry. The path holds 12.5 MB of it, which leaves 13.3 MB
/// for the queue. If the base RTT were 500 ms, all 100 MB would leave at line rate, and half of it would be queued.
#[test]
fn a_path_that_no_flow_takes_does_not_change_hpcc() {
    let [alone, beside] = [false, true].map(|has_other| {
        let run = beside_a_long_path(has_other);
        let longest = run.ports().map(|port| port.counts.peak_bytes).max();
        (run.end_of(0), longest)
    });
    assert_eq!(alone, beside);
    assert!(alone.1 <= Some(13_300_000), "{alone:?}");
}

/// The flow from h1 takes the path over dc2, is cut off there at 90 ms and moves to the path over dc3. That path has as
/// many switches and is idle, but its ports sent 400 MB for h2 earlier, while dc2 was cut off (from 0 to 60 ms). HPCC
/// must not take the difference between the two paths' counters for traffic: its rate stays near its target, 95 % of
/// the link, after the first telemetry of the new path arrives (one round trip of 8 ms).
#[test]
fn hpcc_keeps_its_rate_on_an_idle_path_whose_ports_sent_much_before() {
    let flap = |at: u32, is_down: bool| {
        let state = if is_down { "down" } else { "up" };
        ["dc1", "dc4"].map(|end| format!("{{ at: {at} ms, link: [{end}, dc2], {state}: true }}"))
    };
    let faults = [flap(0, true), flap(60, false), flap(90, true)].concat();
    let run = simulate_text(&format!(
        "
name: moved
topology:
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 2 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 2 ms }}
    - {{ between: [dc3, dc4], rate: 100 Gbit, delay: 2 ms }}
traffic:
  - flows:
      - {{ from: dc1/h2, to: dc4/h2, size: 400 MB, start: 1 ms }}
      - {{ from: dc1/h1, to: dc4/h1, size: 500 MB, start: 70 ms }}
policies: [ucmp: {{ ageing: false }}]
transport: {{ cc: hpcc, window: none, retransmit_timeout: 20 ms }}
faults: [{}]
",
        faults.join(", ")
    ));
    assert_eq!(run.outcome.reason, EndReason::Finished);
    let late = |at: u64| at > 98 * MILLI;
    let rates = run.flow_events(1).filter(|event| late(event.at.picos()));
    let slowest = rates.filter_map(|event| event.rate).min();
    assert!(slowest >= Some(90_000_000_000), "{slowest:?} bit/s");
}

/// Two flows from dc1's hosts meet in the queue of the thirteenth switch, just before their receiver, and a 1 kB flow
/// follows at 10 ms.
///
/// HPCC's base round-trip time T is 28 µs of delays in both directions plus the time to send a packet and its ACK on 14
/// links, less than 31 µs in total. Senders that see the thirteenth switch's queue in their telemetry keep it near 0,
/// so the short flow takes at most T and the time of a few packets (0.33 µs each). Senders that do not see it keep
/// their initial window of B · T (line rate times T) each. The path holds one of the two windows, and the other one
/// stays in the queue, so the short flow takes another T, at least 28 µs, longer.
#[test]
fn hpcc_sees_the_last_of_thirteen_switches() {
    let dcs: Vec<String> = (1..=13)
        .map(|dc| {
            format!(
                "{{ name: dc{dc}, hosts: {} }}",
                if dc == 1 { 3 } else { dc / 13 }
            )
        })
        .collect();
    let links: Vec<String> = (1..=12)
        .map(|dc| {
            format!(
                "{{ between: [dc{dc}, dc{}], rate: 400 Gbit, delay: 1 us }}",
                dc + 1
            )
        })
        .collect();
    let text = |cc: &str| {
        format!(
            "
name: thirteen
topology:
  defaults: {{ host_link: {{ rate: 100 Gbit, buffer: 1 GB }} }}
  dcs: [{}]
  links: [{}]
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc13/h1, size: 100 MB }}
      - {{ from: dc1/h2, to: dc13/h1, size: 100 MB }}
      - {{ from: dc1/h3, to: dc13/h1, size: 1 kB, start: 10 ms }}
policies: [ecmp]
transport: {{ cc: {cc} }}
",
            dcs.join(", "),
            links.join(", ")
        )
    };
    let short_flow = |cc| simulate_text(&text(cc)).end_of(2).expect("it finished") - 10 * MILLI;
    let seen = short_flow("hpcc");
    assert!(seen < 33 * MICRO, "{seen} ps");
    let blind = short_flow("{ hpcc: { int_hops: 12 } }");
    assert!(
        blind > 2 * 28 * MICRO,
        "a packet has room for twelve: {blind} ps"
    );
}

/// A link with a delay of 1 ms is cut from 5 to 20 ms, so no ACK arrives after 5 ms, and DCTCP's time-out of 50 ms
/// expires at 55 ms.
///
/// Between 340 and 367 of the 400 MB are unacknowledged by then, because packets that left after 3 ms get no ACK. Slow
/// start adds the payload of each packet, 4,096 of 4,154 B, per round trip of at most 2.1 ms. It raises the rate from
/// 100 Mbit/s to half of the line rate, a factor of 500, within ten round trips after one without ACKs. At 50 Gbit/s,
/// 340 to 367 MB take 55.2 to 59.6 ms, and the last ACK returns after 2 ms. Additive increases alone would add one
/// packet per round trip, less than 1 Gbit/s in total.
#[test]
fn dctcp_starts_slowly_after_a_time_out_and_is_at_half_of_the_rate_soon() {
    let run = simulate_text(
        "
name: outage
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }]
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 400 MB }]
policies: [ecmp]
transport: { cc: dctcp, retransmit_timeout: 50 ms }
faults:
  - { at: 5 ms, link: [dc1, dc2], down: true }
  - { at: 20 ms, link: [dc1, dc2], up: true }
",
    );
    assert_eq!(run.go_backs(), (1, 1));
    let end = run.end_of(0).expect("it finished");
    assert!((55 + 55) * MILLI < end, "{end} ps");
    assert!(end < (55 + 23 + 60 + 2) * MILLI, "{end} ps");
}
