//! Tests of plans with parallel links, on networks that are small enough to count by hand.

use std::{collections::BTreeSet, iter, net::Ipv4Addr};

use lab_plan::{
    Engine, Plan, PlanOptions, Question, QueueState, explain, render_table, resolve, scope,
};
use lab_policy::FlowTuple;
use lab_units::{DcId, LinkId, Nanos, PortId};

use crate::common;

/// Returns a scenario with two links between `a` and `b`, the second written from the other end, and one from `b` to
/// `c`. The links are on lines 6 to 8.
fn twins(rest: &str) -> String {
    format!(
        "name: twins
topology:
  parallel: keep
  dcs: [{{ name: a, hosts: 1 }}, {{ name: b }}, {{ name: c, hosts: 1 }}]
  links:
    - {{ between: [a, b], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [b, a], rate: 40 Gbit, delay: 2 ms }}
    - {{ between: [b, c], rate: 200 Gbit, delay: 1 ms }}
traffic: [{{ flows: [{{ from: a/h1, to: c/h1, size: 1 MB }}, {{ from: c/h1, to: a/h1, size: 1 MB }}] }}]
policies: [ecmp, wcmp, lcmp]
{rest}
"
    )
}

/// Returns the next hops from one datacenter to another: name, delay in ms, and capacity in Gbit/s.
fn row(plan: &Plan, from: u32, to: u32) -> Vec<(String, u64, u64)> {
    let row = plan.switches[DcId(from).index()].towards(DcId(to)).unwrap();
    let shown = row.candidates.iter().map(|candidate| {
        (
            plan.next_hop(candidate.port),
            candidate.paper_delay_ns.get() / 1_000_000,
            candidate.paper_bottleneck_bps.get() / 1_000_000_000,
        )
    });
    shown.collect()
}

fn names(expected: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    let rows = expected.iter();
    rows.map(|(name, delay, rate)| ((*name).to_owned(), *delay, *rate))
        .collect()
}

#[test]
fn each_parallel_link_is_a_candidate_of_its_own() {
    let plan = common::simulated(&twins(""));
    let both = names(&[("b", 2, 100), ("b_2", 3, 40)]);
    assert_eq!(row(&plan, 0, 2), both);
    assert_eq!(row(&plan, 2, 0), names(&[("b", 2, 100)]));
    assert_eq!(row(&plan, 1, 0), names(&[("a", 1, 100), ("a_2", 2, 40)]));
    // WCMP splits 100 to 40, that is 5 to 2, and ECMP evenly.
    let buckets = |policy: usize| [0, 1].map(|place| plan.policies[policy].buckets_of(0, 0, place));
    assert_eq!([buckets(0), buckets(1)], [[1, 1], [5, 2]]);
    // The best path by delay is a stretch of 1, the one over the second link of 3 ÷ 2.
    let downhill =
        |stretch: &str| format!("routing: {{ candidates: downhill-delay, stretch: {stretch} }}");
    let wide = common::simulated(&twins(&downhill("1.5")));
    assert_eq!(row(&wide, 0, 2), both);
    let narrow = common::simulated(&twins(&downhill("1.4")));
    assert_eq!(row(&narrow, 0, 2), names(&[("b", 2, 100)]));
}

#[test]
fn parallel_links_have_names_addresses_and_interfaces_of_their_own() {
    let plan = common::plan(&twins(""));
    let links: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(links[..3], ["a-b", "b-a_2", "b-c"]);
    let interfaces: Vec<&str> = plan.ports[..4]
        .iter()
        .map(|port| port.interface.as_str())
        .collect();
    assert_eq!(interfaces, ["l0d1-d2", "l0d2-d1", "l0d2-d1_2", "l0d1-d2_2"]);
    let addresses: BTreeSet<Ipv4Addr> = plan.ports[..6].iter().map(|port| port.addr).collect();
    assert_eq!(addresses.len(), 6);
    let macs: BTreeSet<_> = plan.ports.iter().map(|port| port.mac).collect();
    assert_eq!(macs.len(), plan.ports.len());
    // The kernel of a DCI switch without an agent spreads over both links.
    let dci = &plan.nodes[plan.dcs[0].dci.index()];
    let route = dci
        .routes
        .iter()
        .find(|route| route.to == plan.dcs[2].prefix);
    assert_eq!(route.unwrap().via, [PortId(0), PortId(3)]);
    let table = render_table(&plan);
    for line in ["b    l0d1-d2", "b_2  l0d1-d2_2"] {
        assert!(table.contains(line), "{table}");
    }
}

