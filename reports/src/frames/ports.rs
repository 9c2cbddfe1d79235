//! Totals of ports.

use lab_records::PortRow;
use polars::prelude::*;

use super::{numbers, reduce, texts};
use crate::{error::ReportError, facts::RunFacts};

/// Totals of one port under one policy, over all repetitions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PortTotal {
    /// Label of the policy.
    pub policy: String,
    /// Host or switch that has the port.
    pub node: String,
    /// Node at the other end.
    pub peer: String,
    /// Largest length of the egress queue, in bytes.
    pub peak_queue_bytes: u64,
    /// Packets ECN-marked.
    pub marks: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Number of times that priority flow control paused the port.
    pub pauses: u64,
    /// Total time for which the port was paused, ns.
    pub paused_ns: u64,
}

/// Reads the totals of all ports, sorted by policy, node and peer; only the simulator records them.
pub fn ports(run: &RunFacts) -> Result<Vec<PortTotal>, ReportError> {
    let sums = ["marks", "drops", "pauses", "paused_ns"];
    let total = |rows: LazyFrame| {
        let sums = sums.map(|name| col(name).sum());
        let totals = [col("peak_queue_bytes").max()].into_iter().chain(sums);
        rows.group_by(KEYS.map(col)).agg(totals.collect::<Vec<_>>())
    };
    let columns: Vec<&str> = KEYS
        .into_iter()
        .chain(sums)
        .chain(["peak_queue_bytes"])
        .collect();
    let [frame] = reduce::<PortRow, 1>(run, &columns, [&total])?;
    let frame = frame.sort(KEYS, SortMultipleOptions::default())?;
    let [mut policy, mut node, mut peer] = [
        texts(&frame, "policy")?,
        texts(&frame, "node")?,
        texts(&frame, "peer")?,
    ];
    let [mut marks, mut drops, mut pauses, mut paused] = [
        numbers(&frame, "marks")?,
        numbers(&frame, "drops")?,
        numbers(&frame, "pauses")?,
        numbers(&frame, "paused_ns")?,
    ];
    let port = |peak_queue_bytes| {
        Some(PortTotal {
            policy: policy.next()?,
            node: node.next()?,
            peer: peer.next()?,
            peak_queue_bytes,
            marks,
            drops,
            pauses,
            paused_ns,
        }
    };
    let ports = numbers(&frame, "peak_queue_bytes")?.map_while(port);
    Ok(ports.collect())
}
