//! Transport and buffers of the simulated hosts and switches.

pub(crate) mod resolve;

use std::ops::Deref;

use lab_units::Bytes;
pub use lab_units::Semantics;
use serde::{Deserialize, Serialize};

use crate::model::WirePlan;

pub use lab_parameters::{
    DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig, Timer, TransportConfig, Window,
};

/// Transport of hosts and buffers of switches, scaled for emulation. Dereferences to `parameters`.
///
/// The kernel engine uses rxe's transport instead, whose only congestion control is DCQCN ([`CcPlan::in_lab`]) and
/// which supports PFC only with DCQCN ([`TransportPlan::has_pfc_in_lab`]).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TransportPlan {
    /// Semantics of the simulated network: the paper's or the artifact's.
    pub semantics: Semantics,
    /// Model of the hosts' RDMA devices.
    pub profile: HostProfile,
    /// Congestion control of every QP.
    pub cc: CcPlan,
    /// Transport parameters, scaled for emulation except `payload_bytes`. The window applies in addition to the
    /// congestion control's own limit.
    #[serde(flatten)]
    pub parameters: TransportConfig,
}

impl Deref for TransportPlan {
    type Target = TransportConfig;

    fn deref(&self) -> &TransportConfig {
        &self.parameters
    }
}

impl TransportPlan {
    /// Returns true if the switches of a lab send PFC pauses to hosts: only with congestion control, because only its
    /// pacer can hold the packets of paused hosts.
    #[must_use]
    pub fn has_pfc_in_lab(&self) -> bool {
        self.is_lossless() && self.cc.in_lab().is_some()
    }

    /// Returns true if switches must never drop packets: with PFC, except in the artifact, whose PFC thresholds wrap
    /// around.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.pfc && self.semantics == Semantics::Paper
    }

    /// Returns the limit of a lab's egress queue towards another datacenter: with PFC, the switch's shared buffer, else
    /// the link's own `buffer`.
    #[must_use]
    pub fn queue_limit(&self, wire: &WirePlan) -> Bytes {
        if self.has_pfc_in_lab() {
            self.dci_buffer_bytes
        } else {
            wire.buffer_bytes
        }
    }
}

/// Model of the hosts' RDMA devices.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostProfile {
    /// Hardware: the QPs of a host send in round-robin order, and every packet is acknowledged.
    Rnic,
    /// SoftRoCE of Linux 6.1, as the kernel engine runs it. A QP puts its whole window into the host's FIFO egress
    /// queue (under congestion control, into its pacer), and receivers send ACKs on request.
    Rxe,
}

/// Congestion control of every QP, with its parameters scaled for emulation.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcPlan {
    /// No congestion control: hosts always send at line rate.
    None,
    /// DCQCN; its preset decides whether receivers return marks in CNPs or in ACKs.
    Dcqcn(DcqcnConfig),
    Hpcc(HpccConfig),
    Timely(TimelyConfig),
    /// DCTCP in a rate-based version.
    Dctcp(DctcpConfig),
}

impl CcPlan {
    /// Returns the parameters if the congestion control is DCQCN; otherwise `None`. Programs on a lab's hosts implement
    /// DCQCN, and SoftRoCE has no other congestion control.
    #[must_use]
    pub const fn in_lab(&self) -> Option<&DcqcnConfig> {
        match self {
            Self::Dcqcn(dcqcn) => Some(dcqcn),
            Self::None | Self::Hpcc(_) | Self::Timely(_) | Self::Dctcp(_) => None,
        }
    }

    /// Returns the name of the congestion control, as in a scenario.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dcqcn(_) => "dcqcn",
            Self::Hpcc(_) => "hpcc",
            Self::Timely(_) => "timely",
            Self::Dctcp(_) => "dctcp",
        }
    }

    /// Returns true if the congestion control changes rates only in response to ECN marks, and so needs switches that
    /// mark.
    #[must_use]
    pub const fn needs_marks(&self) -> bool {
        match self {
            Self::Dcqcn(_) | Self::Dctcp(_) => true,
            Self::None | Self::Hpcc(_) | Self::Timely(_) => false,
        }
    }
}
