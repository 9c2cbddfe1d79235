//! Declaration of a built-in policy: its names in scenarios, and the mechanism that decides for a flow.
//!
//! A policy is declared in one row beside its law, and listed in [`POLICIES`](crate::POLICIES). Other crates match on
//! the mechanism alone, so a new bucket policy, a function from paths to buckets, needs no change in them.

use lab_abi::rows::MAX_CANDIDATES;
use lab_parameters::Value;

use crate::candidate::Path;

/// Built-in policy, as scenarios name it.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Word in a scenario, for the policy with its default parameters.
    pub word: &'static str,
    /// Key in a scenario, for the policy with parameters; `None` if the word stands for another policy with one
    /// parameter set.
    pub key: Option<&'static str>,
    /// Description in sentences. The JSON Schema shows it, with its line breaks, if the policy has a key.
    pub doc: &'static str,
    /// Parameter that the policy fixes, and its value.
    pub sets: Option<(&'static str, Value)>,
    /// Mechanism that decides for a flow.
    pub mechanism: Mechanism,
}

impl Policy {
    /// Returns the row of a bucket policy.
    #[must_use]
    pub const fn buckets(policy: &'static BucketPolicy) -> Self {
        Self {
            word: policy.name,
            key: Some(policy.name),
            doc: policy.doc,
            sets: None,
            mechanism: Mechanism::Buckets(policy),
        }
    }
}

/// Mechanism that decides for a flow; it also determines the kind of a policy's parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mechanism {
    /// Flow hash over buckets that follow from the paths alone; no parameters.
    Buckets(&'static BucketPolicy),
    /// Flow hash over the paths of minimum uniform cost for the bytes sent ([`crate::ucmp`]).
    UniformCost,
    /// Flow hash over buckets that a traffic-engineering controller installs ([`crate::te`]).
    Splits,
    /// Scores of path and congestion ([`crate::lcmp`]).
    Scores,
}

/// Function from paths to each path's number of buckets, in the same order.
pub type BucketLaw = fn(&[Path]) -> [u16; MAX_CANDIDATES];

/// Flow hash over buckets that follow from the paths alone.
#[derive(Clone, Copy, Debug)]
pub struct BucketPolicy {
    /// Name in scenarios, plans and records.
    pub name: &'static str,
    /// Description in sentences, for the JSON Schema.
    pub doc: &'static str,
    /// Description in a few words, for the plan's table.
    pub about: &'static str,
    /// Law that gives each path its buckets; `None` if every path has one bucket, whatever the rates and delays of
    /// its links.
    pub law: Option<BucketLaw>,
}

impl BucketPolicy {
    /// Returns the policy of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        crate::POLICIES.iter().find_map(|row| match row.mechanism {
            Mechanism::Buckets(policy) => (policy.name == name).then_some(policy),
            Mechanism::UniformCost | Mechanism::Splits | Mechanism::Scores => None,
        })
    }
}

/// Compares names, which are unique.
impl PartialEq for BucketPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for BucketPolicy {}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, format, vec::Vec};

    use super::*;
    use crate::{POLICIES, candidate::tests::path};

    #[test]
    fn words_and_keys_differ_and_are_names() {
        let words: BTreeSet<_> = POLICIES.iter().map(|policy| policy.word).collect();
        assert_eq!(words.len(), POLICIES.len());
        let keys: Vec<_> = POLICIES.iter().filter_map(|policy| policy.key).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        for word in words.into_iter().chain(keys) {
            assert!(!word.is_empty() && word.chars().all(is_name), "{word}");
            // User-defined policies have these keys.
            assert!(!["own", "ebpf"].contains(&word));
        }
    }

    #[test]
    fn only_bucket_policies_are_found_by_name() {
        for row in POLICIES {
            let found = BucketPolicy::find(row.word).map(Mechanism::Buckets);
            let expected = matches!(row.mechanism, Mechanism::Buckets(_)).then_some(row.mechanism);
            assert_eq!(found, expected, "{}", row.word);
        }
        assert_eq!(BucketPolicy::find("own"), None);
    }

    /// A switch has a next hop for every destination, so some path has a bucket.
    #[test]
    fn every_law_gives_some_path_a_bucket_and_none_past_the_last_path() {
        let paths = [(10, 40), (20, 100), (50, 200), (0, 1)].map(|(ms, gbit)| path(ms, gbit));
        for row in POLICIES {
            let Mechanism::Buckets(BucketPolicy { law: Some(law), .. }) = row.mechanism else {
                continue;
            };
            for count in 0..=paths.len() {
                let buckets = law(&paths[..count]);
                let (own, past) = buckets.split_at(count);
                let words = format!("{}: {buckets:?}", row.word);
                assert_eq!(own.iter().any(|&n| n > 0), count > 0, "{words}");
                assert!(past.iter().all(|&n| n == 0), "{words}");
            }
        }
    }
}
