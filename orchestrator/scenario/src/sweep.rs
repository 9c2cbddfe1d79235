//! Sweeps: grids of scenarios. A cell of the grid is a scenario with one value of each axis.

use std::{fmt, num::NonZeroU16, str::FromStr};

use lab_topologies::zoo;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{
    document::{read, utf8},
    error::{AxisProblem, ParseSettingPathError, ProblemKind, ScenarioErrors, SourceText},
    limits,
    resolve::context::Context,
    settings::SettingPath,
    yaml::{
        At, Locator, Maybe, OneOrMany, Text,
        scalar::{Scalar, words},
    },
};

/// Sweep: scenarios, and axes whose values they get in every combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Name of the sweep.
    pub name: String,
    /// Paths of the scenarios as written, relative to the sweep's file; never empty.
    pub scenarios: Vec<String>,
    /// Axes in the order of the text.
    pub axes: Vec<Axis>,
    /// Labels of the policies to run; empty for all policies of each scenario.
    pub policies: Vec<String>,
    /// Label of the policy that the others are compared with; `None` for the first.
    pub baseline: Option<String>,
    /// Trains of the simulations; `None` for packets.
    pub trains: Option<SweepTrains>,
    pub records: SweepRecords,
}

/// What a sweep keeps of each cell beside its results.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SweepRecords {
    /// Nothing.
    #[default]
    Summary,
    /// Its flows, their paths, and totals of links.
    Flows,
    /// Its run directory, with a report.
    Full,
}

words! {
    SweepRecords: "a kind of records" {
        "summary" => Self::Summary,
        "flows" => Self::Flows,
        "full" => Self::Full,
    }
}

/// Trains of a sweep's simulations.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SweepTrains {
    /// Trains as long as each cell's network allows.
    Default,
    /// Trains of at most this number of packets.
    Packets(NonZeroU16),
}

/// Axis of a sweep: a key of the scenario and the values that it gets.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Axis {
    /// Path of the key, or [`LOAD`].
    pub path: SettingPath,
    /// Values, as YAML has them; never empty.
    pub values: Vec<Value>,
}

/// Path of the axis of loads, which are set as `--load` does.
pub const LOAD: &str = "load";

/// Error of a text that is no axis.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ParseAxisError {
    #[error("`{0}` has no `=` (hint: such as `seed=1..10` or `load=0.3,0.8`)")]
    NoValues(String),
    #[error(transparent)]
    Path(#[from] ParseSettingPathError),
    #[error("the values of `{path}` are no YAML list without its brackets: {message}")]
    Yaml { path: String, message: String },
    #[error(transparent)]
    Values(#[from] AxisProblem),
}

/// A sweep as it is written, with unparsed values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSweep {
    name: Text<String>,
    scenario: OneOrMany<String>,
    axes: RawAxes,
    #[serde(default)]
    policies: Maybe<At<Vec<Text<String>>>>,
    #[serde(default)]
    baseline: Maybe<Text<String>>,
    #[serde(default)]
    trains: Maybe<Text<u16>>,
    #[serde(default)]
    records: Maybe<Text<SweepRecords>>,
}

/// Axes as they are written, in order.
#[derive(Debug)]
struct RawAxes(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for RawAxes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AxesVisitor)
    }
}

struct AxesVisitor;

impl<'de> Visitor<'de> for AxesVisitor {
    type Value = RawAxes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("axes: keys of the scenario, each with a list of values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut axes = Vec::new();
        while let Some(axis) = map.next_entry()? {
            axes.push(axis);
        }
        Ok(RawAxes(axes))
    }
}

