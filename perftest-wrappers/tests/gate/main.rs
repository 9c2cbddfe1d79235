//! Tests of the gate with process pairs of a fake perftest that needs no RDMA (`examples/fake_perftest.rs`).

mod bench;
mod failures;
mod flows;
mod namespaces;
