//! Parameters of a policy or congestion control.

use std::{collections::BTreeMap, ops::Range};

use lab_parameters::{ParameterError, ParameterSet, Preset};

use super::{context::Context, names};
use crate::{error::ProblemKind, model::Settings, raw::Parameters};

/// Resolves the parameters at `range`; `preset` is the one of those that name none.
pub(super) fn settings<S: ParameterSet>(
    context: &mut Context<'_>,
    range: &Range<usize>,
    raw: &Parameters<S>,
    preset: Preset,
) -> Settings {
    let named = raw.preset.as_ref().and_then(|text| context.read(text));
    let label = raw.label.as_ref();
    let mut values = BTreeMap::new();
    let mut set = S::preset(named.unwrap_or(preset));
    let mut refused = Vec::new();
    for (parameter, text) in &raw.texts {
        match context.parameter(parameter, text) {
            Some(value) => {
                set.set(parameter.name, value);
                values.insert(parameter.name, value);
            }
            None => refused.push(parameter.name),
        }
    }
    if let Err(error) = set.check()
        && !error.names().iter().any(|name| refused.contains(name))
    {
        conflict(context, range, raw, error);
    }
    Settings {
        preset: named,
        label: label.map(|text| names::label(context, text)),
        values,
    }
}

/// Adds the problem of values that do not fit together, at the first that the scenario sets.
fn conflict<S>(
    context: &mut Context<'_>,
    range: &Range<usize>,
    raw: &Parameters<S>,
    error: ParameterError,
) {
    let [first, second] = error.names();
    let (range, unset) = match (raw.text(first), raw.text(second)) {
        (Some(text), Some(_)) => (text.range(), None),
        (Some(text), None) => (text.range(), Some(second)),
        (None, Some(text)) => (text.range(), Some(first)),
        (None, None) => (range.clone(), None),
    };
    context.problem(&range, ProblemKind::Parameter { error, unset });
}

/// Adds a problem for each parameter that the algorithm of `preset` does not have.
pub(super) fn refuse_other_preset<S>(
    context: &mut Context<'_>,
    raw: &Parameters<S>,
    preset: Preset,
) {
    for (parameter, text) in &raw.texts {
        if let Some(only) = parameter.only.filter(|only| *only != preset) {
            let (key, preset) = (parameter.name, only);
            context.problem(&text.range(), ProblemKind::NotOfPreset { key, preset });
        }
    }
}
