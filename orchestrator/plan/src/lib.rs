//! Scenario to Plan: everything that is decided before time starts, as integers.

pub mod model;
