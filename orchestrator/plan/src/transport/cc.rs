//! Congestion controls with their parameters resolved.

use lab_parameters::{DcqcnConfig, DctcpConfig, HpccConfig, TimelyConfig};
use serde::{Deserialize, Serialize};

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
