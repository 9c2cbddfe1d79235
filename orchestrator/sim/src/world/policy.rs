//! How DCI switches decide.

use lab_plan::PolicyPlan;
use lab_policy::{LcmpConfig, OwnPolicy, UcmpConfig, own};

use crate::error::SimError;

/// How DCI switches decide.
#[derive(Clone, Debug)]
pub enum RunPolicy {
    /// The hash over buckets.
    Buckets,
    /// The hash over the buckets of UCMP, which change as a flow grows.
    Ageing(UcmpConfig),
    /// LCMP.
    Lcmp(LcmpConfig),
    /// The user's own.
    Own(&'static dyn OwnPolicy),
}

impl RunPolicy {
    pub(super) fn of(plan: &PolicyPlan) -> Result<Self, SimError> {
        Ok(match plan {
            PolicyPlan::Ucmp(config @ UcmpConfig { ageing: true, .. }) => Self::Ageing(*config),
            PolicyPlan::Ecmp
            | PolicyPlan::Wcmp
            | PolicyPlan::Ucmp(_)
            | PolicyPlan::UcmpArtifact
            | PolicyPlan::Te(_) => Self::Buckets,
            PolicyPlan::Lcmp(config) => Self::Lcmp(config.clone()),
            PolicyPlan::Ebpf(plan) => {
                let object = plan.object.clone();
                return Err(SimError::SwitchProgram { object });
            }
            PolicyPlan::Own(name) => Self::Own(
                own::find(name).ok_or_else(|| SimError::NoOwnPolicy { name: name.clone() })?,
            ),
        })
    }
}
