//! Transport and buffers of the simulator's hosts and switches.

mod cc;
pub(crate) mod resolve;

pub use lab_units::Semantics;
use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use cc::CcPlan;
pub use lab_parameters::{DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig};

/// Hosts' transport and switches' buffers in the simulator, emulated.
///
/// The kernel engine has rxe's transport instead: no congestion control, no PFC.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TransportPlan {
    /// Whose semantics.
    pub semantics: Semantics,
    /// Payload of a full packet; packets are not scaled.
    pub payload_bytes: u32,
    /// Congestion control of every QP.
    pub cc: CcPlan,
    /// Bytes a QP may have unacknowledged, besides what its congestion control allows.
    pub window: WindowPlan,
    /// ACKs go in the strict class, before data; else with it.
    pub ack_priority: bool,
    /// The shortest time between two NACKs of one QP that miss the same packet.
    pub nack_interval_ns: Nanos,
    /// Time without an acknowledgement after which a QP sends again; none in the artifact.
    pub retransmit_timeout_ns: Option<Nanos>,
    /// Switches pause their upstream neighbours instead of dropping.
    pub pfc: bool,
    /// Buffer that the ports of a leaf or spine share.
    pub fabric_buffer_bytes: Bytes,
    /// Buffer that the ports of a DCI switch share.
    pub dci_buffer_bytes: Bytes,
}

/// Limit of a QP's unacknowledged bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowPlan {
    /// No limit.
    None,
    /// The plan's largest bandwidth-delay product, in proportion to the QP's rate.
    Bdp,
    /// This many.
    Bytes(Bytes),
}
