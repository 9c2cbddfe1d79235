//! What the switch program costs, and what it is worth.
//!
//! - [`decision`](mod@decision)[]: a packet's cost in kernel time, by policy; needs no interface
//! - [`forwarding`](mod@forwarding)[]: packets per second through one switch, against the kernel's own
//! - [`failover`](mod@failover)[]: how long a flow is cut off when its link dies
//! - [`testbed`][]: namespaces to measure in

pub mod decision;
pub mod failover;
pub mod forwarding;
pub mod testbed;

pub use decision::{Cost, DecisionCost, decision};
pub use failover::{Cut, Failover, failover};
pub use forwarding::{Forwarding, PacketTimes, forwarding};
pub use testbed::BenchError;

/// The value that half of them do not pass.
fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}
