//! Switches of a plan: policies, tables and buffers.

pub(crate) mod flow_ageing;
pub(crate) mod flow_table;
pub(crate) mod parameters;
pub(crate) mod path_costs;
pub mod pfc;
pub(crate) mod policy;
pub(crate) mod ports;
