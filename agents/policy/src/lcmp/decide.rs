//! Choice of a next hop for a flow's first packet: a filter by cost, then a hash (sections 3.1.2 and 3.4).

use core::cmp::Reverse;

use lab_abi::{Rule, rows::MAX_CANDIDATES};

use super::{LcmpConfig, Preset};
use crate::{
    candidate::{Candidate, Decision, Scored, unscored},
    ecmp,
};

/// Returns the decision for a flow whose hash is `hash`; `None` if no candidate is alive.
///
/// `candidates` are sorted by increasing one-way delay, and this order breaks ties. Candidates past
/// [`MAX_CANDIDATES`] are ignored.
///
/// 1. The cost of each candidate is C = α·C_path + β·C_cong (Eq. 1); in `artifact`, C is then shifted by >> 2 and
///    capped at 255.
/// 2. The cheaper half of the m live candidates is kept, sorted by C and then by the given order. In `paper` the
///    parameter `keep` sets the rule: by default, ⌈m/2⌉ candidates and all that tie with the last of them. In
///    `artifact`, ⌊m/2⌋ candidates are kept, or all if that is less than two; of these, only those that cost
///    less than `drop_threshold` remain.
/// 3. `paper`: if C_cong of every live candidate is at least `congested_threshold`, only the cheapest candidate
///    is kept (section 3.4). `artifact`: if step 2 left no candidate, all live candidates are kept.
/// 4. The hash modulo the number of kept candidates is the index of the choice in that order.
#[must_use]
pub fn decide(candidates: &[Candidate], hash: u32, config: &LcmpConfig) -> Option<Decision> {
    let (mut scored, count) = unscored(candidates);
    for row in &mut scored[..count] {
        row.cost = cost(&row.candidate, config);
    }
    let (order, alive) = cheapest_first(&scored);
    let order = &order[..alive];
    if order.is_empty() {
        return None;
    }
    let (rule, kept) = keep(&scored, order, config);
    for &index in &order[..kept] {
        scored[index].is_kept = true;
    }
    let index = usize::try_from(hash).ok()? % kept;
    Some(Decision::new(order[index], rule, scored, count))
}

/// Returns the decision by a hash over all live candidates, used if tables or signals are stale (section 5).
#[must_use]
pub fn decide_stale(candidates: &[Candidate], hash: u32) -> Option<Decision> {
    ecmp::decide_alike(candidates, hash, Rule::Stale)
}

/// Returns the total cost C (Eq. 1).
fn cost(candidate: &Candidate, config: &LcmpConfig) -> u32 {
    let cost = u32::from(config.alpha) * u32::from(candidate.path)
        + u32::from(config.beta) * u32::from(candidate.congestion);
    match config.preset {
        Preset::Paper => cost,
        Preset::Artifact => (cost >> 2).min(255),
    }
}

/// Returns all candidate indices, live before dead and cheap before expensive, and the number of live candidates.
fn cheapest_first(scored: &[Scored; MAX_CANDIDATES]) -> ([usize; MAX_CANDIDATES], usize) {
    let mut order: [usize; MAX_CANDIDATES] = core::array::from_fn(|index| index);
    order.sort_unstable_by_key(|&index| {
        let row = &scored[index];
        (Reverse(row.candidate.is_alive), row.cost, index)
    });
    let alive = scored.iter().filter(|row| row.candidate.is_alive).count();
    (order, alive)
}

