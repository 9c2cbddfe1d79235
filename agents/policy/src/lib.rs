//! Routing policies as pure integer functions: the reference of the switch program.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod lcmp;

pub use lcmp::LcmpConfig;
