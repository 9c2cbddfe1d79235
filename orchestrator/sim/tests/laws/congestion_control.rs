//! Congestion control, end to end.

use lab_records::StoryEvent;
use lab_sim::EndReason;

use crate::lab::{MILLI, Run, simulate_text};

/// Two hosts share a link; the second begins 5 ms after the first.
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

/// The mean of a flow's rate between two times, in Gbit/s.
fn mean_rate(run: &Run, flow: u32, from: u64, to: u64) -> f64 {
    let mut rate = 100e9;
    let (mut since, mut sum) = (from, 0.0);
    for note in run.story(flow) {
        let at = note.at.picos().clamp(from, to);
        sum += rate * (at - since) as f64;
        since = at;
        if let Some(new) = note.rate {
            rate = new as f64;
        }
    }
    (sum + rate * (to - since) as f64) / (to - from) as f64 / 1e9
}

/// DCQCN's fixed point has both flows at half the link's rate (SIGCOMM '15, section 5): they see the
/// same queue and so the same marks, and the one with more is cut by more.
#[test]
fn two_dcqcn_flows_converge_to_half_the_link_each() {
    let run = late_comer("dcqcn");
    assert_eq!(run.outcome.reason, EndReason::Finished);
    assert_eq!(run.outcome.work.drops, 0);
    let (from, to) = (40 * MILLI, 120 * MILLI);
    let rates = [0, 1].map(|flow| mean_rate(&run, flow, from, to));
    for rate in rates {
        assert!((40.0..=60.0).contains(&rate), "{rates:?} Gbit/s");
    }
}

#[test]
fn rates_stay_between_the_least_and_the_lines() {
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
            for note in run
                .story(flow)
                .filter(|note| note.event == StoryEvent::RateSet)
            {
                let rate = note.rate.expect("it is what changed");
                assert!((1..=100_000_000_000).contains(&rate), "{cc}: {rate}");
                set += 1;
            }
        }
        assert!(set > 0, "{cc} never changed a rate");
    }
}

/// A controlled link still is a link: two flows of 1 GB, 250,000 packets of 4,154 B at least, take
/// 166 ms of it together; and what holds them back keeps the queue where marks are.
#[test]
fn control_keeps_the_link_busy_and_the_queue_short() {
    let run = late_comer("dcqcn");
    let end = [0, 1].map(|flow| run.end_of(flow).expect("finished"));
    let last = end[0].max(end[1]);
    assert!(last > 162 * MILLI, "faster than the link: {last} ps");
    let early = run.queues().filter(|note| note.at.picos() > 40 * MILLI);
    let longest = early.map(|note| note.bytes).max().unwrap_or(0);
    assert!(longest < 4_000_000, "{longest} B");
}
