//! Tests of candidates after cuts and repairs.

use std::collections::BTreeSet;

use lab_plan::{LinkKind, NewRow, Plan, Switch};
use lab_scenario::Files;
use lab_units::{DcId, LinkId, Nanos};
use proptest::prelude::*;

use crate::common;

/// Four datacenters in a ring. From dc1, dc4 is two links away over dc2 and over dc3; without the link from dc2 to dc4,
/// packets at dc2 have three links to go: over dc1, dc3 and dc4.
fn ring(routing: &str, faults: &str) -> String {
    format!(
        "name: ring
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 2 ms }}
    - {{ between: [dc3, dc4], rate: 40 Gbit, delay: 2 ms }}
traffic: [{{ flows: [{{ from: dc1/h1, to: dc4/h1, size: 1 MB }}] }}]
policies: [ecmp, wcmp, ucmp, te-100ms, lcmp]
scale: {{ rate: 1/1000, time: 10 }}
{routing}
faults: [{faults}]
"
    )
}

const AFTER: &str = "routing: { reconverge: { after: 50 ms } }";
const CUT: &str = "{ at: 10 ms, link: [dc2, dc4], down: true }";
const REPAIR: &str = "{ at: 100 ms, link: [dc2, dc4], up: true }";

fn tables(plan: &Plan) -> Vec<Vec<Switch>> {
    let mut switches = plan.switches.clone();
    let mut tables = vec![switches.clone()];
    for change in &plan.reconvergences {
        change.apply(&mut switches);
        tables.push(switches.clone());
    }
    tables
}

/// Returns the next datacenters from `from` to `to`, and the number of links.
fn next<'a>(plan: &'a Plan, switches: &[Switch], from: &str, to: &str) -> (Vec<&'a str>, u32) {
    let id = |name| plan.dcs.iter().position(|dc| dc.name == name).unwrap();
    let towards = switches[id(from)].towards(DcId::from_index(id(to)).unwrap());
    let row = towards.unwrap();
    let next_dcs = row.candidates.iter().map(|candidate| candidate.next_dc);
    let names = next_dcs.map(|dc| plan.dcs[dc.index()].name.as_str());
    (names.collect(), row.hops)
}

/// The one link from dc1 to dc2 has 10 ms, the two links over dc3 have 2 ms. With the fewest hops, flows take the one
/// link until the reconvergence at 60 ms, and afterwards the two, on which a packet and its ACK are 16 ms sooner. A flow
/// that is under way at the reconvergence ends no sooner than that.
#[test]
fn ideal_fcts_follow_new_tables_from_the_reconvergence_on() {
    let ideal = |start: u64, routing: &str, faults: &str| {
        let plan = common::simulated(&format!(
            "name: detour
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}, {{ name: dc3 }}]
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 10 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 1 ms }}
    - {{ between: [dc3, dc2], rate: 100 Gbit, delay: 1 ms }}
traffic: [{{ flows: [{{ from: dc1/h1, to: dc2/h1, size: 1 kB, start: {start} ms }}] }}]
policies: [ecmp]
{routing}
faults: [{faults}]
"
        ));
        plan.flows[0].ideal_fct_ns
    };
    let cut = "{ at: 10 ms, link: [dc1, dc2], down: true }";
    let one_link = ideal(100, "", cut);
    let two_links = ideal(100, "routing: { candidates: downhill-delay }", "");
    let sooner = one_link.saturating_sub(two_links);
    assert!(
        sooner > Nanos::from_millis(15) && sooner < Nanos::from_millis(16),
        "one more link to serialise a packet on, and {sooner} sooner"
    );
    for (start, expected) in [
        (20, one_link),
        (55, Nanos::from_millis(5)),
        (57, two_links),
        (100, two_links),
    ] {
        assert_eq!(ideal(start, AFTER, cut), expected, "start at {start} ms");
    }
}

#[test]
fn after_a_cut_all_switches_have_the_longer_way_and_after_a_repair_the_old_one() {
    let plan = common::plan(&ring(AFTER, &[CUT, REPAIR].join(", ")));
    let times: Vec<_> = plan
        .reconvergences
        .iter()
        .map(|it| (it.paper_at_ns, it.at_ns))
        .collect();
    let millis = Nanos::from_millis;
    assert_eq!(
        times,
        [(millis(60), millis(600)), (millis(150), millis(1_500))]
    );
    let tables = tables(&plan);
    let at = |epoch: usize, from, to| next(&plan, &tables[epoch], from, to);
    for epoch in [0, 2] {
        assert_eq!(at(epoch, "dc1", "dc4"), (vec!["dc2", "dc3"], 2));
        assert_eq!(at(epoch, "dc2", "dc4"), (vec!["dc4"], 1));
        assert_eq!(at(epoch, "dc3", "dc2"), (vec!["dc1", "dc4"], 2));
        assert_eq!(at(epoch, "dc4", "dc2"), (vec!["dc2"], 1));
    }
    assert_eq!(at(1, "dc1", "dc4"), (vec!["dc3"], 2));
    assert_eq!(at(1, "dc2", "dc4"), (vec!["dc1"], 3));
    assert_eq!(at(1, "dc3", "dc2"), (vec!["dc1"], 2));
    assert_eq!(at(1, "dc4", "dc2"), (vec!["dc3"], 3));
    assert_eq!(tables[0], tables[2]);
    // The path from dc2 to dc1 does not use the link, so its row is not sent again.
    let is_row = |row: &NewRow| {
        row.switch == 1 && plan.switches[1].destinations[row.destination].dc == DcId(0)
    };
    assert!(!plan.reconvergences[0].rows.iter().any(is_row));
}

