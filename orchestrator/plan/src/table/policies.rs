//! The policies of a plan, and the parameters they run with.

use lab_parameters::Preset;
use lab_policy::{OwnPolicy, own};
use lab_units::show::paragraph;

use crate::{
    model::{Plan, PolicyPlan},
    parameters::{departures, list},
};

pub(super) fn section(plan: &Plan) -> String {
    let mut text = "Policies\n".to_owned();
    let width = plan.policies.iter().map(|run| run.label.chars().count());
    let width = width.max().unwrap_or(0);
    for run in &plan.policies {
        let words = match &run.policy {
            PolicyPlan::Ecmp => "5-tuple hash over all candidates".to_owned(),
            PolicyPlan::Wcmp => "5-tuple hash in proportion to the paths' capacity".to_owned(),
            PolicyPlan::Ucmp(config) => format!(
                "5-tuple hash over the least delay + alpha · links · size / capacity; {}",
                list(config, Preset::Paper),
            ),
            PolicyPlan::UcmpArtifact => "5-tuple hash over the widest first links".to_owned(),
            PolicyPlan::Te(config) => format!(
                "5-tuple hash over buckets that minimise the maximum link utilisation; {}",
                list(config, Preset::Paper),
            ),
            PolicyPlan::Lcmp(config) => {
                format!(
                    "preset {}; {}",
                    config.preset,
                    departures(config, config.preset)
                )
            }
            PolicyPlan::Own(name) => own(name),
            PolicyPlan::Ebpf(plan) => format!("one's own switch program, `{}`", plan.object),
        };
        text.push_str(&paragraph(&format!("  {:width$}  ", run.label), &words));
    }
    text
}

fn own(name: &str) -> String {
    let about = own::find(name).map_or("not compiled in", OwnPolicy::about);
    format!("one's own `{name}`: {about}")
}
