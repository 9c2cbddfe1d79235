//! Scenario text to [`Scenario`]: shapes, units, limits, and errors that point at their place.
//!
//! A scenario is one YAML document. [`parse`](parse()) reads it into what it means, in paper units
//! and with defaults filled in; the plan goes on from there. The same text gives the same scenario
//! on every machine. Must not contain: file system, environment, clocks, randomness. Files that a
//! scenario names ([`files`](files())) are read by the caller, who passes their texts on.
//!
//! - [`model`][]: what a scenario means
//! - [`error`][]: what is wrong with a text, with file, line, column, YAML path and hint
//! - [`defaults`][] and [`limits`][]: documented constants, also in the schema
//! - [`mod@files`]: size distributions and the artifact's flow lists
//! - `yaml`: values with places, and the YAML path of a place
//! - `raw`: the shapes as written, from which the JSON Schema is made
//! - `resolve`: from `raw` to `model`, with every check
//! - `schema`: [`schema`](schema())
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
//! assert_eq!(scenario.topology.links[0].wire.rate.to_string(), "100 Gbit");
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
pub mod error;
pub mod files;
pub mod limits;
pub mod model;
mod parse;
mod raw;
mod resolve;
mod schema;
mod suggest;
mod yaml;

pub use error::{Problem, ScenarioErrors};
pub use files::{CdfPoint, FileFlow, SizeCdf, parse_flow_file};
pub use model::*;
pub use parse::{files, parse};
pub use schema::{reference, schema};
