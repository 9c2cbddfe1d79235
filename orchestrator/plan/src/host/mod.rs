//! Hosts of a plan: queue pairs, transports and timers.

pub mod rdma;
pub(crate) mod round_trip;
pub(crate) mod sampled_rates;
pub mod timer_wheel;
pub mod transport;
