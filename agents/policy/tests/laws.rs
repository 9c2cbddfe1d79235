//! Properties that every policy has, tested with random candidates.

use std::collections::BTreeSet;

use lab_policy::{
    Candidate, Decision, LcmpConfig, MAX_CANDIDATES, Path, Preset, ecmp,
    lcmp::{self, Levels},
    legacy, ucmp_artifact, wcmp,
};
use lab_units::{BitsPerSec, Nanos};
use proptest::prelude::*;

fn rate(bps: u64) -> BitsPerSec {
    BitsPerSec::new(bps).expect("a rate above zero")
}

fn paper() -> LcmpConfig {
    LcmpConfig::paper(rate(200_000_000_000))
}

prop_compose! {
    fn any_candidate()(path: u8, congestion: u8, is_alive: bool, buckets in 0..20u16) -> Candidate {
        Candidate { path, congestion, is_alive, buckets }
    }
}

fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    prop::collection::vec(any_candidate(), 1..=MAX_CANDIDATES)
}

type Decide = fn(&[Candidate], u32) -> Option<Decision>;

const POLICIES: [(&str, Decide); 5] = [
    ("buckets", ecmp::decide),
    ("paper", |rows, hash| lcmp::decide(rows, hash, &paper())),
    ("artifact", |rows, hash| {
        lcmp::decide(rows, hash, &LcmpConfig::artifact())
    }),
    ("rm-alpha", |rows, hash| {
        lcmp::decide(
            rows,
            hash,
            &LcmpConfig {
                alpha: 0,
                ..paper()
            },
        )
    }),
    ("stale", lcmp::decide_stale),
];

/// Returns the kept candidates as indices into the table before its rotation by `shift`.
fn kept(decision: &Decision, shift: usize) -> BTreeSet<usize> {
    let rows = decision.candidates();
    let indices = (0..rows.len()).filter(|&index| rows[index].is_kept);
    indices.map(|index| (index + shift) % rows.len()).collect()
}

proptest! {
    #[test]
    fn a_live_candidate_is_chosen_if_there_is_one(rows in candidates(), hash: u32) {
        for (name, decide) in POLICIES {
            let decision = decide(&rows, hash);
            prop_assert_eq!(decision.is_some(), rows.iter().any(|row| row.is_alive), "{}", name);
            if let Some(decision) = decision {
                prop_assert!(rows[decision.chosen].is_alive, "{name}");
                prop_assert!(decision.candidates()[decision.chosen].is_kept, "{name}");
                prop_assert_eq!(decide(&rows, hash), Some(decision), "{}: equal inputs", name);
            }
        }
        let alive = rows.iter().filter(|row| row.is_alive).count();
        let index = legacy::hash_threshold(alive, hash);
        prop_assert_eq!(index.is_some(), alive > 0);
        prop_assert!(index.is_none_or(|index| index < alive));
    }

    /// The order of the table only decides which kept candidate the hash selects and, in the preset `artifact`, which
    /// of several equally cheap candidates is dropped.
    #[test]
    fn the_kept_candidates_do_not_depend_on_the_order(rows in candidates(), hash: u32, shift: usize) {
        let shift = shift % rows.len();
        let mut turned = rows.clone();
        turned.rotate_left(shift);
        for (name, decide) in POLICIES {
            let costs: BTreeSet<_> = rows.iter().map(|row| (row.path, row.congestion)).collect();
            if name == "artifact" && costs.len() < rows.len() {
                continue;
            }
            let (Some(before), Some(after)) = (decide(&rows, hash), decide(&turned, hash)) else {
                continue;
            };
            let costs: BTreeSet<_> = before.candidates().iter().map(|row| row.cost).collect();
            if matches!(name, "artifact" | "paper" | "rm-alpha") && costs.len() < rows.len() {
                // When all ports are congested, only the first of equally cheap candidates is kept, as documented.
                continue;
            }
            prop_assert_eq!(kept(&before, 0), kept(&after, shift), "{}", name);
        }
    }

    #[test]
    fn costs_stay_in_their_range(rows in candidates(), hash: u32, alpha: u8, beta: u8) {
        for config in [paper(), LcmpConfig::artifact()] {
            let config = LcmpConfig { alpha, beta, ..config };
            let max = match config.preset {
                Preset::Paper => 255 * (u32::from(alpha) + u32::from(beta)),
                Preset::Artifact => 255,
            };
            if let Some(decision) = lcmp::decide(&rows, hash, &config) {
                prop_assert!(decision.candidates().iter().all(|row| row.cost <= max));
            }
        }
    }

    #[test]
    fn congestion_is_monotone_in_each_signal(
        queue: u8, trend: u8, duration: u8,
        more in prop::array::uniform3(any::<u8>()),
    ) {
        let less = Levels::fuse(queue, trend, duration, &paper()).congestion;
        let [q, t, d] = more;
        let raised = Levels::fuse(queue.max(q), trend.max(t), duration.max(d), &paper());
        prop_assert!(less <= raised.congestion);
    }

    #[test]
    fn a_dropped_candidate_that_gets_worse_stays_dropped(
        rows in candidates(), hash: u32, path: u8, congestion: u8,
    ) {
        let mut worse = rows.clone();
        worse[0].path = worse[0].path.max(path);
        worse[0].congestion = worse[0].congestion.max(congestion);
        let config = LcmpConfig { congested_threshold: 255, ..paper() };
        let is_kept = |rows: &[Candidate]| {
            lcmp::decide(rows, hash, &config).map(|decision| decision.candidates()[0].is_kept)
        };
        let highly = |rows: &[Candidate]| rows.iter().all(|row| !row.is_alive || row.congestion == 255);
        prop_assume!(!highly(&rows) && !highly(&worse));
        prop_assert!(is_kept(&worse) <= is_kept(&rows));
    }

    #[test]
    fn buckets_belong_to_next_hops_and_not_to_indices(
        capacities in prop::collection::vec(1..=1_000u64, 1..=MAX_CANDIDATES),
        shift: usize,
    ) {
        let shift = shift % capacities.len();
        let path = |&bps: &u64| Path {
            delay: Nanos::from_millis(10),
            capacity: rate(bps),
            link_rate: rate(bps),
            hops: 2,
        };
        let paths: Vec<Path> = capacities.iter().map(path).collect();
        let mut turned = paths.clone();
        turned.rotate_left(shift);
        let wide = (ucmp_artifact::buckets(&paths), ucmp_artifact::buckets(&turned));
        let weighted = (wcmp::buckets(&paths), wcmp::buckets(&turned));
        for index in 0..paths.len() {
            let other = (index + paths.len() - shift) % paths.len();
            prop_assert_eq!(wide.0[index], wide.1[other]);
            // Of weights with equal remainders, the first gets the extra bucket, as documented.
            prop_assert!(weighted.0[index].abs_diff(weighted.1[other]) <= 1);
        }
        prop_assert_eq!(weighted.0.iter().sum::<u16>(), weighted.1.iter().sum::<u16>());
    }
}
