//! Tests of properties that plans of any topology have.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, VecDeque},
    fmt::Write,
    net::Ipv4Addr,
};

use lab_plan::{LinkKind, Plan, PlanOptions, Role};
use lab_units::{BitsPerSec, DcId, Nanos, NodeId, PortId};
use proptest::prelude::*;

/// Inside of a datacenter: hosts attached to the DCI switch, or a fabric.
#[derive(Clone, Debug)]
enum Shape {
    Direct(u32),
    Fabric(u32, u32, u32),
}

#[derive(Clone, Debug)]
struct Sketch {
    dcs: Vec<Shape>,
    /// Links between datacenters: the indices of the two datacenters, the rate in Gbit/s and the delay in ms.
    links: Vec<(usize, usize, u64, u64)>,
    /// Candidate set as written in a scenario.
    routing: &'static str,
}

impl Sketch {
    fn text(&self) -> String {
        let mut text = "name: sketch\ntopology:\n  parallel: keep\n  dcs:\n".to_owned();
        for (number, dc) in self.dcs.iter().enumerate() {
            let inside = match dc {
                Shape::Direct(hosts) => format!("hosts: {hosts}"),
                Shape::Fabric(spines, leaves, hosts) => format!(
                    "fabric: {{ spines: {spines}, leaves: {leaves}, hosts_per_leaf: {hosts} }}"
                ),
            };
            writeln!(text, "    - {{ name: dc{}, {inside} }}", number + 1).unwrap();
        }
        text.push_str("  links:\n");
        for (a, b, rate, delay) in &self.links {
            let a = a + 1;
            let b = b + 1;
            writeln!(
                text,
                "    - {{ between: [dc{a}, dc{b}], rate: {rate} Gbit, delay: {delay} ms }}"
            )
            .unwrap();
        }
        text.push_str(
            "traffic:\n  - workload: { sizes: workloads/websearch.csv, pairs: all-to-all, load: 0.3, \
             duration: 1 ms }\npolicies: [ecmp, lcmp]\nscale: { rate: 1/1000, time: 10 }\n",
        );
        text + self.routing
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (1..4u32).prop_map(Shape::Direct),
        Just(Shape::Direct(0)),
        (1..3u32, 1..4u32, 1..3u32)
            .prop_map(|(spines, leaves, hosts)| Shape::Fabric(spines, leaves, hosts)),
    ]
}

prop_compose! {
    /// Generates two datacenters with hosts and further datacenters of any shape, connected as a random tree with
    /// additional links, of which up to two are parallel to others. No datacenter has more than eight next hops.
    fn sketch()(
        more in prop::collection::vec(shape(), 0..6),
        parents in prop::collection::vec(any::<prop::sample::Index>(), 8),
        extra in prop::collection::vec((0..9usize, 0..9usize), 0..12),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        wires in prop::collection::vec((1..5u64, 1..4u64), 24),
    ) -> Sketch {
        let mut dcs = vec![Shape::Direct(2), Shape::Fabric(2, 2, 1)];
        dcs.extend(more);
        let tree = (1..dcs.len()).map(|at| (parents[at - 1].index(at), at));
        let extra = extra.iter().copied().filter(|(a, b)| a < b && *b < dcs.len());
        let different: BTreeSet<_> = tree.chain(extra).collect();
        let mut pairs: Vec<_> = different.into_iter().collect();
        let parallel: Vec<_> = again.iter().map(|at| *at.get(&pairs)).collect();
        pairs.extend(parallel);
        let wires = wires.iter().map(|(rate, delay)| (rate * 100, delay * 5));
        let links = pairs.into_iter().zip(wires).map(|((a, b), (rate, delay))| (a, b, rate, delay));
        Sketch { links: links.collect(), dcs, routing: "" }
    }
}

/// Generates a sketch with any candidate set.
fn routed_sketch() -> impl Strategy<Value = Sketch> {
    let routing = prop_oneof![
        Just(""),
        Just("routing: { candidates: downhill-delay }\n"),
        Just("routing: { candidates: downhill-delay, stretch: 1000, max: 2 }\n"),
    ];
    (sketch(), routing).prop_map(|(sketch, routing)| Sketch { routing, ..sketch })
}

/// Computes the number of hops from each datacenter to `to`, without the plan's tables.
fn hops(plan: &Plan, to: DcId) -> Vec<Option<u32>> {
    let mut hops = vec![None; plan.dcs.len()];
    let mut queue = VecDeque::from([(plan.dcs[to.index()].dci, 0)]);
    while let Some((dci, count)) = queue.pop_front() {
        let dc = plan.nodes[dci.index()].dc;
        if hops[dc.index()].is_some() {
            continue;
        }
        hops[dc.index()] = Some(count);
        for link in plan
            .links
            .iter()
            .filter(|link| link.kind == LinkKind::InterDc)
        {
            if link.a == dci {
                queue.push_back((link.b, count + 1));
            } else if link.b == dci {
                queue.push_back((link.a, count + 1));
            }
        }
    }
    hops
}

