//! Transport settings of a scenario.

use lab_parameters::Value;
use lab_units::Semantics;
use serde::Serialize;

use super::settings::Settings;

/// Transport of hosts and buffers of switches; an unset parameter has the semantics' default.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TransportSpec {
    pub semantics: Semantics,
    pub cc: Option<CcSpec>,
    /// Parameters of [`TransportConfig`](lab_parameters::TransportConfig).
    pub settings: Settings,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<String>,
}

impl TransportSpec {
    /// Returns the value that the scenario sets for the parameter `name`, in paper units; `None` if it keeps the
    /// default.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        self.settings.values.get(name).copied()
    }
}

/// Congestion control and its parameters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CcSpec {
    /// No congestion control: hosts send at a constant line rate.
    None,
    Dcqcn(Settings),
    Hpcc(Settings),
    Timely(Settings),
    Dctcp(Settings),
}
