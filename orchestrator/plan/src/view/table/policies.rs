//! Descriptions of policies and their parameters.

use lab_parameters::Preset;
use lab_policy::{OwnPolicy, own};
use lab_units::{
    Trainer,
    show::{about_time, paragraph},
};

use crate::{
    model::{Plan, PolicyPlan, TrainedPlan},
    paper_units::PaperUnits,
    parameters::{departures, list},
};

pub(super) fn section(plan: &Plan) -> String {
    let mut text = "Policies (paper units)\n".to_owned();
    let units = PaperUnits::new(&plan.scale);
    let width = plan
        .policies
        .iter()
        .map(|run| run.label.chars().count())
        .max()
        .unwrap_or(0);
    for run in &plan.policies {
        let words = describe(&run.policy, units);
        text.push_str(&paragraph(&format!("  {:width$}  ", run.label), &words));
    }
    text
}

/// Returns a description of a policy and its parameters at the paper's scale, for tables.
pub(crate) fn describe(policy: &PolicyPlan, units: PaperUnits) -> String {
    match policy {
        PolicyPlan::Buckets(policy) => policy.about.to_owned(),
        PolicyPlan::Ucmp(config) => format!(
            "5-tuple hash over the minimum of delay + alpha · links · size / capacity; {}",
            list(&units.set(config), Preset::Paper),
        ),
        PolicyPlan::Te(config) => format!(
            "5-tuple hash over the buckets that would have minimised the maximum link utilisation two \
             intervals ago; {}",
            list(&units.set(config), Preset::Paper),
        ),
        PolicyPlan::Trained(plan) => trained(plan, units),
        PolicyPlan::Lcmp(config) => {
            let departures = departures(&units.set(config), config.preset);
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

fn trained(plan: &TrainedPlan, units: PaperUnits) -> String {
    let interval = about_time(units.time(plan.interval_ns));
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
