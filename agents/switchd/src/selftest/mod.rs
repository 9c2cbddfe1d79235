//! Comparison of the switch program with its reference implementation, on packets that need no interface.
//!
//! Random tables and packets go through `BPF_PROG_TEST_RUN`; the resulting packet, flow table and ring
//! buffer are compared with what `lab-policy` requires.
//!
//! - [`random`][]: seeded random choices, and random rows of the tables
//! - [`switch`][]: random tables, and the reference's decision for a flow
//! - [`run`][]: the comparison

mod random;
mod run;
mod switch;

use std::{collections::BTreeMap, time::Duration};

use random::Random;
pub use run::selftest;

/// Counts and mismatches of a self-test of the switch program.
#[derive(Clone, Debug, Default)]
pub struct SelftestReport {
    /// Number of packets run through the program.
    pub packets: u64,
    /// Number of decisions for first packets by rule, in the order of [`Rule`](lab_abi::Rule).
    pub decided: [u64; 5],
    /// Number of decisions for first packets by policy name.
    pub by_policy: BTreeMap<&'static str, u64>,
    /// Number of times that a destination's buckets were rewritten while flows were pinned.
    pub rewritten: u64,
    /// Number of packets forwarded by their flow's entry.
    pub hits: u64,
    /// Number of flows re-routed by flow ageing.
    pub aged: u64,
    /// Number of flows moved off a dead port.
    pub failovers: u64,
    /// Number of packets forwarded without an entry because their destination has only one candidate.
    pub not_pinned: u64,
    /// Number of packets dropped because no candidate was alive.
    pub unreachable: u64,
    /// Number of frames left to the kernel.
    pub passed: u64,
    /// Number of packets for which program and reference disagree.
    pub mismatches: u64,
    /// Descriptions of the first ten mismatches.
    pub described: Vec<String>,
    /// Time in which the kernel verified and loaded the program, ns.
    pub load_ns: u64,
    /// Time that the whole self-test took.
    pub elapsed: Duration,
}

impl SelftestReport {
    /// Counts a mismatch, and keeps its description if it is one of the first.
    fn add_mismatch(&mut self, text: &str) {
        self.mismatches += 1;
        if self.described.len() < MAX_DESCRIBED {
            self.described
                .push(format!("packet {}: {text}", self.packets));
        }
    }
}

const MAX_DESCRIBED: usize = 10;
