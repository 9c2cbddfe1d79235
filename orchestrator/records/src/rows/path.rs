//! Rows of the paths that re-routed flows took.

use std::collections::BTreeMap;

use lab_units::{Bytes, FlowId};

use super::{DcPath, FlowFields, row};

row! {
    /// One of the paths that a re-routed flow's data took.
    ///
    /// Fast failover, flow ageing, a full flow table, a reconvergence or, at a switch of plain ECMP, a cut may re-route
    /// an active flow. A re-routed flow has one row per path, in the order in which it took the paths; the bytes of these
    /// rows add up to the flow's size. Flows all of whose data took the path in `flows.csv` have no rows in this table.
    pub struct PathRow in "paths.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Flow whose data took the path.
        pub flow_id: FlowId,
        /// Datacenters on the path.
        pub path: DcPath,
        /// Bytes of the flow's data that were sent on this path. A retransmitted byte counts once: on its first path, unless
        /// it is at or after the first packet that was sent on a later path.
        pub sent_bytes: Bytes,
        /// `sent_bytes` after scaling for emulation.
        pub emu_sent_bytes: Bytes,
    }
}

/// Number of paths that each re-routed flow took.
#[derive(Debug, Default)]
pub struct FlowPaths {
    /// Number of rows of each re-routed flow, by policy, then by repetition and flow.
    rows: BTreeMap<String, BTreeMap<(u32, FlowId), u32>>,
}

impl FlowPaths {
    /// Counts the path of `row`.
    pub fn add(&mut self, row: &PathRow) {
        let flow = (row.repetition, row.flow_id);
        let flows = match self.rows.get_mut(&row.policy) {
            Some(flows) => flows,
            None => self.rows.entry(row.policy.clone()).or_default(),
        };
        *flows.entry(flow).or_default() += 1;
    }

    /// Returns the number of paths that `flow`'s data took: 1 for a flow that was never re-routed.
    #[must_use]
    pub fn of(&self, flow: FlowFields<'_>) -> u32 {
        let flows = self.rows.get(flow.policy);
        let paths = flows.and_then(|flows| flows.get(&(flow.repetition, flow.flow_id)));
        paths.copied().unwrap_or(1)
    }
}
