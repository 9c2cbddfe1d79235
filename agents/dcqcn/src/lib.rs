//! DCQCN as pure integer functions: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM '15,
//! section 3, and the variant in the NS-3 artifact of LCMP's authors.
//!
//! Both engines use one law. The simulator calls these functions; the host programs of a lab have a C copy in
//! `agents/ebpf/dcqcn.bpf.h`, which is compared with these functions in a million random steps (`lab-host`). Must not
//! contain: std, floats, clocks, randomness, unsafe code.
//!
//! - [`parameters`][]: conversion of a plan's DCQCN parameters to map rows
//! - [`congestion`][]: congestion point: marking at the switch
//! - [`reaction`][]: reaction point: the sender's rate
//! - [`notification`][]: notification point: the receiver's CNPs
//!
//! Rates are in bit/s, sizes in bytes on the wire. All times share one unit, which the caller chooses: nanoseconds in
//! the kernel, picoseconds in the simulator. α and its gain are fractions of 2^30 (Q30).
//!
//! ```
//! use lab_dcqcn::{parameters, reaction};
//! use lab_parameters::DcqcnConfig;
//!
//! let params = parameters::of(&DcqcnConfig::PAPER, 1);
//! let mut point = reaction::start(100_000_000_000, &params);
//! reaction::on_cnp(&mut point, 1_000_000, &params);
//! assert_eq!(point.rate_bps, 50_000_000_000);
//! reaction::on_timer(&mut point, 1_055_000, &params);
//! assert_eq!(point.rate_bps, 75_000_000_000);
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

#[cfg(test)]
extern crate std;

pub mod congestion;
pub mod notification;
pub mod parameters;
pub mod reaction;

pub use lab_abi::dcqcn::{DcqcnParams, ReactionPoint};
