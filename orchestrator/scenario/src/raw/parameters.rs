//! Parameters of a link, policy or congestion control, as a scenario gives them.

use std::{borrow::Cow, fmt, marker::PhantomData};

use lab_parameters::{Domain, Parameter, ParameterSet, Preset, Value};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, Visitor},
};
use serde_json::json;

use crate::{
    error::ProblemKind,
    limits,
    suggest::did_you_mean,
    yaml::{Scalar, Text},
};

/// Parameters of `S` that a scenario sets, as unparsed texts.
#[derive(Clone, Debug)]
pub struct Parameters<S> {
    /// Preset that gives the defaults.
    pub preset: Option<Text<Preset>>,
    /// Name of the policy in records and plots.
    pub label: Option<Text<String>>,
    pub texts: Texts,
    set: PhantomData<S>,
}

/// Parameters that a mapping sets, with their unparsed values, in the order of the scenario.
#[derive(Clone, Debug, Default)]
pub struct Texts(pub Vec<(&'static Parameter, Text<Value>)>);

impl Texts {
    /// Returns the unparsed value of the parameter `name`; `None` if the mapping does not set it.
    pub fn of(&self, name: &str) -> Option<&Text<Value>> {
        let found = self.0.iter().find(|(parameter, _)| parameter.name == name);
        found.map(|(_, text)| text)
    }

    /// Checks that the mapping sets all `required` parameters; fails with the first one missing.
    pub(super) fn check<E: Error>(
        &self,
        mut required: impl Iterator<Item = &'static Parameter>,
    ) -> Result<(), E> {
        let missing = required.find(|parameter| self.of(parameter.name).is_none());
        missing.map_or(Ok(()), |missing| Err(E::missing_field(missing.name)))
    }
}

impl<'de, S: ParameterSet> Deserialize<'de> for Parameters<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(S::TITLE, S::KEYS, SetVisitor(PhantomData))
    }
}

struct SetVisitor<S>(PhantomData<S>);

impl<'de, S: ParameterSet> Visitor<'de> for SetVisitor<S> {
    type Value = Parameters<S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameters of {}", S::TITLE)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut parameters = Parameters {
            preset: None,
            label: None,
            texts: Texts::default(),
            set: PhantomData,
        };
        while let Some(key) = map.next_key_seed(Key(S::KEYS))? {
            match S::PARAMETERS.iter().find(|declared| declared.name == key) {
                Some(declared) => parameters.texts.0.push((declared, map.next_value()?)),
                None if key == "preset" => parameters.preset = Some(map.next_value()?),
                None => parameters.label = Some(map.next_value()?),
            }
        }
        let required = S::PARAMETERS.iter().filter(|it| it.is_required);
        parameters.texts.check(required)?;
        Ok(parameters)
    }
}

/// Deserialiser of a key that must be one of the given keys.
pub(super) struct Key(pub(super) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let known = self.0.iter().find(|known| **known == key);
        known.copied().ok_or_else(|| E::unknown_field(key, self.0))
    }
}

/// Parses a value of the type that `domain` has, without checking its range.
pub fn read(domain: Domain, text: &str) -> Result<Value, ProblemKind> {
    Ok(match domain {
        Domain::Flag => Value::Flag(bool::read(text)?),
        Domain::Number { .. } => Value::Number(u64::read(text)?),
        Domain::Time { .. } => Value::Time(Nanos::read(text)?),
        Domain::Rate { .. } => Value::Rate(BitsPerSec::read(text)?),
        Domain::Size { .. } => Value::Size(Bytes::read(text)?),
        Domain::Share | Domain::ProperFraction | Domain::Hundredths { .. } => {
            Value::Ratio(Ratio::read(text)?)
        }
        Domain::Words(words) => Value::Word(word_of(words, text)?),
        Domain::WordOr { words, quantity } => match words.iter().find(|word| **word == text) {
            Some(word) => Value::Word(word),
            None if text.starts_with(char::is_alphabetic) => {
                return Err(ProblemKind::UnexpectedWord {
                    found: text.to_owned(),
                    expected: domain.to_string().into(),
                    suggestion: did_you_mean(text, words.iter().copied()),
                });
            }
            None => read(*quantity, text)?,
        },
    })
}

