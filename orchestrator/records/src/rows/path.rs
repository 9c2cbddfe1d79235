//! Rows of the paths that re-routed flows took.

use lab_units::{Bytes, FlowId};

use super::{DcPath, row};

row! {
    /// One of several paths that a flow's data took.
    ///
    /// Fast failover, flow ageing and a full flow table may re-route an active flow. A re-routed flow has one row per
    /// path, in the order in which it took the paths; the bytes of these rows add up to the flow's size. Other flows
    /// have no rows in this table: all their data took the path in `flows.csv`.
    pub struct PathRow in "paths.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// Flow whose data took the path.
        pub flow_id: FlowId,
        /// Datacenters on the path.
        pub path: DcPath,
        /// Bytes of the flow's data that were sent on this path. A retransmitted byte counts once, on its first path.
        pub sent_bytes: Bytes,
        /// `sent_bytes` after scaling for emulation.
        pub emu_sent_bytes: Bytes,
    }
}
