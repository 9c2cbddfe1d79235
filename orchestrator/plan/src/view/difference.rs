//! First difference between two plans.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::Plan;

impl Plan {
    /// Returns the first difference between the [inputs](Plan::inputs) of two plans, in alphabetical order of keys.
    /// Returns `None` if the plans describe the same run; lab slots (address blocks) are ignored.
    #[must_use]
    pub fn difference(self, other: Self) -> Option<String> {
        let [own, other] = [self, other].map(|plan| plan.inputs().in_slot(0));
        if own == other {
            return None;
        }
        let [own, other] =
            [own, other].map(|plan| serde_json::to_value(plan).expect("a plan is plain data"));
        between("", Some(&own), Some(&other))
    }
}

/// Returns the first difference between two JSON values, which are at `path` in their plans.
fn between(path: &str, own: Option<&Value>, other: Option<&Value>) -> Option<String> {
    match (own, other) {
        _ if own == other => None,
        (Some(Value::Object(own)), Some(Value::Object(other))) => {
            let keys: BTreeSet<&String> = own.keys().chain(other.keys()).collect();
            keys.into_iter().find_map(|key| {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                between(&path, own.get(key), other.get(key))
            })
        }
        (Some(Value::Array(own)), Some(Value::Array(other))) => (0..own.len().max(other.len()))
            .find_map(|at| between(&format!("{path}[{at}]"), own.get(at), other.get(at))),
        _ => Some(format!(
            "`{path}` was {} and is {}",
            shown(own),
            shown(other)
        )),
    }
}

/// Returns a short text for a JSON value, or for its absence.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(Value::Object(_)) => "{…}".to_owned(),
        Some(Value::Array(_)) => "[…]".to_owned(),
        Some(Value::String(text)) if text.len() > MAX_SHOWN => "\"…\"".to_owned(),
        Some(scalar) => scalar.to_string(),
    }
}

/// Maximum length of a text that is shown, bytes; weights are longer.
const MAX_SHOWN: usize = 200;