/// Returns the delay and bottleneck of every shortest path from `at`.
fn all_paths(plan: &Plan, at: DcId, hops: &[Option<u32>]) -> Vec<(Nanos, Option<BitsPerSec>)> {
    if hops[at.index()] == Some(0) {
        return vec![(Nanos::ZERO, None)];
    }
    let mut paths = Vec::new();
    for &port in &plan.nodes[plan.dcs[at.index()].dci.index()].ports {
        paths.extend(paths_over(plan, port, hops));
    }
    paths
}

fn paths_over(plan: &Plan, port: PortId, hops: &[Option<u32>]) -> Vec<(Nanos, Option<BitsPerSec>)> {
    let link = &plan.links[port.link().index()];
    let at = plan.nodes[plan.ports[port.index()].node.index()].dc;
    let next = plan.nodes[plan.ports[port.peer().index()].node.index()].dc;
    let nearer = hops[next.index()].map(|count| count + 1) == hops[at.index()];
    if link.kind != LinkKind::InterDc || !nearer {
        return Vec::new();
    }
    let wire = &link.paper;
    all_paths(plan, next, hops)
        .into_iter()
        .map(|(delay, ahead)| {
            let bottleneck = ahead.map_or(wire.rate_bps, |ahead| ahead.min(wire.rate_bps));
            (delay + wire.delay_ns, Some(bottleneck))
        })
        .collect()
}

/// Returns the ports of a node towards the address `to`, from the most specific route.
fn next_ports(plan: &Plan, at: NodeId, to: Ipv4Addr) -> &[PortId] {
    let holds = |addr: Ipv4Addr, len: u8| {
        let host_bits = 32 - u32::from(len);
        let prefix = |addr: Ipv4Addr| u64::from(addr.to_bits()) >> host_bits;
        prefix(addr) == prefix(to)
    };
    let matching = plan.nodes[at.index()]
        .routes
        .iter()
        .filter(|route| holds(route.to.addr, route.to.len));
    matching
        .max_by_key(|route| route.to.len)
        .map_or(&[], |route| route.via.as_slice())
}

