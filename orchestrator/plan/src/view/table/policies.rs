//! Descriptions of policies and their parameters.

use lab_parameters::Preset;
use lab_policy::{OwnPolicy, own};
use lab_units::show::paragraph;

use crate::{
    model::{Plan, PolicyPlan},
    parameters::{departures, list},
};

pub(super) fn section(plan: &Plan) -> String {
    let mut text = "Policies\n".to_owned();
    let width = plan
        .policies
        .iter()
        .map(|run| run.label.chars().count())
        .max()
        .unwrap_or(0);
    for run in &plan.policies {
        let words = describe(&run.policy);
        text.push_str(&paragraph(&format!("  {:width$}  ", run.label), &words));
    }
    text
}

/// Returns a description of a policy and its parameters, for tables.
pub(crate) fn describe(policy: &PolicyPlan) -> String {
    match policy {
        PolicyPlan::Buckets(policy) => policy.about.to_owned(),
        PolicyPlan::Ucmp(config) => format!(
            "5-tuple hash over the minimum of delay + alpha · links · size / capacity; {}",
            list(config, Preset::Paper),
        ),
        PolicyPlan::Te(config) => format!(
            "5-tuple hash over the buckets that would have minimised the maximum link utilisation two \
             intervals ago; {}",
            list(config, Preset::Paper),
        ),
        PolicyPlan::Trained(plan) => format!(
            "5-tuple hash over buckets that each switch computes from its own measurements every {} with weights trained \
             by {}",
            plan.interval_ns, plan.trainer,
        ),
        PolicyPlan::Lcmp(config) => {
            let departures = departures(config, config.preset);
            let text = format!("preset {}; {departures}", config.preset);
            text.trim_end_matches("; ").to_owned()
        }
        PolicyPlan::Own(name) => {
            let about = own::find(name).map_or("not compiled in", OwnPolicy::about);
            format!("user-defined `{name}`: {about}")
        }
        PolicyPlan::Ebpf(plan) => format!("user-defined switch program, `{}`", plan.object),
    }
}