/// The path over dc1 and dc3 has 5 ms, of which the artifact's cost counts the first link alone, and 40 Gbit/s.
#[test]
fn new_candidates_have_the_costs_and_buckets_of_their_paths() {
    let plan = common::plan(&ring(AFTER, CUT));
    for (policy, run) in plan.policies.iter().enumerate() {
        let all = plan.new_rows(&plan.reconvergences[0], policy);
        let rows: Vec<_> = all
            .iter()
            .filter(|row| {
                (
                    row.switch,
                    plan.switches[1].destinations[row.destination].dc,
                ) == (1, DcId(3))
            })
            .collect();
        let [row] = rows[..] else {
            panic!("{}: {rows:?}", run.label)
        };
        let [only] = row.candidates[..] else {
            panic!("{row:?}")
        };
        assert_eq!(row.hops, Some(3), "{}", run.label);
        assert_eq!(only.candidate.paper_delay_ns, Nanos::from_millis(5));
        assert_eq!(
            only.candidate.paper_bottleneck_bps,
            "40 Gbit".parse().unwrap()
        );
        assert!(only.buckets > 0, "{}", run.label);
        let expected = run
            .policy
            .lcmp()
            .map_or(0, |lcmp| only.candidate.path_score(lcmp));
        assert_eq!(only.c_path, expected);
        assert_eq!(expected > 0, run.label == "lcmp");
    }
}

#[test]
fn without_the_key_and_without_cuts_candidates_stay() {
    let never = common::plan(&ring("", CUT));
    assert_eq!(
        (never.paper_reconverge_after_ns, never.reconvergences.len()),
        (None, 0)
    );
    let text = serde_json::to_string(&never).unwrap();
    assert!(!text.contains("reconverge"));
    let slower = "{ at: 10 ms, link: [dc2, dc4], delay: 90 ms }";
    let uncut = common::plan(&ring(AFTER, slower));
    assert_eq!(uncut.reconvergences, []);
    assert_eq!(
        uncut.paper_reconverge_after_ns,
        Some(Nanos::from_millis(50))
    );
}

/// Data from dc1 can reach dc2, which has lost its only next hop. ACKs from dc4 leave over dc3.
#[test]
fn pairs_without_a_next_hop_are_counted_until_the_reconvergence() {
    // At 100 Gbit/s the flow takes 16 ms.
    let large = |routing| ring(routing, CUT).replace("size: 1 MB", "size: 200 MB");
    let plan = common::plan(&large(AFTER));
    let found = plan.warnings.iter().filter(|it| it.code == "no-next-hop");
    let texts: Vec<_> = found.map(|it| it.text.as_str()).collect();
    let [text] = texts[..] else {
        panic!("{texts:?}")
    };
    let expected = "1 pair, `dc1` to `dc4`, has no next hop from 10 ms to 60 ms (line 13): their packets are lost \
                    (hint: a smaller `routing.reconverge.after` ends the time sooner)";
    assert_eq!(text, expected);
    // Without reconvergence, the cut itself is named, as before.
    let never = common::plan(&large(""));
    let codes: Vec<_> = never.warnings.iter().map(|it| it.code.as_str()).collect();
    assert!(codes.contains(&"unseen-cut") && !codes.contains(&"no-next-hop"));
}

#[test]
fn ideal_times_are_those_without_cuts() {
    let with = common::plan(&ring(AFTER, CUT));
    let without = common::plan(&ring("", ""));
    assert_eq!(with.flows, without.flows);
}

/// The second cut comes while the first reconvergence is under way, so each has its own instant. Without both links, dc4
/// is separate, and rows for it stay as they were after the first cut.
#[test]
fn a_datacenter_that_no_link_reaches_keeps_its_rows() {
    let second = "{ at: 20 ms, link: [dc3, dc4], down: true }";
    let plan = common::plan(&ring(AFTER, &[CUT, second].join(", ")));
    let tables = tables(&plan);
    assert_eq!(plan.reconvergences[1].paper_at_ns, Nanos::from_millis(70));
    assert_eq!(next(&plan, &tables[2], "dc1", "dc4"), (vec!["dc3"], 2));
    assert_eq!(next(&plan, &tables[2], "dc2", "dc4"), (vec!["dc1"], 3));
}

