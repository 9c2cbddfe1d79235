//! Text forms of a plan, the difference between two plans, and explanations of a plan's switches.

pub mod account;
mod difference;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod table;
mod text;
