//! Settings: values for keys of a scenario, by YAML path, such as `policies[lcmp].max_delay`.
//!
//! The scenario is first written out: every key of the scenario and of those that it extends. A setting then replaces
//! or adds one value, and the result is a scenario that extends no other.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

use crate::{
    document::one,
    error::{ParseSettingPathError, ScenarioErrors, SourceText},
    extends::{EXTENDS, ScenarioChain},
    model::{Files, Scenario},
    parse::every_named_file,
    yaml,
};

/// YAML path of a key that a setting changes.
///
/// Keys are separated by dots. `[2]` is an item of a list by its position, from 0. `[lcmp]` is an item by its name: its
/// `label` or `name`, else the word that it is, or its only key. A name also descends to the value under that key.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct SettingPath {
    text: String,
    steps: Vec<PathStep>,
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum PathStep {
    Key(String),
    Position(usize),
    Name(String),
}

/// Value for a key of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting<'a> {
    /// YAML path of the key.
    pub path: &'a SettingPath,
    /// Value, as YAML has it.
    pub value: &'a Value,
}

/// Error of a setting whose path does not fit the scenario.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{path}` cannot be set: `{at}` {misfit}")]
pub struct SettingError {
    /// Path of the setting.
    pub path: String,
    /// Part of the path up to the value that does not fit.
    pub at: String,
    pub misfit: Misfit,
}

/// Reason why a value has no part of the kind that a path's next step names.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Misfit {
    #[error("is {0}, which has no keys")]
    NoMapping(&'static str),
    #[error("is {0}, not a list")]
    NoList(&'static str),
    #[error("has {0} items, numbered from 0")]
    Shorter(usize),
    #[error("has no item of this name (hint: there are {0})")]
    NoItem(String),
    #[error(
        "is merged before keys are set, so it cannot be an axis (hint: a sweep's `scenario` may be a list)"
    )]
    WrittenOut,
}

/// Keys of a scenario and of those that it extends, except `description`, each with its value.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct WrittenOut(Map<String, Value>);

impl FromStr for SettingPath {
    type Err = ParseSettingPathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let steps = steps(text).ok_or_else(|| ParseSettingPathError {
            text: text.to_owned(),
        })?;
        let text = text.to_owned();
        Ok(Self { text, steps })
    }
}

impl fmt::Display for SettingPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for SettingPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for SettingPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, ".{key}"),
            Self::Position(position) => write!(f, "[{position}]"),
            Self::Name(name) => write!(f, "[{name}]"),
        }
    }
}

/// Returns the steps of a path; `None` if it has an empty step, or an unpaired bracket.
fn steps(text: &str) -> Option<Vec<PathStep>> {
    let mut steps = Vec::new();
    for part in text.split('.') {
        let (key, items) = part.split_at(part.find('[').unwrap_or(part.len()));
        if key.trim().is_empty() || key.contains(']') {
            return None;
        }
        steps.push(PathStep::Key(key.to_owned()));
        let mut rest = items;
        while !rest.is_empty() {
            let (item, after) = rest.strip_prefix('[')?.split_once(']')?;
            if item.is_empty() || item.contains('[') {
                return None;
            }
            let name = |_| PathStep::Name(item.to_owned());
            steps.push(item.parse().map_or_else(name, PathStep::Position));
            rest = after;
        }
    }
    Some(steps)
}

impl WrittenOut {
    /// Reads the keys of the scenario `text` and of those that it extends, whose texts are in `files`; `scenario` is the
    /// same scenario, parsed. Paths of files become relative to the scenario, whichever text has them. The description is
    /// left out: it would describe the scenario without its settings, and no run depends on it.
    ///
    /// # Errors
    /// If a text cannot be read.
    pub fn read(
        source_name: &str,
        text: &str,
        files: &Files,
        scenario: &Scenario,
    ) -> Result<Self, ScenarioErrors> {
        let name = source_name;
        let chain = ScenarioChain::read(SourceText { name, text }, files)?;
        let mut keys = Map::new();
        for written in chain.texts() {
            let own: Map<String, Value> = yaml::read(written.source.text)
                .map_err(|finding| one(written.source, finding, None))?;
            for (key, value) in own {
                keys.entry(key).or_insert(value);
            }
        }
        keys.remove(EXTENDS);
        keys.remove("description");
        let mut written = Self(keys);
        for (at, path) in every_named_file(scenario).filter(|(at, _)| at != EXTENDS) {
            let value = Value::String(path.to_owned());
            let path: Option<SettingPath> = at.parse().ok();
            let place = path.and_then(|path| written.place(&path).ok());
            place.into_iter().for_each(|place| place.clone_from(&value));
        }
        Ok(written)
    }

