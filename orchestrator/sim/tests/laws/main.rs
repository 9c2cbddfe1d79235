//! Tests of the simulator on networks that are small enough to be calculated by hand.
//!
//! Unless a test says otherwise, rates are 100 Gbit/s and packets are full: 4,096 B of payload are 4,154 B on the wire
//! and take 332.32 ns. An ACK of 62 B takes 4.96 ns, and the link between a host and its switch has a delay of 1 µs.

mod agent_crashes;
mod artifact;
mod candidates;
mod congestion_control;
mod determinism;
mod dynamic_tables;
mod fairness;
mod faults;
mod lab;
mod long_paths;
mod loss;
mod lossless;
mod parallel;
mod pfc;
mod policy;
mod reconvergence;
mod rxe;
mod shared_link;
mod single_flow;
mod trained;
mod trains;
mod tunnels;
