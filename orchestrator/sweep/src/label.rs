//! Short names of an axis's values.

use std::borrow::Cow;

use lab_scenario::Axis;
use serde_json::Value;

/// Returns a short name for each value of `axis`. A graph from the Topology Zoo has its own name; values that use one graph
/// with different options also have the options that set them apart. Any other value has its text.
#[must_use]
pub fn labels(axis: &Axis) -> Vec<String> {
    (0..axis.values.len()).map(|at| label(axis, at)).collect()
}

/// Returns the short name of the value at the position `at` of `axis`, as in [`labels`].
///
/// # Panics
/// If `axis` has no such value.
#[must_use]
pub fn label(axis: &Axis, at: usize) -> String {
    let value = &axis.values[at];
    let Some(graph) = graph(value) else {
        let text = text_of(value);
        return text.strip_prefix("zoo:").unwrap_or(&text).to_owned();
    };
    let others = axis.values.iter();
    let alike: Vec<&Value> = others.filter(|it| self::graph(it) == Some(graph)).collect();
    let mut options = Vec::new();
    for (key, option) in value.as_object().into_iter().flatten() {
        if alike.iter().any(|other| other.get(key) != Some(option)) {
            options.push(format!("{key} {}", text_of(option)));
        }
    }
    if options.is_empty() {
        graph.to_owned()
    } else {
        format!("{graph} ({})", options.join(", "))
    }
}

/// Returns the name of the graph that `value` uses with options; `None` for another value.
fn graph(value: &Value) -> Option<&str> {
    value.get("zoo")?.as_str()
}

/// Returns the text of a value as YAML would have it in a list.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value.as_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(values: Value) -> Vec<String> {
        let axis = json!({ "path": "topology", "values": values });
        labels(&serde_json::from_value(axis).unwrap())
    }

    #[test]
    fn graphs_are_named_and_other_values_are_their_texts() {
        let graphs = json!(["zoo:Ans", { "zoo": "Oxford", "parallel": "keep" }, "own.yaml"]);
        assert_eq!(names(graphs), ["Ans", "Oxford", "own.yaml"]);
        assert_eq!(names(json!(["5 ms", 3, true])), ["5 ms", "3", "true"]);
    }

    #[test]
    fn options_tell_values_of_one_graph_apart() {
        let graphs = json!([
            { "zoo": "Ans", "hosts": 2 },
            { "zoo": "Ans", "hosts": 2, "parallel": "merge", "defaults": { "buffer": "1 MB" } },
            { "zoo": "Ans", "hosts": 4, "parallel": "merge" },
            "zoo:Oxford",
        ]);
        assert_eq!(
            names(graphs),
            [
                "Ans (hosts 2)",
                r#"Ans (defaults {"buffer":"1 MB"}, hosts 2, parallel merge)"#,
                "Ans (hosts 4, parallel merge)",
                "Oxford",
            ]
        );
    }
}