    /// Returns these keys with the values of `settings`.
    ///
    /// # Errors
    /// With the first setting whose path does not fit.
    pub fn with<'a>(
        &self,
        settings: impl IntoIterator<Item = Setting<'a>>,
    ) -> Result<Self, SettingError> {
        let mut changed = self.clone();
        for Setting { path, value } in settings {
            changed.place(path)?.clone_from(value);
        }
        Ok(changed)
    }

    /// Returns the keys as compact JSON, sorted.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(&self.0).expect("keys are plain data")
    }

    /// Returns the YAML text of a scenario with these keys.
    #[must_use]
    pub fn text(&self) -> String {
        serde_saphyr::to_string(&self.0).expect("values that were read can be written")
    }

    /// Returns the value at `path`, which becomes null if there is none.
    fn place(&mut self, path: &SettingPath) -> Result<&mut Value, SettingError> {
        let mut at = String::new();
        let mut steps = path.steps.iter();
        let Some(PathStep::Key(first)) = steps.next() else {
            unreachable!("a path begins with a key");
        };
        at += first;
        let refused = |at: &str, misfit| SettingError {
            path: path.text.clone(),
            at: at.to_owned(),
            misfit,
        };
        if first == EXTENDS {
            return Err(refused(&at, Misfit::WrittenOut));
        }
        let mut place = self.0.entry(first.clone()).or_insert(Value::Null);
        for step in steps {
            place = part(place, step).map_err(|misfit| refused(&at, misfit))?;
            at += &step.to_string();
        }
        Ok(place)
    }
}

/// Returns the part of `value` that `step` names. A missing key is added.
fn part<'a>(value: &'a mut Value, step: &PathStep) -> Result<&'a mut Value, Misfit> {
    let found = kind(value);
    if let PathStep::Key(key) = step {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let map = value.as_object_mut().ok_or(Misfit::NoMapping(found))?;
        return Ok(map.entry(key.clone()).or_insert(Value::Null));
    }
    let items = value.as_array_mut().ok_or(Misfit::NoList(found))?;
    let length = items.len();
    match step {
        PathStep::Position(position) => items.get_mut(*position).ok_or(Misfit::Shorter(length)),
        PathStep::Key(name) | PathStep::Name(name) => {
            let names: Vec<String> = items.iter().filter_map(name_of).collect();
            let missing = || Misfit::NoItem(format!("`{}`", names.join("`, `")));
            let mut named = items.iter_mut();
            let item = named.find(|item| name_of(item).as_ref() == Some(name));
            Ok(body(item.ok_or_else(missing)?))
        }
    }
}

/// Returns the name of a list's item; `None` if it has none.
fn name_of(item: &Value) -> Option<String> {
    if let Value::String(word) = item {
        return Some(word.clone());
    }
    let map = item.as_object()?;
    let own = |map: &Map<String, Value>| {
        let name = map.get("label").or_else(|| map.get("name"))?;
        name.as_str().map(str::to_owned)
    };
    let mut entries = map.iter();
    match (entries.next(), entries.next()) {
        (Some((key, value)), None) if key != "name" => {
            let label = value.as_object().and_then(own);
            Some(label.unwrap_or_else(|| key.clone()))
        }
        _ => own(map),
    }
}

/// Returns the keys of a list's item that has a name: the value under its only key, or the item itself. A word becomes
/// a key without a value.
fn body(item: &mut Value) -> &mut Value {
    if let Value::String(word) = item {
        *item = Value::Object(Map::from_iter([(word.clone(), Value::Null)]));
    }
    let has_one = item
        .as_object()
        .is_some_and(|map| map.len() == 1 && !map.contains_key("name"));
    if !has_one {
        return item;
    }
    let map = item.as_object_mut().expect("it was a mapping just now");
    map.values_mut().next().expect("it has one key")
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) | Value::Number(_) | Value::String(_) => "a single value",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse, parse_with};

    const BASE: &str = "\
name: base
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 30 MB }]
policies:
  - ecmp
  - lcmp: { alpha: 5, label: steep }
  - lcmp
