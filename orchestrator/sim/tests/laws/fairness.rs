//! Tests with two long flows over one bottleneck: shares, utilisation and queue under each congestion control.
//!
//! Host links and the link between the datacenters have 10 Gbit/s, and a packet takes 3.3 us. The second flow starts 5
//! ms after the first, at line rate. Everything is measured in the second half of 200 ms.

use crate::lab::{MILLI, Run, plan, simulate_until};

/// End of the runs in picoseconds; their second half is measured.
const END: u64 = 200 * MILLI;

/// Bytes that the bottleneck can carry in a millisecond.
const BYTES_PER_MILLI: u64 = 1_250_000;

/// Simulates two flows over a link whose delay is `delay` microseconds and whose ECN marking thresholds are `ecn`.
fn two_flows(transport: &str, delay: u32, ecn: &str) -> Run {
    let text = format!(
        "
name: fairness
topology:
  defaults: {{ host_link: {{ rate: 10 Gbit, ecn: &ecn {{ {ecn} }} }} }}
  dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 2 }}]
  links: [{{ between: [dc1, dc2], rate: 10 Gbit, delay: {delay} us, ecn: *ecn }}]
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc2/h1, size: 250 MB }}
      - {{ from: dc1/h2, to: dc2/h2, size: 250 MB, start: 5 ms }}
policies: [ecmp]
transport: {{ cc: {transport}, pfc: true }}
measure: {{ queues: 100 us, links: 1 ms }}
"
    );
    simulate_until(&plan(&text), 0, 1, END)
}

/// Shares, utilisation and queue in the second half of a run.
#[derive(Debug)]
struct Measured {
    /// Mean rate of the first flow ÷ the sum of both mean rates.
    share: f64,
    /// Bytes that the bottleneck carried ÷ the bytes that it could have carried.
    utilisation: f64,
    /// Mean queue length at the bottleneck in bytes.
    mean_queue: u64,
    /// Maximum queue length at the bottleneck in bytes.
    max_queue: u64,
}

impl Measured {
    fn of(run: &Run) -> Self {
        let rates = [0, 1].map(|flow| mean_rate(run, flow));
        let sent = |at: u64| {
            let samples = run.links().filter(|sample| sample.at.picos() <= at);
            samples
                .map(|sample| sample.counts.tx_bytes)
                .max()
                .unwrap_or(0)
        };
        let queues: Vec<u64> = run
            .queues()
            .filter(|sample| sample.at.picos() > END / 2)
            .filter(|sample| sample.port == bottleneck(run))
            .map(|sample| sample.bytes)
            .collect();
        let carried = sent(END) - sent(END / 2);
        Self {
            share: rates[0] / (rates[0] + rates[1]),
            utilisation: carried as f64 / (100 * BYTES_PER_MILLI) as f64,
            mean_queue: queues.iter().sum::<u64>() / queues.len() as u64,
            max_queue: queues.into_iter().max().unwrap_or(0),
        }
    }
}

/// Returns the port that sent the most bytes, which is the bottleneck.
fn bottleneck(run: &Run) -> u32 {
    run.links()
        .max_by_key(|sample| sample.counts.tx_bytes)
        .expect("samples")
        .port
}

/// Returns the mean rate of a flow in the second half, in Gbit/s.
fn mean_rate(run: &Run, flow: u32) -> f64 {
    let from = END / 2;
    let to = END;
    let mut since = from;
    let mut sum = 0.0;
    let mut rate = 10e9;
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

/// Asserts what all controllers must achieve: the link is busy, and each flow gets half of it, to within 5 %.
fn assert_fair(measured: &Measured) {
    assert!((0.475..=0.525).contains(&measured.share), "{measured:?}");
    assert!(measured.utilisation >= 0.9, "{measured:?}");
}

/// DCQCN's fixed point is one queue length between the marking thresholds, at which both flows have the same rate (Zhu
/// et al., "ECN or Delay", CoNEXT '16). The QPs send without a window, as in the publication.
#[test]
fn dcqcn_shares_the_link_and_keeps_the_queue_between_its_thresholds() {
    let measured = Measured::of(&two_flows("dcqcn, window: none", 10, RED));
    assert_fair(&measured);
    assert!((1..160_000).contains(&measured.mean_queue), "{measured:?}");
    assert!(measured.max_queue <= 160_000, "{measured:?}");
}

/// HPCC aims at 95 % of the link, so packets queue only when packets from both flows arrive together (near-zero queues,
/// section 3.1 in the HPCC paper). Telemetry counts as bytes that the link carries.
#[test]
fn hpcc_shares_the_link_with_next_to_no_queue() {
    let measured = Measured::of(&two_flows("hpcc, window: none", 10, RED));
    assert_fair(&measured);
    assert!(measured.utilisation <= 0.97, "{measured:?}");
    assert!(measured.max_queue <= 2 * PACKET_BYTES, "{measured:?}");
}

/// DCTCP's longest queue is the marking threshold K plus one packet of each flow (Alizadeh et al., SIGCOMM '10, section
/// 3.3), plus the packet in transmission. K is a seventh of the bandwidth-delay product of 255 kB, the minimum that
/// keeps the link busy. The window is the bandwidth-delay product; without it, ACKs would not clock the rates.
#[test]
fn dctcp_shares_the_link_and_keeps_the_queue_at_k() {
    let step = "k_min: 40 kB, k_max: 40 kB, p_max: 1";
    let measured = Measured::of(&two_flows("dctcp, window: bdp", 100, step));
    assert_fair(&measured);
    assert!(
        measured.max_queue <= 40_000 + 3 * PACKET_BYTES,
        "{measured:?}"
    );
}

/// TIMELY keeps the link busy and the round trip below T_high, 500 us here. It has no unique fixed point, and so no
/// fair share ("ECN or Delay"): the split depends on the rate steps, here 50:50 and 42:58.
#[test]
fn timely_bounds_the_queue_and_has_no_unique_share() {
    let shares = ["", ", additive_rate: 5 Mbit, hyper_rate: 25 Mbit"].map(|steps| {
        let cc = format!("{{ timely: {{ min_rtt: 24 us{steps} }} }}, window: none");
        let measured = Measured::of(&two_flows(&cc, 10, RED));
        assert!(measured.utilisation >= 0.9, "{measured:?}");
        // The queue is at most 10 Gbit/s times the excess of 500 us over the empty network's round trip.
        assert!(measured.max_queue <= 1_250 * (500 - 24), "{measured:?}");
        measured.share
    });
    assert!((shares[0] - shares[1]).abs() > 0.05, "{shares:?}");
}

const RED: &str = "k_min: 40 kB, k_max: 160 kB, p_max: 0.2";

/// Wire bytes of a full packet, with room for HPCC's telemetry, which is less than a twentieth of it.
const PACKET_BYTES: u64 = 4_154 + 200;
