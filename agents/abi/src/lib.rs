//! Interface between the switch program, its agent and the controller, and between the host programs and their
//! loader.
//!
//! These are the only declarations: `agents/ebpf/abi.h` is generated from them, and a test fails when that file is
//! stale. Must not contain: clocks, floats, I/O, decisions.
//!
//! - [`rows`][]: map rows and ring buffer records (`repr(C)`), table sizes, constants
//! - [`dcqcn`][]: rows of the host programs: DCQCN and its pacer
//! - [`layout`][]: declaration of a row for both Rust and C
//! - [`header`][]: printer of `abi.h`
//! - [`lcmp`][]: LCMP's parameters, declared in `lab-parameters`
//! - [`decision`][]: cause and rule of a routing decision
//! - `wire` (feature `wire`): the agent's configuration, its messages and its commands
//!
//! ```
//! use lab_abi::rows::{FlowKey, SwitchTable};
//!
//! assert_eq!(size_of::<FlowKey>(), 16);
//! assert!(size_of::<SwitchTable>() <= 2 * 4096, "two pages, to be mapped into the agent");
//! ```
#![no_std]

extern crate alloc;

pub mod dcqcn;
pub mod decision;
pub mod header;
pub mod layout;
pub mod pfc;
pub mod rows;
#[cfg(feature = "wire")]
pub mod wire;

pub use decision::{Rule, Trigger};
pub use lab_parameters::{LcmpConfig, ParameterError, Preset, lcmp};
