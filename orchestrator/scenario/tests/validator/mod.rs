//! JSON Schema validator for the keywords that the lab's schema uses; complete validators have sixty dependencies.
//!
//! It panics at an unknown keyword, so that it never ignores a constraint.

use regex::Regex;
use serde_json::{Map, Value};

/// Returns the violations of `schema` in `value`, each with its path.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut check = Check {
        root: schema,
        found: Vec::new(),
    };
    check.value(schema, value, "$");
    check.found
}

struct Check<'a> {
    root: &'a Value,
    found: Vec<String>,
}

impl Check<'_> {
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        let schema = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return self.violation(at, "is not allowed"),
            other => other.as_object().expect("a schema is an object"),
        };
        for (keyword, argument) in schema {
            if !self.holds(keyword, argument, schema, value, at) {
                self.violation(at, &format!("{keyword} {argument} refuses {value}"));
            }
        }
    }

    fn violation(&mut self, at: &str, what: &str) {
        self.found.push(format!("{at}: {what}"));
    }

    fn accepts(&self, schema: &Value, value: &Value) -> bool {
        let mut check = Check {
            root: self.root,
            found: Vec::new(),
        };
        check.value(schema, value, "$");
        check.found.is_empty()
    }

    /// Returns true if a schema keyword accepts `value`. Violations in nested values are added separately.
    fn holds(
        &mut self,
        keyword: &str,
        argument: &Value,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> bool {
        let bound = || usize::try_from(argument.as_u64().unwrap()).unwrap();
        let least = |length: usize| length >= bound();
        let most = |length: usize| length <= bound();
        match (keyword, value) {
            (
                "$schema" | "title" | "description" | "default" | "examples" | "$defs" | "format",
                _,
            ) => true,
            ("$ref", _) => {
                let pointer = argument.as_str().unwrap().strip_prefix('#').unwrap();
                let target = self.root.pointer(pointer).unwrap().clone();
                self.value(&target, value, at);
                true
            }
            ("type", _) => types(argument).iter().any(|kind| is_of_type(kind, value)),
            ("enum", _) => argument.as_array().unwrap().contains(value),
            ("const", _) => argument == value,
            ("anyOf", _) => argument
                .as_array()
                .unwrap()
                .iter()
                .any(|schema| self.accepts(schema, value)),
            ("oneOf", _) => {
                let forms = argument.as_array().unwrap().iter();
                forms.filter(|form| self.accepts(form, value)).count() == 1
            }
            ("pattern", Value::String(text)) => Regex::new(argument.as_str().unwrap())
                .unwrap()
                .is_match(text),
            ("maxLength", Value::String(text)) => most(text.chars().count()),
            ("minLength", Value::String(text)) => least(text.chars().count()),
            ("minimum", Value::Number(number)) => number.as_f64() >= argument.as_f64(),
            ("maximum", Value::Number(number)) => number.as_f64() <= argument.as_f64(),
            ("exclusiveMinimum", Value::Number(number)) => number.as_f64() > argument.as_f64(),
            ("minItems", Value::Array(items)) => least(items.len()),
            ("maxItems", Value::Array(items)) => most(items.len()),
            ("items", Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(argument, item, &format!("{at}[{index}]"));
                }
                true
            }
            ("required", Value::Object(object)) => {
                let keys = argument.as_array().unwrap();
                keys.iter()
                    .all(|key| object.contains_key(key.as_str().unwrap()))
            }
            ("minProperties", Value::Object(object)) => least(object.len()),
            ("maxProperties", Value::Object(object)) => most(object.len()),
            ("properties", Value::Object(object)) => {
                for (key, schema) in argument.as_object().unwrap() {
                    if let Some(value) = object.get(key) {
                        self.value(schema, value, &format!("{at}.{key}"));
                    }
                }
                true
            }
            ("additionalProperties", Value::Object(object)) => {
                assert_eq!(argument, &Value::Bool(false), "{at}");
                let known = schema.get("properties").and_then(Value::as_object);
                object
                    .keys()
                    .all(|key| known.is_some_and(|known| known.contains_key(key)))
            }
            (known, _) if KEYWORDS.contains(&known) => true,
            (unknown, _) => panic!("{at}: `{unknown}` is not known here"),
        }
    }
}

/// Keywords that constrain only some types of values.
const KEYWORDS: &[&str] = &[
    "additionalProperties",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "properties",
    "required",
];

fn types(argument: &Value) -> Vec<&str> {
    match argument {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect(),
        other => panic!("`type: {other}`"),
    }
}

fn is_of_type(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("`type: {other}`"),
    }
}
