//! Flows of a plan, and the FCT that each flow would have alone.

pub(crate) mod bursts;
pub(crate) mod connection;
pub(crate) mod demand;
pub(crate) mod demands;
pub(crate) mod drafts;
pub mod ideal;
pub(crate) mod load;
pub(crate) mod offer;
pub(crate) mod sample;
pub(crate) mod schedule;
pub mod standalone;
pub(crate) mod workload;
