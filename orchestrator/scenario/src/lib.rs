//! Parsing of a scenario text into a [`Scenario`]: form, units, limits, and errors with their location.
//!
//! A scenario is one YAML document. [`parse`](parse()) converts the document into a [`Scenario`] in paper units, with
//! defaults filled in, from which the plan is resolved. The same text gives the same scenario on every machine. Must
//! not contain: file system, environment, clocks, randomness. The caller reads the files that a scenario names
//! ([`files`](files())) and passes on their texts.
//!
//! - [`model`][]: scenarios as values
//! - [`error`][]: problems of a text, with file, line, column, YAML path and hint
//! - [`defaults`][] and [`limits`][]: documented constants, which are also in the schema
//! - [`mod@files`]: size distributions, demand matrices and the artifact's flow lists
//! - `yaml`: values with their byte ranges, and the YAML path of a byte range
//! - `document`: deserialisation of a text, with the location of its first problem
//! - `raw`: the form in which scenarios are written, from which the JSON Schema is generated
//! - `resolve`: conversion from `raw` to `model`, with all checks
//! - `extends`: the scenarios from which a scenario takes the keys that it does not have
//! - `path`: paths of files that are named in a file
//! - `topology_file`: the file that a scenario names in place of its topology's keys
//! - `settings`: values for single keys, and a scenario with all its keys written out
//! - `suite`, `sweep`: lists of scenarios to check, and grids of scenarios to compare
//! - `schema`: [`schema`](schema()) and the parameters' [`reference`](reference())
//!
//! ```
//! let text = "
//! name: pair
//! topology:
//!   dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
//!   links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
//! traffic:
//!   - flows: [{ from: dc1/h1, to: dc2/h1, size: 30 MB }]
//! policies: [ecmp]
//! ";
//! let scenario = lab_scenario::parse("pair.yaml", text.as_bytes()).unwrap();
//! assert_eq!(scenario.topology.links[0].wire.rate_bps.to_string(), "100 Gbit");
//!
//! let wrong = text.replace("rate: 100 Gbit", "rte: 100 Gbit");
//! let errors = lab_scenario::parse("pair.yaml", wrong.as_bytes()).unwrap_err();
//! assert_eq!(errors.to_string(), "\
//! error: unknown key `rte`
//!  --> pair.yaml:5:34
//!   |
//! 5 |   links: [{ between: [dc1, dc2], rte: 100 Gbit, delay: 5 ms }]
//!   |                                  ^^^
//!   |
//!   = at `topology.links[0].rte`
//!   = hint: did you mean `rate`?");
//! ```

pub mod defaults;
mod document;
pub mod error;
pub mod expect;
mod extends;
pub mod files;
pub mod limits;
pub mod model;
mod parse;
mod path;
mod raw;
mod resolve;
mod schema;
mod settings;
mod suggest;
mod suite;
mod sweep;
mod topology_file;
mod yaml;

pub use error::{AxisProblem, ParseSettingPathError, Problem, ScenarioErrors};
pub use expect::Expectation;
pub use files::{CdfPoint, FileFlow, SizeCdf, parse_flow_file};
pub use model::*;
pub use parse::{
    MissingFile, files, item_lines, missing_file, named_files, parse, parse_with, problem_at,
    text_with, value_line,
};
pub use schema::{reference, schema};
pub use settings::{Misfit, Setting, SettingError, SettingPath, WrittenOut};
pub use suggest::{did_you_mean, near_graphs};
pub use suite::{Case, CaseRuns, Suite, parse_suite};
pub use sweep::{
    Axis, LOAD, ParseAxisError, Sweep, SweepRecords, SweepTrains, is_sweep, parse_sweep,
};
