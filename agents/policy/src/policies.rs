//! Built-in policies by name.

use crate::{
    POLICIES,
    policy::{BucketPolicy, Mechanism},
};

impl BucketPolicy {
    /// Returns the bucket policy called `name`; `None` if there is no such policy.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        POLICIES.iter().find_map(|row| match row.mechanism {
            Mechanism::Buckets(policy) => (policy.name == name).then_some(policy),
            Mechanism::UniformCost
            | Mechanism::Splits
            | Mechanism::Trained(_)
            | Mechanism::Scores => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, format, vec::Vec};

    use super::*;
    use crate::candidate::tests::path;

    #[test]
    fn words_and_keys_differ_and_are_names() {
        let words: BTreeSet<_> = POLICIES.iter().map(|policy| policy.word).collect();
        assert_eq!(words.len(), POLICIES.len());
        let keys: Vec<_> = POLICIES.iter().filter_map(|policy| policy.key).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        for word in words.into_iter().chain(keys) {
            assert!(!word.is_empty() && word.chars().all(is_name), "{word}");
            // These keys in a scenario introduce user-defined policies.
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

    /// A switch has a next hop for every destination, so at least one path must have a bucket.
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
