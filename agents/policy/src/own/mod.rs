//! User-defined policies, compiled in.
//!
//! 1. Copy `template.rs`, for example to `mine.rs`, rename the type, change the result of [`OwnPolicy::name`],
//!    and write [`OwnPolicy::choose`].
//! 2. Add `mod mine;` below and the policy to [`ALL`].
//! 3. Name the policy in a scenario: `policies: [ecmp, { own: { name: mine } }]`, and simulate.
//!
//! The switch calls the policy once per flow with the live next hops, and pins the flow until its port dies. A policy
//! is a pure function of its arguments: no clock, no randomness, no memory. Its result is checked, so a policy cannot
//! choose a dead port.
//!
//! - [`delay_only`][]: the next hop with the lowest delay
//! - [`two_choice`][]: the shorter of two queues that the hash selects (DRILL)
//! - `template`: the policy to copy

pub mod delay_only;
mod policy;
mod template;
pub mod two_choice;

use lab_abi::{Rule, rows::MAX_CANDIDATES};

use crate::{
    candidate::{Candidate, Decision, unscored},
    ecmp,
};
pub use policy::{NextHop, OwnPolicy};

/// User-defined policies that scenarios can name.
pub const ALL: &[&dyn OwnPolicy] = &[
    &delay_only::DelayOnly,
    &two_choice::TwoChoice,
    &template::Template,
];

/// Returns the user-defined policy called `name`; `None` if there is no such policy.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn OwnPolicy> {
    ALL.iter().copied().find(|policy| policy.name() == name)
}

/// Returns the decision of `policy` for a flow whose hash is `hash`; `None` if no candidate is alive.
///
/// `next_hops` describe the `candidates`, in the same order.
#[must_use]
pub fn decide(
    policy: &dyn OwnPolicy,
    candidates: &[Candidate],
    next_hops: &[NextHop],
    hash: u32,
) -> Option<Decision> {
    let (mut scored, count) = unscored(candidates);
    let mut live = candidates
        .iter()
        .zip(next_hops)
        .take(count)
        .enumerate()
        .filter(|(_, (candidate, _))| candidate.is_alive);
    let (index, (_, &next_hop)) = live.next()?;
    let mut indices = [index; MAX_CANDIDATES];
    let mut seen = [next_hop; MAX_CANDIDATES];
    let mut alive = 1;
    for (index, (_, &next_hop)) in live {
        (indices[alive], seen[alive]) = (index, next_hop);
        alive += 1;
    }
    let chosen = policy.choose(&seen[..alive], hash);
    let Some(&chosen) = indices[..alive].get(chosen) else {
        return ecmp::decide_alike(candidates, hash, Rule::HashAll);
    };
    scored[chosen].is_kept = true;
    Some(Decision::new(chosen, Rule::Scored, scored, count))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::vec::Vec;

    use lab_units::{BitsPerSec, Bytes, Nanos};
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn next_hop(delay_ms: u64, gbit: u64, queue: u64) -> NextHop {
        let rate = BitsPerSec::new(gbit * 1_000_000_000).expect("a rate above zero");
        NextHop {
            delay: Nanos::from_millis(delay_ms),
            capacity: rate,
            link_rate: rate,
            queue: Bytes::new(queue),
        }
    }

    pub(crate) fn candidate(is_alive: bool) -> Candidate {
        Candidate {
            path: 0,
            congestion: 0,
            is_alive,
            buckets: 1,
        }
    }

    /// Policy that always returns an index past the last next hop.
    #[derive(Debug)]
    struct PastTheEnd;

    impl OwnPolicy for PastTheEnd {
        fn name(&self) -> &'static str {
            "past-the-end"
        }

        fn about(&self) -> &'static str {
            "no choice"
        }

        fn choose(&self, next_hops: &[NextHop], _: u32) -> usize {
            next_hops.len()
        }
    }

    #[test]
    fn every_policy_has_a_name_of_its_own() {
        for (index, policy) in ALL.iter().enumerate() {
            let name = policy.name();
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(!name.is_empty() && name.chars().all(is_word), "{name}");
            assert!(!policy.about().is_empty(), "{name}");
            let found = ALL.iter().position(|other| other.name() == name);
            assert_eq!(found, Some(index), "{name}");
            assert!(find(name).is_some());
        }
        assert!(find("ecmp").is_none());
    }

    #[test]
    fn a_choice_past_the_end_is_a_hash_over_all_live_candidates() {
        let candidates = [candidate(true), candidate(false), candidate(true)];
        let next_hops = [next_hop(1, 1, 0); 3];
        let decision =
            decide(&PastTheEnd, &candidates, &next_hops, 1).expect("two candidates are alive");
        assert_eq!((decision.rule, decision.chosen), (Rule::HashAll, 2));
        assert!(decision.rule.is_fallback());
    }

    proptest! {
        #[test]
        fn the_chosen_port_is_alive_whatever_the_policy_returns(
            alive in prop::collection::vec(any::<bool>(), 0..=MAX_CANDIDATES),
            queues in prop::collection::vec(0..1_000_000_000u64, MAX_CANDIDATES),
            hash: u32,
        ) {
            let candidates: Vec<_> = alive.iter().map(|&alive| candidate(alive)).collect();
            let next_hops: Vec<_> = queues
                .iter()
                .map(|&queue| next_hop(1, 100, queue))
                .take(alive.len())
                .collect();
            for policy in ALL.iter().copied().chain([&PastTheEnd as &dyn OwnPolicy]) {
                let decision = decide(policy, &candidates, &next_hops, hash);
                prop_assert_eq!(decision.is_some(), alive.contains(&true), "{}", policy.name());
                if let Some(decision) = decision {
                    prop_assert!(alive[decision.chosen], "{}", policy.name());
                    prop_assert!(decision.candidates()[decision.chosen].is_kept);
                    prop_assert_eq!(
                        decide(policy, &candidates, &next_hops, hash), Some(decision),
                        "equal inputs, equal outputs"
                    );
                }
            }
        }
    }
}
