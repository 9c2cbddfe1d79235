//! Transport in the simulator.

use lab_units::{Bytes, Nanos, Semantics};
use serde::Serialize;

use super::settings::Settings;

/// Hosts' transport and switches' buffers in the simulator; `None`: default of the semantics.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TransportSpec {
    pub semantics: Semantics,
    pub cc: Option<CcSpec>,
    pub payload: Option<u32>,
    pub window: Option<WindowSpec>,
    pub ack_priority: Option<bool>,
    pub pfc: Option<bool>,
    pub nack_interval: Option<Nanos>,
    pub retransmit_timeout: Option<TimeoutSpec>,
    pub fabric_buffer: Option<Bytes>,
    pub dci_buffer: Option<Bytes>,
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