fn check_unique<T: Ord + std::fmt::Debug>(items: impl IntoIterator<Item = T>) {
    let mut seen = BTreeSet::new();
    for item in items {
        let shown = format!("{item:?}");
        assert!(seen.insert(item), "{shown} is there twice");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn candidates_of_fewest_hops_are_all_equal_hop_next_hops_and_nothing_else(sketch in sketch()) {
        let plan = crate::common::plan(&sketch.text());
        for switch in &plan.switches {
            let from = plan.nodes[switch.node.index()].dc;
            let with_hosts = plan.dcs.iter().filter(|dc| !dc.hosts.is_empty()).count();
            let own = usize::from(!plan.dcs[from.index()].hosts.is_empty());
            prop_assert_eq!(switch.destinations.len(), with_hosts - own);
            for row in &switch.destinations {
                let hops = hops(&plan, row.dc);
                let expected: BTreeSet<_> = plan.nodes[switch.node.index()]
                    .ports
                    .iter()
                    .copied()
                    .filter(|port| !paths_over(&plan, *port, &hops).is_empty())
                    .collect();
                let found: BTreeSet<_> = row.candidates.iter().map(|candidate| candidate.port).collect();
                prop_assert_eq!(found, expected);
                let key = |candidate: &lab_plan::Candidate| (candidate.paper_delay_ns, candidate.port);
                prop_assert!(row.candidates.is_sorted_by_key(key));
            }
        }
    }

    #[test]
    fn a_candidate_has_the_attributes_of_the_best_path_behind_it(sketch in sketch()) {
        let plan = crate::common::plan(&sketch.text());
        for row in plan.switches.iter().flat_map(|switch| &switch.destinations) {
            let hops = hops(&plan, row.dc);
            for candidate in &row.candidates {
                let paths = paths_over(&plan, candidate.port, &hops);
                let best = paths.into_iter().min_by_key(|path| (path.0, Reverse(path.1)));
                let found = (candidate.paper_delay_ns, Some(candidate.paper_bottleneck_bps));
                prop_assert_eq!(Some(found), best);
            }
        }
    }

    #[test]
    fn kernel_routes_lead_from_every_node_to_every_other_without_loops(sketch in routed_sketch()) {
        let plan = crate::common::plan(&sketch.text());
        for (target, node) in plan.nodes.iter().enumerate() {
            for start in 0..plan.nodes.len() {
                // Follows every possible choice of the hash: `at` is the set of nodes reached after each step.
                let mut at = BTreeSet::from([start]);
                for _ in 0..plan.nodes.len() {
                    let mut next = BTreeSet::new();
                    for here in at.iter().filter(|here| **here != target) {
                        let id = NodeId::from_index(*here).unwrap();
                        let ports = next_ports(&plan, id, node.addr);
                        prop_assert!(!ports.is_empty(), "{} stops at {here}", node.name);
                        prop_assert!(ports.iter().all(|port| plan.ports[port.index()].node == id));
                        next.extend(
                            ports.iter().map(|port| plan.ports[port.peer().index()].node.index()),
                        );
                    }
                    at = next;
                }
                prop_assert!(at.is_empty(), "{start} circles on its way to {}", node.name);
            }
        }
    }

    #[test]
    fn hosts_never_transit(sketch in sketch()) {
        let plan = crate::common::plan(&sketch.text());
        for node in plan.nodes.iter().filter(|node| node.role == Role::Host) {
            prop_assert_eq!(node.ports.len(), 1);
        }
    }

    #[test]
    fn names_and_addresses_are_unique_even_beside_another_lab(sketch in sketch(), slot in 1..16u8) {
        let plan = crate::common::plan(&sketch.text());
        let plans = [plan.clone(), plan.in_slot(slot)];
        let ports = || plans.iter().flat_map(|plan| &plan.ports);
        check_unique(ports().map(|port| port.interface.clone()));
        check_unique(ports().map(|port| port.mac));
        prop_assert!(ports().all(|port| port.interface.len() <= 15));
        let switch_ends = plans.iter().flat_map(|plan| {
            let is_switch = |node: NodeId| plan.nodes[node.index()].role != Role::Host;
            plan.ports.iter().filter(move |port| is_switch(port.node)).map(|port| port.addr)
        });
        let nodes = plans.iter().flat_map(|plan| plan.nodes.iter().map(|node| node.addr));
        check_unique(switch_ends.chain(nodes));
        for plan in &plans {
            check_unique(plan.nodes.iter().map(|node| node.short.clone()));
            check_unique(plan.links.iter().map(|link| link.name.clone()));
        }
    }

    #[test]
    fn addresses_are_within_their_datacenter(sketch in sketch(), slot in 0..16u8) {
        let plan = crate::common::plan(&sketch.text()).in_slot(slot);
        for node in &plan.nodes {
            let prefix = plan.dcs[node.dc.index()].prefix;
            let mask = u32::MAX << (32 - u32::from(prefix.len));
            prop_assert_eq!(node.addr.to_bits() & mask, prefix.addr.to_bits());
        }
    }

    #[test]
    fn ports_and_links_agree(sketch in sketch()) {
        let plan = crate::common::plan(&sketch.text());
        for (index, node) in plan.nodes.iter().enumerate() {
            for port in &node.ports {
                prop_assert_eq!(plan.ports[port.index()].node.index(), index);
                let link = &plan.links[port.link().index()];
                let end = if port.link().port_a() == *port { link.a } else { link.b };
                prop_assert_eq!(end.index(), index);
            }
        }
        let ends: usize = plan.nodes.iter().map(|node| node.ports.len()).sum();
        prop_assert_eq!(ends, plan.ports.len());
    }

    #[test]
    fn flows_are_sorted_numbered_and_no_faster_than_light(sketch in routed_sketch(), seed: u64) {
        let options = PlanOptions { seed: Some(seed), ..PlanOptions::default() };
        let plan = crate::common::try_plan(&sketch.text(), &options).unwrap();
        prop_assert!(plan.flows.is_sorted_by_key(|flow| (flow.repetition, flow.start_ns, flow.id)));
        for (index, flow) in plan.flows.iter().enumerate() {
            prop_assert_eq!(flow.id.index(), index);
            let src = &plan.nodes[flow.src.index()];
            let dst = &plan.nodes[flow.dst.index()];
            prop_assert!(src.role == Role::Host && dst.role == Role::Host && src.dc != dst.dc);
            prop_assert_eq!(flow.size_bytes.get(), u64::from(flow.messages) * flow.message_bytes.get());
            let row = plan.switches[src.dc.index()].towards(dst.dc);
            let nearest = plan.scale.time.scale_nearest(row.unwrap().candidates[0].paper_delay_ns.get());
            prop_assert!(flow.base_rtt_ns.get() > 2 * nearest);
            prop_assert!(flow.ideal_fct_ns.get() > 2 * nearest);
        }
    }

    #[test]
    fn the_same_seed_is_the_same_bytes_and_another_is_not(sketch in routed_sketch(), seed: u64) {
        let text = sketch.text();
        let json = |seed| {
            let options = PlanOptions { seed: Some(seed), ..PlanOptions::default() };
            let plan = crate::common::try_plan(&text, &options).unwrap();
            (serde_json::to_string(&plan).unwrap(), plan)
        };
        let (first, plan) = json(seed);
        prop_assert_eq!(&first, &json(seed).0);
        let starts = |plan: &Plan| plan.flows.iter().map(|flow| flow.start_ns).collect::<Vec<_>>();
        let other = json(seed.wrapping_add(1)).1;
        // In a plan without flows, the seed makes no difference.
        prop_assert!(plan.flows.is_empty() || starts(&plan) != starts(&other));
        let read: Plan = serde_json::from_str(&first).unwrap();
        prop_assert_eq!(read, plan);
    }
}
