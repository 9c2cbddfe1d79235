//! Text forms of a plan, the difference between two plans, and the decisions and state of a plan's switches.

pub mod account;
mod difference;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod table;
