//! Resolution of the section `transport`, with its congestion control.

use std::ops::Range;

use lab_parameters::{ParameterSet, Preset};
use lab_units::Semantics;

use super::{
    context::{Context, one_key},
    parameters,
    traffic::file,
};
use crate::{
    model::{CcSpec, Settings, TransportSpec},
    raw::{self, CcName},
    yaml::{At, WordOr},
};

/// Resolves the section `transport`; returns the defaults if it is absent.
pub(super) fn transport(
    context: &mut Context<'_>,
    raw: Option<&raw::With<raw::Transport>>,
) -> TransportSpec {
    let Some(raw::With { own, texts }) = raw else {
        return TransportSpec::default();
    };
    let semantics = context.read_or(&own.semantics, Semantics::default());
    let cc = own.cc.as_ref();
    TransportSpec {
        semantics,
        cc: cc.and_then(|raw| congestion_control(context, raw, semantics)),
        settings: Settings {
            values: parameters::values(context, texts),
            ..Settings::default()
        },
        routes: own.routes.as_ref().map(|path| file(context, path)),
    }
}

fn congestion_control(
    context: &mut Context<'_>,
    raw: &At<WordOr<CcName, raw::Cc>>,
    semantics: Semantics,
) -> Option<CcSpec> {
    let cc = match &raw.value {
        WordOr::Word(word, _) => return context.word(&raw.range, word).map(without_parameters),
        WordOr::Body(cc) => cc,
    };
    let range = &raw.range;
    let preset = semantics.into();
    one_key!(context, range, cc, "none": none, "dcqcn": dcqcn, "hpcc": hpcc, "timely": timely, "dctcp": dctcp);
    Some(match (&cc.dcqcn.0, &cc.hpcc.0, &cc.timely.0, &cc.dctcp.0) {
        (Some(raw), ..) => CcSpec::Dcqcn(cc_settings(context, range, raw, preset)),
        (_, Some(raw), ..) => CcSpec::Hpcc(cc_settings(context, range, raw, preset)),
        (_, _, Some(raw), _) => CcSpec::Timely(cc_settings(context, range, raw, preset)),
        (.., Some(raw)) => CcSpec::Dctcp(cc_settings(context, range, raw, preset)),
        _ => cc.none.as_ref().map(|_| CcSpec::None)?,
    })
}

/// Parses the parameters of a congestion control, with `preset` as the default preset.
fn cc_settings<S: ParameterSet>(
    context: &mut Context<'_>,
    range: &Range<usize>,
    raw: &raw::Parameters<S>,
    preset: Preset,
) -> Settings {
    let settings = parameters::settings(context, range, raw, preset);
    parameters::refuse_other_preset(context, raw, settings.preset.unwrap_or(preset));
    settings
}

fn without_parameters(name: CcName) -> CcSpec {
    match name {
        CcName::None => CcSpec::None,
        CcName::Dcqcn => CcSpec::Dcqcn(Settings::default()),
        CcName::Hpcc => CcSpec::Hpcc(Settings::default()),
        CcName::Timely => CcSpec::Timely(Settings::default()),
        CcName::Dctcp => CcSpec::Dctcp(Settings::default()),
    }
}
