//! Descriptions of policies and their parameters.

use lab_parameters::Preset;
use lab_policy::{OwnPolicy, own};
use lab_units::{Trainer, show::paragraph};

use crate::{
    model::{Plan, PolicyPlan, TrainedPlan},
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
        PolicyPlan::Trained(plan) => trained(plan),
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

fn trained(plan: &TrainedPlan) -> String {
    let interval = plan.interval_ns;
    let buckets = match plan.trainer {
        Trainer::Static => format!("constant buckets, which replace WCMP's after {interval}"),
        Trainer::Maddpg | Trainer::Direct => {
            format!("buckets that each switch computes from its own measurements every {interval}")
        }
    };
    let scenario = plan.header().map(|header| header.scenario);
    format!(
        "5-tuple hash over {buckets}; weights trained by {} on `{}`, SHA-256 {:.12}",
        plan.trainer,
        scenario.unwrap_or_default(),
        plan.hash(),
    )
}
