//! Policies, as written.

use lab_units::{BitsPerSec, Nanos, Ratio};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    defaults, limits,
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
    /// 5-tuple hash over the candidates in proportion to their ways' capacity; it has no parameters.
    #[serde(default)]
    pub wcmp: Maybe<NoParameters>,
    /// 5-tuple hash over the candidates of least uniform cost: one-way delay, and what a flow takes
    /// of its links.
    #[serde(default)]
    pub ucmp: Maybe<Ucmp>,
    /// 5-tuple hash over the candidates of the widest first link, which is UCMP in the code of
    /// LCMP's authors; it has no parameters.
    #[serde(default, rename = "ucmp-artifact")]
    pub ucmp_artifact: Maybe<NoParameters>,
    /// Centralised traffic engineering: at the end of every interval the split that minimises the
    /// largest link utilisation is computed from the demands, and installed an interval later.
    #[serde(default)]
    pub te: Maybe<Te>,
    /// Long-haul cost-aware multi-path routing.
    #[serde(default)]
    pub lcmp: Maybe<Lcmp>,
    /// LCMP without path quality: `alpha` is 0.
    #[serde(default, rename = "rm-alpha")]
    pub rm_alpha: Maybe<Lcmp>,
    /// LCMP without congestion: `beta` is 0.
    #[serde(default, rename = "rm-beta")]
    pub rm_beta: Maybe<Lcmp>,
    /// A policy of your own, compiled in; the simulator runs it.
    #[serde(default)]
    pub own: Maybe<Own>,
    /// A switch program of your own, as an eBPF object: its path, relative to the scenario. It is
    /// shown by its file's name up to the first dot; switches run it, the simulator does not.
    #[serde(default)]
    pub ebpf: Maybe<Text<String>>,
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
    /// 5-tuple hash in proportion to capacity.
    Wcmp,
    /// 5-tuple hash over the least uniform cost.
    Ucmp,
    /// 5-tuple hash over the widest first links.
    UcmpArtifact,
    /// Centralised traffic engineering every 100 ms.
    Te,
    /// Long-haul cost-aware multi-path routing.
    Lcmp,
    /// The same without path quality.
    RmAlpha,
    /// The same without congestion.
    RmBeta,
}

words! {
    PolicyName: "`ecmp`, `wcmp`, `ucmp`, `ucmp-artifact`, `te-100ms`, `lcmp`, `rm-alpha`, `rm-beta`, \
                 or one of them with parameters, like `lcmp: {…}`" {
        "ecmp" => Self::Ecmp,
        "wcmp" => Self::Wcmp,
        "ucmp" => Self::Ucmp,
        "ucmp-artifact" => Self::UcmpArtifact,
        "te-100ms" => Self::Te,
        "lcmp" => Self::Lcmp,
        "rm-alpha" => Self::RmAlpha,
        "rm-beta" => Self::RmBeta,
    }
}

/// The parameters of UCMP's uniform cost; the time is a paper unit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ucmp {
    /// Shown instead of `ucmp` in records and plots, to tell variants apart.
    #[serde(default)]
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub label: Maybe<Text<String>>,
    /// Weight of what a flow takes of its links against delay, in steps of 0.01, at most 10.
    #[serde(default)]
    #[schemars(extend("default" = "0.5"))]
    pub alpha: Maybe<Text<Ratio>>,
    /// Costs that differ by no more than this are alike, and hashed over.
    #[serde(default)]
    #[schemars(extend("default" = defaults::UCMP_QUANTUM.to_string()))]
    pub quantum: Maybe<Text<Nanos>>,
    /// Flows that have grown are moved to what is cheapest for what they have sent. Without it a
    /// flow stays where its first packet was sent, for which delay alone counts.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub ageing: Maybe<Text<bool>>,
}

