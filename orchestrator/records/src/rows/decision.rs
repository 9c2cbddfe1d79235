//! What each DCI switch decided, and from what.

use std::net::Ipv4Addr;

use lab_units::{FlowId, Nanos};

use super::{List, row};

row! {
    /// One decision of a DCI switch. The lists have one item for each candidate, in the same order.
    pub struct DecisionRow in "decisions.csv" {
        /// Label of the policy.
        pub policy: String,
        /// The repetition, from 0.
        pub repetition: u32,
        /// When.
        pub time_ns: Nanos,
        /// The DCI switch.
        pub switch: String,
        /// The flow whose data or acknowledgements are meant, where that is known.
        pub flow_id: Option<FlowId>,
        /// Source address of the packet.
        pub src: Ipv4Addr,
        /// Destination address of the packet.
        pub dst: Ipv4Addr,
        /// UDP source port of the packet.
        pub sport: u16,
        /// What caused it and the rule it followed: `new_flow/scored`.
        pub reason: String,
        /// The candidates: the DC behind each.
        pub candidates: List<String>,
        /// C_path of each.
        pub c_path: List<u8>,
        /// C_cong of each.
        pub c_cong: List<u8>,
        /// C of each.
        pub cost: List<u32>,
        /// 1 for each candidate the choice was made from, 0 for the others.
        pub kept: List<u8>,
        /// The DC behind the chosen one; empty if there was none.
        pub chosen: Option<String>,
    }
}
