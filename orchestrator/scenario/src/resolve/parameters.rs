//! Resolution of the parameters of a link, policy or congestion control.

use std::{collections::BTreeMap, ops::Range};

use lab_parameters::{Parameter, ParameterError, ParameterSet, Preset, Value};

use super::{context::Context, names};
use crate::{
    error::ProblemKind,
    model::Settings,
    raw::{Parameters, parameters::Texts},
};

/// Parsed parameter values by name.
type Values = BTreeMap<&'static str, Value>;

/// Parses the parameters of `S` in the mapping at `range`; `preset` applies if the settings name no preset.
pub(super) fn settings<S: ParameterSet>(
    context: &mut Context<'_>,
    range: &Range<usize>,
    raw: &Parameters<S>,
    preset: Preset,
) -> Settings {
    let named = raw.preset.as_ref().and_then(|text| context.read(text));
    let label = raw.label.as_ref();
    let values = values(context, &raw.texts);
    let set = over(S::preset(named.unwrap_or(preset)), &values);
    check(context, range, &raw.texts, &values, &set);
    Settings {
        preset: named,
        label: label.map(|text| names::label(context, text)),
        values,
    }
}

/// Parses `texts`; values outside their domain become problems and are left out.
pub(super) fn values(context: &mut Context<'_>, texts: &Texts) -> Values {
    let read = |(parameter, text): &(&'static Parameter, _)| {
        Some((parameter.name, context.parameter(parameter, text)?))
    };
    texts.0.iter().filter_map(read).collect()
}

/// Returns the parameter set `base` with `values` set in it.
pub(super) fn over<S: ParameterSet>(mut base: S, values: &Values) -> S {
    for (name, value) in values {
        base.set(name, *value);
    }
    base
}

/// Checks that the values of `set` are consistent. A conflict with a value that was already rejected is ignored.
pub(super) fn check<S: ParameterSet>(
    context: &mut Context<'_>,
    range: &Range<usize>,
    texts: &Texts,
    values: &Values,
    set: &S,
) {
    let is_refused = |name| texts.of(name).is_some() && !values.contains_key(name);
    if let Err(error) = set.check()
        && !error.names().into_iter().any(is_refused)
    {
        conflict(context, range, texts, error);
    }
}

/// Adds the problem that two parameters' values are inconsistent, at the first of the two that the scenario sets.
fn conflict(context: &mut Context<'_>, range: &Range<usize>, texts: &Texts, error: ParameterError) {
    let [first, second] = error.names();
    let (range, unset) = match (texts.of(first), texts.of(second)) {
        (Some(text), Some(_)) => (text.range(), None),
        (Some(text), None) => (text.range(), Some(second)),
        (None, Some(text)) => (text.range(), Some(first)),
        (None, None) => (range.clone(), None),
    };
    context.problem(&range, ProblemKind::Parameter { error, unset });
}

/// Adds a problem for each set parameter that `preset` does not have.
pub(super) fn refuse_other_preset<S>(
    context: &mut Context<'_>,
    raw: &Parameters<S>,
    preset: Preset,
) {
    for (parameter, text) in &raw.texts.0 {
        if let Some(only) = parameter.only.filter(|only| *only != preset) {
            let key = parameter.name;
            let preset = only;
            context.problem(&text.range(), ProblemKind::NotOfPreset { key, preset });
        }
    }
}