/// The parameters of centralised traffic engineering.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Te {
    /// Shown instead of `te-` and the interval in records and plots.
    #[serde(default)]
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub label: Maybe<Text<String>>,
    /// Time over which demands are measured, and after which their split is installed; paper time.
    #[serde(default)]
    #[schemars(extend("default" = defaults::TE_INTERVAL.to_string()))]
    pub interval: Maybe<Text<Nanos>>,
    /// Hash buckets that a destination's next hops share.
    #[serde(default)]
    #[schemars(extend("default" = defaults::TE_BUCKETS, "minimum" = 1, "maximum" = limits::MAX_TE_BUCKETS))]
    pub buckets: Maybe<Text<u16>>,
}

/// A policy of your own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// The name it has in the program.
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub name: Text<String>,
    /// Shown instead of its name in records and plots.
    #[serde(default)]
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub label: Maybe<Text<String>>,
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
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
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
    /// Right shift of path quality (Eq. 2): the weighted sum is divided by 2^`s_path`.
    #[serde(default)]
    #[schemars(extend("maximum" = limits::MAX_SCORE_SHIFT))]
    pub s_path: Maybe<Text<u8>>,
    /// Weight of the queue level in congestion (Eq. 5).
    #[serde(default)]
    pub w_ql: Maybe<Text<u8>>,
    /// Weight of the queue trend in congestion (Eq. 5).
    #[serde(default)]
    pub w_tl: Maybe<Text<u8>>,
    /// Weight of congestion persistence in congestion (Eq. 5).
    #[serde(default)]
    pub w_dp: Maybe<Text<u8>>,
    /// Right shift of congestion (Eq. 5): the weighted sum is divided by 2^`s_cong`.
    #[serde(default)]
    #[schemars(extend("maximum" = limits::MAX_SCORE_SHIFT))]
    pub s_cong: Maybe<Text<u8>>,
    /// Delay from which the delay score is the worst: a power of two, of microseconds with the
    /// preset `paper`, of milliseconds with `artifact`. Candidates with longer delays all cost the
    /// same.
    #[serde(default)]
    pub max_delay: Maybe<Text<Nanos>>,
    /// Capacity that scores best.
    #[serde(default)]
    pub max_capacity: Maybe<Text<BitsPerSec>>,
    /// How slowly the queue trend forgets: 2^-`trend_shift` of it goes with each sample.
    #[serde(default)]
    #[schemars(extend("maximum" = limits::MAX_STATE_SHIFT))]
    pub trend_shift: Maybe<Text<u8>>,
    /// How slowly congestion becomes persistent: its level is the count of samples at or above
    /// `high_water`, divided by 2^`duration_shift`.
    #[serde(default)]
    #[schemars(extend("maximum" = limits::MAX_STATE_SHIFT))]
    pub duration_shift: Maybe<Text<u8>>,
    /// Queue level from which a sample is counted as congested; above `low_water`.
    #[serde(default)]
    #[schemars(extend("default" = defaults::HIGH_WATER, "minimum" = 1))]
    pub high_water: Maybe<Text<u8>>,
    /// Queue level up to which one is counted off again; below `high_water`.
    #[serde(default)]
    #[schemars(extend("default" = defaults::LOW_WATER, "maximum" = u8::MAX - 1))]
    pub low_water: Maybe<Text<u8>>,
    /// How often egress queues are sampled.
    #[serde(default)]
    pub sample_interval: Maybe<Text<Nanos>>,
    /// How often idle flow table entries are collected.
    #[serde(default)]
    pub gc_interval: Maybe<Text<Nanos>>,
    /// When a flow table entry is idle.
    #[serde(default)]
    pub idle_timeout: Maybe<Text<Nanos>>,
    /// Flows that a switch remembers; beyond them the one seen longest ago is forgotten.
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FLOW_TABLE_ENTRIES))]
    pub flow_table_entries: Maybe<Text<u32>>,
    /// Congestion score from which a path counts as highly congested; the preset `artifact` has no
    /// such rule.
    #[serde(default)]
    pub congested_threshold: Maybe<Text<u8>>,
    /// Cost from which a candidate is dropped; the preset `paper` has no such rule.
    #[serde(default)]
    pub drop_threshold: Maybe<Text<u8>>,
}
