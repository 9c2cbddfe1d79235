//! Parameters that change nothing.

use lab_parameters::{Parameter, ParameterSet, Value};
use lab_policy::lcmp::LcmpConfig;

use super::{Inspection, warning};
use crate::model::Warning;

/// Parameters of LCMP that are set though only the other preset has a rule for them: one warning
/// for each policy.
pub(super) fn unused_parameters(inspection: &Inspection<'_>) -> Vec<Warning> {
    let lcmp = inspection
        .policies
        .iter()
        .filter_map(|run| Some((run.label.as_str(), unused(run.policy.lcmp()?)?)));
    lcmp.map(|(label, (parameter, value))| {
        let preset = parameter.only.unwrap_or_default();
        let text = format!(
            "policy `{label}`: `{}` is {value}, which changes nothing, as only the preset \
             `{preset}` has a rule for it (hint: leave it out, or set `preset: {preset}`)",
            parameter.name,
        );
        warning("unused-parameter", text)
    })
    .collect()
}

/// The first parameter of the other preset that is not at its default, and its value.
fn unused(config: &LcmpConfig) -> Option<(&'static Parameter, Value)> {
    let default = LcmpConfig::preset(config.preset);
    let others = LcmpConfig::PARAMETERS.iter();
    let mut others = others.filter(|parameter| !parameter.is_of(config.preset));
    others.find_map(|parameter| {
        let value = config.get(parameter.name)?;
        (default.get(parameter.name) != Some(value)).then_some((parameter, value))
    })
}
