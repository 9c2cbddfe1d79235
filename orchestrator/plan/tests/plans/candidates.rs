//! Tests of the candidate sets: which next hops they have, and that packets cannot loop.

use std::collections::BTreeSet;

use lab_plan::{Candidate, Engine, Link, LinkKind, Plan, PlanError, PlanOptions, Switch, Transit};
use lab_units::{DcId, LinkId, Nanos, PortId, Ratio};
use proptest::prelude::*;

use crate::common;

/// Returns a scenario in which dc1 reaches dc4 via dc2 in 10 ms, via dc3 and dc2 in 11 ms, and directly in 30 ms.
fn wan(routing: &str) -> String {
    format!(
        "name: wan
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc3, dc4], rate: 40 Gbit, delay: 8 ms }}
    - {{ between: [dc2, dc3], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc1, dc4], rate: 200 Gbit, delay: 30 ms }}
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc4/h1, size: 1 kB }}
      - {{ from: dc4/h1, to: dc1/h1, size: 1 GB }}
policies: [ecmp, lcmp]
scale: {{ rate: 1/1000, time: 10 }}
{routing}
"
    )
}

/// Returns the port of one datacenter's switch to another, both numbered from 1.
fn port_to(plan: &Plan, from: u32, next: u32) -> PortId {
    let ports = &plan.nodes[plan.switches[from as usize - 1].node.index()].ports;
    let name = format!("dc{next}");
    let mut found = ports.iter().filter(|port| plan.next_hop(**port) == name);
    *found.next().unwrap()
}

/// Returns the candidates from one datacenter to another, numbered from 1: next hop, delay in ms, capacity in Gbit/s, and
/// number of links of the best path.
fn row(plan: &Plan, from: u32, to: u32) -> Vec<(u32, u64, u64, u32)> {
    let row = plan.switches[from as usize - 1].towards(DcId(to - 1));
    let row = row.unwrap();
    let shown = |candidate: &Candidate| {
        let path = candidate.path(row.hops);
        (
            candidate.next_dc.0 + 1,
            path.delay.get() / 1_000_000,
            path.capacity.get() / 1_000_000_000,
            path.hops,
        )
    };
    row.candidates.iter().map(shown).collect()
}

#[test]
fn with_fewest_hops_a_direct_link_is_the_only_candidate() {
    let plan = common::plan(&wan(""));
    assert_eq!(row(&plan, 1, 4), [(4, 30, 200, 1)]);
    assert_eq!(row(&plan, 2, 4), [(4, 5, 100, 1)]);
    assert_eq!(row(&plan, 3, 4), [(4, 8, 40, 1)]);
    let named = common::plan(&wan("routing: { candidates: fewest-hops }"));
    assert_eq!(named.switches, plan.switches);
    assert_eq!(named.flows, plan.flows);
}

/// To dc4, dc2 takes 5 ms and dc3 takes 6 ms, via dc2; 8 ms directly are at most 1.5 times as much. To dc1, dc2 and dc3
/// both take 5 ms and are equal otherwise, so that dc2, whose id is smaller, is the nearer one. A direct link of 30 ms is
/// three times as long as the best path.
#[test]
fn downhill_candidates_are_the_nearer_neighbours_within_the_stretch() {
    let plan = common::plan(&wan("routing: { candidates: downhill-delay }"));
    assert_eq!(row(&plan, 1, 4), [(2, 10, 100, 2), (3, 11, 100, 3)]);
    assert_eq!(row(&plan, 2, 4), [(4, 5, 100, 1)]);
    assert_eq!(row(&plan, 3, 4), [(2, 6, 100, 2), (4, 8, 40, 1)]);
    assert_eq!(row(&plan, 2, 1), [(1, 5, 100, 1)]);
    assert_eq!(row(&plan, 3, 1), [(1, 5, 100, 1), (2, 6, 100, 2)]);
    assert_eq!(row(&plan, 4, 1), [(2, 10, 100, 2), (3, 13, 40, 2)]);
    let wide = common::plan(&wan("routing: { candidates: downhill-delay, stretch: 3 }"));
    assert_eq!(
        row(&wide, 1, 4),
        [(2, 10, 100, 2), (3, 11, 100, 3), (4, 30, 200, 1)]
    );
    let narrow = common::plan(&wan("routing: { candidates: downhill-delay, stretch: 1 }"));
    assert_eq!(row(&narrow, 1, 4), [(2, 10, 100, 2)]);
}

