//! Settings of a policy or a congestion control.

use std::collections::BTreeMap;

use lab_parameters::{Preset, Value};
use serde::Serialize;

/// Parameters that a scenario sets; a parameter that is not set keeps its default.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Settings {
    /// Preset that gives the defaults. `None` stands for `paper` for policies, and for the preset of
    /// `transport.semantics` for congestion controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Name of the policy in records and plots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Values by parameter name, in paper units.
    pub values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Returns the settings with the parameter `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.values.insert(name, value);
        self
    }
}
