//! What this crate's tests share: plans made by hand, and a machine of one's own.

mod builder;
mod isolated;
mod machine;
mod plans;

pub(crate) use self::{
    isolated::{isolated, skipped},
    machine::Machine,
    plans::{fabrics, marking, pair, pair_over, routed, testbed, wire},
};
