//! Tests of the plans of whole scenarios.

mod auto_scale;
mod candidates;
mod common;
mod difference;
mod engine;
mod errors;
mod explain;
mod faults;
mod graph;
mod laws;
mod paper;
mod parallel;
mod parameters;
mod policies;
mod random_faults;
mod reconvergence;
mod scaling;
mod scenarios;
mod scope;
mod slots;
mod testbed;
mod traffic;
mod trained;
mod transport;
mod warnings;
mod zoo;
