//! Gate between pairs of a perftest without RDMA (`examples/fake_perftest.rs`).

mod bench;
mod failures;
mod flows;
mod namespaces;
