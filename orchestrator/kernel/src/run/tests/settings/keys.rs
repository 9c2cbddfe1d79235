//! Keys of the scenario's JSON Schema, written as paths: `topology.links[].rate`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Returns the paths of all keys that have values of their own.
///
/// A key that can only be a mapping or a list of mappings, such as `topology.defaults` or `topology.links`, has no value of
/// its own; the keys inside it have values.
pub(super) fn of_the_schema() -> BTreeSet<String> {
    let schema = lab_scenario::schema();
    let mut keys = BTreeSet::new();
    visit(&schema, &schema, "", &mut keys);
    keys
}

/// Adds the paths of the keys at and below `node`, which is at `path`.
fn visit(schema: &Value, node: &Value, path: &str, keys: &mut BTreeSet<String>) {
    if let Some(name) = node["$ref"].as_str() {
        let target = schema.pointer(name.trim_start_matches('#'));
        return visit(schema, target.expect("a definition"), path, keys);
    }
    // An `anyOf` beside `properties` only states which of these properties are required.
    let forms = node["anyOf"].as_array();
    if let Some(forms) = forms.filter(|_| node.get("properties").is_none()) {
        return forms
            .iter()
            .for_each(|form| visit(schema, form, path, keys));
    }
    if let Some(items) = node.get("items") {
        // A list of strings or numbers is one value.
        let at = if is_single(items) {
            path.to_owned()
        } else {
            format!("{path}[]")
        };
        return visit(schema, items, &at, keys);
    }
    match node["properties"].as_object() {
        Some(properties) if !properties.is_empty() => {
            for (key, value) in properties {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                visit(schema, value, &path, keys);
            }
        }
        _ => drop(keys.insert(path.to_owned())),
    }
}

/// Returns true if the schema `node` describes a string, number or boolean.
fn is_single(node: &Value) -> bool {
    ["$ref", "anyOf", "items", "properties"]
        .iter()
        .all(|form| node.get(form).is_none())
}

/// Returns the description of the key at `path`; empty if the schema has none.
pub(super) fn description(path: &str) -> String {
    let schema = lab_scenario::schema();
    let mut node = &schema;
    for key in path.split('.') {
        node = resolved(&schema, node);
        node = property(&schema, node, key.trim_end_matches("[]"));
        if key.ends_with("[]") {
            node = &node["items"];
        }
    }
    node["description"].as_str().unwrap_or_default().to_owned()
}

fn property<'a>(schema: &'a Value, node: &'a Value, key: &str) -> &'a Value {
    let forms = node["anyOf"].as_array().into_iter().flatten();
    let mut forms = std::iter::once(node).chain(forms.map(|form| resolved(schema, form)));
    forms
        .find_map(|form| form["properties"].get(key))
        .unwrap_or(&Value::Null)
}

fn resolved<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let name = node["$ref"].as_str();
    name.and_then(|name| schema.pointer(name.trim_start_matches('#')))
        .unwrap_or(node)
}

#[test]
fn keys_are_paths_of_values() {
    let keys = of_the_schema();
    for key in [
        "seed",
        "scale",
        "scale.rate",
        "repetitions",
        "topology",
        "topology.hosts_at",
        "topology.links[].between",
        "topology.links[].ecn",
        "topology.links[].ecn.k_min",
        "policies[]",
        "policies[].ecmp",
        "policies[].lcmp.alpha",
        "traffic[].workload.load",
        "traffic[].workload.pairs",
        "traffic[].workload.pairs[].from",
    ] {
        assert!(keys.contains(key), "{key}");
    }
    for mapping in [
        "topology.defaults",
        "topology.links",
        "topology.links[]",
        "traffic[].workload",
    ] {
        assert!(!keys.contains(mapping), "{mapping}");
    }
    assert!(description("measure.queues").starts_with("Time between two samples"));
    assert!(description("repetitions.lab").starts_with("Number of repetitions"));
}
