//! Policies of your own, compiled in.
//!
//! 1. Copy `template.rs` beside it, say to `mine.rs`, give the type and its [`OwnPolicy::name`] a
//!    name and write [`OwnPolicy::choose`].
//! 2. Add `mod mine;` below and the policy to [`ALL`].
//! 3. Name it in a scenario: `policies: [ecmp, { own: { name: mine } }]`, and simulate.
//!
//! The switch calls it once for each flow, with the next hops that are alive; the flow then stays
//! where it is put until that port dies. Like every policy it is a pure function of its arguments:
//! no clock, no randomness, no memory. What comes back is checked, so a policy cannot choose a dead
//! port.
//!
//! - [`delay_only`][]: the nearest next hop
//! - [`two_choice`][]: of two next hops that the hash names, the one with the shorter queue (DRILL)
//! - `template`: the one to copy

pub mod delay_only;
mod template;
pub mod two_choice;

use core::fmt;

use lab_abi::{Rule, rows::MAX_CANDIDATES};
use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::{
    candidate::{Candidate, Decision, unscored},
    ecmp,
};

/// What a policy of your own sees of a next hop; all of it in paper units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NextHop {
    /// One-way delay of the path behind it, from end to end.
    pub delay: Nanos,
    /// The least capacity on that path.
    pub capacity: BitsPerSec,
    /// The rate of its own link.
    pub link_rate: BitsPerSec,
    /// Bytes in the egress queue of its own link, now.
    pub queue: Bytes,
}

impl NextHop {
    /// How long the queue takes to drain, in whole nanoseconds.
    #[must_use]
    pub fn queueing_delay(&self) -> Nanos {
        let nanos = u128::from(self.queue.get()) * 8_000_000_000 / u128::from(self.link_rate.get());
        Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// A routing policy of your own.
pub trait OwnPolicy: fmt::Debug + Sync {
    /// How scenarios name it: lowercase letters, digits and dashes.
    fn name(&self) -> &'static str;

    /// What it does, in a few words, for the plan's table.
    fn about(&self) -> &'static str;

    /// The place of the chosen next hop among `next_hops`, which are those alive: at least one and
    /// at most [`MAX_CANDIDATES`], nearest first. `hash` is the flow's.
    ///
    /// A place past the end is no choice: the flow is then hashed over all, and counted as a
    /// fallback.
    fn choose(&self, next_hops: &[NextHop], hash: u32) -> usize;
}

/// The policies that scenarios can name.
pub const ALL: &[&dyn OwnPolicy] = &[
    &delay_only::DelayOnly,
    &two_choice::TwoChoice,
    &template::Template,
];

/// The policy of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn OwnPolicy> {
    ALL.iter().copied().find(|policy| policy.name() == name)
}

/// What `policy` decides for a flow of `hash`; `next_hops` are those of `candidates`, in their
/// order.
///
/// `None` when no candidate is alive.
#[must_use]
pub fn decide(
    policy: &dyn OwnPolicy,
    candidates: &[Candidate],
    next_hops: &[NextHop],
    hash: u32,
) -> Option<Decision> {
    let (mut scored, count) = unscored(candidates);
    let mut places = [0; MAX_CANDIDATES];
    let mut alive = 0;
    let mut seen: [Option<NextHop>; MAX_CANDIDATES] = [None; MAX_CANDIDATES];
    for (place, (candidate, next_hop)) in candidates.iter().zip(next_hops).take(count).enumerate() {
        if candidate.is_alive {
            places[alive] = place;
            seen[alive] = Some(*next_hop);
            alive += 1;
        }
    }
    let first = seen[0]?;
    let seen = seen.map(|next_hop| next_hop.unwrap_or(first));
    let chosen = policy.choose(&seen[..alive], hash);
    let Some(&chosen) = places[..alive].get(chosen) else {
        return ecmp::decide_alike(candidates, hash, Rule::HashAll);
    };
    scored[chosen].is_kept = true;
    Some(Decision::new(chosen, Rule::Scored, scored, count))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    pub(crate) fn next_hop(delay_ms: u64, gbit: u64, queue: u64) -> NextHop {
        let rate = BitsPerSec::new(gbit * 1_000_000_000).expect("not zero");
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

    /// Always past the end.
    #[derive(Debug)]
    struct Lost;

    impl OwnPolicy for Lost {
        fn name(&self) -> &'static str {
            "lost"
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
        for (place, policy) in ALL.iter().enumerate() {
            let name = policy.name();
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(!name.is_empty() && name.chars().all(is_word), "{name}");
            assert!(!policy.about().is_empty(), "{name}");
            let found = ALL.iter().position(|other| other.name() == name);
            assert_eq!(found, Some(place), "{name}");
            assert!(find(name).is_some());
        }
        assert!(find("ecmp").is_none());
    }

    #[test]
    fn a_choice_past_the_end_is_a_hash_over_all_alive() {
        let candidates = [candidate(true), candidate(false), candidate(true)];
        let next_hops = [next_hop(1, 1, 0); 3];
        let decision = decide(&Lost, &candidates, &next_hops, 1).expect("two are alive");
        assert_eq!((decision.rule, decision.chosen), (Rule::HashAll, 2));
        assert!(decision.rule.is_fallback());
    }

    proptest! {
        #[test]
        fn whatever_a_policy_says_the_port_is_alive(
            alive in prop::collection::vec(any::<bool>(), 0..=8),
            queues in prop::collection::vec(0..1_000_000_000u64, 8),
            hash: u32,
        ) {
            let candidates: Vec<_> = alive.iter().map(|&alive| candidate(alive)).collect();
            let next_hops: Vec<_> = queues
                .iter()
                .map(|&queue| next_hop(1, 100, queue))
                .take(alive.len())
                .collect();
            for policy in ALL.iter().copied().chain([&Lost as &dyn OwnPolicy]) {
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