seed: 7
";

    fn written_out(text: &str, files: &Files) -> WrittenOut {
        let scenario = parse_with("s.yaml", text.as_bytes(), files).unwrap();
        WrittenOut::read("s.yaml", text, files, &scenario).unwrap()
    }

    /// Returns the JSON value at the JSON pointer `at` after `path` is set to 3.
    fn set(path: &str, at: &str) -> Option<Value> {
        let path: SettingPath = path.parse().unwrap();
        let value = &Value::from(3);
        let written = written_out(BASE, &Files::new());
        let changed = written.with([Setting { path: &path, value }]).unwrap();
        Value::Object(changed.0).pointer(at).cloned()
    }

    #[test]
    fn a_path_finds_keys_positions_and_names() {
        for (path, at) in [
            ("seed", "/seed"),
            ("routing.candidates", "/routing/candidates"),
            ("topology.dcs[1].hosts", "/topology/dcs/1/hosts"),
            ("topology.dcs[dc2].hosts", "/topology/dcs/1/hosts"),
            ("traffic[flows][0].size", "/traffic/0/flows/0/size"),
            ("policies[steep].alpha", "/policies/1/lcmp/alpha"),
            ("policies[lcmp].alpha", "/policies/2/lcmp/alpha"),
        ] {
            assert_eq!(set(path, at), Some(Value::from(3)), "{path}");
        }
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused_with_the_part_that_fits() {
        let refused = |path: &str| {
            let path: SettingPath = path.parse().unwrap();
            let value = &Value::Null;
            let written = written_out(BASE, &Files::new());
            let error = written.with([Setting { path: &path, value }]).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            refused("seed.x"),
            "`seed.x` cannot be set: `seed` is a single value, which has no keys"
        );
        assert_eq!(
            refused("topology[0]"),
            "`topology[0]` cannot be set: `topology` is a mapping, not a list"
        );
        assert_eq!(
            refused("topology.links[1].rate"),
            "`topology.links[1].rate` cannot be set: `topology.links` has 1 items, numbered from 0"
        );
        assert_eq!(
            refused("policies[ucmp].alpha"),
            "`policies[ucmp].alpha` cannot be set: `policies` has no item of this name (hint: there are `ecmp`, \
             `steep`, `lcmp`)"
        );
        assert!(refused("extends").contains("a sweep's `scenario` may be a list"));
    }

    #[test]
    fn texts_that_are_no_paths_are_refused() {
        for text in [
            "", "a..b", ".a", "[0]", "a[", "a[]", "a[0", "a]b", "a[0]b", "a[[0]]",
        ] {
            assert!(text.parse::<SettingPath>().is_err(), "{text}");
        }
    }

    /// Every key comes from the first text that has it, and the result means the same as the chain.
    #[test]
    fn an_extended_scenario_is_written_out_with_paths_relative_to_the_scenario() {
        let own = "name: own\nextends: ../base/b.yaml\nseed: 9\n";
        let flow_file = BASE.replace(
            "  - flows: [{ from: dc1/h1, to: dc2/h1, size: 30 MB }]",
            "  - flow_file: flows.csv\n  - workload: { sizes: sizes.csv, pairs: [{ from: dc1, to: dc2 }], load: 0.3, duration: 1 ms }",
        );
        let files = Files::from([("../base/b.yaml".to_owned(), flow_file)]);
        let written = written_out(own, &files);
        let text = written.text();
        let alone = parse("own.yaml", text.as_bytes()).unwrap();
        let chained = parse_with("own.yaml", own.as_bytes(), &files).unwrap();
        assert_eq!(alone.extends, Vec::<String>::new());
        let extends = chained.extends.clone();
        assert_eq!(Scenario { extends, ..alone }, chained, "{text}");
        assert!(
            text.contains("../base/flows.csv") && text.contains("../base/sizes.csv"),
            "{text}"
        );
    }
}