#[test]
fn traffic_engineering_splits_over_parallel_links() {
    let topology = common::simulated(&twins("")).te_topology();
    let rows = topology.rows();
    let links = |switch: usize, row: usize| {
        let hops = rows[switch][row].hops.iter();
        hops.map(|hop| (hop.link, hop.next)).collect::<Vec<_>>()
    };
    let [first, second] = [PortId(0), PortId(3)].map(|port| port.index());
    assert_eq!(links(0, 0), [(first, 1), (second, 1)]);
    assert_eq!(links(1, 0), [(first + 1, 0), (second - 1, 0)]);
}

/// Returns the scenario with one link between `a` and `b`, the given one.
fn alone(line: usize) -> String {
    let text = twins("");
    let lines = text.lines().enumerate();
    let kept = lines.filter(|(at, _)| *at != line - 1);
    kept.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_ideal_fct_is_that_over_the_link_of_least_delay() {
    let ideal = |text: &str| {
        let flows = common::simulated(text).flows;
        [0, 1].map(|flow| flows[flow].ideal_fct_ns)
    };
    let [both, near, far] = [ideal(&twins("")), ideal(&alone(7)), ideal(&alone(6))];
    assert_eq!(both, near);
    assert!(far > near, "{far:?}");
}

#[test]
fn one_of_two_parallel_links_can_be_cut_without_harm() {
    let text = twins("");
    let (scenario, files) = common::read(&text);
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let plan = resolve(&scenario, &text, &files, &options).unwrap();
    let scope = scope(&plan, &scenario, &text).unwrap();
    let cuts = scope.single_cuts.harmful.iter();
    let harmful: Vec<_> = cuts.map(|cut| (cut.link.as_str(), cut.line)).collect();
    assert_eq!(harmful, [("b-c", Some(8))]);
    // Data from a has the choice at a, and data from c has it at b.
    assert_eq!((scope.choice.pairs, scope.choice.pairs_with_choice), (2, 2));
}

#[test]
fn a_fault_changes_only_the_link_that_it_names() {
    let plan = common::simulated(&twins(
        "faults:\n  - { at: 1 ms, link: a-b_2, down: true }\n  - { at: 2 ms, dc: a, rate: 10 Gbit }",
    ));
    let faults = plan.faults.iter().map(|fault| (fault.at_ns, fault.link));
    let expected = [
        (Nanos::from_millis(1), LinkId(1)),
        (Nanos::from_millis(2), LinkId(0)),
        (Nanos::from_millis(2), LinkId(1)),
    ];
    assert_eq!(faults.collect::<Vec<_>>(), expected);
    // The second cut leaves no path, the first one does.
    let cut_off = |faults: &str| {
        let plan = common::simulated(&twins(&format!("faults:\n{faults}")));
        let warnings = plan.warnings.into_iter();
        let found = warnings.filter(|warning| warning.code == "cut-off");
        found.map(|warning| warning.text).collect::<Vec<_>>()
    };
    let one = "  - { at: 1 ms, link: a-b_2, down: true }\n";
    assert_eq!(cut_off(one), [""; 0]);
    let both = cut_off(&format!("{one}  - {{ at: 2 ms, link: a-b, down: true }}\n"));
    assert!(both[0].contains("from 2 ms on"), "{both:?}");
}

/// The flows start at 5 ms, when one of the two links is up again.
#[test]
fn a_parallel_link_that_is_repaired_early_does_not_repair_the_other() {
    let text = twins(
        "faults:
  - { at: 1 ms, link: a-b, down: true }
  - { at: 2 ms, link: a-b_2, down: true }
  - { at: 3 ms, link: a-b_2, up: true }",
    );
    let start = "size: 1 MB, start: 5 ms }";
    let plan = common::simulated(&text.replace("size: 1 MB }", start));
    let mut warnings = plan.warnings.iter();
    let early = warnings.find(|warning| warning.code == "early-fault");
    let text = &early.expect("the second cut affects no flow").text;
    assert!(text.contains("the cut `faults[1]`"), "{text}");
}

/// A switch that is not next to the parallel links does not see their cuts. Only if both are cut is a flow lost.
#[test]
fn a_cut_further_on_is_unseen_only_if_all_parallel_links_are_cut() {
    let unseen = |faults: &str| {
        let plan = common::simulated(&twins(&format!("faults:\n{faults}")));
        let warnings = plan.warnings.into_iter();
        let found = warnings.filter(|warning| warning.code == "unseen-cut");
        found.map(|warning| warning.text).collect::<Vec<_>>()
    };
    let one = "  - { at: 1 ms, link: a-b_2, down: true }\n";
    assert_eq!(unseen(one), [""; 0]);
    let both = unseen(&format!("{one}  - {{ at: 2 ms, link: a-b, down: true }}\n"));
    assert!(both[0].contains("`a-b` and `b-a_2`"), "{both:?}");
    assert!(both[0].contains("`c` to `a` via `b`"), "{both:?}");
    // a has the next hops b and b_2, both of which lead to the cut.
    let beyond = unseen("  - { at: 1 ms, link: [b, c], down: true }\n");
    assert!(beyond[0].contains("`a` to `c` via `b`"), "{beyond:?}");
    assert!(beyond[0].contains("`a` to `c` via `b_2`"), "{beyond:?}");
}

#[test]
fn a_decision_is_explained_for_each_parallel_link() {
    let plan = common::simulated(&twins(""));
    let full: QueueState = "600MB:20MB:40".parse().unwrap();
    let chosen = |queues: &[(PortId, QueueState)], dead: &[PortId]| {
        let question = Question {
            policy: 2,
            from: DcId(0),
            to: DcId(2),
            flow: FlowTuple {
                src: Ipv4Addr::LOCALHOST,
                dst: Ipv4Addr::LOCALHOST,
                sport: 0,
                dport: 0,
            },
            queues,
            dead,
            utilisations: &[],
            demands: &[],
        };
        let explanation = explain(&plan, &question).unwrap();
        let queues = explanation.candidates.iter().map(|it| it.queue_bytes.get());
        let chosen = explanation.candidates.iter().find(|it| it.is_chosen);
        (chosen.unwrap().via.clone(), queues.collect::<Vec<_>>())
    };
    let [first, second] = [PortId(0), PortId(3)];
    assert_eq!(chosen(&[], &[first]), ("b_2".to_owned(), vec![0, 0]));
    assert_eq!(chosen(&[], &[second]), ("b".to_owned(), vec![0, 0]));
    let (_, queues) = chosen(&[(second, full)], &[]);
    assert_eq!(queues, [0, 600_000_000]);
}

/// Returns a scenario with `count` links between two datacenters.
fn bundle(count: usize, routing: &str) -> String {
    let link = "    - { between: [a, b], rate: 10 Gbit, delay: 1 ms }\n";
    format!(
        "name: bundle\ntopology:\n  parallel: keep\n  dcs: [{{ name: a, hosts: 1 }}, {{ name: b, hosts: 1 }}]\n  \
         links:\n{}traffic: [{{ flows: [{{ from: a/h1, to: b/h1, size: 1 MB }}] }}]\npolicies: [ecmp]\n{routing}\n",
        link.repeat(count)
    )
}

#[test]
fn a_switch_chooses_among_sixteen_parallel_links() {
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    common::try_plan(&bundle(16, ""), &options).expect("sixteen fit");
    let refused = common::try_plan(&bundle(17, ""), &options).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`a` has 17 next hops on shortest paths to `b`, but a switch chooses among at most 16 (hint: remove links of `a`, \
         or links from its next hops to `b`, or write `routing: { candidates: downhill-delay }`, which keeps the next hops \
         of least path delay)"
    );
    let downhill = common::simulated(&bundle(17, "routing: { candidates: downhill-delay }"));
    let next: Vec<String> = row(&downhill, 0, 1).into_iter().map(|it| it.0).collect();
    let others = (2..=16).map(|number| format!("b_{number}"));
    let expected: Vec<String> = iter::once("b".to_owned()).chain(others).collect();
    assert_eq!(next, expected);
    let mut said = downhill.warnings.iter();
    assert!(said.any(|warning| warning.code == "candidates-left-out"));
}