/// From dc1 to dc4, the best path is dc1-dc2-dc4; without its links, dc1-dc3-dc4; then the direct link. From dc2 to
/// dc4, it is the direct link, then dc2-dc3-dc4, then dc2-dc1-dc4.
#[test]
fn tunnels_are_the_best_paths_over_the_links_that_are_left() {
    let plan = common::plan(&wan("routing: { candidates: tunnels }"));
    let all = [(2, 10, 100, 2), (3, 13, 40, 2), (4, 30, 200, 1)];
    assert_eq!(row(&plan, 1, 4), all);
    assert_eq!(
        row(&plan, 2, 4),
        [(4, 5, 100, 1), (3, 9, 40, 2), (1, 35, 100, 2)]
    );
    let two = common::plan(&wan("routing: { candidates: tunnels, tunnels: { k: 2 } }"));
    assert_eq!(row(&two, 1, 4), all[..2]);
    let table = lab_plan::render_table(&two);
    let rows = table.lines().filter(|line| line.contains(" dc3-dc4  l0d"));
    assert_eq!(rows.count(), 2, "from dc1 and from dc2: {table}");
}

/// On its tunnel of 13 ms a packet from dc1 passes dc3, from which the path over dc2 would take 6 instead of 8 ms. No
/// tunnel of dc1 leads from dc2 to dc3.
#[test]
fn a_packet_in_a_tunnel_does_not_take_the_best_path_of_the_switches_on_its_way() {
    let plan = common::plan(&wan("routing: { candidates: tunnels, tunnels: { k: 2 } }"));
    let port = |from, next| port_to(&plan, from, next);
    let [dc1, dc4] = [1, 4].map(|dc: u32| DcId(dc - 1));
    let found = |sent| plan.transit_port([dc1, dc4], sent, Nanos::ZERO);
    assert_eq!(found(port(1, 3)), Some(port(3, 4)));
    assert_eq!(found(port(2, 3)), None);
    let without = common::plan(&wan(""));
    assert_eq!(
        without.transit_port([dc1, dc4], port(1, 3), Nanos::ZERO),
        None
    );
    assert_eq!(without.transit_tables(), None);
}

/// Without the link from dc1 to dc2, the best path is dc1-dc3-dc2-dc4. At dc3, its packets arrive over the same link as
/// those of the old tunnel dc1-dc3-dc4, and the new row replaces the old one, until the repair restores it. The old row of
/// dc2 stays, for packets that dc1 sent there before the change. Its new row, for packets from dc3, replaces none and is
/// therefore there from the start.
#[test]
fn old_transit_rows_stay_where_no_new_tunnel_enters() {
    let routing = "routing: { candidates: tunnels, tunnels: { k: 2 }, reconverge: { after: 5 ms } }
faults: [{ at: 10 ms, link: [dc1, dc2], down: true }, { at: 30 ms, link: [dc1, dc2], up: true }]";
    let plan = common::plan(&wan(routing));
    let port = |from, next| port_to(&plan, from, next);
    let pair = [DcId(0), DcId(3)];
    let tables = plan.transit_tables().unwrap();
    let of_pair = |rows: &[Transit]| {
        let rows = rows.iter().filter(|row| [row.from, row.to] == pair);
        rows.map(|row| (row.ingress, row.egress))
            .collect::<BTreeSet<_>>()
    };
    let start = |dc: usize| of_pair(&tables.start[dc - 1]);
    let both = [(port(2, 1), port(2, 4)), (port(2, 3), port(2, 4))];
    assert_eq!(start(2), BTreeSet::from(both));
    assert_eq!(start(3), BTreeSet::from([(port(3, 1), port(3, 4))]));
    let replaced = |change: usize, dc: u32| {
        let rows = tables.replaced[change].iter();
        let here = rows.filter(|(at, _)| *at == DcId(dc - 1));
        of_pair(&here.map(|(_, row)| *row).collect::<Vec<_>>())
    };
    assert_eq!(tables.replaced.len(), 2);
    for (change, expected) in [(0, (port(3, 1), port(3, 2))), (1, (port(3, 1), port(3, 4)))] {
        assert_eq!(replaced(change, 2), BTreeSet::new());
        assert_eq!(replaced(change, 3), BTreeSet::from([expected]));
    }
    let change = plan.reconvergences[0].at_ns;
    let before = Nanos::new(change.get() - 1);
    for (sent, at, expected) in [
        (port(1, 3), before, Some(port(3, 4))),
        (port(1, 3), change, Some(port(3, 2))),
        (port(3, 2), before, None),
        (port(3, 2), change, Some(port(2, 4))),
        (port(1, 2), change, Some(port(2, 4))),
    ] {
        assert_eq!(
            plan.transit_port(pair, sent, at),
            expected,
            "{sent:?} at {at}"
        );
    }
}

