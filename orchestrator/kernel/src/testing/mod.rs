//! Code that this crate's tests share: plans, tables, and an isolated machine.

mod isolated;
mod machine;
mod plans;
mod tables;

pub(crate) use self::{
    isolated::{isolated, skipped},
    machine::Machine,
    plans::{fabrics, marking, paced, pair, pair_over, routed, testbed, twins, wire},
    tables::tables,
};
