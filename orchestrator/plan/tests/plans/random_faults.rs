//! Tests of faults at random times.

use std::collections::BTreeSet;

use lab_plan::{FaultChange, Plan, PlanOptions, model::LinkKind};
use lab_scenario::Files;
use lab_units::{LinkId, Nanos};
use proptest::prelude::*;

use crate::common;

/// Returns a scenario with `dcs` datacenters, of which the first two have hosts, with these links and faults. A flow
/// starts at 0 s and another at 2 s.
fn scenario(dcs: usize, links: &[(usize, usize)], faults: &str) -> String {
    let dcs = (0..dcs).map(|dc| match dc {
        0 | 1 => format!("{{ name: dc{dc}, hosts: 1 }}"),
        _ => format!("{{ name: dc{dc} }}"),
    });
    let links = links.iter().map(|(a, b)| {
        format!("    - {{ between: [dc{a}, dc{b}], rate: 100 Gbit, delay: 1 ms }}\n")
    });
    format!(
        "name: random
topology:
  dcs: [{}]
  links:
{}traffic:
  - flows:
      - {{ from: dc0/h1, to: dc1/h1, size: 1 MB }}
      - {{ from: dc1/h1, to: dc0/h1, size: 1 MB, start: 2 s }}
policies: [ecmp]
scale: {{ rate: 1/1000, time: 10 }}
faults: [{faults}]
",
        dcs.collect::<Vec<_>>().join(", "),
        links.collect::<String>(),
    )
}

const PAIR: &[(usize, usize)] = &[(0, 1)];

const SQUARE: &[(usize, usize)] = &[(0, 1), (1, 2), (2, 3), (3, 0)];

/// Returns time, link and direction of each change: true for a cut.
fn changes(plan: &Plan) -> Vec<(Nanos, LinkId, bool)> {
    let is_cut = |change| matches!(change, FaultChange::Down);
    let faults = plan.faults.iter();
    faults
        .map(|fault| (fault.paper_at_ns, fault.link, is_cut(fault.change)))
        .collect()
}

/// The mean of about n = 400 exponential times has a relative standard error 1/√n. Five such errors are a quarter.
#[test]
fn times_between_cuts_and_repairs_have_their_means() {
    let random = "{ random: { mtbf: 4 ms, mttr: 1 ms, keep_connected: false } }";
    let plan = common::plan(&scenario(2, PAIR, random));
    let found = changes(&plan);
    assert!((600..1_000).contains(&found.len()), "{}", found.len());
    let mut times = [Vec::new(), Vec::new()];
    let mut last = Nanos::ZERO;
    for (index, (at, _, is_cut)) in found.into_iter().enumerate() {
        assert_eq!(is_cut, index % 2 == 0);
        assert!(!is_cut || at < Nanos::from_millis(2_000));
        times[index % 2].push(at.saturating_sub(last).get());
        last = at;
    }
    for (times, mean) in times.iter().zip([4_000_000, 1_000_000]) {
        let found = times.iter().sum::<u64>() / u64::try_from(times.len()).unwrap();
        assert!(found.abs_diff(mean) < mean / 4, "{found} of {mean}");
        // A share of 1/e is above the mean, with a standard error of √(p(1−p)/n) = 0.024.
        let above = times.iter().filter(|time| **time > mean).count();
        let percent = 100 * above / times.len();
        assert!((25..=49).contains(&percent), "{percent}");
    }
}

#[test]
fn the_seed_decides_the_times_which_scale_like_those_of_other_faults() {
    let with = |keys: &str, seed: Option<u64>| {
        let random = format!("{{ random: {{ mtbf: 200 ms, mttr: 50 ms{keys} }} }}");
        let text = scenario(4, SQUARE, &random);
        let parsed = lab_scenario::parse("random.yaml", text.as_bytes()).unwrap();
        let options = PlanOptions {
            seed,
            ..PlanOptions::default()
        };
        lab_plan::resolve(&parsed, &text, &Files::new(), &options).unwrap()
    };
    let plan = with("", None);
    assert!(!plan.faults.is_empty());
    for fault in &plan.faults {
        assert_eq!(fault.at_ns.get(), fault.paper_at_ns.get() * 10);
    }
    assert_eq!(changes(&plan), changes(&with("", None)));
    assert_eq!(changes(&plan), changes(&with(", seed: 1", Some(7))));
    assert_ne!(changes(&plan), changes(&with("", Some(7))));
    assert_ne!(changes(&plan), changes(&with(", seed: 7", None)));
}

/// Another group does not change the times of the first, and links of a group change together.
#[test]
fn each_group_has_times_of_its_own() {
    let with = |groups: &str| {
        let random = format!(
            "{{ random: {{ mtbf: 200 ms, mttr: 50 ms, keep_connected: false, groups: {groups} }} }}"
        );
        changes(&common::plan(&scenario(4, SQUARE, &random)))
    };
    let duct = with("[[[dc0, dc1], [dc2, dc3]]]");
    let of_link = |changes: &[(Nanos, LinkId, bool)], link: LinkId| -> Vec<(Nanos, bool)> {
        let of_link = changes.iter().filter(|(_, of, _)| *of == link);
        of_link.map(|&(at, _, is_cut)| (at, is_cut)).collect()
    };
    let changed: BTreeSet<LinkId> = duct.iter().map(|(_, link, _)| *link).collect();
    let links = Vec::from_iter(changed);
    assert_eq!(links.len(), 2);
    assert_eq!(of_link(&duct, links[0]), of_link(&duct, links[1]));
    let more = with("[[[dc1, dc2]], [[dc3, dc2], [dc1, dc0]]]");
    assert!(more.len() > duct.len());
    assert_eq!(of_link(&duct, links[0]), of_link(&more, links[0]));
}

