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
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Policy {
    /// 5-tuple hash over all candidates; no parameters.
    pub ecmp: Maybe<NoParameters>,
    /// 5-tuple hash over the candidates in proportion to their paths' capacity; no parameters.
    pub wcmp: Maybe<NoParameters>,
    /// 5-tuple hash over the candidates of minimum uniform cost: one-way delay, and a flow's use of
    /// its links. With `ageing: false` its label is `min-delay`.
    pub ucmp: Maybe<Parameters<UcmpConfig>>,
    /// 5-tuple hash over the candidates of the fastest first link, which is UCMP in the code of
    /// LCMP's authors; no parameters.
    #[serde(rename = "ucmp-artifact")]
    pub ucmp_artifact: Maybe<NoParameters>,
    /// Centralised traffic engineering: at the end of every interval the split that would have
    /// minimised the maximum link utilisation of that interval is computed from its demands, and
    /// installed an interval later.
    pub te: Maybe<Parameters<TeConfig>>,
    /// Long-haul cost-aware multi-path routing.
    pub lcmp: Maybe<Parameters<LcmpConfig>>,
    /// LCMP without the path cost: `alpha` is 0.
    #[serde(rename = "rm-alpha")]
    pub rm_alpha: Maybe<Parameters<LcmpConfig>>,
    /// LCMP without the congestion cost: `beta` is 0.
    #[serde(rename = "rm-beta")]
    pub rm_beta: Maybe<Parameters<LcmpConfig>>,
    /// User-defined policy, compiled in; run by the simulator alone.
    pub own: Maybe<Own>,
    /// User-defined switch program: path of an eBPF object, relative to the scenario. Its label is
    /// the file's name up to the first dot. Run by the kernel engine alone.
    pub ebpf: Maybe<Text<String>>,
}

/// Empty parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// Policy with its default parameters.
#[derive(Clone, Copy, Debug)]
pub enum PolicyName {
    Ecmp,
    Wcmp,
    Ucmp,
    MinDelay,
    UcmpArtifact,
    Te,
    Lcmp,
    RmAlpha,
    RmBeta,
}

words! {
    PolicyName: "`ecmp`, `wcmp`, `ucmp`, `min-delay`, `ucmp-artifact`, `te-100ms`, `lcmp`, `rm-alpha`, \
                 `rm-beta`, or one of them with parameters, like `lcmp: {…}`" {
        "ecmp" => Self::Ecmp,
        "wcmp" => Self::Wcmp,
        "ucmp" => Self::Ucmp,
        "min-delay" => Self::MinDelay,
        "ucmp-artifact" => Self::UcmpArtifact,
        "te-100ms" => Self::Te,
        "lcmp" => Self::Lcmp,
        "rm-alpha" => Self::RmAlpha,
        "rm-beta" => Self::RmBeta,
    }
}

/// User-defined policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// Name in the program.
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub name: Text<String>,
    /// Name in records and plots.
    #[serde(default)]
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub label: Maybe<Text<String>>,
}
