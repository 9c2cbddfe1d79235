//! Laws of the simulator, on networks small enough to be worked out by hand.
//!
//! Rates are 100 Gbit/s and packets full unless a test says otherwise: 4,096 B of payload are 4,154 B on
//! the wire and take 332.32 ns; an ACK of 62 B takes 4.96 ns; a host is 1 µs from its switch.

mod artifact;
mod congestion_control;
mod determinism;
mod dynamic_tables;
mod fairness;
mod faults;
mod lab;
mod long_paths;
mod loss;
mod lossless;
mod pfc;
mod policy;
mod rxe;
mod shared_link;
mod single_flow;
