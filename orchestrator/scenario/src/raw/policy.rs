//! Policies as a scenario writes them: the words and keys of [`lab_policy::POLICIES`], and keys of user-defined
//! policies.

use std::{borrow::Cow, fmt, sync::LazyLock};

use lab_parameters::{LcmpConfig, TeConfig, UcmpConfig};
use lab_policy::{BucketPolicy, Mechanism, POLICIES};
use lab_units::Trainer;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use super::{Parameters, parameters::Key};
use crate::{
    limits,
    model::TrainMode,
    yaml::{Maybe, Text, Word},
};

/// Policy with parameters: a mapping whose single key selects the policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Keys of the mapping, each with its value; a valid policy has exactly one key.
    pub bodies: Vec<(&'static str, PolicyBody)>,
}

/// Value under a policy's key.
#[derive(Clone, Debug)]
pub enum PolicyBody {
    Buckets(&'static BucketPolicy),
    UniformCost(Parameters<UcmpConfig>),
    Splits(Parameters<TeConfig>),
    Trained(Trainer, Trained),
    /// Parameters for LCMP or an ablation of it.
    Scores(&'static lab_policy::BuiltInPolicy, Parameters<LcmpConfig>),
    Own(Own),
    /// Path of an eBPF object, relative to the scenario.
    Ebpf(Text<String>),
}

/// Keys of all policies: built-in ones, then user-defined ones.
pub static POLICY_KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let built_in = POLICIES.iter().filter_map(|policy| policy.key);
    built_in.chain([OWN.0, EBPF.0]).collect()
});

/// Key and description of user-defined policies that are compiled into this program.
const OWN: (&str, &str) = (
    "own",
    "User-defined policy that is compiled into the program; only the simulator runs it.",
);

/// Key and description of user-defined switch programs.
const EBPF: (&str, &str) = (
    "ebpf",
    "User-defined switch program: path of an eBPF object, relative to the scenario. Its label is\n\
     the file's name up to the first dot. Run by the kernel engine alone.",
);

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Policy", &POLICY_KEYS, PolicyVisitor)
    }
}

struct PolicyVisitor;

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = Policy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy with parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut bodies = Vec::new();
        while let Some(key) = map.next_key_seed(Key(&POLICY_KEYS))? {
            let built_in = POLICIES.iter().find(|policy| policy.key == Some(key));
            let body = match built_in.map(|policy| (policy, policy.mechanism)) {
                Some((_, Mechanism::Buckets(policy))) => {
                    map.next_value::<NoParameters>()?;
                    PolicyBody::Buckets(policy)
                }
                Some((_, Mechanism::UniformCost)) => PolicyBody::UniformCost(map.next_value()?),
                Some((_, Mechanism::Splits)) => PolicyBody::Splits(map.next_value()?),
                Some((_, Mechanism::Trained(trainer))) => {
                    PolicyBody::Trained(trainer, map.next_value()?)
                }
                Some((policy, Mechanism::Scores)) => PolicyBody::Scores(policy, map.next_value()?),
                None if key == OWN.0 => PolicyBody::Own(map.next_value()?),
                None => PolicyBody::Ebpf(map.next_value()?),
            };
            bodies.push((key, body));
        }
        Ok(Policy { bodies })
    }
}

impl JsonSchema for Policy {
    fn schema_name() -> Cow<'static, str> {
        "Policy".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        let mut add = |key: &str, description: &str, mut schema: Schema| {
            schema.insert("description".to_owned(), description.into());
            properties.insert(key.to_owned(), schema.to_value());
        };
        for policy in POLICIES {
            let Some(key) = policy.key else { continue };
            let schema = match policy.mechanism {
                Mechanism::Buckets(_) => generator.subschema_for::<NoParameters>(),
                Mechanism::UniformCost => generator.subschema_for::<Parameters<UcmpConfig>>(),
                Mechanism::Splits => generator.subschema_for::<Parameters<TeConfig>>(),
                Mechanism::Trained(_) => generator.subschema_for::<Trained>(),
                Mechanism::Scores => generator.subschema_for::<Parameters<LcmpConfig>>(),
            };
            add(key, policy.doc, schema);
        }
        add(OWN.0, OWN.1, generator.subschema_for::<Own>());
        add(EBPF.0, EBPF.1, generator.subschema_for::<Text<String>>());
        json_schema!({
            "description": "Policy with parameters: a mapping whose single key selects the policy.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1,
        })
    }
}

/// Mapping without any parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// Policy given by its name alone, with default parameters.
#[derive(Clone, Copy, Debug)]
pub struct PolicyName(pub &'static lab_policy::BuiltInPolicy);

impl Word for PolicyName {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Self(&POLICIES[0])); POLICIES.len()];
        let mut at = 0;
        while at < words.len() {
            words[at] = (POLICIES[at].word, Self(&POLICIES[at]));
            at += 1;
        }
        words
    };

    fn expected() -> &'static str {
        static EXPECTED: LazyLock<String> = LazyLock::new(|| {
            let words: Vec<&str> = PolicyName::words().collect();
            format!(
                "`{}`, or one of them with parameters, like `lcmp: {{…}}`",
                words.join("`, `")
            )
        });
        &EXPECTED
    }
}

/// Policy with trained weights, which contain all its parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trained {
    /// Path of the weight file, relative to the scenario. Without it, the weights are those that the program has for
    /// the scenario's inter-DC network.
    #[serde(default)]
    pub weights: Maybe<Text<String>>,
    /// `auto`: weights that are trained on the scenario's workloads before its first run, and kept for later runs.
    #[serde(default)]
    pub train: Maybe<Text<TrainMode>>,
    /// Name in records and plots.
    #[serde(default)]
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub label: Maybe<Text<String>>,
}

/// User-defined policy that is compiled into this program.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// Name under which the policy is compiled into this program.
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub name: Text<String>,
    /// Name of the policy in records and plots.
    #[serde(default)]
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_LABEL))]
    pub label: Maybe<Text<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_list_the_words_and_keys_in_the_order_of_their_declarations() {
        let words: Vec<&str> = PolicyName::words().collect();
        let declared: Vec<&str> = POLICIES.iter().map(|policy| policy.word).collect();
        assert_eq!(words, declared);
        let expected = PolicyName::expected();
        assert!(expected.starts_with("`ecmp`, `"), "{expected}");
        let end = "`, or one of them with parameters, like `lcmp: {…}`";
        assert!(expected.ends_with(end), "{expected}");
        assert!(POLICY_KEYS.ends_with(&["own", "ebpf"]));
    }
}
