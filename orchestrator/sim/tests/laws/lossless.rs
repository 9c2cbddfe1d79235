//! Tests that priority flow control drops nothing if the buffers hold the headrooms that the plan computes.

use lab_plan::{Plan, pfc};
use lab_sim::{EndReason, Job, trains};
use proptest::prelude::*;

use crate::lab::{MILLI, plan, simulate, simulate_job};

/// Randomly generated network of leaves with hosts, where each leaf is linked to every spine. Paths go up, then down,
/// so that PFC pauses cannot deadlock in a cycle.
#[derive(Clone, Debug)]
struct Drawn {
    seed: u32,
    /// Number of hosts at each leaf.
    leaves: Vec<usize>,
    spines: usize,
    /// Rate in Gbit/s and delay in nanoseconds of each host's link.
    host_link: (u32, u32),
    /// Rates in Gbit/s and delays in nanoseconds of links between leaves and spines, assigned in turn.
    links: Vec<(u32, u32)>,
    payload: u32,
    transport: String,
    /// Bytes of each switch's buffer that its ports share, in addition to headrooms and reserves.
    shared: u32,
    /// Flows: random numbers that select source, destination and host, the size in bytes, and the start in nanoseconds.
    flows: Vec<(usize, usize, usize, u32, u32)>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let wire = || {
        let rates = prop::sample::select(vec![10, 25, 40, 100, 200]);
        (rates, prop_oneof![10..2_000u32, 2_000..40_000u32])
    };
    let flow = (
        any::<usize>(),
        any::<usize>(),
        any::<usize>(),
        prop_oneof![1..5_000u32, 5_000..400_000u32],
        0..20_000u32,
    );
    let transport = (
        prop::sample::select(vec!["none", "dcqcn", "hpcc", "dctcp"]),
        any::<bool>(),
    );
    let network = (
        prop::collection::vec(1..=4usize, 2..=4),
        1..=2usize,
        wire(),
        prop::collection::vec(wire(), 1..=4),
    );
    (
        0..1_000u32,
        network,
        prop::sample::select(vec![64, 256, 1_000, 4_096, 9_000]),
        transport,
        prop_oneof![1..2_000u32, 2_000..100_000u32],
        prop::collection::vec(flow, 1..16),
    )
        .prop_map(
            |(seed, network, payload, (cc, ack_priority), shared, flows)| {
                let (leaves, spines, host_link, links) = network;
                Drawn {
                    seed,
                    leaves,
                    spines,
                    host_link,
                    links,
                    payload,
                    transport: format!("cc: {cc}, ack_priority: {ack_priority}"),
                    shared,
                    flows,
                }
            },
        )
}

impl Drawn {
    /// Returns a plan whose DCI switches have shared buffers of `buffer` bytes.
    fn plan(&self, buffer: u64) -> Plan {
        let count = self.leaves.len();
        let leaves = self
            .leaves
            .iter()
            .zip(1..)
            .map(|(hosts, leaf)| format!("{{ name: leaf{leaf}, hosts: {hosts} }}"));
        let spines = (1..=self.spines).map(|spine| format!("{{ name: spine{spine} }}"));
        let dcs: Vec<String> = leaves.chain(spines).collect();
        let ends = (1..=count).flat_map(|leaf| (1..=self.spines).map(move |spine| (leaf, spine)));
        let links: Vec<String> = ends
            .zip(self.links.iter().cycle())
            .map(|((leaf, spine), (rate, delay))| {
                let between = format!("between: [leaf{leaf}, spine{spine}]");
                format!("{{ {between}, rate: {rate} Gbit, delay: {delay} ns }}")
            })
            .collect();
        let flows: Vec<String> = self
            .flows
            .iter()
            .map(|&(from, to, host, bytes, start)| {
                let from = from % count;
                let to = (from + 1 + to % (count - 1)) % count;
                let at =
                    |leaf: usize| format!("leaf{}/h{}", leaf + 1, host % self.leaves[leaf] + 1);
                let ends = format!("from: {}, to: {}", at(from), at(to));
                format!("{{ {ends}, size: {bytes} B, start: {start} ns }}")
            })
            .collect();
        let (rate, delay) = self.host_link;
        plan(&format!(
            "
name: lossless
seed: {}
topology:
  defaults: {{ host_link: {{ rate: {rate} Gbit, delay: {delay} ns }} }}
  dcs: [{}]
  links: [{}]
traffic:
  - flows: [{}]
policies: [ecmp]
transport:
  {{ pfc: true, window: none, retransmit_timeout: none, payload: {}, dci_buffer: {buffer} B, {} }}
",
            self.seed,
            dcs.join(", "),
            links.join(", "),
            flows.join(", "),
            self.payload,
            self.transport,
        ))
    }

    /// Returns a plan whose shared buffers hold all reserves and headrooms, and `shared` bytes more.
    fn fitting_plan(&self) -> Plan {
        let roomy = self.plan(1 << 32);
        let needed = roomy
            .nodes
            .iter()
            .filter_map(|node| pfc::shared_buffer(node, roomy.wires(), &roomy.transport))
            .map(|buffer| buffer.needed.get())
            .max();
        self.plan(needed.expect("switches") + u64::from(self.shared))
    }
}

proptest! {
    #[test]
    fn buffers_that_hold_their_headrooms_drop_nothing(drawn in drawn()) {
        let plan = drawn.fitting_plan();
        prop_assert_eq!(pfc::overcommitted(&plan.nodes, plan.wires(), &plan.transport), []);
        let run = simulate(&plan, 0, 1);
        prop_assert_eq!(run.outcome.reason, EndReason::Finished);
        prop_assert_eq!(run.outcome.work.drops, 0);
        prop_assert_eq!(run.go_backs(), (0, 0));
    }
}

/// Sixteen leaves with eight hosts each and eight spines, 100 Gbit/s and 1 µs on every link, packets of 1,000 B. Every
/// host sends 4 MB to a host at the leaf after the next one.
#[test]
fn a_permutation_over_spines_drops_nothing() {
    let drawn = Drawn {
        seed: 1,
        leaves: vec![8; 16],
        spines: 8,
        host_link: (100, 1_000),
        links: vec![(100, 1_000)],
        payload: 1_000,
        transport: "cc: none".to_owned(),
        shared: 0,
        flows: (0..128)
            .map(|host| (host / 8, 1, host % 8, 4_000_000, 0))
            .collect(),
    };
    let plan = drawn.plan(12_000_000);
    let longest = trains::longest(&plan);
    assert!(longest > 8, "{longest}");
    for train in [1, 8, longest] {
        let job = Job {
            train,
            ..Job::new(&plan, 0, 0)
        };
        let run = simulate_job(job, 1, 1_000 * MILLI);
        assert_eq!(run.outcome.reason, EndReason::Finished);
        assert!(run.pfc().count() > 0, "hosts are paused");
        assert_eq!(
            (run.outcome.work.drops, run.go_backs()),
            (0, (0, 0)),
            "trains of {train}"
        );
    }
}
