//! Tests of artifact behaviour that differs from the paper's semantics.

use lab_records::StoryEvent;

use crate::lab::simulate_text;

/// Returns a scenario in which eight 100 Gbit/s hosts send 150 MB each, less than their windows, into a link of 10
/// Gbit/s. Much later, one host sends a single packet.
///
/// The PFC headrooms exceed the shared buffer. The artifact's 32-bit subtraction then wraps to gigabytes of apparently
/// free space, so PFC pauses no host, and the queue reaches the port's limit of 1,000 MiB.
fn overflow(semantics: &str) -> String {
    let flows: Vec<String> = (1..=8)
        .map(|host| format!("{{ from: dc1/h{host}, to: dc2/h1, size: 150 MB }}"))
        .collect();
    format!(
        "
name: overflow
topology:
  dcs: [{{ name: dc1, hosts: 8 }}, {{ name: dc2, hosts: 1 }}]
  links:
    - between: [dc1, dc2]
      rate: 10 Gbit
      delay: 70 ms
      buffer: 1000 MiB
      ecn: {{ k_min: 100 kB, k_max: 400 kB, p_max: 0.2 }}
traffic:
  - flows: [{}, {{ from: dc1/h1, to: dc2/h1, size: 9000 B, start: 20 s }}]
policies: [ecmp]
transport: {{ semantics: {semantics}, pfc: true, payload: 9000, dci_buffer: 128 MiB }}
",
        flows.join(", ")
    )
}

#[test]
fn packets_that_the_device_rejects_stay_counted_as_queued() {
    let run = simulate_text(&overflow("artifact"));
    let full = run.ports().max_by_key(|port| port.counts.peak_bytes);
    let counts = full.expect("ports").counts;
    assert!(counts.peak_bytes <= 1_000 << 20, "{}", counts.peak_bytes);
    assert!(
        counts.drops > 10_000,
        "at the port that is full: {counts:?}"
    );
    let elsewhere: u64 = run.ports().map(|port| port.counts.drops).sum();
    assert_eq!(elsewhere, counts.drops);
    assert_eq!(run.count(8, StoryEvent::Marked), 1, "the queue is empty");
}

#[test]
fn under_the_papers_semantics_hosts_are_paused_instead() {
    let run = simulate_text(&overflow("paper"));
    assert_eq!(run.outcome.work.drops, 0);
    assert!(run.pfc().count() > 0);
    assert_eq!(run.count(8, StoryEvent::Marked), 0);
}

/// Simulates LCMP with two equal candidates: a flow to dc4's host `first` fills the queue of one candidate, and a
/// second flow is decided 1 ms later. Returns the index of the filled candidate, and the congestion cost C_cong of each
/// candidate in the later decision.
fn observed(first: u32) -> (usize, [u8; 2]) {
    let run = simulate_text(&format!(
        "
name: monitor
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 9 }}]
  links:
    - {{ between: [dc1, dc2], rate: 10 Gbit, delay: 5 ms }}
    - {{ between: [dc2, dc4], rate: 10 Gbit, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: 10 Gbit, delay: 5 ms }}
    - {{ between: [dc3, dc4], rate: 10 Gbit, delay: 5 ms }}
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc4/h{first}, size: 20 MB }}
      - {{ from: dc1/h1, to: dc4/h9, size: 1 kB, start: 1 ms }}
policies: [{{ lcmp: {{ preset: artifact }} }}]
transport: {{ semantics: artifact }}
"
    ));
    let decisions: Vec<_> = run.data_decisions().map(|event| &event.decision).collect();
    let [first, second] = decisions[..] else {
        panic!("{} decisions", decisions.len())
    };
    let congestion = |index: usize| second.candidates()[index].candidate.congestion;
    (first.chosen, [congestion(0), congestion(1)])
}

/// After a millisecond, 11.25 MB are queued and the trend (smoothed queue growth) is an eighth of that, 1.406 MB per
/// millisecond, in the highest trend level, which starts at 1.25 MB per millisecond. The switch samples all ports once
/// per candidate. So if the second candidate has the full queue, its trend has decayed by one more step, to 1.230 MB
/// per millisecond, in the next lower level.
#[test]
fn the_monitor_observes_once_for_each_candidate() {
    // The queue level is 25, the second lowest: (2 · 25 + 255) >> 2 and (2 · 25 + 229) >> 2.
    assert_eq!(observed(3), (0, [76, 0]));
    assert_eq!(observed(1), (1, [0, 69]));
}
