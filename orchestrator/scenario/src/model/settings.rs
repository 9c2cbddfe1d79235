//! Parameters that a scenario sets for a policy or a congestion control.

use std::collections::BTreeMap;

use lab_parameters::{Preset, Value};
use serde::Serialize;

/// Parameters that a scenario sets; an unset parameter keeps its default.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Settings {
    /// Preset that gives the defaults. `None` means `paper` for a policy, and the preset named after
    /// `transport.semantics` for a congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Name of the policy in records and plots; `None` for its default label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Values by parameter name, at the paper's scale (before scaling for emulation).
    pub values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Returns these settings with the parameter `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.values.insert(name, value);
        self
    }
}