/// Returns the rule of the decision, and the number of candidates that are kept from a non-empty `order`.
fn keep(scored: &[Scored; MAX_CANDIDATES], order: &[usize], config: &LcmpConfig) -> (Rule, usize) {
    let row = |rank: usize| &scored[order[rank]];
    let alive = order.len();
    let rule = config.keep_rule();
    let half = rule.of(alive);
    match config.preset {
        Preset::Paper => {
            let congested = |rank| row(rank).candidate.congestion >= config.congested_threshold;
            if (0..alive).all(congested) {
                return (Rule::LeastCost, 1);
            }
            let cut = row(half - 1).cost;
            let ties = (half..alive).take_while(|&rank| rule.keeps_ties() && row(rank).cost == cut);
            (Rule::Scored, half + ties.count())
        }
        Preset::Artifact => {
            let cheap = |rank: &usize| row(*rank).cost < u32::from(config.drop_threshold);
            match (0..half).take_while(cheap).count() {
                0 => (Rule::HashAll, alive),
                kept => (Rule::Scored, kept),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use lab_units::BitsPerSec;
    use proptest::prelude::*;

    use super::*;
    use crate::lcmp::Keep;

    fn paper() -> LcmpConfig {
        LcmpConfig::paper(BitsPerSec::new(200_000_000_000).expect("a rate above zero"))
    }

    fn alive(path: u8, congestion: u8) -> Candidate {
        Candidate {
            path,
            congestion,
            is_alive: true,
            buckets: 1,
        }
    }

    fn kept(decision: &Decision) -> Vec<usize> {
        let all = 0..decision.candidates().len();
        all.filter(|&index| decision.candidates()[index].is_kept)
            .collect()
    }

    /// Returns the testbed's candidates from DC1 to DC8 in order of increasing delay: via DC6, DC4, DC2, DC7, DC5, DC3.
    fn testbed() -> Vec<Candidate> {
        [54, 38, 18, 87, 104, 182].map(|path| alive(path, 0)).into()
    }

    #[test]
    fn the_idle_testbed_keeps_its_three_good_routes() {
        let decision = decide(&testbed(), 3 * 5 + 1, &paper()).expect("all candidates are alive");
        assert_eq!(decision.rule, Rule::Scored);
        assert_eq!(kept(&decision), [0, 1, 2]);
        assert_eq!(decision.chosen, 1, "the second cheapest: DC4");
        let costs: Vec<_> = decision.candidates().iter().map(|row| row.cost).collect();
        assert_eq!(costs, [162, 114, 54, 261, 312, 546]);
    }

    #[test]
    fn congestion_moves_a_route_out_of_the_cheaper_half() {
        let mut routes = testbed();
        routes[0].congestion = 100; // DC6: 162 + 100 is just above DC7's 261.
        let decision = decide(&routes, 0, &paper()).expect("all candidates are alive");
        assert_eq!(kept(&decision), [1, 2, 3]);
    }

    #[test]
    fn the_artifacts_idle_order_on_its_own_topology() {
        // Via DC2, DC3, DC4, DC5, DC6 and DC7 at shift 5, the total costs are 135, 167, 82, 181, 69 and 191.
        let routes = [181, 223, 110, 242, 93, 255].map(|path| alive(path, 0));
        let decision =
            decide(&routes, 0, &LcmpConfig::artifact()).expect("all candidates are alive");
        let costs: Vec<_> = decision.candidates().iter().map(|row| row.cost).collect();
        assert_eq!(costs, [135, 167, 82, 181, 69, 191]);
        assert_eq!(kept(&decision), [0, 2, 4]);
        assert_eq!(decision.chosen, 4);
    }

    #[test]
    fn the_number_kept_follows_the_preset() {
        let equal = [10, 10, 10].as_slice();
        let tie_at_the_cut = [10, 20, 20, 30].as_slice();
        for (paths, config, expected) in [
            (equal, paper(), [0, 1, 2].as_slice()),
            (tie_at_the_cut, paper(), &[0, 1, 2]),
            (tie_at_the_cut, LcmpConfig::artifact(), &[0, 1]),
            (&[10, 20, 200], LcmpConfig::artifact(), &[0, 1, 2]),
        ] {
            let routes: Vec<_> = paths.iter().map(|&path| alive(path, 0)).collect();
            assert_eq!(
                kept(&decide(&routes, 0, &config).expect("a candidate is alive")),
                expected
            );
        }
    }

    /// Costs 30, 60, 60 and 90: the boundary falls between the two candidates of cost 60; the rule `half-strict` keeps
    /// only the first of these two.
    #[test]
    fn the_rule_of_the_half_is_a_parameter() {
        let kept_by = |keep, paths: &[u8]| {
            let routes: Vec<_> = paths.iter().map(|&path| alive(path, 0)).collect();
            let config = LcmpConfig { keep, ..paper() };
            kept(&decide(&routes, 0, &config).expect("a candidate is alive"))
        };
        let tied = [10, 20, 20, 30].as_slice();
        assert_eq!(kept_by(Keep::Half, tied), [0, 1, 2]);
        for keep in [Keep::HalfStrict, Keep::Floor, Keep::FloorOrAll] {
            assert_eq!(kept_by(keep, tied), [0, 1]);
        }
        let three = [10, 20, 30].as_slice();
        assert_eq!(kept_by(Keep::HalfStrict, three), [0, 1]);
        assert_eq!(kept_by(Keep::Floor, three), [0]);
        assert_eq!(kept_by(Keep::FloorOrAll, three), [0, 1, 2]);
        for (keep, expected) in [
            (Keep::Half, &[0][..]),
            (Keep::Floor, &[0]),
            (Keep::FloorOrAll, &[0, 1]),
        ] {
            assert_eq!(kept_by(keep, &[10, 20]), expected);
        }
        assert_eq!(kept_by(Keep::Floor, &[10]), [0]);
    }

    #[test]
    fn when_all_are_congested_the_paper_takes_the_cheapest() {
        let routes = [alive(60, 204), alive(50, 210), alive(90, 255)];
        for hash in 0..7 {
            let decision = decide(&routes, hash, &paper()).expect("a candidate is alive");
            assert_eq!((decision.rule, decision.chosen), (Rule::LeastCost, 1));
            assert_eq!(kept(&decision), [1]);
        }
        let mut routes = routes.to_vec();
        routes.push(alive(255, 203));
        let decision = decide(&routes, 0, &paper()).expect("a candidate is alive");
        assert_eq!(decision.rule, Rule::Scored);
    }

    #[test]
    fn when_none_is_left_the_artifact_hashes_over_all() {
        let routes = [60, 70, 80, 90].map(|congestion| alive(255, congestion));
        let decision = decide(&routes, 6, &LcmpConfig::artifact()).expect("a candidate is alive");
        assert_eq!((decision.rule, decision.chosen), (Rule::HashAll, 2));
        assert_eq!(kept(&decision), [0, 1, 2, 3]);
    }

    #[test]
    fn dead_candidates_do_not_count() {
        let mut routes = testbed();
        routes[2].is_alive = false;
        routes[1].is_alive = false;
        let decision = decide(&routes, 1, &paper()).expect("four candidates are alive");
        assert_eq!(kept(&decision), [0, 3]);
        assert_eq!(decision.chosen, 3);
        for route in &mut routes {
            route.is_alive = false;
        }
        assert_eq!(decide(&routes, 1, &paper()), None);
        assert_eq!(decide(&[], 1, &paper()), None);
    }

    #[test]
    fn with_stale_signals_all_live_candidates_are_alike() {
        let mut routes = testbed();
        routes[0].is_alive = false;
        let decision = decide_stale(&routes, 5 + 3).expect("five candidates are alive");
        assert_eq!((decision.rule, decision.chosen), (Rule::Stale, 4));
    }

    prop_compose! {
        fn any_candidate()(path: u8, congestion: u8, is_alive: bool) -> Candidate {
            Candidate { path, congestion, is_alive, buckets: 1 }
        }
    }

    prop_compose! {
        fn any_config()(
            artifact: bool,
            alpha: u8,
            beta: u8,
            congested_threshold: u8,
            drop_threshold: u8,
            keep in prop::sample::select(Keep::ALL.as_slice()),
        ) -> LcmpConfig {
            LcmpConfig {
                preset: if artifact { Preset::Artifact } else { Preset::Paper },
                alpha,
                beta,
                congested_threshold,
                drop_threshold,
                keep,
                ..paper()
            }
        }
    }

    proptest! {
        #[test]
        fn only_live_and_kept_candidates_are_chosen(
            rows in prop::collection::vec(any_candidate(), 0..=MAX_CANDIDATES),
            hash: u32,
            config in any_config(),
        ) {
            let decision = decide(&rows, hash, &config);
            prop_assert_eq!(decision.is_some(), rows.iter().any(|row| row.is_alive));
            if let Some(decision) = decision {
                let scored = decision.candidates();
                prop_assert!(scored[decision.chosen].is_kept);
                prop_assert!(scored.iter().all(|row| !row.is_kept || row.candidate.is_alive));
                prop_assert_eq!(scored.len(), rows.len());
            }
        }

        #[test]
        fn the_hashes_are_spread_evenly_over_the_kept_candidates(
            rows in prop::collection::vec(any_candidate(), 1..=MAX_CANDIDATES),
            config in any_config(),
        ) {
            let first = decide(&rows, 0, &config);
            prop_assume!(first.is_some());
            let kept = kept(&first.expect("assumed"));
            let mut chosen: Vec<_> = (0..u32::try_from(kept.len()).expect("at most 16"))
                .map(|hash| decide(&rows, hash, &config).expect("a candidate is alive").chosen)
                .collect();
            chosen.sort_unstable();
            prop_assert_eq!(chosen, kept);
        }

        #[test]
        fn no_dropped_candidate_is_cheaper_than_a_kept_one(
            rows in prop::collection::vec(any_candidate(), 1..=MAX_CANDIDATES),
            hash: u32,
            config in any_config(),
        ) {
            let decision = decide(&rows, hash, &config);
            prop_assume!(decision.is_some());
            let decision = decision.expect("assumed");
            let costs = |is_kept: bool| {
                decision
                    .candidates()
                    .iter()
                    .filter(move |row| row.candidate.is_alive && row.is_kept == is_kept)
                    .map(|row| row.cost)
            };
            if let (Some(max_kept), Some(min_dropped)) = (costs(true).max(), costs(false).min()) {
                prop_assert!(max_kept <= min_dropped);
            }
        }

        #[test]
        fn a_dead_candidate_changes_no_decision(
            rows in prop::collection::vec(any_candidate(), 1..=MAX_CANDIDATES),
            hash: u32,
            config in any_config(),
        ) {
            let live: Vec<_> = rows.iter().copied().filter(|row| row.is_alive).collect();
            let [with, without] = [&rows, &live].map(|rows| {
                decide(rows, hash, &config)
                    .map(|decision| decision.candidates()[decision.chosen].candidate)
            });
            prop_assert_eq!(with, without);
        }
    }
}
