//! Transport in the simulator.

use lab_units::{Bytes, Nanos, Semantics};
use serde::Serialize;

use super::Settings;

/// Hosts' transport and switches' buffers in the simulator; `None`: default of the semantics.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TransportSpec {
    /// Rules of the simulated network.
    pub semantics: Semantics,
    /// Congestion control of every QP.
    pub cc: Option<CcSpec>,
    /// Payload of a full packet in bytes.
    pub payload: Option<u32>,
    /// Maximum number of unacknowledged bytes of a QP.
    pub window: Option<WindowSpec>,
    /// True if ACKs precede data.
    pub ack_priority: Option<bool>,
    /// True if switches pause their upstream neighbours instead of dropping.
    pub pfc: Option<bool>,
    /// Minimum time between two NACKs of one QP that miss the same packet.
    pub nack_interval: Option<Nanos>,
    /// Time without an acknowledgement after which a QP retransmits.
    pub retransmit_timeout: Option<TimeoutSpec>,
    /// Shared buffer of a leaf or spine switch.
    pub fabric_buffer: Option<Bytes>,
    /// Shared buffer of a DCI switch.
    pub dci_buffer: Option<Bytes>,
    /// Path of a routing table of the artifact, for the order of equal next hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<String>,
}

/// Maximum number of unacknowledged bytes of a QP.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowSpec {
    /// No limit.
    None,
    /// Maximum bandwidth-delay product of the plan, in proportion to the QP's rate.
    Bdp,
    /// Fixed number of bytes.
    Bytes(Bytes),
}

/// Time without an acknowledgement after which a QP retransmits.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutSpec {
    /// No retransmission by timeout.
    None,
    /// Retransmission after a fixed time.
    After(Nanos),
}

/// Congestion control and its parameters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcSpec {
    /// Constant line rate.
    None,
    /// DCQCN.
    Dcqcn(Settings),
    /// HPCC.
    Hpcc(Settings),
    /// TIMELY.
    Timely(Settings),
    /// DCTCP.
    Dctcp(Settings),
}
