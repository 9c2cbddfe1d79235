//! What the switch program, its agent and the controller share.
#![no_std]

pub mod lcmp;

pub use lcmp::{LcmpConfig, LcmpConfigError, Preset};
