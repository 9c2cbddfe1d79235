//! Settings of the section `transport`.

use lab_parameters::Value;
use lab_units::Semantics;
use serde::Serialize;

use super::settings::Settings;

/// Transport of hosts and buffers of switches. An unset parameter has the default of the semantics.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TransportSpec {
    pub semantics: Semantics,
    pub cc: Option<CcSpec>,
    /// Set parameters of [`TransportConfig`](lab_parameters::TransportConfig).
    pub settings: Settings,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<String>,
}

impl TransportSpec {
    /// Returns the value that the scenario sets for the parameter `name`, at the paper's scale (before scaling for
    /// emulation); `None` if the scenario does not set the parameter.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        self.settings.values.get(name).copied()
    }
}

/// Congestion control, with the parameters that the scenario sets.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcSpec {
    /// No congestion control: hosts send at line rate.
    None,
    Dcqcn(Settings),
    Hpcc(Settings),
    Timely(Settings),
    Dctcp(Settings),
}
