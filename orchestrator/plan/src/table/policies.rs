//! The policies of a plan, and the parameters they run with.

use lab_policy::{
    OwnPolicy,
    lcmp::{LcmpConfig, Preset},
    own,
};

use crate::{
    model::{Plan, PolicyPlan, TePlan, UcmpPlan},
    policy,
    text::{about_time, paragraph},
};

pub(super) fn section(plan: &Plan) -> String {
    let mut text = "Policies\n".to_owned();
    let width = plan.policies.iter().map(|run| run.label.chars().count());
    let width = width.max().unwrap_or(0);
    for run in &plan.policies {
        let words = match &run.policy {
            PolicyPlan::Ecmp => "5-tuple hash over all candidates".to_owned(),
            PolicyPlan::Wcmp => "5-tuple hash in proportion to the ways' capacity".to_owned(),
            PolicyPlan::Ucmp(plan) => ucmp(plan),
            PolicyPlan::UcmpArtifact => "5-tuple hash over the widest first links".to_owned(),
            PolicyPlan::Te(plan) => te(plan),
            PolicyPlan::Lcmp(config) => lcmp(config),
            PolicyPlan::Own(name) => own(name),
            PolicyPlan::Ebpf(plan) => format!("one's own switch program, `{}`", plan.object),
        };
        text.push_str(&paragraph(&format!("  {:width$}  ", run.label), &words));
    }
    text
}

fn ucmp(plan: &UcmpPlan) -> String {
    let percent = plan.alpha_percent;
    let ageing = if plan.ageing {
        "flows that have grown are moved"
    } else {
        "of a flow's first packet"
    };
    format!(
        "5-tuple hash over the least delay + {}.{:02} · links · size / capacity, within {}; {ageing}",
        percent / 100,
        percent % 100,
        plan.paper_quantum_ns,
    )
}

fn te(plan: &TePlan) -> String {
    format!(
        "5-tuple hash over {} buckets that minimise the largest link utilisation; emulated: measured \
         over {}, installed as long after",
        plan.buckets,
        about_time(plan.interval_ns),
    )
}

fn own(name: &str) -> String {
    let about = own::find(name).map_or("not compiled in", OwnPolicy::about);
    format!("one's own `{name}`: {about}")
}

fn lcmp(config: &LcmpConfig) -> String {
    let name = match config.preset {
        Preset::Paper => "paper",
        Preset::Artifact => "artifact",
    };
    let mut words = format!(
        "{name} preset; α:β {}:{}; delay:capacity {}:{}; queue:trend:duration {}:{}:{}; delays up to \
         {}, capacities up to {}; emulated: sampled every {}, idle after {}, collected every {}",
        config.alpha,
        config.beta,
        config.w_dl,
        config.w_lc,
        config.w_ql,
        config.w_tl,
        config.w_dp,
        config.max_delay_ns,
        config.max_capacity_bps,
        about_time(config.sample_interval_ns),
        about_time(config.idle_timeout_ns),
        about_time(config.gc_interval_ns),
    );
    let departures = departures(config);
    if !departures.is_empty() {
        words.push_str(&format!("; {}", departures.join(", ")));
    }
    words
}

/// The parameters that are rarely touched, where they are not the preset's.
fn departures(config: &LcmpConfig) -> Vec<String> {
    let preset = policy::preset(config.preset, config.max_capacity_bps);
    let both =
        |name, parameter: fn(&LcmpConfig) -> u32| (name, parameter(config), parameter(&preset));
    let rows = [
        both("s_path", |config| config.s_path.into()),
        both("s_cong", |config| config.s_cong.into()),
        both("trend_shift", |config| config.trend_shift.into()),
        both("duration_shift", |config| config.duration_shift.into()),
        both("high_water", |config| config.high_water.into()),
        both("low_water", |config| config.low_water.into()),
        both("flow_table_entries", |config| config.flow_table_entries),
        both("congested_threshold", |config| {
            config.congested_threshold.into()
        }),
        both("drop_threshold", |config| config.drop_threshold.into()),
    ];
    let departures = rows.into_iter().filter(|(_, set, preset)| set != preset);
    departures
        .map(|(name, set, preset)| format!("{name} {set} instead of {preset}"))
        .collect()
}