/// From s to t lead s-b-x-t in 20 ms and s-a-t in 21 ms, and without the link s-a also s-c-x-d-t in 21 ms. The cut changes
/// neither the tunnels from x and e, nor any that passes e.
#[test]
fn an_agent_that_misses_new_tunnels_through_its_switch_matters() {
    let idle = |dc: &str| {
        let link = |(a, b, delay): (&str, &str, u32)| {
            format!("    - {{ between: [{a}, {b}], rate: 100 Gbit, delay: {delay} ms }}\n")
        };
        let links = [
            ("s", "a", 1),
            ("a", "t", 20),
            ("s", "b", 9),
            ("b", "x", 1),
            ("s", "c", 9),
            ("c", "x", 1),
            ("x", "t", 10),
            ("x", "d", 5),
            ("d", "t", 6),
            ("e", "x", 50),
            ("e", "d", 50),
        ];
        let lines: String = links.into_iter().map(link).collect();
        let text = format!(
            "name: missed
topology:
  dcs: [{{ name: s, hosts: 1 }}, {{ name: t, hosts: 1 }}, {{ name: a }}, {{ name: b }}, {{ name: c }}, {{ name: d }}, \
             {{ name: e }}, {{ name: x }}]
  links:
{lines}traffic: [{{ flows: [{{ from: s/h1, to: t/h1, size: 1 GB }}] }}]
policies: [ecmp]
scale: {{ rate: 1/1000, time: 10 }}
routing: {{ candidates: tunnels, tunnels: {{ k: 2 }}, reconverge: {{ after: 5 ms }} }}
faults:
  - {{ at: 10 ms, link: [s, a], down: true }}
  - {{ at: 12 ms, agent: {dc}, down: true }}
  - {{ at: 20 ms, agent: {dc}, up: true }}
"
        );
        let warnings = common::plan(&text).warnings;
        warnings.iter().any(|it| it.code == "idle-agent-crash")
    };
    assert_eq!([idle("x"), idle("e")], [false, true]);
}

/// 9 · n · (n − 1) tunnels pass through the middle of a star with `n` arms, each of 9 parallel links: 31,860 with 60 arms,
/// 32,940 with 61. The bound is 32,768.
#[test]
fn a_switch_with_more_transit_rows_than_its_agent_holds_is_named_for_the_lab() {
    let star = |arms: u32| {
        let names: String = (1..=arms)
            .map(|arm| format!(", {{ name: arm{arm}, hosts: 1 }}"))
            .collect();
        let link = |arm| {
            let line =
                format!("    - {{ between: [middle, arm{arm}], rate: 1 Gbit, delay: 1 ms }}\n");
            line.repeat(9)
        };
        let links: String = (1..=arms).map(link).collect();
        common::plan(&format!(
            "name: star\ntopology:\n  parallel: keep\n  dcs: [{{ name: middle }}{names}]\n  links:\n{links}traffic: [{{ flows: [{{ from: \
             arm1/h1, to: arm2/h1, size: 1 kB }}] }}]\npolicies: [ecmp]\nscale: {{ rate: 1/1000, time: 10 }}\nrouting: {{ \
             candidates: tunnels, tunnels: {{ k: 9 }} }}\n"
        ))
    };
    let found = |arms| {
        let plan = star(arms);
        let mut texts = plan.warnings.into_iter();
        texts.find(|it| it.code == "transit-rows").map(|it| it.text)
    };
    assert_eq!(found(60), None);
    let text = found(61).expect("32,940 rows");
    assert!(
        text.starts_with("the switch of `middle` needs 32940 transit rows"),
        "{text}"
    );
    let refused = star(61);
    assert_eq!(refused.full_switch().map(|it| it.rows), Some(32_940));
}

