//! Policies, as written.

use lab_units::{BitsPerSec, Nanos};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    limits,
    model::LcmpPreset,
    yaml::{Maybe, Scalar, Text, scalar::words},
};

/// A policy with parameters: one of its keys.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Policy {
    /// 5-tuple hash over all candidates; it has no parameters.
    #[serde(default)]
    pub ecmp: Maybe<NoParameters>,
    /// Long-haul cost-aware multi-path routing.
    #[serde(default)]
    pub lcmp: Maybe<Lcmp>,
}

/// The parameters of a policy that has none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// A policy as it is, without parameters.
#[derive(Clone, Copy, Debug)]
pub enum PolicyName {
    /// 5-tuple hash over all candidates.
    Ecmp,
    /// Long-haul cost-aware multi-path routing.
    Lcmp,
}

words! {
    PolicyName: "`ecmp`, `lcmp`, or `lcmp: {…}` with parameters" {
        "ecmp" => Self::Ecmp,
        "lcmp" => Self::Lcmp,
    }
}

/// LCMP's parameters; those left out keep the preset's value. Times and rates are paper units.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lcmp {
    /// Where unset parameters come from: `paper`, what the paper says; `artifact`, what its
    /// authors' code does.
    #[serde(default)]
    #[schemars(extend("default" = LcmpPreset::default()))]
    pub preset: Maybe<Text<LcmpPreset>>,
    /// Shown instead of `lcmp` in records and plots, to tell variants apart.
    #[serde(default)]
    #[schemars(pattern(r"^[a-z0-9][a-z0-9-]*$"), length(max = limits::MAX_LABEL))]
    pub label: Maybe<Text<String>>,
    /// Weight of path quality in the cost (Eq. 1).
    #[serde(default)]
    pub alpha: Maybe<Text<u8>>,
    /// Weight of congestion in the cost (Eq. 1).
    #[serde(default)]
    pub beta: Maybe<Text<u8>>,
    /// Weight of delay in path quality (Eq. 2).
    #[serde(default)]
    pub w_dl: Maybe<Text<u8>>,
    /// Weight of link capacity in path quality (Eq. 2).
    #[serde(default)]
    pub w_lc: Maybe<Text<u8>>,
    /// Weight of the queue level in congestion (Eq. 5).
    #[serde(default)]
    pub w_ql: Maybe<Text<u8>>,
    /// Weight of the queue trend in congestion (Eq. 5).
    #[serde(default)]
    pub w_tl: Maybe<Text<u8>>,
    /// Weight of congestion persistence in congestion (Eq. 5).
    #[serde(default)]
    pub w_dp: Maybe<Text<u8>>,
    /// Delay from which the delay score is the worst: a power of two, of microseconds with the
    /// preset `paper`, of milliseconds with `artifact`. Candidates with longer delays all cost the
    /// same.
    #[serde(default)]
    pub max_delay: Maybe<Text<Nanos>>,
    /// Capacity that scores best.
    #[serde(default)]
    pub max_capacity: Maybe<Text<BitsPerSec>>,
    /// How often egress queues are sampled.
    #[serde(default)]
    pub sample_interval: Maybe<Text<Nanos>>,
    /// How often idle flow table entries are collected.
    #[serde(default)]
    pub gc_interval: Maybe<Text<Nanos>>,
    /// When a flow table entry is idle.
    #[serde(default)]
    pub idle_timeout: Maybe<Text<Nanos>>,
    /// Congestion score from which a path counts as highly congested.
    #[serde(default)]
    pub congested_threshold: Maybe<Text<u8>>,
}