/// Parses one of `words`. The error lists all words and suggests the closest one.
fn word_of(words: &[&'static str], text: &str) -> Result<&'static str, ProblemKind> {
    let found = words.iter().find(|word| **word == text);
    found.copied().ok_or_else(|| ProblemKind::UnknownWord {
        found: text.to_owned(),
        known: words.iter().map(|&word| word.to_owned()).collect(),
        suggestion: did_you_mean(text, words.iter().copied()),
    })
}

impl<S: ParameterSet> JsonSchema for Parameters<S> {
    fn schema_name() -> Cow<'static, str> {
        S::TITLE.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        let has = |key| S::KEYS.contains(&key);
        if has("preset") {
            properties.insert("preset".to_owned(), preset_schema(has("label")).to_value());
        }
        if has("label") {
            properties.insert("label".to_owned(), label_schema().to_value());
        }
        for parameter in S::PARAMETERS {
            let description = described::<S>(parameter);
            let schema = parameter_schema(parameter, description).to_value();
            properties.insert(parameter.name.to_owned(), schema);
        }
        let has_defaults = S::PARAMETERS.iter().any(|it| !it.is_required);
        let defaults = if has_defaults {
            "; parameters left out keep their default"
        } else {
            ""
        };
        let mut schema = json_schema!({
            "description": format!(
                "{}'s parameters{defaults}. Times, rates and sizes are at the paper's scale, before \
                 scaling for emulation.",
                S::TITLE,
            ),
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        let required = S::PARAMETERS.iter().filter(|it| it.is_required);
        require(&mut schema, required);
        schema
    }
}

/// Adds `parameters` to the required keys of a mapping's schema.
pub(super) fn require(schema: &mut Schema, parameters: impl Iterator<Item = &'static Parameter>) {
    let mut names = parameters.map(|parameter| json!(parameter.name)).peekable();
    if names.peek().is_none() {
        return;
    }
    let required = schema.ensure_object().entry("required");
    if let serde_json::Value::Array(required) = required.or_insert_with(|| json!([])) {
        required.extend(names);
    }
}

/// Returns the schema of the key `preset`. Policies also have a label, and their default preset is `paper`.
fn preset_schema(is_policy: bool) -> Schema {
    let mut schema = Preset::schema();
    let description = "Source of the defaults: `paper`, the publication; `artifact`, the code of \
                       LCMP's authors.";
    let description = if is_policy {
        schema.insert("default".to_owned(), Preset::default().name().into());
        description.to_owned()
    } else {
        format!("{description} Default: as `transport.semantics`.")
    };
    schema.insert("description".to_owned(), description.into());
    schema
}

fn label_schema() -> Schema {
    json_schema!({
        "type": "string",
        "description": "Name in records and plots instead of the policy's own name, to distinguish variants of a \
                        policy.",
        "pattern": limits::NAME_PATTERN,
        "maxLength": limits::MAX_LABEL,
    })
}

/// Returns the schema of a parameter's value, with `description`.
pub(super) fn parameter_schema(parameter: &Parameter, description: String) -> Schema {
    let mut schema = domain_schema(parameter.domain);
    schema.insert("description".to_owned(), description.into());
    schema
}

fn domain_schema(domain: Domain) -> Schema {
    match domain {
        Domain::Flag => bool::schema(),
        Domain::Number { min, max } => {
            json_schema!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Domain::Time { .. } => Nanos::schema(),
        Domain::Rate { .. } => BitsPerSec::schema(),
        Domain::Size { .. } => Bytes::schema(),
        Domain::Share => bounded_ratio(["exclusiveMinimum", "maximum"], 1),
        Domain::ProperFraction => bounded_ratio(["minimum", "exclusiveMaximum"], 1),
        Domain::Hundredths { max } => bounded_ratio(["minimum", "maximum"], max),
        Domain::Words(words) => word_schema(words),
        Domain::WordOr { words, quantity } => {
            json_schema!({ "anyOf": [word_schema(words), domain_schema(*quantity)] })
        }
    }
}

fn word_schema(words: &[&str]) -> Schema {
    json_schema!({ "type": "string", "enum": words })
}

/// Returns a parameter's description, followed by its defaults.
fn described<S: ParameterSet>(parameter: &Parameter) -> String {
    let [paper, artifact] =
        [Preset::Paper, Preset::Artifact].map(|preset| default::<S>(parameter, preset));
    let default = match (&paper, &artifact) {
        (Some(paper), Some(artifact)) if paper != artifact => {
            format!(" Default: {paper} (preset `paper`), {artifact} (preset `artifact`).")
        }
        (Some(paper), Some(_)) => format!(" Default: {paper}."),
        (Some(default), None) => format!(" Only in preset `paper`; default: {default}."),
        (None, Some(default)) => format!(" Only in preset `artifact`; default: {default}."),
        (None, None) => String::new(),
    };
    format!("{}{default}", parameter.doc.trim())
}

/// Returns the schema of fractions between 0 and `max`; `bounds` has the schema keywords of the lower and the upper
/// bound.
fn bounded_ratio(bounds: [&str; 2], max: u64) -> Schema {
    let mut schema = Ratio::schema();
    schema.remove("minimum");
    for (bound, value) in bounds.into_iter().zip([0, max]) {
        schema.insert(bound.to_owned(), json!(value));
    }
    schema
}

/// Returns the default of a parameter as text; `None` if it has no default, or if only the other preset has the
/// parameter.
pub fn default<S: ParameterSet>(parameter: &Parameter, preset: Preset) -> Option<String> {
    if parameter.is_required || !parameter.is_of(preset) {
        return None;
    }
    match (preset, parameter.derived) {
        (Preset::Paper, Some(derived)) => Some(derived.to_owned()),
        (Preset::Paper | Preset::Artifact, _) => {
            let value = S::preset(preset).get(parameter.name)?;
            Some(format!("`{value}`"))
        }
    }
}
