//! Scenarios as JSON values that can be changed key by key, and the files to which the scenarios refer.

use lab_scenario::Files;
use serde_json::{Map, Value};

use super::weights;

/// Returns the scenario `base` after giving each path in `changes` its new value.
///
/// A path leads to a key, such as `topology.links[].rate`, where `[]` is the first item of a list and `[1]` the second.
/// A value is JSON, or a string without quotes. Keys that exclude a new key are removed from its mapping.
pub(super) fn changed(base: &str, changes: &[(String, &str)]) -> String {
    let mut scenario: Value = serde_saphyr::from_str(base).expect("a base is YAML");
    for (path, to) in changes {
        let to = serde_json::from_str(to).unwrap_or_else(|_| Value::from(*to));
        *place(&mut scenario, path) = to;
    }
    format!("{scenario:#}")
}

/// Returns the value at `path`; adds the value if it is missing.
fn place<'a>(scenario: &'a mut Value, path: &str) -> &'a mut Value {
    let mut at = scenario;
    let mut parent = String::new();
    let parts: Vec<&str> = path.split('.').collect();
    for (number, part) in (1..).zip(&parts) {
        let (key, index) = part.split_once('[').unwrap_or((part, ""));
        let map = as_mapping(at, is_choice(&parent));
        let others: Vec<String> = map
            .keys()
            .filter(|other| excludes(&parent, key, other))
            .cloned()
            .collect();
        // A parameter of another policy would also replace the policy, so two keys would change at once.
        assert!(
            others.is_empty() || number == parts.len(),
            "`{path}` changes {others:?}, too"
        );
        others.iter().for_each(|other| drop(map.remove(other)));
        at = map.entry(key).or_insert(Value::Null);
        parent = format!("{parent}.{key}");
        if part.ends_with(']') {
            let index: usize = index.trim_end_matches(']').parse().unwrap_or(0);
            at = &mut at.as_array_mut().expect("a base has the list")[index];
            parent += "[]";
        }
    }
    at
}

/// Converts `value` to a mapping. If the value is a word that stands for a choice, the word becomes the key; any other
/// value is dropped.
fn as_mapping(value: &mut Value, is_choice: bool) -> &mut Map<String, Value> {
    if !value.is_object() {
        let word = value.as_str().filter(|_| is_choice);
        let keys = word.map(|word| (word.to_owned(), Value::Object(Map::new())));
        *value = Value::Object(keys.into_iter().collect());
    }
    value.as_object_mut().expect("it is a mapping now")
}

/// Returns true if the mapping at `path` represents a choice and so has exactly one of its possible keys.
fn is_choice(path: &str) -> bool {
    matches!(path, ".policies[]" | ".traffic[]" | ".transport.cc")
}

/// Returns true if the mapping at `path` cannot have both `key` and `other`.
fn excludes(path: &str, key: &str, other: &str) -> bool {
    let one_of = |keys: &[&str]| keys.contains(&key) && keys.contains(&other);
    let is_one_of_several = match path {
        ".faults[]" => {
            key == "random" || other == "random" || one_of(&["down", "up", "rate", "delay", "loss"])
        }
        ".policies[].redte" | ".policies[].redte-direct" | ".policies[].static" => {
            one_of(&["weights", "train"])
        }
        ".topology" => one_of(&["zoo", "import"]),
        ".topology.dcs[]" => one_of(&["hosts", "fabric"]),
        _ => is_choice(path),
    };
    is_one_of_several && key != other
}

/// Returns the files to which the scenarios refer, by name.
pub(super) fn files() -> Files {
    let named = [
        ("sizes.csv", "bytes,percent\n20000,0\n400000,100\n"),
        ("larger.csv", "bytes,percent\n20000,0\n800000,100\n"),
        ("matrix.csv", "from,to,rate\ndc1,dc5,4 Gbit\n"),
        ("mirrored.csv", "from,to,rate\ndc5,dc1,4 Gbit\n"),
        ("square.gml", SQUARE),
        ("chain.csv", CHAIN),
        ("pair.yaml", PAIR),
        (
            "pair-reseeded.yaml",
            "name: reseeded\nextends: pair.yaml\nseed: 2\n",
        ),
        // In the artifact, hosts are numbered by datacenter, with sixteen hosts each.
        (
            "flows.txt",
            "2\n0 64 3 100 500000 2.0\n1 65 3 100 500000 2.0001\n",
        ),
        // Nodes 0 to 4 are hosts; nodes 5 to 9 are the DCI switches of dc1 to dc5.
        (
            "routes.csv",
            "src_id,dst_id,next_hop_id\n5,3,8;7;6\n5,4,8;7;6\n",
        ),
    ];
    let mut files: Files = named
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect();
    files.extend(weights::files(&files));
    files
}

/// Scenario that another one extends.
const PAIR: &str = "
name: pair
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 2 }]
  links: [{ between: [dc1, dc2], rate: 10 Gbit, delay: 1 ms }]
traffic: [{ workload: { sizes: sizes.csv, pairs: all-to-all, load: 5%, duration: 20 ms } }]
policies: [ecmp]
scale: { rate: 1/100, time: 10 }
seed: 1
";

/// Graph that lacks a rate, a label, coordinates and a link between its parts.
const SQUARE: &str = "
graph [
  node [ id 0 label \"west\" Latitude 48.0 Longitude 2.0 ]
  node [ id 1 label \"north\" Latitude 49.0 Longitude 3.0 ]
  node [ id 2 Latitude 47.0 Longitude 3.0 ]
  node [ id 3 label \"east\" ]
  node [ id 4 label \"island\" Latitude 40.0 Longitude 9.0 ]
  edge [ source 0 target 1 rate \"10 Gbit\" ]
  edge [ source 0 target 1 rate \"10 Gbit\" ]
  edge [ source 1 target 3 ]
  edge [ source 0 target 2 rate \"10 Gbit\" ]
  edge [ source 2 target 3 rate \"10 Gbit\" ]
  edge [ source 0 target 3 ]
]
";

/// Graph with fewer nodes than [`SQUARE`].
const CHAIN: &str = "source,target,rate,delay\nwest,east,10 Gbit,1 ms\n";
