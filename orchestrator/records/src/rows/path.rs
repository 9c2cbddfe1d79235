//! Rows of the paths of re-routed flows.

use lab_units::{Bytes, FlowId};

use super::{DcPath, row};

row! {
    /// One of several paths that a flow's data took.
    ///
    /// Fast failover, flow ageing and a full flow table re-route a flow under way. Such a flow has a row for each
    /// path, in the order in which it took them, and their bytes are its size. The data of every other flow, which has
    /// no row, took the path of its row in `flows.csv`.
    pub struct PathRow in "paths.csv", required: false {
        /// Label of the policy.
        pub policy: String,
        /// Repetition, from 0.
        pub repetition: u32,
        /// The flow.
        pub flow_id: FlowId,
        /// Datacenters that these bytes crossed.
        pub path: DcPath,
        /// Bytes of the flow's data that were sent on the path; a byte that was sent again counts once, on the
        /// path that it took first.
        pub sent_bytes: Bytes,
        /// `sent_bytes` as sent.
        pub emu_sent_bytes: Bytes,
    }
}
