//! ECMP (RFC 2992), and the hash over buckets that all bucket policies share.
//!
//! A bucket table maps each hash value to a next hop. Because flows are pinned, only the number of a next hop's
//! buckets matters, not their positions. So a table is stored as one count per next hop, [`Candidate::buckets`]. ECMP
//! is the table with one bucket per next hop.

use lab_abi::Rule;

use crate::{
    candidate::{Candidate, Decision, unscored},
    policy::BucketPolicy,
};

/// ECMP: one bucket for each path.
pub const POLICY: BucketPolicy = BucketPolicy {
    name: "ecmp",
    doc: "5-tuple hash over all candidates; no parameters.",
    about: "5-tuple hash over all candidates",
    law: None,
};

/// Returns the live candidate that owns the bucket selected by `hash`; `None` if no candidate is alive.
///
/// If no live candidate has buckets, each live candidate counts as having one. This happens when all ports with buckets
/// in a weighted table are dead and new weights have not arrived yet.
#[must_use]
pub fn decide(candidates: &[Candidate], hash: u32) -> Option<Decision> {
    let buckets = |candidate: &Candidate| u32::from(candidate.buckets);
    by_buckets(candidates, hash, Rule::Hash, buckets)
        .or_else(|| decide_alike(candidates, hash, Rule::HashAll))
}

/// Returns the candidate that the hash selects if all live candidates have equal weight; the decision is recorded as
/// `rule`.
pub(crate) fn decide_alike(candidates: &[Candidate], hash: u32, rule: Rule) -> Option<Decision> {
    by_buckets(candidates, hash, rule, |_| 1)
}

fn by_buckets(
    candidates: &[Candidate],
    hash: u32,
    rule: Rule,
    buckets: impl Fn(&Candidate) -> u32,
) -> Option<Decision> {
    let (mut scored, count) = unscored(candidates);
    let live = |candidate: &Candidate| {
        if candidate.is_alive {
            buckets(candidate)
        } else {
            0
        }
    };
    let total: u32 = scored.iter().map(|row| live(&row.candidate)).sum();
    let mut bucket = hash.checked_rem(total)?;
    let mut chosen = None;
    for (index, row) in scored.iter_mut().enumerate() {
        let share = live(&row.candidate);
        row.is_kept = share > 0;
        if chosen.is_none() && bucket < share {
            chosen = Some(index);
        }
        bucket = bucket.saturating_sub(share);
    }
    Some(Decision::new(chosen?, rule, scored, count))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn candidates(buckets: &[u16]) -> Vec<Candidate> {
        let candidate = |&buckets: &u16| Candidate {
            path: 0,
            congestion: 0,
            is_alive: true,
            buckets,
        };
        buckets.iter().map(candidate).collect()
    }

    fn chosen(candidates: &[Candidate], hash: u32) -> Option<usize> {
        decide(candidates, hash).map(|decision| decision.chosen)
    }

    #[test]
    fn ecmp_is_the_hash_modulo_the_live_candidates() {
        let mut six = candidates(&[1; 6]);
        assert_eq!(chosen(&six, 6 * 7 + 4), Some(4));
        six[1].is_alive = false;
        // The live candidates are 0, 2, 3, 4 and 5.
        let all: Vec<_> = (0..5).map(|hash| chosen(&six, hash)).collect();
        assert_eq!(all, [Some(0), Some(2), Some(3), Some(4), Some(5)]);
    }

    #[test]
    fn a_next_hop_owns_as_many_hashes_as_buckets() {
        let weighted = candidates(&[3, 0, 2]);
        let all: Vec<_> = (0..5).map(|hash| chosen(&weighted, hash)).collect();
        assert_eq!(all, [Some(0), Some(0), Some(0), Some(2), Some(2)]);
    }

    #[test]
    fn without_a_live_candidate_there_is_no_decision() {
        assert_eq!(decide(&[], 1), None);
        let mut one = candidates(&[1]);
        one[0].is_alive = false;
        assert_eq!(decide(&one, 1), None);
    }

    #[test]
    fn a_table_of_dead_ports_is_a_hash_over_all_live_candidates() {
        let mut weighted = candidates(&[3, 0, 0]);
        let first = decide(&weighted, 7).map(|decision| (decision.chosen, decision.rule));
        assert_eq!(first, Some((0, Rule::Hash)));
        weighted[0].is_alive = false;
        let chosen: Vec<_> = (0..3)
            .filter_map(|hash| decide(&weighted, hash))
            .map(|decision| (decision.chosen, decision.rule))
            .collect();
        let all = Rule::HashAll;
        assert_eq!(chosen, [(1, all), (2, all), (1, all)]);
        weighted[1].is_alive = false;
        weighted[2].is_alive = false;
        assert_eq!(decide(&weighted, 7), None);
    }

    proptest! {
        #[test]
        fn every_live_bucket_is_hit_once_in_a_round(
            buckets in prop::collection::vec((0..20u16, any::<bool>()), 1..=crate::MAX_CANDIDATES),
        ) {
            let rows: Vec<_> = buckets
                .iter()
                .map(|&(buckets, is_alive)| Candidate { path: 0, congestion: 0, is_alive, buckets })
                .collect();
            let shares: Vec<u32> = buckets
                .iter()
                .map(|&(buckets, is_alive)| if is_alive { u32::from(buckets) } else { 0 })
                .collect();
            let total: u32 = shares.iter().sum();
            let mut hits = [0; crate::MAX_CANDIDATES];
            for hash in 0..total {
                hits[chosen(&rows, hash).expect("some bucket is alive")] += 1;
            }
            prop_assert_eq!(&hits[..shares.len()], &shares[..]);
        }
    }
}
