//! Benchmarks of the switch program and its agent, and the testbed that live tests share with them.
//!
//! - [`decision`](mod@decision)[]: kernel time of a packet, by policy; needs no interface
//! - [`forwarding`](mod@forwarding)[]: packets per second of one switch, compared with the kernel's own forwarding
//! - [`failover`](mod@failover)[]: time for which a flow loses its packets when its link fails
//! - [`testbed`][]: network namespaces of a switch and two hosts
//! - [`controller`][]: the controller's end of an agent's socket
//!
//! Must not contain: the plan, the scenario, records. Speed is reported, but never asserted: the
//! tests of this crate check results, counts and ratios within one run.

pub mod controller;
pub mod decision;
pub mod error;
pub mod failover;
pub mod forwarding;
pub mod testbed;

pub use controller::AgentController;
pub use decision::{Cost, DecisionCost, decision};
pub use error::BenchError;
pub use failover::{Cut, Failover, failover};
pub use forwarding::{Forwarding, PacketTimes, forwarding};
pub use testbed::{Side, Testbed};

/// Returns the median; for an even number of values, the lower of the two middle ones.
fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}
