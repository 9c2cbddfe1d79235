//! Parameters of policies and congestion controls: settings override defaults, and values are scaled.

use lab_parameters::{ParameterError, ParameterSet, Preset, Value};
use lab_scenario::Settings;

use lab_units::show::{about_bytes, about_time};

use crate::{error::PlanError, model::Scale};

/// Name of a parameter whose default depends on the topology, with that default after scaling.
pub(crate) type DerivedDefault = (&'static str, Value);

/// Resolves `settings` at the YAML path `path` into parameters after scaling; `preset` applies if the settings do not
/// name a preset.
///
/// An unset parameter gets its value from `derived` if the preset is `paper`, else the preset's value.
pub(crate) fn resolve<S: ParameterSet>(
    path: &str,
    settings: &Settings,
    preset: Preset,
    derived: &[DerivedDefault],
    scale: &Scale,
) -> Result<S, PlanError> {
    let preset = settings.preset.unwrap_or(preset);
    let mut set = S::preset(preset);
    for parameter in S::PARAMETERS {
        let key = format!("{path}.{}", parameter.name);
        let given = settings.values.get(parameter.name).copied();
        let derived = derived.iter().find(|(name, _)| *name == parameter.name);
        if let Some(given) = given {
            parameter
                .check(given)
                .map_err(|error| refused(path, error))?;
        }
        let value = match (given, derived, preset) {
            (None, Some((_, derived)), Preset::Paper) => Some(*derived),
            (None, _, _) if !parameter.is_of(preset) => None,
            (given, _, _) => {
                let paper = given.or_else(|| set.get(parameter.name));
                paper
                    .map(|paper| scale.value(&key, parameter, paper))
                    .transpose()?
            }
        };
        if let Some(value) = value {
            set.set(parameter.name, value);
        }
    }
    set.check().map_err(|error| refused(path, error))?;
    Ok(set)
}

fn refused(path: &str, error: ParameterError) -> PlanError {
    PlanError::Parameter {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

/// Lists the parameters of `set` that `preset` uses, as names and values on one line.
pub(crate) fn list<S: ParameterSet>(set: &S, preset: Preset) -> String {
    named(set, preset, |_| true)
}

/// Lists the parameters of `set` whose value differs from the preset's, both at the paper's scale, in the form of
/// [`list`].
pub(crate) fn departures<S: ParameterSet>(set: &S, preset: Preset) -> String {
    let default = S::preset(preset);
    named(set, preset, |name| set.get(name) != default.get(name))
}

fn named<S: ParameterSet>(set: &S, preset: Preset, is_shown: impl Fn(&str) -> bool) -> String {
    let shown = S::PARAMETERS
        .iter()
        .filter(|each| each.is_of(preset) && is_shown(each.name));
    let words = shown.filter_map(|parameter| {
        let value = match set.get(parameter.name) {
            Some(Value::Time(time)) if parameter.is_scaled => about_time(time),
            Some(Value::Size(size)) if parameter.is_scaled => about_bytes(size),
            Some(value) => value.to_string(),
            None => parameter.derived?.to_owned(),
        };
        Some(format!("{} {value}", parameter.name))
    });
    words.collect::<Vec<_>>().join(", ")
}