#[test]
fn more_faults_than_a_scenario_may_have_are_refused() {
    let random =
        "{ at: 1 ms, link: [dc0, dc1], rate: 1 Gbit }, { random: { mtbf: 1 ms, mttr: 1 ms } }";
    let text = scenario(2, PAIR, random);
    let parsed = lab_scenario::parse("random.yaml", text.as_bytes()).unwrap();
    let planned = lab_plan::resolve(&parsed, &text, &Files::new(), &PlanOptions::default());
    assert_eq!(
        planned.unwrap_err().to_string(),
        "`faults[1].random`: the scenario has more than 1000 link changes, including the random ones up to 2 s, when \
         the last flows start (hint: raise `mtbf`, name fewer links in `groups`, or shorten the traffic)"
    );
}

#[test]
fn check_has_the_numbers_of_cuts_made_and_left_out() {
    let random = "{ random: { mtbf: 200 ms, mttr: 50 ms } }";
    let text = scenario(2, PAIR, random);
    let parsed = lab_scenario::parse("random.yaml", text.as_bytes()).unwrap();
    let plan = common::plan(&text);
    // The only link between two datacenters is never cut.
    assert_eq!(plan.faults, []);
    let scope = lab_plan::scope(&plan, &parsed, &text).unwrap();
    let [drawn] = scope.drawn_faults[..] else {
        panic!("{scope:?}")
    };
    assert_eq!((drawn.entry, drawn.groups, drawn.cuts), (0, 1, 0));
    assert!(drawn.left_out > 0 && drawn.line.is_some());
}

/// Returns the number of parts of a network with these links.
fn parts(dcs: usize, links: impl Iterator<Item = (usize, usize)>) -> usize {
    let mut part: Vec<usize> = (0..dcs).collect();
    for (a, b) in links {
        let [from, to] = [part[a], part[b]];
        part.iter_mut()
            .filter(|it| **it == from)
            .for_each(|it| *it = to);
    }
    part.into_iter().collect::<BTreeSet<_>>().len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// At any time, as many parts are separate as are by the written cut alone. Each datacenter has a link to an earlier
    /// one, so that the network is connected.
    #[test]
    fn random_cuts_separate_no_datacenters(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 2..8),
        more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..8),
        written in any::<prop::sample::Index>(),
        seed in 0..1_000_u64,
    ) {
        let dcs = parents.len() + 1;
        let mut links: BTreeSet<(usize, usize)> = (1..dcs).map(|dc| (parents[dc - 1].index(dc), dc)).collect();
        links.extend(more.iter().map(|(a, b)| {
            let [a, b] = [a, b].map(|it| it.index(dcs));
            (a.min(b), a.max(b))
        }).filter(|(a, b)| a != b));
        let links: Vec<(usize, usize)> = links.into_iter().collect();
        let (a, b) = links[written.index(links.len())];
        let faults = format!(
            "{{ at: 500 ms, link: [dc{a}, dc{b}], down: true }}, {{ at: 900 ms, link: [dc{b}, dc{a}], up: true }}, \
             {{ random: {{ mtbf: 300 ms, mttr: 300 ms, seed: {seed} }} }}"
        );
        let plan = common::plan(&scenario(dcs, &links, &faults));
        let of_id = |link: LinkId| -> (usize, usize) {
            let link = &plan.links[link.index()];
            assert_eq!(link.kind, LinkKind::InterDc);
            let [a, b] = [link.a, link.b].map(|node| plan.nodes[node.index()].dc.index());
            (a.min(b), a.max(b))
        };
        let mut down = BTreeSet::new();
        let found = changes(&plan);
        for together in found.chunk_by(|a, b| a.0 == b.0) {
            for &(_, link, is_cut) in together {
                let is_changed = if is_cut { down.insert(of_id(link)) } else { down.remove(&of_id(link)) };
                prop_assert!(is_changed, "cuts and repairs alternate");
            }
            let at = together[0].0;
            let is_written = Nanos::from_millis(500) <= at && at < Nanos::from_millis(900);
            let up = |down: &BTreeSet<(usize, usize)>| {
                let down = down.clone();
                parts(dcs, links.iter().copied().filter(move |link| !down.contains(link)))
            };
            let alone: BTreeSet<_> = is_written.then_some((a, b)).into_iter().collect();
            prop_assert_eq!(up(&down), up(&alone), "at {}", at);
        }
        prop_assert!(down.is_empty(), "every cut is repaired");
    }
}

/// Written faults keep their position and times.
#[test]
fn written_faults_of_other_links_stay_as_they_are() {
    let written = "{ at: 300 ms, link: [dc0, dc1], rate: 1 Gbit }, { at: 100 ms, link: [dc1, dc2], down: true }";
    let random = "{ random: { mtbf: 100 ms, mttr: 1 ms, groups: [[[dc3, dc0]]] } }";
    let both = format!("{written}, {random}");
    let parsed = |faults: &str| {
        let text = scenario(4, SQUARE, faults);
        lab_scenario::parse("random.yaml", text.as_bytes()).unwrap()
    };
    assert_eq!(parsed(written).faults, parsed(&both).faults);
    assert_eq!(parsed(&both).faults.len(), 2);
    assert_eq!(parsed(&both).random_faults[0].entry, 2);
}
