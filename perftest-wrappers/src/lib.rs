//! Drives perftest clients and servers, one RDMA flow each, and parses what they print.
