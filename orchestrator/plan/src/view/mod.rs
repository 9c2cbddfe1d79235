//! Text forms of a plan, and the decisions and state of its switches.

pub mod account;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod table;