/// Forty pairs of links, one after the other, have 2^40 paths, which a plan must not visit one by one.
#[test]
fn a_long_chain_of_parallel_links_is_planned_with_its_faults() {
    let dcs = (0..=40).map(|dc| format!("{{ name: d{dc}, hosts: 1 }}"));
    let links = (0..40).map(|dc| {
        let between = format!("between: [d{dc}, d{}]", dc + 1);
        [(100, 1), (40, 1)].map(|(rate, delay)| {
            format!("    - {{ {between}, rate: {rate} Gbit, delay: {delay} ms }}\n")
        })
    });
    let plan = common::simulated(&format!(
        "name: chain\ntopology:\n  parallel: keep\n  dcs: [{}]\n  links:\n{}traffic: [{{ flows: [{{ from: d0/h1, to: \
         d40/h1, size: 1 MB }}] }}]\npolicies: [ecmp, lcmp]\nfaults:\n  - {{ at: 1 ms, links: [d38-d39, d38-d39_2], \
         down: true }}\n",
        dcs.collect::<Vec<_>>().join(", "),
        links.flatten().collect::<String>(),
    ));
    let codes: Vec<&str> = plan
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect();
    assert!(
        codes.contains(&"cut-off") && codes.contains(&"unseen-cut"),
        "{codes:?}"
    );
}
