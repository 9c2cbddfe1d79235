//! Policies, as written.

use lab_parameters::{LcmpConfig, TeConfig, UcmpConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Parameters;
use crate::{
    limits,
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
    pub ucmp: Maybe<Parameters<UcmpConfig>>,
    /// 5-tuple hash over the candidates of the widest first link, which is UCMP in the code of
    /// LCMP's authors; it has no parameters.
    #[serde(default, rename = "ucmp-artifact")]
    pub ucmp_artifact: Maybe<NoParameters>,
    /// Centralised traffic engineering: at the end of every interval the split that minimises the
    /// largest link utilisation is computed from the demands, and installed an interval later.
    #[serde(default)]
    pub te: Maybe<Parameters<TeConfig>>,
    /// Long-haul cost-aware multi-path routing.
    #[serde(default)]
    pub lcmp: Maybe<Parameters<LcmpConfig>>,
    /// LCMP without path quality: `alpha` is 0.
    #[serde(default, rename = "rm-alpha")]
    pub rm_alpha: Maybe<Parameters<LcmpConfig>>,
    /// LCMP without congestion: `beta` is 0.
    #[serde(default, rename = "rm-beta")]
    pub rm_beta: Maybe<Parameters<LcmpConfig>>,
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
