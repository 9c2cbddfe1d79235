//! Transport in the simulator, and its congestion controls' parameters.

use std::ops::Range;

use lab_parameters::{ParameterSet, Preset};
use lab_units::{Bytes, Nanos, Semantics};

use super::{
    context::{Context, one_key},
    parameters,
    traffic::file,
};
use crate::{
    limits,
    model::{CcSpec, Settings, TimeoutSpec, TransportSpec, WindowSpec},
    raw::{self, CcName},
    yaml::{At, Maybe, Text, WordOr},
};

/// Resolves the section; without one, all defaults.
pub(super) fn transport(context: &mut Context<'_>, raw: Option<&raw::Transport>) -> TransportSpec {
    let Some(raw) = raw else {
        return TransportSpec::default();
    };
    let semantics = context.read_or(&raw.semantics, Semantics::default());
    let buffers = limits::MIN_BUFFER..=limits::MAX_BUFFER;
    let mut buffer = |text: &Maybe<Text<Bytes>>| context.within(text.as_ref()?, buffers.clone());
    let fabric_buffer = buffer(&raw.fabric_buffer);
    let dci_buffer = buffer(&raw.dci_buffer);
    let mut flag = |text: &Maybe<Text<bool>>| context.read(text.as_ref()?);
    let ack_priority = flag(&raw.ack_priority);
    let pfc = flag(&raw.pfc);
    let payloads = limits::MIN_PAYLOAD..=limits::MAX_PAYLOAD;
    let payload = raw.payload.as_ref();
    let cc = raw.cc.as_ref();
    TransportSpec {
        semantics,
        cc: cc.and_then(|raw| congestion_control(context, raw, semantics)),
        payload: payload.and_then(|text| context.within(text, payloads)),
        window: window(context, &raw.window),
        ack_priority,
        pfc,
        nack_interval: timer(context, &raw.nack_interval),
        retransmit_timeout: timeout(context, &raw.retransmit_timeout),
        fabric_buffer,
        dci_buffer,
        routes: raw.routes.as_ref().map(|path| file(context, path)),
    }
}

fn window(context: &mut Context<'_>, text: &Maybe<Text<WindowSpec>>) -> Option<WindowSpec> {
    let text = text.as_ref()?;
    let window = context.read(text)?;
    let bounds = Bytes::new(limits::MIN_PAYLOAD.into())..=limits::MAX_BUFFER;
    if let WindowSpec::Bytes(bytes) = window
        && !bounds.contains(&bytes)
    {
        let (min, max) = bounds.into_inner();
        context.out_of_range(text, format!("{min} to {max}"));
    }
    Some(window)
}

fn timeout(context: &mut Context<'_>, text: &Maybe<Text<TimeoutSpec>>) -> Option<TimeoutSpec> {
    let text = text.as_ref()?;
    let timeout = context.read(text)?;
    if let TimeoutSpec::After(time) = timeout
        && !(limits::MIN_TIMER..=limits::MAX_TIMER).contains(&time)
    {
        let bounds = format!("{} to {}", limits::MIN_TIMER, limits::MAX_TIMER);
        context.out_of_range(text, bounds);
    }
    Some(timeout)
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

/// Resolves the parameters of a congestion control; `preset` is the semantics'.
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

fn timer(context: &mut Context<'_>, text: &Maybe<Text<Nanos>>) -> Option<Nanos> {
    context.within(text.as_ref()?, limits::MIN_TIMER..=limits::MAX_TIMER)
}
