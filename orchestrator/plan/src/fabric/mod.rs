//! Datacenters, links, paths and addresses of a plan.

pub mod address;
pub mod frame;
pub(crate) mod network;
pub(crate) mod networks;
pub(crate) mod paths;
pub(crate) mod routes;
mod slot;
pub(crate) mod source_addrs;
pub(crate) mod table_paths;
pub(crate) mod te_topology;
pub(crate) mod topology;
pub mod transits;
pub(crate) mod wires;
