//! Text forms of a plan, the difference of two, and the decisions and state of its switches.

pub mod account;
mod difference;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod table;
