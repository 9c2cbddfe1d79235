//! Tests of the paper's and the artifact's networks.

use lab_plan::{Plan, PolicyPlan, Switch};
use lab_units::{DcId, Nanos};

fn switch(plan: &Plan, dc: usize) -> &Switch {
    &plan.switches[dc - 1]
}

/// Returns the datacenters, numbered from 1, that are next hops from `from` to `to`, in the order of the candidate
/// table.
fn by(plan: &Plan, from: usize, to: usize) -> Vec<u32> {
    let rows = &switch(plan, from).destinations;
    let row = rows.iter().find(|row| row.dc.index() == to - 1).unwrap();
    row.candidates
        .iter()
        .map(|candidate| candidate.next_dc.0 + 1)
        .collect()
}

#[test]
fn dc1_has_six_ways_to_dc8_by_delay() {
    let plan = crate::common::plan(&crate::common::testbed_text());
    assert_eq!(by(&plan, 1, 8), [6, 4, 2, 7, 5, 3]);
    assert_eq!(by(&plan, 8, 1), [6, 4, 2, 7, 5, 3]);
    let paths = &switch(&plan, 1).destinations[0].candidates;
    let delays = paths
        .iter()
        .map(|candidate| candidate.paper_delay_ns.whole_millis_trunc());
    assert_eq!(delays.collect::<Vec<_>>(), [10, 20, 50, 100, 200, 500]);
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

#[test]
fn the_testbeds_path_scores_put_the_fat_and_near_first() {
    let plan = crate::common::plan(&crate::common::testbed_text());
    let lcmp = &plan.policies[1];
    assert_eq!(lcmp.label, "lcmp");
    // Candidates are in the order DC6, DC4, DC2, DC7, DC5, DC3.
    assert_eq!(lcmp.path_scores[0][0], [54, 38, 18, 87, 104, 182]);
    assert!(plan.policies[0].path_scores.is_empty());
}

#[test]
fn the_testbeds_buckets_follow_capacity() {
    let text = crate::common::testbed_text().replace("  - ecmp\n", "  - wcmp\n  - ucmp-artifact\n");
    let plan = crate::common::plan(&text);
    let [wcmp, ucmp, lcmp] = &plan.policies[..] else {
        panic!("three policies")
    };
    // Candidates are in the order DC6, DC4, DC2, DC7, DC5, DC3.
    assert_eq!(wcmp.buckets[0][0], [2, 5, 10, 2, 5, 10]);
    assert_eq!(ucmp.buckets[0][0], [0, 0, 1, 0, 0, 1]);
    assert!(lcmp.buckets.is_empty());
    assert_eq!(lcmp.buckets_of(0, 0, 4), 1);
    assert_eq!((wcmp.buckets_of(0, 0, 4), ucmp.buckets_of(0, 0, 4)), (5, 0));
    let table = lab_plan::render_table(&plan);
    let paths = table.split("Paths\n").nth(1).unwrap();
    let policies = table.split("Policies (paper units)\n").nth(1).unwrap();
    let head = |text: &str, lines| text.lines().take(lines).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(format!("{}\n\n{}", head(paths, 7), head(policies, 2)));
}

#[test]
fn transit_datacenters_of_the_full_network_have_two_paths() {
    let plan = crate::common::plan(&crate::common::scenario_text("8dc-fabric.yaml"));
    let mut several = 0;
    for from in 1..=8 {
        for to in (1..=8).filter(|to| *to != from) {
            let paths = by(&plan, from, to).len();
            let transit = (2..=7).contains(&from) && (2..=7).contains(&to);
            let ends = from != to && [1, 8].contains(&from) && [1, 8].contains(&to);
            assert_eq!(
                paths,
                if ends {
                    6
                } else if transit {
                    2
                } else {
                    1
                }
            );
            several += usize::from(paths > 1 && from < to);
        }
    }
    assert_eq!(several, 16);
    assert_eq!((plan.nodes.len(), plan.links.len()), (184, 220));
}

#[test]
fn the_13_datacenters_have_the_artifacts_choices() {
    let plan = crate::common::plan(include_str!("data/multi-hop.yaml"));
    let sorted = |from, to| {
        let mut by = by(&plan, from, to);
        by.sort_unstable();
        by
    };
    assert_eq!(sorted(3, 12), [2, 5, 6, 7]);
    assert_eq!(sorted(3, 13), [2, 5, 6, 7]);
    assert_eq!(sorted(12, 1), [8, 9, 10, 11]);
    assert_eq!(sorted(12, 3), [8, 9, 10, 11]);
    let mut counts = [0; 7];
    for from in 1..=13 {
        for to in (1..=13).filter(|to| *to != from) {
            counts[by(&plan, from, to).len()] += 1;
        }
    }
    // Of 156 ordered pairs, 32 have a choice: 25 between two paths, 3 between three, 4 between four.
    assert_eq!(counts, [0, 124, 25, 3, 4, 0, 0]);
    for (from, to) in [(6, 11), (11, 2), (11, 6)] {
        assert_eq!(by(&plan, from, to).len(), 3, "{from} to {to}");
    }
}

#[test]
fn the_best_path_through_a_next_hop_is_the_fattest_of_the_nearest() {
    // DC1 has one next hop to DC13; behind it, the paths 3-2-8-12 (40 Gbit/s) and 3-6-10-12 (100 Gbit/s) both take 5
    // ms.
    let plan = crate::common::plan(include_str!("data/multi-hop.yaml"));
    let row = switch(&plan, 1).towards(DcId(12)).unwrap();
    let candidate = &row.candidates[0];
    assert_eq!(candidate.paper_delay_ns, Nanos::from_millis(5));
    assert_eq!(candidate.paper_bottleneck_bps.to_string(), "100 Gbit");
    assert_eq!(candidate.paper_first_link_bps.to_string(), "200 Gbit");
}

/// In the artifact's first topology, unscaled, the base RTT between DC1 and DC8 is 2 · 10.006 ms of propagation and the
/// serialisation of one packet on eight links.
#[test]
fn the_base_rtt_is_the_artifacts_but_for_headers_and_acks() {
    let text = crate::common::scenario_text("8dc-fabric.yaml")
        .replace("40 Gbit", "25 Gbit")
        .replace(
            "scale: auto",
            "scale: { rate: 1, time: 1 }\ngenerator: { mtu: 1024 }",
        );
    let plan = crate::common::plan(&text);
    // Serialisation time of a frame in ns: four links at 100 Gbit/s, two at 400 Gbit/s, two at 25 Gbit/s.
    let sent = |frame: u64| 8 * frame * (4 * 4 + 2 + 2 * 16) / 400;
    let expected = 20_012_000 + sent(1_024 + 58) + sent(62);
    let flow = &plan.flows[0];
    assert!(flow.base_rtt_ns.get().abs_diff(expected) <= 1, "{flow:?}");
}

#[test]
fn times_of_a_switch_agent_are_emulated_and_path_parameters_are_not() {
    let plan = crate::common::plan(&crate::common::testbed_text());
    let PolicyPlan::Lcmp(config) = &plan.policies[1].policy else {
        panic!("the second policy is lcmp");
    };
    assert_eq!(config.sample_interval_ns, Nanos::from_millis(10));
    assert_eq!(config.max_delay_shift(), 19);
    assert_eq!(config.max_capacity_bps.to_string(), "200 Gbit");
    // The timeout is five times the round trip via DC3: two links of 2.5 s each way, one packet and its ACK.
    let idle = config.idle_timeout_ns.get();
    assert!((50_000_000_000..50_100_000_000).contains(&idle), "{idle}");
}

#[test]
fn an_unsaturated_delay_limit_is_named_when_routes_tie() {
    let text = crate::common::testbed_text();
    let start = text.find("  - lcmp:").unwrap();
    let end = text.find("# 200 Gbit becomes").unwrap();
    let text = format!("{}  - lcmp\n\n{}", &text[..start], &text[end..]);
    let plan = crate::common::plan(&text);
    let codes: Vec<_> = plan
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect();
    assert_eq!(codes, ["delay-score-ties"]);
    assert_eq!(
        plan.warnings[0].text,
        "policy `lcmp`: from `dc1` to `dc8` the paths via `dc2` (50 ms) and `dc7` (100 ms) have the \
         same delay score, and so for one more destination (hint: `max_delay: 524288 us` is the smallest value that \
         separates all delays)"
    );
}