#[test]
fn legacy_switches_the_artifacts_semantics_and_trained_policies_refuse_tunnels() {
    let text = wan("routing: { candidates: tunnels }");
    for (text, who) in [
        (
            format!("{text}transport: {{ semantics: artifact }}\n"),
            "the artifact's switches",
        ),
        (
            text.replace("{ name: dc3 }", "{ name: dc3, agent: legacy }"),
            "the switch of `dc3` has no agent",
        ),
        (
            text.replace("[ecmp, lcmp]", "[ecmp, redte]"),
            "policy `redte` has weights",
        ),
    ] {
        let options = PlanOptions {
            engine: Engine::Sim,
            ..PlanOptions::default()
        };
        let error = common::try_plan(&text, &options).unwrap_err();
        assert!(matches!(error, PlanError::NoTunnels { .. }), "{error}");
        assert!(error.to_string().contains(who), "{error}");
    }
}

/// Under a stretch of 3, both pairs with dc1 and dc4 have three candidates.
#[test]
fn a_maximum_keeps_the_nearest_candidates_and_says_so() {
    let plan = common::plan(&wan(
        "routing: { candidates: downhill-delay, stretch: 3, max: 2 }",
    ));
    assert_eq!(row(&plan, 1, 4), [(2, 10, 100, 2), (3, 11, 100, 3)]);
    assert_eq!(row(&plan, 4, 1), [(2, 10, 100, 2), (3, 13, 40, 2)]);
    let warnings = plan.warnings.iter();
    let found: Vec<_> = warnings
        .filter(|warning| warning.code == "candidates-left-out")
        .map(|warning| warning.text.as_str())
        .collect();
    insta::assert_snapshot!(found.join("\n"), @"for 2 of 6 pairs of switch and destination there are more than 2 candidates (`routing.max`), of which the 2 with the least delay are kept: 3 from `dc1` to `dc4`, the most (hint: a smaller `routing.stretch` excludes the longest paths)");
}

/// Three datacenters are equally near to dc4, at 5 ms. The best path of dc1 leads over dc2, because the direct link to dc3
/// has less capacity; so dc2 is nearer than dc1, although its id is larger, and does not send packets back.
#[test]
fn links_without_delay_do_not_lead_back() {
    let text = "name: flat
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 0 }
    - { between: [dc2, dc3], rate: 100 Gbit, delay: 0 }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 0 }
    - { between: [dc3, dc4], rate: 100 Gbit, delay: 5 ms }
traffic: [{ flows: [{ from: dc1/h1, to: dc4/h1, size: 1 MB }] }]
policies: [ecmp]
routing: { candidates: downhill-delay, stretch: 1 }
";
    let plan = common::simulated(text);
    assert_eq!(row(&plan, 1, 4), [(2, 5, 100, 3), (3, 5, 40, 2)]);
    assert_eq!(row(&plan, 2, 4), [(3, 5, 100, 2)]);
    assert_eq!(row(&plan, 3, 4), [(4, 5, 100, 1)]);
}

