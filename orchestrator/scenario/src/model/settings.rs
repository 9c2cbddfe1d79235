//! Settings of a policy or a congestion control.

use std::collections::BTreeMap;

use lab_parameters::{Preset, Value};
use serde::Serialize;

/// Parameters as a scenario sets them; what is not set keeps its default.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Settings {
    /// Source of the defaults; if `None`, `paper` for policies, that of `transport.semantics` for
    /// congestion controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Name of the policy in records and plots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Values by parameter name, in paper units.
    pub values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Sets the parameter `name`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.values.insert(name, value);
        self
    }
}
