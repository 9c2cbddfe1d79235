//! Transport and buffers of the simulator's hosts and switches.

pub(crate) mod resolve;

use std::ops::Deref;

use lab_units::Bytes;
pub use lab_units::Semantics;
use serde::{Deserialize, Serialize};

use crate::model::WirePlan;

pub use lab_parameters::{
    DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig, Timer, TransportConfig, Window,
};

/// Hosts' transport and switches' buffers, emulated. Dereferences to the parameters.
///
/// The kernel engine has rxe's transport instead: no congestion control but DCQCN ([`CcPlan::in_lab`]), and
/// PFC with DCQCN alone ([`TransportPlan::has_pfc_in_lab`]).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TransportPlan {
    /// Rules of the simulated network.
    pub semantics: Semantics,
    /// RDMA devices of the hosts.
    pub profile: HostProfile,
    /// Congestion control of every QP.
    pub cc: CcPlan,
    /// Parameters; the window applies in addition to the limit of the congestion control, and the payload is not
    /// scaled.
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
    /// Returns true if the switches of a lab pause hosts, whose pacer, which comes with congestion control,
    /// holds what is paused.
    #[must_use]
    pub fn has_pfc_in_lab(&self) -> bool {
        self.is_lossless() && self.cc.in_lab().is_some()
    }

    /// Returns true if switches must drop nothing: under PFC, except in the artifact, whose thresholds wrap.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.pfc && self.semantics == Semantics::Paper
    }

    /// Returns the limit of a lab's egress queue towards another datacenter: its own, or under PFC the
    /// switch's buffer, which all ports share.
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
    /// Hardware: the QPs of a host send in turns, and every packet is acknowledged.
    Rnic,
    /// SoftRoCE of Linux 6.1, as the kernel engine runs it: a QP puts its window into the host's egress
    /// queue at once, or under congestion control into its pacer, the queue is first in, first out, and
    /// ACKs come on request.
    Rxe,
}

/// Congestion control and its parameters, emulated.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcPlan {
    /// None: line rate, always.
    None,
    /// DCQCN; the preset tells whether marks come back as CNPs or in ACKs.
    Dcqcn(DcqcnConfig),
    /// HPCC.
    Hpcc(HpccConfig),
    /// TIMELY.
    Timely(TimelyConfig),
    /// DCTCP, by rate.
    Dctcp(DctcpConfig),
}

impl CcPlan {
    /// Returns the parameters of the congestion control that a lab's hosts have: DCQCN, by host programs. Of
    /// other congestion controls, SoftRoCE has none.
    #[must_use]
    pub const fn in_lab(&self) -> Option<&DcqcnConfig> {
        match self {
            Self::Dcqcn(dcqcn) => Some(dcqcn),
            Self::None | Self::Hpcc(_) | Self::Timely(_) | Self::Dctcp(_) => None,
        }
    }

    /// Name, as in a scenario.
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

    /// True if the rate never changes unless switches mark packets.
    #[must_use]
    pub const fn needs_marks(&self) -> bool {
        match self {
            Self::Dcqcn(_) | Self::Dctcp(_) => true,
            Self::None | Self::Hpcc(_) | Self::Timely(_) => false,
        }
    }
}
