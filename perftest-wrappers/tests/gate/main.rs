//! Tests of the gate with pairs of a perftest that needs no RDMA (`examples/fake_perftest.rs`).

mod bench;
mod failures;
mod flows;
mod namespaces;