impl Axis {
    /// Creates an axis with the values `written`. A range (`1..10`) and all graphs of the Topology Zoo (`zoo:*`) stand for
    /// several values.
    ///
    /// # Errors
    /// If there are no values, too many, or one twice.
    pub fn new(path: SettingPath, written: Vec<Value>) -> Result<Self, AxisProblem> {
        let found: u64 = written.iter().map(count_of).fold(0, u64::saturating_add);
        if found > limits::MAX_CELLS {
            let path = path.to_string();
            return Err(AxisProblem::TooLong { path, found });
        }
        if let Some(range) = written.iter().find_map(falling) {
            let path = path.to_string();
            return Err(AxisProblem::Falling { path, range });
        }
        let values: Vec<Value> = written.into_iter().flat_map(expanded).collect();
        let mut texts: Vec<String> = values.iter().map(Value::to_string).collect();
        texts.sort_unstable();
        if let Some(pair) = texts.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(AxisProblem::Twice {
                path: path.to_string(),
                value: pair[0].clone(),
            });
        }
        if values.is_empty() {
            let path = path.to_string();
            return Err(AxisProblem::Empty { path });
        }
        Ok(Self { path, values })
    }

    /// Returns true for the axis of loads, which are set as `--load` does.
    #[must_use]
    pub fn is_load(&self) -> bool {
        self.path.to_string() == LOAD
    }
}

/// Parses an axis such as `seed=1..10` or `load=0.3,0.8`: a path and the items of a YAML list, without its brackets.
impl FromStr for Axis {
    type Err = ParseAxisError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_values = || ParseAxisError::NoValues(text.to_owned());
        let (path, values) = text.split_once('=').ok_or_else(no_values)?;
        let path: SettingPath = path.parse()?;
        let listed = crate::yaml::read(&format!("[{values}]"));
        let written = listed.map_err(|finding| ParseAxisError::Yaml {
            path: path.to_string(),
            message: finding.kind.to_string(),
        })?;
        Ok(Self::new(path, written)?)
    }
}

/// Returns the number of values that `value` stands for.
fn count_of(value: &Value) -> u64 {
    match (range_of(value), zoo_of(value)) {
        (Some((first, last)), _) => last.saturating_sub(first).saturating_add(1),
        (None, Some((_, names))) => names.len() as u64,
        (None, None) => 1,
    }
}

/// Returns the values that `value` stands for.
fn expanded(value: Value) -> Vec<Value> {
    if let Some((first, last)) = range_of(&value) {
        return (first..=last).map(Value::from).collect();
    }
    match zoo_of(&value) {
        Some((options, names)) => names
            .into_iter()
            .map(|name| {
                let mut graph = options.clone();
                graph.insert(ZOO.to_owned(), name);
                Value::Object(graph)
            })
            .collect(),
        None => vec![value],
    }
}

