//! Comparison of the switch program with its reference, on packets that need no interface.
//!
//! Random tables and packets go through `BPF_PROG_TEST_RUN`; the resulting packet, flow table and ring
//! buffer are compared with what `lab-policy` requires.
//!
//! - [`random`][]: seeded choices, and random rows of the tables
//! - [`switch`][]: random tables, and the reference's result for a flow
//! - [`run`][]: the comparison

mod random;
mod run;
mod switch;

use std::{collections::BTreeMap, time::Duration};

use random::Random;
pub use run::selftest;

/// Result of a selftest.
#[derive(Clone, Debug, Default)]
pub struct SelftestReport {
    /// Packets run.
    pub packets: u64,
    /// Decided first packets by rule, in the order of [`Rule`](lab_abi::Rule).
    pub decided: [u64; 5],
    /// Decided first packets by policy.
    pub by_policy: BTreeMap<&'static str, u64>,
    /// Rewrites of a destination's buckets while flows were pinned.
    pub rewritten: u64,
    /// Packets forwarded by their flow's entry.
    pub hits: u64,
    /// Flows re-routed by flow ageing.
    pub aged: u64,
    /// Flows moved off a dead port.
    pub failovers: u64,
    /// Packets forwarded to a destination's only candidate.
    pub not_pinned: u64,
    /// Packets dropped because no candidate was alive.
    pub unreachable: u64,
    /// Frames left to the kernel.
    pub passed: u64,
    /// Packets for which program and reference disagree.
    pub mismatches: u64,
    /// Descriptions of the first ten mismatches.
    pub described: Vec<String>,
    /// Time the kernel took to verify and load the program, in nanoseconds.
    pub load_ns: u64,
    /// Duration of the selftest.
    pub elapsed: Duration,
}

impl SelftestReport {
    /// Counts a mismatch, and keeps the description of the first ones.
    fn add_mismatch(&mut self, text: &str) {
        self.mismatches += 1;
        if self.described.len() < MAX_DESCRIBED {
            self.described
                .push(format!("packet {}: {text}", self.packets));
        }
    }
}

const MAX_DESCRIBED: usize = 10;