/// The table of paths, and the explanation of a decision, name the set.
#[test]
fn texts_name_a_set_that_is_not_the_default() {
    let heads = |routing: &str| {
        let table = lab_plan::render_table(&common::plan(&wan(routing)));
        table
            .lines()
            .find(|line| line.starts_with("Paths"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(heads(""), "Paths");
    assert_eq!(
        heads("routing: { candidates: downhill-delay }"),
        "Paths (candidates: downhill-delay, stretch 3/2, at most 16)"
    );
}

/// A flow from dc1 to dc4 takes 10 ms each way on the path that only `downhill-delay` allows, and 30 ms on the direct link.
/// It has the same ideal FCT whether the bounds leave one candidate or three.
#[test]
fn ideal_fcts_depend_on_no_bound_and_are_never_above_those_with_fewest_hops() {
    let ideals = |routing: &str| -> Vec<u64> {
        let plan = common::simulated(&wan(routing));
        plan.flows
            .iter()
            .map(|flow| flow.ideal_fct_ns.get())
            .collect()
    };
    let fewest = ideals("");
    let downhill = ideals("routing: { candidates: downhill-delay }");
    for bounds in ["stretch: 1", "stretch: 3", "stretch: 3, max: 2"] {
        let routing = format!("routing: {{ candidates: downhill-delay, {bounds} }}");
        assert_eq!(ideals(&routing), downhill, "{bounds}");
    }
    let [small, large] = downhill[..] else {
        panic!("two flows are planned");
    };
    // Two host links of 1 µs, and less than 1 µs to send a packet and its ACK over each of four links.
    assert!((20_004_000..20_008_000).contains(&small), "{small}");
    assert!(small < fewest[0] && large <= fewest[1]);
}

/// A link of 10 ms at 40 kbit/s leads from dc1 to dc2; beside it, dc3 and dc4 lead from dc2 to dc1 in 19.1 ms at 100 Gbit/s,
/// each nearer to dc1 than the one before. From dc1 to dc2, dc4 is no nearer than dc1, so that data must take the slow
/// link.
const BACK: &str = "name: back
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }, { name: dc3 }, { name: dc4 }]
  links:
    - { between: [dc1, dc2], rate: 40 kbit, delay: 10 ms }
    - { between: [dc2, dc3], rate: 100 Gbit, delay: 9500 us }
    - { between: [dc3, dc4], rate: 100 Gbit, delay: 600 us }
    - { between: [dc4, dc1], rate: 100 Gbit, delay: 9 ms }
traffic: [{ flows: [{ from: dc1/h1, to: dc2/h1, size: 1000 B }] }]
policies: [ecmp]
routing: { candidates: downhill-delay, stretch: 3 }
";

/// The packet, 1,058 B, takes 2 · 84.64 ns + 211.6 ms to send, and links delay it by 10.002 ms. The ACK, 62 B, takes
/// 5 · 4.96 ns and 19.102 ms, where it would take 22.402 ms on the slow link.
#[test]
fn an_ack_may_be_faster_than_on_the_datas_path_reversed() {
    let plan = common::simulated(&format!("{BACK}transport: {{ payload: 1000 }}\n"));
    let next_hops = |from, to| {
        row(&plan, from, to)
            .iter()
            .map(|it| it.0)
            .collect::<Vec<_>>()
    };
    assert_eq!((next_hops(1, 2), next_hops(2, 1)), (vec![2], vec![1, 3]));
    assert_eq!(plan.flows[0].ideal_fct_ns, Nanos::new(240_704_194));
}

/// `ib_read_bw` reads five messages of 200 B. The first request, 74 B, takes 5 · 5.92 ns and 19.102 ms.
/// Five responses of 262 B follow each other on the slow link for 262 ms; one of them takes 2 · 20.96 ns on the hosts'
/// links, and all links delay it by 10.002 ms.
#[test]
fn a_request_may_be_faster_than_on_the_datas_path_reversed() {
    let more = "generator: { tool: ib_read_bw, mtu: 1024 }\nscale: { rate: 1, time: 1 }\n";
    let plan = common::plan(&format!("{BACK}{more}"));
    assert_eq!(plan.flows[0].ideal_fct_ns, Nanos::new(291_104_071));
}

/// A fault changes the delay, the order and the attributes of the candidates, but not which they are: with 1 ms, dc1's
/// direct link to dc4 would be its best path.
#[test]
fn faults_do_not_change_the_set() {
    let text = wan("routing: { candidates: downhill-delay }
faults:
  - { at: 1 ms, link: [dc1, dc4], delay: 1 ms }
  - { at: 2 ms, link: [dc1, dc2], delay: 9 ms }");
    let plan = common::plan(&text);
    assert_eq!(plan.faults[0].path_cost_updates, []);
    let updates = &plan.faults[1].path_cost_updates;
    let of_dc1 = updates.iter().find(|it| it.switch == 0).unwrap();
    let rows = of_dc1.candidates.iter();
    let found: Vec<_> = rows
        .map(|row| (row.candidate.next_dc.0 + 1, row.candidate.paper_delay_ns))
        .collect();
    let ms = Nanos::from_millis;
    assert_eq!(found, [(3, ms(11)), (2, ms(14))]);
}

/// Weights belong to the order of candidates, so that those for one set are refused with another.
#[test]
fn weights_of_another_set_are_of_another_network() {
    let fingerprint = |routing: &str| {
        let plan = common::plan(&wan(routing));
        lab_redte::fingerprint(&plan.te_topology(), &plan.paper_te_capacities())
    };
    let downhill = fingerprint("routing: { candidates: downhill-delay }");
    assert_ne!(fingerprint(""), downhill);
    assert_ne!(
        fingerprint("routing: { candidates: downhill-delay, stretch: 3 }"),
        downhill
    );
}

/// Random network with one host per datacenter, and a candidate set.
#[derive(Clone, Debug)]
struct Sketch {
    dcs: usize,
    /// Links between datacenters: the indices of the two datacenters, the rate in Gbit/s and the delay in ms.
    links: Vec<(usize, usize, u64, u64)>,
    /// Stretch in quarters.
    quarters: u64,
    max: u8,
    /// True for `fewest-hops` instead of a downhill set.
    is_by_hops: bool,
}

impl Sketch {
    fn text(&self) -> String {
        let dcs = (1..=self.dcs).map(|dc| format!("{{ name: dc{dc}, hosts: 1 }}"));
        let links = self.links.iter().map(|(a, b, rate, delay)| {
            let [a, b] = [a + 1, b + 1];
            format!("    - {{ between: [dc{a}, dc{b}], rate: {rate} Gbit, delay: {delay} ms }}\n")
        });
        format!(
            "name: sketch
topology:
  parallel: keep
  dcs: [{}]
  links:
{}traffic: [{{ flows: [{{ from: dc1/h1, to: dc2/h1, size: 1 kB }}] }}]
policies: [ecmp]
routing: {{ {} }}
",
            dcs.collect::<Vec<_>>().join(", "),
            links.collect::<String>(),
            self.routing(),
        )
    }

    fn routing(&self) -> String {
        if self.is_by_hops {
            return "candidates: fewest-hops".to_owned();
        }
        let Self { quarters, max, .. } = self;
        format!("candidates: downhill-delay, stretch: {quarters}/4, max: {max}")
    }
}

prop_compose! {
    /// Generates a random tree with additional links, also parallel ones, of few different delays, some of them zero.
    fn sketch()(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 2..9),
        extra in prop::collection::vec((0..9usize, 0..9usize), 0..20),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        wires in prop::collection::vec((1..3u64, 0..4u64), 34),
        quarters in prop_oneof![4..9u64, Just(4_000)],
        max in 2..=8u8,
    ) -> Sketch {
        let dcs = parents.len() + 1;
        let tree = (1..dcs).map(|at| (parents[at - 1].index(at), at));
        let extra = extra.into_iter().filter(|(a, b)| a < b && *b < dcs);
        let different: BTreeSet<_> = tree.chain(extra).collect();
        let mut pairs: Vec<_> = different.into_iter().collect();
        let parallel: Vec<_> = again.iter().map(|at| *at.get(&pairs)).collect();
        pairs.extend(parallel.into_iter().map(|(a, b)| (b, a)));
        let wires = wires.iter().map(|(rate, delay)| (rate * 100, *delay));
        let links = pairs.into_iter().zip(wires).map(|((a, b), (rate, delay))| (a, b, rate, delay));
        Sketch { dcs, links: links.collect(), quarters, max, is_by_hops: false }
    }
}

/// Returns the least delay between any two datacenters, by Floyd and Warshall.
fn least_delays(plan: &Plan) -> Vec<Vec<u64>> {
    let count = plan.dcs.len();
    let mut least = vec![vec![u64::MAX / 4; count]; count];
    let inter_dc = plan
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc);
    for link in inter_dc {
        let [a, b] = [link.a.index(), link.b.index()];
        least[a][b] = least[a][b].min(link.paper.delay_ns.get());
        least[b][a] = least[a][b];
    }
    for via in 0..count {
        least[via][via] = 0;
        for from in 0..count {
            for to in 0..count {
                least[from][to] = least[from][to].min(least[from][via] + least[via][to]);
            }
        }
    }
    least
}

