//! Generators of RDMA flows: a generator takes a run's jobs, starts each flow at its instant, and has an outcome for
//! every flow.
//!
//! - [`contract`]: jobs, events and outcomes, the same for both generators
//! - [`perftest`]: a perftest client and server for each flow
//! - [`verbs`]: thousands of flows from one process, by libibverbs
//! - inside: `priority`, scheduling of threads and processes
//!
//! Must not contain: creation of devices, namespaces or qdiscs (the caller has them ready), knowledge of
//! plans or records.

pub mod contract;
pub mod perftest;
mod priority;
pub mod verbs;
