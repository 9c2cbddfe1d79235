//! Policies and their parameters.

use std::{collections::BTreeMap, ops::Range};

use lab_parameters::{ParameterSet, Preset, TeConfig, Value};

use super::{
    context::{Context, one_key},
    names, parameters,
};
use crate::{
    error::ProblemKind,
    limits,
    model::{EbpfSpec, OwnSpec, PolicySpec, Settings},
    raw::{self, PolicyName},
    yaml::{At, WordOr},
};

/// Resolves the policies to compare.
pub(super) fn policies(
    context: &mut Context<'_>,
    raw: &At<Vec<At<WordOr<PolicyName, raw::Policy>>>>,
) -> Vec<PolicySpec> {
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_POLICIES);
    let mut ranges: BTreeMap<String, &Range<usize>> = BTreeMap::new();
    let mut policies = Vec::new();
    for raw in raw.value.iter().take(limits::MAX_POLICIES) {
        let Some(policy) = policy(context, raw) else {
            continue;
        };
        let label = policy.label().to_owned();
        if let Some(first) = ranges.get(&label) {
            let first_line = context.line(first);
            let label = label.clone();
            let kind = ProblemKind::DuplicateLabel { label, first_line };
            context.problem(&raw.range, kind);
        }
        ranges.entry(label).or_insert(&raw.range);
        policies.push(policy);
    }
    policies
}

fn policy(
    context: &mut Context<'_>,
    raw: &At<WordOr<PolicyName, raw::Policy>>,
) -> Option<PolicySpec> {
    match &raw.value {
        WordOr::Word(word, _) => Some(named(context.word(&raw.range, word)?)),
        WordOr::Body(policy) => with_parameters(context, &raw.range, policy),
    }
}

/// Returns a policy with its default parameters.
fn named(name: PolicyName) -> PolicySpec {
    match name {
        PolicyName::Ecmp => PolicySpec::Ecmp,
        PolicyName::Wcmp => PolicySpec::Wcmp,
        PolicyName::Ucmp => PolicySpec::Ucmp(Settings::default()),
        PolicyName::MinDelay => ucmp(Settings::default().with("ageing", Value::Flag(false))),
        PolicyName::UcmpArtifact => PolicySpec::UcmpArtifact,
        PolicyName::Te => traffic_engineering(Settings::default()),
        PolicyName::Lcmp => PolicySpec::Lcmp(Settings::default()),
        PolicyName::RmAlpha => ablation("alpha", "rm-alpha", Settings::default()),
        PolicyName::RmBeta => ablation("beta", "rm-beta", Settings::default()),
    }
}

/// Resolves the parameters of a policy, whose default preset is the paper's.
fn policy_settings<S: ParameterSet>(
    context: &mut Context<'_>,
    range: &Range<usize>,
    raw: &raw::Parameters<S>,
) -> Settings {
    parameters::settings(context, range, raw, Preset::Paper)
}

/// Resolves a policy that is written as a key with parameters.
fn with_parameters(
    context: &mut Context<'_>,
    range: &Range<usize>,
    policy: &raw::Policy,
) -> Option<PolicySpec> {
    one_key!(
        context, range, policy,
        "ecmp": ecmp, "wcmp": wcmp, "ucmp": ucmp, "ucmp-artifact": ucmp_artifact, "te": te,
        "lcmp": lcmp, "rm-alpha": rm_alpha, "rm-beta": rm_beta, "own": own, "ebpf": ebpf,
    );
    if let Some(raw) = policy.ucmp.as_ref() {
        return Some(ucmp(policy_settings(context, range, raw)));
    }
    if let Some(raw) = policy.te.as_ref() {
        return Some(traffic_engineering(policy_settings(context, range, raw)));
    }
    if let Some(raw) = policy.own.as_ref() {
        return Some(PolicySpec::Own(OwnSpec {
            name: names::label(context, &raw.name),
            label: raw.label.as_ref().map(|text| names::label(context, text)),
        }));
    }
    if let Some(path) = policy.ebpf.as_ref() {
        let object = path.as_str().trim().to_owned();
        context.no_control_characters(&path.range(), &object);
        let spec = EbpfSpec { object };
        if spec.name().is_empty() {
            context.problem(&path.range(), ProblemKind::NoObjectName);
        }
        return Some(PolicySpec::Ebpf(spec));
    }
    if let Some(raw) = policy.lcmp.as_ref() {
        return Some(PolicySpec::Lcmp(policy_settings(context, range, raw)));
    }
    let ablations = [
        (&policy.rm_alpha, "alpha", "rm-alpha"),
        (&policy.rm_beta, "beta", "rm-beta"),
    ];
    for (raw, weight, name) in ablations {
        if let Some(raw) = raw.as_ref() {
            if let Some(text) = raw.text(weight) {
                let kind = ProblemKind::FixedWeight { key: weight, name };
                context.problem(&text.range(), kind);
            }
            return Some(ablation(weight, name, policy_settings(context, range, raw)));
        }
    }
    match (&policy.ecmp.0, &policy.wcmp.0, &policy.ucmp_artifact.0) {
        (Some(_), ..) => Some(PolicySpec::Ecmp),
        (_, Some(_), _) => Some(PolicySpec::Wcmp),
        (.., Some(_)) => Some(PolicySpec::UcmpArtifact),
        _ => None,
    }
}

/// Returns LCMP without one of the weights of the total cost.
fn ablation(weight: &'static str, name: &str, settings: Settings) -> PolicySpec {
    let mut settings = settings.with(weight, Value::Number(0));
    settings.label.get_or_insert_with(|| name.to_owned());
    PolicySpec::Lcmp(settings)
}

/// Returns UCMP; the default label is `min-delay` without flow ageing, as delay alone then decides.
fn ucmp(mut settings: Settings) -> PolicySpec {
    if settings.values.get("ageing") == Some(&Value::Flag(false)) {
        settings.label.get_or_insert_with(|| "min-delay".to_owned());
    }
    PolicySpec::Ucmp(settings)
}

/// Returns traffic engineering; the default label has the interval, as in `te-100ms`.
fn traffic_engineering(mut settings: Settings) -> PolicySpec {
    let interval = settings.values.get("interval").copied();
    let interval = interval.unwrap_or(Value::Time(TeConfig::DEFAULT.interval_ns));
    let label = || format!("te-{}", interval.to_string().replace(' ', ""));
    settings.label.get_or_insert_with(label);
    PolicySpec::Te(settings)
}
