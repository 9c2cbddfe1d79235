//! Behaviour of the artifact that differs from the paper's.

use lab_records::StoryEvent;

use crate::lab::simulate_text;

/// Eight hosts of 100 Gbit/s send 150 MB each, less than a window, into a link of 10 Gbit/s; much later
/// one host sends a single packet.
///
/// The headrooms exceed the buffer, so that gigabytes seem to be free in the artifact: PFC pauses no host,
/// and the queue reaches the device's limit of 1,000 MiB.
fn overflow(semantics: &str) -> String {
    let flows = (1..=8).map(|host| format!("{{ from: dc1/h{host}, to: dc2/h1, size: 150 MB }}"));
    let flows: Vec<String> = flows.collect();
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
