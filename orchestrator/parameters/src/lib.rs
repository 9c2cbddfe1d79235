//! Parameters of links, transport, policies and congestion controls, each declared once.
//!
//! A declaration names a parameter, its type, meaning, range and defaults. The scenario reader, the JSON Schema, the
//! parameter reference, the plan (scaling and tables) and `tune` all use these declarations. To add a parameter, add a
//! declaration and the code that uses the value.
//!
//! Must not contain: clocks, floats, I/O, allocation.
//!
//! - [`value`][]: [`Value`]s of parameters and their [`Domain`]s
//! - [`set`][]: [`Parameter`], [`ParameterSet`], and the macro that declares a set of parameters
//! - [`limits`][]: bounds that several parameters share
//! - [`link`][]: parameters of links and their queues
//! - [`transport`][]: parameters of the hosts' transport and the switches' shared buffers
//! - [`lcmp`][], [`ucmp`][], [`te`][]: parameters of policies
//! - [`dcqcn`][], [`hpcc`][], [`timely`][], [`dctcp`][]: parameters of congestion controls
//!
//! ```
//! use lab_parameters::{LcmpConfig, ParameterSet, Preset, Value};
//!
//! let mut lcmp = LcmpConfig::preset(Preset::Paper);
//! assert_eq!(lcmp.get("alpha"), Some(Value::Number(3)));
//! lcmp.set("s_path", Value::Number(17));
//! let error = lcmp.check().unwrap_err();
//! assert_eq!(error.to_string(), "`s_path` is 17; it must be 0 to 16");
//! ```
#![no_std]

#[cfg(test)]
extern crate std;

pub mod dcqcn;
pub mod dctcp;
pub mod hpcc;
pub mod lcmp;
pub mod limits;
pub mod link;
pub mod set;
pub mod te;
pub mod timely;
pub mod transport;
pub mod ucmp;
pub mod value;

pub use dcqcn::DcqcnConfig;
pub use dctcp::DctcpConfig;
pub use hpcc::HpccConfig;
pub use lcmp::LcmpConfig;
pub use link::{EcnConfig, LinkConfig};
pub use set::{Parameter, ParameterError, ParameterSet, Preset, Published};
pub use te::TeConfig;
pub use timely::TimelyConfig;
pub use transport::{Timer, TransportConfig, Window};
pub use ucmp::UcmpConfig;
pub use value::{Domain, Hundredths, Value};