/// Returns the first and the last number of a range such as `1..10`; `None` for another value.
fn range_of(value: &Value) -> Option<(u64, u64)> {
    let (first, last) = value.as_str()?.split_once("..")?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Returns a range whose last number is below its first; `None` for another value.
fn falling(value: &Value) -> Option<String> {
    let (first, last) = range_of(value)?;
    (last < first).then(|| format!("{first}..{last}"))
}

/// Returns the options and names if a topology stands for several graphs: all graphs of the Topology Zoo by `zoo:*` or
/// `{ zoo: "*" }`, or those of a list by `{ zoo: [Abilene, Geant2012] }`. `None` for another value.
fn zoo_of(value: &Value) -> Option<(Map<String, Value>, Vec<Value>)> {
    let all = || zoo::names().map(Value::from).collect();
    match value {
        Value::String(word) => (word == "zoo:*").then(|| (Map::new(), all())),
        Value::Object(map) => match map.get(ZOO)? {
            Value::String(word) => (word == "*").then(|| (map.clone(), all())),
            Value::Array(names) => Some((map.clone(), names.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Key of a topology that is a graph of the Topology Zoo.
const ZOO: &str = "zoo";

/// Returns true if a YAML text is a sweep: it has the key `axes` or `scenario`, which no scenario has.
#[must_use]
pub fn is_sweep(text: &str) -> bool {
    let locator = Locator::new(text);
    ["axes", "scenario"]
        .iter()
        .any(|key| locator.value(key).is_some())
}

/// Parses a sweep; `source_name` is the name of the text in errors.
///
/// # Errors
/// Fails with the first syntax or type error or, if there is none, with all invalid values.
pub fn parse_sweep(source_name: &str, text: &[u8]) -> Result<Sweep, ScenarioErrors> {
    let source = SourceText {
        name: source_name,
        text: utf8(source_name, text)?,
    };
    let raw: RawSweep = read(source)?;
    let mut context = Context::new(source);
    let mut axes = Vec::new();
    for (path, value) in raw.axes.0 {
        let range = Locator::new(source.text).value(&format!("axes.{path}"));
        match axis(&path, value) {
            Ok(axis) => axes.push(axis),
            Err(kind) => context.problem(&range.unwrap_or_default(), kind),
        }
    }
    context.count(
        &raw.scenario.range,
        raw.scenario.values.len(),
        1..=limits::MAX_SCENARIOS,
    );
    let trains = raw
        .trains
        .as_ref()
        .and_then(|text| trains(&mut context, text));
    let records = context.read_or(&raw.records, SweepRecords::default());
    let labels = raw.policies.as_ref().into_iter().flat_map(|it| &it.value);
    context.finish(Sweep {
        name: raw.name.as_str().to_owned(),
        scenarios: raw
            .scenario
            .values
            .iter()
            .map(|it| it.as_str().to_owned())
            .collect(),
        axes,
        policies: labels.map(|label| label.as_str().to_owned()).collect(),
        baseline: raw.baseline.as_ref().map(|label| label.as_str().to_owned()),
        trains,
        records,
    })
}

fn trains(context: &mut Context<'_>, text: &Text<u16>) -> Option<SweepTrains> {
    if text.as_str() == "default" {
        return Some(SweepTrains::Default);
    }
    let length = context.within(text, 1..=u16::MAX)?;
    NonZeroU16::new(length).map(SweepTrains::Packets)
}

fn axis(path: &str, value: Value) -> Result<Axis, ProblemKind> {
    let path: SettingPath = path.parse()?;
    let written = match value {
        Value::Array(values) => values,
        one => vec![one],
    };
    Ok(Axis::new(path, written)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: &str = "\
name: grid
scenario: ../8dc.yaml
axes:
  load: [0.3, 80%]
  policies[lcmp].max_delay: [65536 us, 524288 us]
  seed: 1..3
baseline: ecmp
";

    fn texts(axis: &Axis) -> Vec<String> {
        axis.values.iter().map(Value::to_string).collect()
    }

    #[test]
    fn axes_keep_their_order_and_ranges_include_both_ends() {
        let sweep = parse_sweep("grid.yaml", SWEEP.as_bytes()).unwrap();
        let paths: Vec<_> = sweep
            .axes
            .iter()
            .map(|axis| axis.path.to_string())
            .collect();
        assert_eq!(paths, ["load", "policies[lcmp].max_delay", "seed"]);
        assert_eq!(texts(&sweep.axes[0]), ["0.3", "\"80%\""]);
        assert_eq!(texts(&sweep.axes[2]), ["1", "2", "3"]);
        assert_eq!(sweep.scenarios, ["../8dc.yaml"]);
        assert_eq!(sweep.baseline.as_deref(), Some("ecmp"));
        assert!(is_sweep(SWEEP) && !is_sweep("name: x\npolicies: [ecmp]\n"));
    }

    #[test]
    fn problems_have_the_line_of_their_axis() {
        let text = SWEEP
            .replace("[0.3, 80%]", "[]")
            .replace("1..3", "[1, 2, 1]")
            .replace("policies[lcmp]", "policies[");
        let errors = parse_sweep("grid.yaml", text.as_bytes()).unwrap_err();
        let places: Vec<_> = errors
            .problems()
            .iter()
            .map(|problem| (problem.location.line, problem.message().clone()))
            .collect();
        let expected = [
            (4, "the axis `load` has no values".to_owned()),
            (5, "`policies[.max_delay` is not a path of a key".to_owned()),
            (6, "the axis `seed` has the value `1` twice".to_owned()),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn an_axis_of_the_command_line_is_a_path_and_a_list() {
        let axis: Axis = "topology=zoo:Abilene,{ zoo: Geant2012, hosts: 2 }"
            .parse()
            .unwrap();
        assert_eq!(
            texts(&axis),
            ["\"zoo:Abilene\"", r#"{"hosts":2,"zoo":"Geant2012"}"#]
        );
        let refused = |text: &str| text.parse::<Axis>().unwrap_err().to_string();
        assert!(refused("seed").contains("has no `=`"));
        assert_eq!(refused("seed="), "the axis `seed` has no values");
        assert_eq!(
            refused("seed=1..1000000000"),
            "the axis `seed` has 1000000000 values; the maximum is 1000000"
        );
        assert!(refused("seed=[1").starts_with("the values of `seed` are no YAML list"));
    }

    #[test]
    fn the_sweep_over_the_zoo_has_all_its_graphs() {
        let text = include_str!("../../../scenarios/sweeps/zoo.yaml");
        let sweep = parse_sweep("zoo.yaml", text.as_bytes()).unwrap();
        let lengths = sweep.axes.iter().map(|axis| axis.values.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [276, 2, 2, 3]);
        assert_eq!(sweep.trains, Some(SweepTrains::Default));
    }

    /// The sample has every 23rd graph from the 12th on, by the number of nodes and the name.
    #[test]
    fn the_sample_of_the_zoo_is_drawn_by_its_rule() {
        let axis = |text: &str| parse_sweep("zoo.yaml", text.as_bytes()).unwrap().axes[0].clone();
        let all = axis(include_str!("../../../scenarios/sweeps/zoo.yaml"));
        let sample = axis(include_str!("../../../scenarios/sweeps/zoo-sample.yaml"));
        let size = |graph: &Value| {
            let name = graph["zoo"].as_str().unwrap();
            (zoo::graph(name).unwrap().nodes.len(), name.to_owned())
        };
        let mut sorted = all.values.clone();
        sorted.sort_by_key(size);
        let drawn: Vec<&Value> = sorted.iter().skip(11).step_by(23).collect();
        assert_eq!(drawn, sample.values.iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_guides_sweep_is_valid() {
        let guide = include_str!("../../../scenarios/README.md");
        let start = guide.find("# grid.yaml").unwrap();
        let text = guide[start..].split("```").next().unwrap();
        let sweep = parse_sweep("grid.yaml", text.as_bytes()).unwrap();
        let lengths = sweep.axes.iter().map(|axis| axis.values.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [2, 2, 1, 10]);
    }

    #[test]
    fn a_star_stands_for_all_graphs_of_the_zoo() {
        let all: Axis = "topology=zoo:*".parse().unwrap();
        assert_eq!(all.values.len(), 276);
        let with_options: Axis = "topology={ zoo: \"*\", hosts: 2 }".parse().unwrap();
        assert_eq!(with_options.values.len(), 276);
        assert!(with_options.values.iter().all(|graph| graph["hosts"] == 2));
        let some: Axis = "topology={ zoo: [Abilene, Kdl], hosts: 2 }"
            .parse()
            .unwrap();
        let graphs = [
            r#"{"hosts":2,"zoo":"Abilene"}"#,
            r#"{"hosts":2,"zoo":"Kdl"}"#,
        ];
        assert_eq!(texts(&some), graphs);
        let none = "topology={ zoo: [] }".parse::<Axis>().unwrap_err();
        assert_eq!(none.to_string(), "the axis `topology` has no values");
    }
}
