//! Parameters that change nothing.

use lab_policy::lcmp::{LcmpConfig, Preset};

use super::{Inspection, warning};
use crate::{model::Warning, policy};

/// Thresholds that were set for a preset without the rule they belong to: one warning for each.
pub(super) fn unused_parameters(inspection: &Inspection<'_>) -> Vec<Warning> {
    let lcmp = inspection
        .policies
        .iter()
        .filter_map(|run| Some((run.label.as_str(), unused(run.policy.lcmp()?)?)));
    lcmp.map(|(label, (name, value, preset))| {
        let text = format!(
            "policy `{label}`: `{name}` is {value}, which changes nothing, as only the preset \
             `{preset}` has a rule for it (hint: leave it out, or set `preset: {preset}`)"
        );
        warning("unused-parameter", text)
    })
    .collect()
}

/// A threshold of the other preset's rule, its value, and that preset.
fn unused(config: &LcmpConfig) -> Option<(&'static str, u8, &'static str)> {
    let preset = policy::preset(config.preset, config.max_capacity_bps);
    match config.preset {
        Preset::Paper => (config.drop_threshold != preset.drop_threshold).then_some((
            "drop_threshold",
            config.drop_threshold,
            "artifact",
        )),
        Preset::Artifact => (config.congested_threshold != preset.congested_threshold).then_some((
            "congested_threshold",
            config.congested_threshold,
            "paper",
        )),
    }
}
