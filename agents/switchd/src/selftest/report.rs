//! What a selftest did and found.

use std::{collections::BTreeMap, time::Duration};

/// Mismatches that are told in full.
const TOLD: usize = 10;

/// What a selftest did and found.
#[derive(Clone, Debug, Default)]
pub struct SelftestReport {
    /// Packets run.
    pub packets: u64,
    /// First packets of flows that were decided, by rule in the order of [`Rule`](lab_abi::Rule).
    pub decided: [u64; 5],
    /// The same by policy.
    pub by_policy: BTreeMap<&'static str, u64>,
    /// Times a destination's buckets were rewritten while flows were pinned.
    pub rewritten: u64,
    /// Later packets of flows, forwarded by the flow table.
    pub hits: u64,
    /// Flows moved because they had outgrown their port.
    pub outgrown: u64,
    /// Flows moved off a dead port.
    pub failovers: u64,
    /// Packets dropped because no candidate was alive.
    pub unreachable: u64,
    /// Frames left to the kernel.
    pub passed: u64,
    /// Packets with which the program and the reference disagree.
    pub mismatches: u64,
    /// The first few of them.
    pub told: Vec<String>,
    /// Time the kernel took to check and load the program, in nanoseconds.
    pub load_ns: u64,
    /// Time it all took.
    pub elapsed: Duration,
}

impl SelftestReport {
    /// Counts a disagreement, and tells of it if there were few.
    pub(super) fn disagree(&mut self, tell: impl FnOnce() -> String) {
        self.mismatches += 1;
        if self.told.len() < TOLD {
            let packet = self.packets;
            self.told.push(format!("packet {packet}: {}", tell()));
        }
    }
}
