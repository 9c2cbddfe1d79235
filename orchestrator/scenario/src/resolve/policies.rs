//! Resolution of policies and their parameters.

use std::{collections::BTreeMap, ops::Range};

use lab_parameters::{ParameterSet, Preset, TeConfig, Value};
use lab_policy::Mechanism;

use super::{context::Context, names, parameters, traffic};
use crate::{
    error::ProblemKind,
    limits,
    model::{EbpfSpec, OwnSpec, PolicySpec, Settings, TrainedSpec, WeightSource},
    raw::{self, POLICY_KEYS, PolicyBody, PolicyName},
    yaml::{At, WordOr},
};

/// Resolves the list `policies`.
pub(super) fn policies(context: &mut Context<'_>, raw: &raw::Policies) -> Vec<PolicySpec> {
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
        WordOr::Word(word, _) => {
            let PolicyName(policy) = context.word(&raw.range, word)?;
            Some(built_in(policy, Settings::default()))
        }
        WordOr::Body(policy) => with_parameters(context, &raw.range, policy),
    }
}

/// Returns a built-in policy with the parameters that the scenario sets.
fn built_in(policy: &lab_policy::BuiltInPolicy, mut settings: Settings) -> PolicySpec {
    if let Some((parameter, value)) = policy.sets {
        settings = settings.with(parameter, value);
    }
    match policy.mechanism {
        Mechanism::Buckets(policy) => PolicySpec::Buckets(policy),
        Mechanism::UniformCost => ucmp(settings),
        Mechanism::Splits => traffic_engineering(settings),
        Mechanism::Trained(trainer) => PolicySpec::Trained(TrainedSpec {
            trainer,
            weights: WeightSource::Program,
            label: None,
        }),
        Mechanism::Scores => {
            if policy.sets.is_some() {
                settings.label.get_or_insert_with(|| policy.word.to_owned());
            }
            PolicySpec::Lcmp(settings)
        }
    }
}

/// Parses the parameters of a policy, with `paper` as the default preset.
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
    let is_written = |key| policy.bodies.iter().any(|(written, _)| *written == key);
    let keys: Vec<_> = POLICY_KEYS
        .iter()
        .map(|&key| (key, is_written(key)))
        .collect();
    context.one_key(range, &keys);
    let (_, body) = policy.bodies.first()?;
    Some(match body {
        PolicyBody::Buckets(policy) => PolicySpec::Buckets(policy),
        PolicyBody::UniformCost(raw) => ucmp(policy_settings(context, range, raw)),
        PolicyBody::Splits(raw) => traffic_engineering(policy_settings(context, range, raw)),
        PolicyBody::Trained(trainer, raw) => PolicySpec::Trained(TrainedSpec {
            trainer: *trainer,
            weights: weight_source(context, raw),
            label: raw.label.as_ref().map(|text| names::label(context, text)),
        }),
        PolicyBody::Scores(policy, raw) => {
            if let Some((key, _)) = policy.sets
                && let Some(text) = raw.texts.of(key)
            {
                let name = policy.word;
                context.problem(&text.range(), ProblemKind::FixedWeight { key, name });
            }
            built_in(policy, policy_settings(context, range, raw))
        }
        PolicyBody::Own(raw) => PolicySpec::Own(OwnSpec {
            name: names::label(context, &raw.name),
            label: raw.label.as_ref().map(|text| names::label(context, text)),
        }),
        PolicyBody::Ebpf(path) => {
            let object = context.path_of(path.as_str().trim());
            context.no_control_characters(&path.range(), &object);
            let spec = EbpfSpec { object };
            if spec.name().is_empty() {
                context.problem(&path.range(), ProblemKind::NoObjectName);
            }
            PolicySpec::Ebpf(spec)
        }
    })
}

/// Returns the origin of a trained policy's weights.
fn weight_source(context: &mut Context<'_>, raw: &raw::Trained) -> WeightSource {
    match (raw.weights.as_ref(), raw.train.as_ref()) {
        (None, None) => WeightSource::Program,
        (Some(path), None) => WeightSource::File(traffic::file(context, path)),
        (weights, Some(mode)) => {
            if weights.is_some() {
                context.problem(&mode.range(), ProblemKind::WeightsAndTrain);
            }
            context
                .read(mode)
                .map_or(WeightSource::Program, WeightSource::Trained)
        }
    }
}

/// Returns the policy UCMP. Without flow ageing, the default label is `min-delay`, because the policy then decides by
/// delay alone.
fn ucmp(mut settings: Settings) -> PolicySpec {
    if settings.values.get("ageing") == Some(&Value::Flag(false)) {
        settings.label.get_or_insert_with(|| "min-delay".to_owned());
    }
    PolicySpec::Ucmp(settings)
}

/// Returns the traffic engineering policy, whose default label contains the interval, as in `te-100ms`.
fn traffic_engineering(mut settings: Settings) -> PolicySpec {
    let interval = settings
        .values
        .get("interval")
        .copied()
        .unwrap_or(Value::Time(TeConfig::DEFAULT.interval_ns));
    let label = || format!("te-{}", interval.to_string().replace(' ', ""));
    settings.label.get_or_insert_with(label);
    PolicySpec::Te(settings)
}

#[cfg(test)]
mod tests {
    use lab_policy::POLICIES;

    use super::*;

    /// Figures and assertions refer to a policy by its label, which defaults to the policy's word in the scenario.
    #[test]
    fn the_default_label_of_a_policy_is_its_word() {
        for policy in POLICIES {
            assert_eq!(built_in(policy, Settings::default()).label(), policy.word);
        }
    }

    /// The files that a scenario names do not include weights that are yet to be trained.
    #[test]
    fn weights_are_the_programs_of_a_file_or_trained() {
        const SCENARIO: &str = include_str!("../../tests/errors/policy-training-unknown.yaml");
        let spec = |written: &str| {
            let text = SCENARIO.replace("redte: { train: always }", written);
            let scenario = crate::parse("case.yaml", text.as_bytes()).unwrap();
            let files = crate::files(&scenario).len();
            let PolicySpec::Trained(spec) = scenario.policies[0].clone() else {
                panic!("{written}");
            };
            (spec, files)
        };
        for (written, file, files, serialised) in [
            ("redte", None, 0, "null"),
            (
                "redte: { weights: a.redte }",
                Some("a.redte"),
                1,
                r#""a.redte""#,
            ),
            (
                "static: { train: auto }",
                Some("trained:static"),
                0,
                r#"{"train":"auto"}"#,
            ),
        ] {
            let (spec, named) = spec(written);
            assert_eq!((spec.file().as_deref(), named), (file, files), "{written}");
            assert_eq!(serde_json::to_string(&spec.weights).unwrap(), serialised);
        }
    }
}
