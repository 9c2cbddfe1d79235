//! Generators of RDMA flows. A generator runs the jobs of a run, starts each flow at its scheduled instant, and
//! returns an outcome for every flow.
//!
//! - [`contract`]: jobs, events and outcomes, the same for both generators
//! - [`perftest`]: a perftest client and server for each flow
//! - [`verbs`]: thousands of flows from one process, by means of libibverbs
//! - internal: `priority`, scheduling of threads and processes
//!
//! Must not contain: creation of devices, namespaces or qdiscs (the caller prepares them), knowledge of plans or
//! records.

pub mod contract;
pub mod perftest;
mod priority;
pub mod verbs;
