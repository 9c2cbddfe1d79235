//! Tests that a plan gives the same trace on any number of threads.

use proptest::prelude::*;

use crate::lab::{MILLI, plan, simulate_until};

/// Randomly generated link between two datacenters.
#[derive(Clone, Debug)]
struct Wire {
    gbit: u32,
    delay_us: u32,
    loss: &'static str,
    ecn: bool,
}

/// Randomly generated scenario.
#[derive(Clone, Debug)]
struct Drawn {
    seed: u32,
    /// Links between datacenters in a ring, or in a line if there are two datacenters.
    ring: Vec<Wire>,
    /// Chords of the ring from the first datacenter.
    chords: Vec<Wire>,
    /// Flows: three random numbers that select source, destination and host; the size in kB; the start in microseconds.
    flows: Vec<(usize, usize, usize, u32, u32)>,
    /// Faults, at most one per link: time in microseconds, link and kind.
    faults: Vec<(u32, usize, &'static str)>,
    transport: String,
    policy: &'static str,
    has_fabric: bool,
}

fn wire() -> impl Strategy<Value = Wire> {
    (
        prop::sample::select(vec![1, 10, 25, 40]),
        50..2_000u32,
        prop::sample::select(vec!["0", "0", "0.01"]),
        any::<bool>(),
    )
        .prop_map(|(gbit, delay_us, loss, ecn)| Wire {
            gbit,
            delay_us,
            loss,
            ecn,
        })
}

fn transport() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec![
            "none",
            "dcqcn",
            "{ dcqcn: { preset: artifact } }",
            "hpcc",
            "timely",
            "dctcp",
        ]),
        prop::sample::select(vec!["bdp", "none", "20 kB"]),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec!["none", "5 ms"]),
    )
        .prop_map(|(cc, window, ack_priority, pfc, timeout)| {
            format!(
                "cc: {cc}, window: {window}, ack_priority: {ack_priority}, pfc: {pfc}, \
                 retransmit_timeout: {timeout}, dci_buffer: 2 MB, fabric_buffer: 2 MB, \
                 payload: 1000"
            )
        })
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let fault = (
        0..20_000u32,
        any::<usize>(),
        prop::sample::select(vec![
            "down: true",
            "rate: 5 Gbit",
            "delay: 3 ms",
            "delay: 200 us",
            "loss: 0.02",
        ]),
    );
    let flow = (
        any::<usize>(),
        any::<usize>(),
        any::<usize>(),
        1..400u32,
        0..5_000u32,
    );
    (
        0..1_000u32,
        prop::collection::vec(wire(), 2..=5),
        prop::collection::vec(wire(), 0..=2),
        prop::collection::vec(flow, 1..12),
        prop::collection::vec(fault, 0..4),
        transport(),
        prop::sample::select(vec![
            "ecmp",
            "wcmp",
            "ucmp-artifact",
            "ucmp: { ageing: true, alpha: 10, quantum: 10 us }",
            "te: { interval: 700 us }",
            "te: { interval: 3 ms }",
            "own: { name: two-choice }",
            "lcmp",
            "lcmp: { preset: artifact }",
            "lcmp: { flow_table_entries: 2, gc_interval: 1 ms, idle_timeout: 2 ms }",
        ]),
        any::<bool>(),
    )
        .prop_map(
            |(seed, ring, chords, flows, faults, transport, policy, has_fabric)| Drawn {
                seed,
                ring,
                chords,
                flows,
                faults,
                transport,
                policy,
                has_fabric,
            },
        )
}

impl Drawn {
    /// Returns the scenario as YAML text.
    fn text(&self) -> String {
        let dcs = self.ring.len();
        let hosts = if self.has_fabric {
            "fabric: { spines: 2, leaves: 2, hosts_per_leaf: 1 }"
        } else {
            "hosts: 2"
        };
        let mut lines = vec![
            "name: drawn".to_owned(),
            format!("seed: {}", self.seed),
            "topology:".to_owned(),
            "  dcs:".to_owned(),
        ];
        lines.extend((1..=dcs).map(|dc| format!("    - {{ name: dc{dc}, {hosts} }}")));
        lines.push("  links:".to_owned());
        let links = self.links();
        for (a, b, wire) in &links {
            let ecn = if wire.ecn {
                ", ecn: { k_min: 20 kB, k_max: 80 kB, p_max: 0.5 }"
            } else {
                ""
            };
            lines.push(format!(
                "    - {{ between: [dc{a}, dc{b}], rate: {} Gbit, delay: {} us, loss: {}, \
                 buffer: 300 kB{ecn} }}",
                wire.gbit, wire.delay_us, wire.loss
            ));
        }
        lines.push("traffic:".to_owned());
        lines.push("  - flows:".to_owned());
        for &(from, to, host, kilobytes, start) in &self.flows {
            let from = from % dcs;
            let to = (from + 1 + to % (dcs - 1)) % dcs;
            lines.push(format!(
                "      - {{ from: dc{}/h{}, to: dc{}/h{}, size: {kilobytes} kB, start: {start} us }}",
                from + 1,
                host % 2 + 1,
                to + 1,
                host / 2 % 2 + 1,
            ));
        }
        lines.push(format!("policies: [{}]", self.policy));
        lines.push(format!("transport: {{ {} }}", self.transport));
        lines.push("measure: { queues: 1 ms, links: 1 ms }".to_owned());
        if !self.faults.is_empty() {
            lines.push("faults:".to_owned());
        }
        let first = self.faults.first().map_or(0, |fault| fault.1 % links.len());
        for (&(at, _, change), link) in self.faults.iter().zip(0..links.len()) {
            let (a, b, _) = &links[(first + link) % links.len()];
            let between = format!("link: [dc{a}, dc{b}]");
            lines.push(format!("  - {{ at: {at} us, {between}, {change} }}"));
            if change == "down: true" && at % 2 == 0 {
                // The link comes up again, while packets are in flight or after time-outs.
                lines.push(format!(
                    "  - {{ at: {} us, {between}, up: true }}",
                    at + at % 7_000 + 1
                ));
            }
        }
        lines.join("\n") + "\n"
    }

    /// Returns the two ends and the parameters of each link.
    fn links(&self) -> Vec<(usize, usize, &Wire)> {
        let dcs = self.ring.len();
        let around = (1..=dcs)
            .zip(&self.ring)
            .map(|(dc, wire)| (dc, dc % dcs + 1, wire));
        let mut links: Vec<_> = around.take(if dcs == 2 { 1 } else { dcs }).collect();
        let chords = (3..dcs).zip(&self.chords).map(|(dc, wire)| (1, dc, wire));
        links.extend(chords);
        links
    }
}

/// Returns the trace of the first 60 ms as text; most of the generated flows finish in this time.
fn trace_of(text: &str, threads: usize) -> String {
    let run = simulate_until(&plan(text), 0, threads, 60 * MILLI);
    let mut all = format!("{:?}\n", run.outcome);
    for event in &run.trace {
        all.push_str(&format!("{event:?}\n"));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_number_of_threads_gives_the_same_trace(drawn in drawn()) {
        let text = drawn.text();
        let expected = trace_of(&text, 1);
        for threads in [1, 2, 3, 8] {
            let found = trace_of(&text, threads);
            if found != expected {
                let line = expected
                    .lines()
                    .zip(found.lines())
                    .position(|(a, b)| a != b)
                    .unwrap_or(0);
                let a = expected.lines().nth(line);
                let b = found.lines().nth(line);
                prop_assert!(false, "{threads} threads, line {line}:\n{a:?}\n{b:?}\n{text}");
            }
        }
    }
}
