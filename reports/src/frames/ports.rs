//! Totals of ports.

use std::collections::BTreeMap;

use lab_records::{PortRow, RecordsError};

use crate::facts::RunFacts;

/// Totals of one port under one policy, over all repetitions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PortTotal {
    /// Label of the policy.
    pub policy: String,
    /// Name of the host or switch that has the port.
    pub node: String,
    /// Name of the node at the other end of the port's link.
    pub peer: String,
    /// Longest egress queue, bytes.
    pub peak_queue_bytes: u64,
    /// Number of packets that were ECN-marked.
    pub marks: u64,
    /// Number of packets that were dropped.
    pub drops: u64,
    /// Number of times that priority flow control paused the port.
    pub pauses: u64,
    /// Total time for which the port was paused, ns.
    pub paused_ns: u64,
}

/// Reads the totals of all ports, sorted by policy, node and peer; empty for the kernel engine, which does not count
/// them.
pub fn ports(run: &RunFacts) -> Result<Vec<PortTotal>, RecordsError> {
    let mut ports = BTreeMap::new();
    run.visit(|row: PortRow| {
        let key = [row.policy, row.node, row.peer];
        let port = ports.entry(key).or_insert([0; 5]);
        let [peak_queue_bytes, marks, drops, pauses, paused_ns] = port;
        *peak_queue_bytes = row.peak_queue_bytes.get().max(*peak_queue_bytes);
        *marks += row.marks;
        *drops += row.drops;
        *pauses += row.pauses;
        *paused_ns += row.paused_ns.get();
    })?;
    let total = |([policy, node, peer], counts): ([String; 3], [u64; 5])| {
        let [peak_queue_bytes, marks, drops, pauses, paused_ns] = counts;
        PortTotal {
            policy,
            node,
            peer,
            peak_queue_bytes,
            marks,
            drops,
            pauses,
            paused_ns,
        }
    };
    Ok(ports.into_iter().map(total).collect())
}