/// Returns true if links that are not `taken` lead from one datacenter to another.
fn is_connected(plan: &Plan, from: usize, to: DcId, taken: &BTreeSet<LinkId>) -> bool {
    let mut reached = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        let links = (0u32..).map(LinkId).zip(&plan.links);
        let is_left =
            |(id, link): &(LinkId, &Link)| link.kind == LinkKind::InterDc && !taken.contains(id);
        for (_, link) in links.filter(is_left) {
            let ends = [link.a, link.b].map(|node| plan.nodes[node.index()].dc.index());
            for (near, far) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                if near == at && reached.insert(far) {
                    open.push(far);
                }
            }
        }
    }
    reached.contains(&to.index())
}

fn next_hops(switch: &Switch, to: DcId) -> &[Candidate] {
    switch.towards(to).map_or(&[], |row| &row.candidates)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// From every switch, packets that at each switch take any live candidate, with any set of dead ports, arrive or end
    /// at a switch without a live one; they see no switch twice.
    #[test]
    fn packets_never_come_back_whatever_is_chosen_and_whatever_is_dead(
        sketch in sketch(),
        is_by_hops in any::<bool>(),
        dead in any::<u64>(),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 9),
    ) {
        let text = Sketch { is_by_hops, ..sketch.clone() }.text();
        let options = PlanOptions { engine: Engine::Sim, ..PlanOptions::default() };
        let plan = match common::try_plan(&text, &options) {
            Err(PlanError::TooManyNextHops { .. }) => return Ok(()),
            planned => planned.unwrap(),
        };
        let is_alive = |port: PortId| dead >> (port.0 % 64) & 1 == 0;
        for (to, start) in (0..sketch.dcs).flat_map(|to| (0..sketch.dcs).map(move |at| (to, at))) {
            let to = DcId::from_index(to).unwrap();
            let mut seen = BTreeSet::new();
            let mut at = start;
            while at != to.index() {
                prop_assert!(seen.insert(at), "{at} is visited twice on the way to {to:?}");
                let live: Vec<_> = next_hops(&plan.switches[at], to)
                    .iter()
                    .filter(|candidate| is_alive(candidate.port))
                    .collect();
                if live.is_empty() {
                    break;
                }
                at = choices[at].get(&live).next_dc.index();
            }
        }
        // The candidates form no cycle at all: removing datacenters whose next hops have all been removed ends with none.
        for to in (0..sketch.dcs).map(|to| DcId::from_index(to).unwrap()) {
            let mut left: BTreeSet<usize> = (0..sketch.dcs).collect();
            left.remove(&to.index());
            while !left.is_empty() {
                let leads_on = |at: &usize| {
                    let mut next = next_hops(&plan.switches[*at], to).iter();
                    next.any(|candidate| left.contains(&candidate.next_dc.index()))
                };
                let stuck: BTreeSet<usize> = left.iter().copied().filter(leads_on).collect();
                prop_assert!(stuck.len() < left.len(), "a cycle of {stuck:?} towards {to:?}");
                left = stuck;
            }
        }
    }

    /// The first candidate is on a path of least delay. All are within the stretch and no farther than their switch, and
    /// every neighbour that is nearer by delay and within the stretch is one, unless a maximum of nearer ones is there.
    #[test]
    fn downhill_candidates_are_those_of_the_definition(sketch in sketch()) {
        let plan = common::simulated(&sketch.text());
        let least = least_delays(&plan);
        let stretch = Ratio::new(sketch.quarters, 4).unwrap();
        let within = |delay: u64, own: u64| {
            u128::from(delay) * u128::from(stretch.denominator())
                <= u128::from(own) * u128::from(stretch.numerator())
        };
        for (at, switch) in plan.switches.iter().enumerate() {
            for row in &switch.destinations {
                let to = row.dc.index();
                let own = least[at][to];
                prop_assert_eq!(row.candidates[0].paper_delay_ns.get(), own);
                let mut links = row.candidates.iter().map(|candidate| candidate.path(row.hops).hops);
                prop_assert_eq!(links.clone().min(), Some(row.hops));
                prop_assert!(links.all(|links| usize::try_from(links).unwrap() < sketch.dcs));
                let found: BTreeSet<PortId> = row.candidates.iter().map(|it| it.port).collect();
                let last = row.candidates.last().unwrap().paper_delay_ns.get();
                prop_assert!(found.len() <= usize::from(sketch.max));
                for &port in &plan.nodes[switch.node.index()].ports {
                    let link = &plan.links[port.link().index()];
                    if link.kind != LinkKind::InterDc {
                        continue;
                    }
                    let next = plan.nodes[plan.ports[port.peer().index()].node.index()].dc.index();
                    let through = link.paper.delay_ns.get() + least[next][to];
                    if found.contains(&port) {
                        prop_assert!(least[next][to] <= own && within(through, own));
                    } else if least[next][to] < own && within(through, own) {
                        prop_assert_eq!(found.len(), usize::from(sketch.max));
                        prop_assert!(through >= last);
                    }
                }
            }
        }
    }

    /// A tunnel visits no datacenter twice. The tunnels of a pair share no link, and the first has the least delay. The
    /// transit rows lead along each tunnel. If there are fewer than `k`, the links that are left do not connect the
    /// pair.
    #[test]
    fn tunnels_share_no_link_and_the_switches_on_the_way_follow_them(sketch in sketch()) {
        let max = usize::from(sketch.max);
        let routing = format!("candidates: tunnels, tunnels: {{ k: {max} }}");
        let plan = common::simulated(&sketch.text().replace(&sketch.routing(), &routing));
        let least = least_delays(&plan);
        let transits = plan.transit_tables().unwrap().start;
        let dc = |port: PortId| plan.nodes[plan.ports[port.index()].node.index()].dc;
        for (from, switch) in plan.switches.iter().enumerate() {
            for row in &switch.destinations {
                let to = row.dc;
                let count = row.candidates.len();
                prop_assert_eq!(row.tunnels.len(), count);
                prop_assert_eq!(row.candidates[0].paper_delay_ns.get(), least[from][to.index()]);
                let mut taken = BTreeSet::new();
                for candidate in &row.candidates {
                    let mut path = vec![candidate.port];
                    let mut delay = 0;
                    let mut seen = BTreeSet::from([DcId::from_index(from).unwrap()]);
                    loop {
                        let sent = *path.last().unwrap();
                        prop_assert!(taken.insert(sent.link()), "a link is on two tunnels");
                        delay += plan.links[sent.link().index()].paper.delay_ns.get();
                        let at = dc(sent.peer());
                        prop_assert!(seen.insert(at), "{at:?} is visited twice");
                        if at == to {
                            break;
                        }
                        let is_next = |it: &&Transit| {
                            (it.from.index(), it.to, it.ingress) == (from, to, sent.peer())
                        };
                        let mut rows = transits[at.index()].iter().filter(is_next);
                        path.push(rows.next().unwrap().egress);
                        prop_assert!(rows.next().is_none());
                    }
                    prop_assert!(row.tunnels.contains(&path));
                    prop_assert_eq!(candidate.paper_delay_ns.get(), delay);
                }
                prop_assert!(count <= max);
                prop_assert!(count == max || !is_connected(&plan, from, to, &taken));
            }
        }
    }

    /// Ideal FCTs and base round trips are the same under all bounds.
    #[test]
    fn ideal_fcts_do_not_depend_on_the_bounds(sketch in sketch()) {
        let other = Sketch { quarters: 4, max: 2, ..sketch.clone() };
        let plans = [sketch, other].map(|sketch| common::simulated(&sketch.text()));
        let ideals = plans.each_ref().map(|plan| plan.flows[0].ideal_fct_ns);
        prop_assert_eq!(ideals[0], ideals[1]);
        prop_assert_eq!(plans[0].flows[0].base_rtt_ns, plans[1].flows[0].base_rtt_ns);
    }
}
