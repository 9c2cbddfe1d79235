//! Policy of a run.

use lab_parameters::{LcmpConfig, TeConfig, UcmpConfig};
use serde::{Deserialize, Serialize};

/// A policy and its parameters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyPlan {
    /// 5-tuple hash over all candidates.
    Ecmp,
    /// 5-tuple hash over the candidates in proportion to their paths' capacity.
    Wcmp,
    /// 5-tuple hash over the candidates of minimum uniform cost; minimum delay without flow ageing.
    Ucmp(UcmpConfig),
    /// 5-tuple hash over the candidates of the widest first link.
    UcmpArtifact,
    /// Centralised traffic engineering.
    Te(TeConfig),
    /// LCMP with resolved parameters.
    Lcmp(LcmpConfig),
    /// Compiled-in policy of the user's own, by name.
    Own(String),
    /// A switch program of the user's own.
    Ebpf(EbpfPlan),
}

/// A switch program of the user's own.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct EbpfPlan {
    /// The path of its object as written, relative to the scenario.
    pub object: String,
    /// Parameters of C_path and C_cong in its tables.
    pub parameters: LcmpConfig,
}

impl PolicyPlan {
    /// Returns LCMP's parameters under LCMP and under a switch program that has LCMP's tables.
    #[must_use]
    pub const fn lcmp(&self) -> Option<&LcmpConfig> {
        match self {
            Self::Lcmp(config) => Some(config),
            Self::Ebpf(plan) => Some(&plan.parameters),
            Self::Ecmp
            | Self::Wcmp
            | Self::Ucmp(_)
            | Self::UcmpArtifact
            | Self::Te(_)
            | Self::Own(_) => None,
        }
    }

    /// Returns the reason why the kernel engine cannot run the policy, if there is one.
    #[must_use]
    pub const fn not_in_kernel(&self) -> Option<&'static str> {
        match self {
            Self::Own(_) => Some("a policy that is compiled into this program runs in no switch"),
            Self::Ecmp
            | Self::Wcmp
            | Self::Ucmp(_)
            | Self::UcmpArtifact
            | Self::Te(_)
            | Self::Lcmp(_)
            | Self::Ebpf(_) => None,
        }
    }
}
