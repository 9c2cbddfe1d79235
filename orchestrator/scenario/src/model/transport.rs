//! What a scenario says of transport in the simulator.

use lab_units::{Bytes, Nanos, Semantics};
use serde::Serialize;

use super::Settings;

/// Hosts' transport and switches' buffers in the simulator; what is `None` is as the semantics has
/// it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TransportSpec {
    /// Whose semantics.
    pub semantics: Semantics,
    /// Congestion control of every QP.
    pub cc: Option<CcSpec>,
    /// Payload of a full packet in bytes.
    pub payload: Option<u32>,
    /// Bytes a QP may have unacknowledged.
    pub window: Option<WindowSpec>,
    /// ACKs go before data.
    pub ack_priority: Option<bool>,
    /// Switches pause their upstream neighbours instead of dropping.
    pub pfc: Option<bool>,
    /// The shortest time between two NACKs of one QP that miss the same packet.
    pub nack_interval: Option<Nanos>,
    /// When a QP with nothing coming back sends again.
    pub retransmit_timeout: Option<TimeoutSpec>,
    /// Buffer that the ports of a leaf or spine share.
    pub fabric_buffer: Option<Bytes>,
    /// Buffer that the ports of a DCI switch share.
    pub dci_buffer: Option<Bytes>,
}

/// How many bytes a QP may have unacknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowSpec {
    /// No limit.
    None,
    /// The largest bandwidth-delay product, in proportion to the QP's rate.
    Bdp,
    /// This many.
    Bytes(Bytes),
}

/// When a QP with nothing coming back sends again.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutSpec {
    /// Never.
    None,
    /// After this time.
    After(Nanos),
}

/// Congestion control and its parameters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcSpec {
    /// Line rate, always.
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
