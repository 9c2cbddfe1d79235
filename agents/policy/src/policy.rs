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

/// Function from paths to their numbers of buckets, in the order of the paths.
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

/// Compares names, which are unique.
impl PartialEq for BucketPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for BucketPolicy {}
