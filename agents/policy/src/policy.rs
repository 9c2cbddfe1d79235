//! Declaration of a built-in policy: its names in scenarios and the mechanism that makes its decisions.
//!
//! Each policy is declared as one constant next to its algorithm, and listed in [`POLICIES`](crate::POLICIES). Other
//! crates match only on the mechanism, so a new bucket policy, which is a function from paths to buckets, needs no
//! change in them.

use lab_abi::rows::MAX_CANDIDATES;
use lab_parameters::Value;
use lab_units::Trainer;

use crate::candidate::Path;

/// Built-in policy and its names in scenarios.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInPolicy {
    /// Word in a scenario that selects the policy with its default parameters.
    pub word: &'static str,
    /// Key in a scenario that introduces the policy's parameters; `None` if the word is shorthand for another policy
    /// with one parameter fixed.
    pub key: Option<&'static str>,
    /// Description in full sentences. If the policy has a key, the JSON Schema shows the description with its line
    /// breaks.
    pub doc: &'static str,
    /// Parameter that the shorthand fixes, and the fixed value; `None` if the word fixes no parameter.
    pub sets: Option<(&'static str, Value)>,
    /// Mechanism that makes the policy's decisions.
    pub mechanism: Mechanism,
}

impl BuiltInPolicy {
    /// Returns the declaration of a bucket policy.
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

/// Mechanism that makes a policy's decisions; it also determines the type of the policy's parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mechanism {
    /// Hash over buckets that depend only on the paths; no parameters.
    Buckets(&'static BucketPolicy),
    /// Hash over the paths of minimum uniform cost for the bytes sent so far ([`crate::ucmp`]).
    UniformCost,
    /// Hash over buckets that a traffic-engineering controller installs ([`crate::te`]).
    Splits,
    /// Hash over buckets that trained weights compute from a switch's own measurements ([`crate::redte`]).
    Trained(Trainer),
    /// LCMP's path and congestion scores ([`crate::lcmp`]).
    Scores,
}

/// Function that returns the number of buckets for each path, in the order of the paths.
pub type BucketLaw = fn(&[Path]) -> [u16; MAX_CANDIDATES];

/// Policy that hashes over buckets, which depend only on the paths.
#[derive(Clone, Copy, Debug)]
pub struct BucketPolicy {
    /// Name in scenarios, plans and records.
    pub name: &'static str,
    /// Description in full sentences, for the JSON Schema.
    pub doc: &'static str,
    /// Description in a few words, for the plan's table.
    pub about: &'static str,
    /// Function that computes the buckets of each path; `None` if every path has one bucket regardless of rates and
    /// delays.
    pub law: Option<BucketLaw>,
}

/// Compares only the names, because they are unique.
impl PartialEq for BucketPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for BucketPolicy {}
