//! Policies and their parameters.

use std::{collections::BTreeMap, ops::Range};

use lab_parameters::{ParameterSet, Preset, TeConfig, Value};

use super::{context::Context, names, parameters};
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
            context.problem(
                &raw.range,
                ProblemKind::DuplicateLabel { label, first_line },
            );
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
    let raw::Policy {
        ecmp,
        wcmp,
        ucmp,
        ucmp_artifact,
        te,
        lcmp: plain,
        rm_alpha,
        rm_beta,
        own,
        ebpf,
    } = policy;
    let keys = [
        ("ecmp", ecmp.as_ref().is_some()),
        ("wcmp", wcmp.as_ref().is_some()),
        ("ucmp", ucmp.as_ref().is_some()),
        ("ucmp-artifact", ucmp_artifact.as_ref().is_some()),
        ("te", te.as_ref().is_some()),
        ("lcmp", plain.as_ref().is_some()),
        ("rm-alpha", rm_alpha.as_ref().is_some()),
        ("rm-beta", rm_beta.as_ref().is_some()),
        ("own", own.as_ref().is_some()),
        ("ebpf", ebpf.as_ref().is_some()),
    ];
    context.one_key(range, &keys);
    if let Some(raw) = ucmp.as_ref() {
        return Some(PolicySpec::Ucmp(policy_settings(context, range, raw)));
    }
    if let Some(raw) = te.as_ref() {
        return Some(traffic_engineering(policy_settings(context, range, raw)));
    }
    if let Some(raw) = own.as_ref() {
        return Some(PolicySpec::Own(OwnSpec {
            name: names::label(context, &raw.name),
            label: raw.label.as_ref().map(|text| names::label(context, text)),
        }));
    }
    if let Some(path) = ebpf.as_ref() {
        let object = path.as_str().trim().to_owned();
        context.no_control_characters(&path.range(), &object);
        let spec = EbpfSpec { object };
        if spec.name().is_empty() {
            context.problem(&path.range(), ProblemKind::NoObjectName);
        }
        return Some(PolicySpec::Ebpf(spec));
    }
    if let Some(raw) = plain.as_ref() {
        return Some(PolicySpec::Lcmp(policy_settings(context, range, raw)));
    }
    let ablations = [
        (rm_alpha, "alpha", "rm-alpha"),
        (rm_beta, "beta", "rm-beta"),
    ];
    for (raw, weight, name) in ablations {
        if let Some(raw) = raw.as_ref() {
            if let Some(text) = raw.text(weight) {
                context.problem(
                    &text.range(),
                    ProblemKind::FixedWeight { key: weight, name },
                );
            }
            return Some(ablation(weight, name, policy_settings(context, range, raw)));
        }
    }
    let plain = [
        (ecmp, PolicySpec::Ecmp),
        (wcmp, PolicySpec::Wcmp),
        (ucmp_artifact, PolicySpec::UcmpArtifact),
    ];
    let mut plain = plain.into_iter();
    let found = plain.find(|(there, _)| there.as_ref().is_some());
    found.map(|(_, policy)| policy)
}

/// Returns LCMP without one of the weights of the total cost.
fn ablation(weight: &'static str, name: &str, settings: Settings) -> PolicySpec {
    let mut settings = settings.with(weight, Value::Number(0));
    settings.label.get_or_insert_with(|| name.to_owned());
    PolicySpec::Lcmp(settings)
}

/// Returns traffic engineering; the default label has the interval, as in `te-100ms`.
fn traffic_engineering(mut settings: Settings) -> PolicySpec {
    let interval = settings.values.get("interval").copied();
    let interval = interval.unwrap_or(Value::Time(TeConfig::DEFAULT.interval_ns));
    let label = || format!("te-{}", interval.to_string().replace(' ', ""));
    settings.label.get_or_insert_with(label);
    PolicySpec::Te(settings)
}