/// By delay, dc3 is a candidate of dc1 for dc4 only if its 4 ms are within the stretch of the 2 ms over dc2.
#[test]
fn the_set_by_delay_is_recomputed_by_its_own_rule() {
    let by_delay =
        "routing: { candidates: downhill-delay, stretch: 1.5, reconverge: { after: 0 ms } }";
    let plan = common::plan(&ring(by_delay, CUT));
    let tables = tables(&plan);
    assert_eq!(next(&plan, &tables[0], "dc1", "dc4"), (vec!["dc2"], 2));
    assert_eq!(next(&plan, &tables[1], "dc1", "dc4"), (vec!["dc3"], 2));
    assert_eq!(plan.reconvergences[0].at_ns, plan.faults[0].at_ns);
}

#[test]
fn what_cannot_follow_new_candidates_is_refused() {
    let text = ring(AFTER, CUT);
    for (change, expected) in [
        (
            ("name: dc3 }", "name: dc3, agent: legacy }"),
            "`routing.reconverge`: the switch of `dc3` has no agent, and its kernel routes do not change (hint: remove \
             `agent: legacy`)",
        ),
        (
            (
                "scale: { rate: 1/1000, time: 10 }",
                "transport: { semantics: artifact }",
            ),
            "`routing.reconverge`: the artifact's tables never change (hint: remove `transport.semantics: artifact`)",
        ),
        (
            ("te-100ms", "redte: { weights: none.txt }"),
            "`policies[3].redte.weights`: the text of `none.txt` is missing",
        ),
    ] {
        let text = text.replace(change.0, change.1);
        let scenario = lab_scenario::parse("ring.yaml", text.as_bytes()).unwrap();
        let options = lab_plan::PlanOptions::default();
        let error = lab_plan::resolve(&scenario, &text, &Files::new(), &options).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn entries_for_several_links_are_faults_of_one_instant_and_warnings_name_the_entry() {
    let plan = common::plan(&ring(
        "",
        "{ at: 1 ms, link: [dc1, dc2], rate: 50 Gbit }, { at: 2 ms, links: [[dc4, dc3], [dc1, dc2]], down: true }, \
         { at: 3 ms, links: [[dc3, dc4], [dc1, dc2]], up: true }, { at: 4 ms, dc: dc4, down: true }",
    ));
    let faults: Vec<_> = plan
        .faults
        .iter()
        .map(|fault| {
            (
                fault.paper_at_ns.get() / 1_000_000,
                plan.links[fault.link.index()].name.as_str(),
            )
        })
        .collect();
    let expected = [
        (1, "dc1-dc2"),
        (2, "dc3-dc4"),
        (2, "dc1-dc2"),
        (3, "dc3-dc4"),
        (3, "dc1-dc2"),
        (4, "dc2-dc4"),
        (4, "dc3-dc4"),
    ];
    assert_eq!(faults, expected);
    let cut_off = plan
        .warnings
        .iter()
        .filter(|warning| warning.code == "cut-off");
    let texts: Vec<_> = cut_off.map(|warning| warning.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[1].contains("cut by `faults[3]`"), "{texts:?}");
}

/// Returns for each datacenter the number of the part of the network in which it is, without the links in `down`.
fn parts(plan: &Plan, down: &BTreeSet<LinkId>) -> Vec<usize> {
    let mut parts: Vec<usize> = (0..plan.dcs.len()).collect();
    for _ in 0..plan.dcs.len() {
        for (id, link) in (0u32..).map(LinkId).zip(&plan.links) {
            if link.kind == LinkKind::InterDc && !down.contains(&id) {
                let [a, b] = [link.a, link.b].map(|node| plan.nodes[node.index()].dc.index());
                let least = parts[a].min(parts[b]);
                (parts[a], parts[b]) = (least, least);
            }
        }
    }
    parts
}

/// Follows all candidates from `from` to `to` whose links are up; fails at a switch without one, and at a loop.
fn follow(
    (plan, switches, down): (&Plan, &[Switch], &BTreeSet<LinkId>),
    (from, to): (DcId, DcId),
    behind: &mut Vec<DcId>,
) -> Result<(), String> {
    if from == to {
        return Ok(());
    }
    if behind.contains(&from) {
        return Err(format!("packets to {to:?} loop: {behind:?} {from:?}"));
    }
    let row = switches[from.index()].towards(to).unwrap();
    let mut live = row
        .candidates
        .iter()
        .filter(|it| !down.contains(&it.port.link()))
        .peekable();
    if live.peek().is_none() {
        return Err(format!("no next hop from {from:?} to {to:?}"));
    }
    behind.push(from);
    live.try_for_each(|it| follow((plan, switches, down), (it.next_dc, to), behind))?;
    behind.pop();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The events are 10 ms apart and the control plane takes 5 ms, so that at each epoch the network is as it knows.
    #[test]
    fn at_each_epoch_every_connected_pair_has_next_hops_and_no_loop(
        dcs in 3..7usize,
        chords in prop::collection::vec((0..7usize, 0..7usize, 1..9u64), 0..8),
        delays in prop::collection::vec(1..9u64, 7),
        events in prop::collection::vec(0..16usize, 1..12),
        is_by_delay in any::<bool>(),
    ) {
        let mut links: Vec<(usize, usize, u64)> = (1..dcs).map(|dc| (dc - 1, dc, delays[dc])).collect();
        for (a, b, delay) in chords {
            let ends = [a % dcs, b % dcs];
            let first = ends[0].min(ends[1]);
            let second = ends[0].max(ends[1]);
            let is_known = links.iter().any(|link| (link.0, link.1) == (first, second));
            if first != second && !is_known {
                links.push((first, second, delay));
            }
        }
        let mut is_down = vec![false; links.len()];
        let mut faults = Vec::new();
        for (step, event) in events.iter().enumerate() {
            let link = event % links.len();
            let change = if is_down[link] { "up" } else { "down" };
            is_down[link] = !is_down[link];
            let (a, b, _) = links[link];
            faults.push(format!("{{ at: {}0 ms, link: [d{a}, d{b}], {change}: true }}", step + 1));
        }
        let set = if is_by_delay { "candidates: downhill-delay, stretch: 2, " } else { "" };
        let named: Vec<_> = (0..dcs).map(|dc| format!("{{ name: d{dc}, hosts: 1 }}")).collect();
        let linked: Vec<_> = links
            .iter()
            .map(|(a, b, delay)| format!("{{ between: [d{a}, d{b}], rate: 10 Gbit, delay: {delay} ms }}"))
            .collect();
        let text = format!(
            "name: random\ntopology: {{ dcs: [{}], links: [{}] }}\n\
             traffic: [{{ flows: [{{ from: d0/h1, to: d1/h1, size: 1 MB }}] }}]\npolicies: [ecmp]\n\
             scale: {{ rate: 1/1000, time: 10 }}\n\
             routing: {{ {set}reconverge: {{ after: 5 ms }} }}\nfaults: [{}]\n",
            named.join(", "), linked.join(", "), faults.join(", "),
        );
        let plan = common::plan(&text);
        prop_assert_eq!(plan.reconvergences.len(), plan.faults.len());
        let mut down = BTreeSet::new();
        for (fault, switches) in plan.faults.iter().zip(tables(&plan).iter().skip(1)) {
            if !down.remove(&fault.link) {
                down.insert(fault.link);
            }
            let parts = parts(&plan, &down);
            for from in (0u32..).map(DcId).take(dcs) {
                for to in (0u32..).map(DcId).take(dcs) {
                    if parts[from.index()] == parts[to.index()] {
                        let followed = follow((&plan, switches, &down), (from, to), &mut Vec::new());
                        prop_assert_eq!(followed, Ok(()));
                    } else {
                        // Packets of a separate pair are lost, but do not loop.
                        let up = BTreeSet::new();
                        let followed = follow((&plan, switches, &up), (from, to), &mut Vec::new());
                        prop_assert!(followed.is_ok(), "{followed:?}");
                    }
                }
            }
        }
    }
}

/// The direct link from a to z is the only candidate until its cut; afterwards a has the two paths over b and c.
#[test]
fn a_choice_may_begin_with_a_reconvergence() {
    let plan = |routing: &str| {
        common::plan(&format!(
            "name: choice
topology:
  dcs: [{{ name: a, hosts: 1 }}, {{ name: b }}, {{ name: c }}, {{ name: z, hosts: 1 }}]
  links:
    - {{ between: [a, z], rate: 10 Gbit, delay: 1 ms }}
    - {{ between: [a, b], rate: 10 Gbit, delay: 1 ms }}
    - {{ between: [b, z], rate: 10 Gbit, delay: 1 ms }}
    - {{ between: [a, c], rate: 10 Gbit, delay: 2 ms }}
    - {{ between: [c, z], rate: 10 Gbit, delay: 2 ms }}
traffic: [{{ flows: [{{ from: a/h1, to: z/h1, size: 100 MB }}] }}]
policies: [ecmp, lcmp]
{routing}
faults: [{{ at: 10 ms, link: [a, z], down: true }}]
"
        ))
    };
    assert_eq!(plan("").pairs_with_choice().len(), 0);
    assert_eq!(plan(AFTER).pairs_with_choice().len(), 1);
}
