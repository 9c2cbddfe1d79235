//! Rows of paths that re-routed flows took.

use lab_units::{Bytes, FlowId};

use super::{DcPath, row};

row! {
    /// One of several paths that a flow's data took.
    ///
    /// Fast failover, flow ageing and a full flow table may re-route an active flow. A re-routed flow has one row per
    /// path, in the order in which it took the paths; the bytes of these rows add up to the flow's size. Any other flow
    /// has no row in this table: all its data took the path in `flows.csv`.
    pub struct PathRow in "paths.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// The flow.
        pub flow_id: FlowId,
        /// Datacenters that these bytes crossed.
        pub path: DcPath,
        /// Bytes of the flow's data that were sent on the path; a retransmitted byte is counted once, on the path that
        /// it took first.
        pub sent_bytes: Bytes,
        /// `sent_bytes` in emulated units.
        pub emu_sent_bytes: Bytes,
    }
}
