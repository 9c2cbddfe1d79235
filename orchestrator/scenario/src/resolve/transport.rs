//! Transport in the simulator, and its congestion controls' parameters.

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use super::context::Context;
use crate::{
    defaults,
    error::ProblemKind,
    limits,
    model::{
        CcSpec, DcqcnSpec, DctcpSpec, HpccSpec, Semantics, TimelySpec, TimeoutSpec, TransportSpec,
        WindowSpec,
    },
    raw::{self, CcName},
    yaml::{At, Maybe, Text, WordOr},
};

/// Resolves the section, or what its absence means.
pub(super) fn transport(context: &mut Context<'_>, raw: Option<&raw::Transport>) -> TransportSpec {
    let Some(raw) = raw else {
        return TransportSpec::default();
    };
    let semantics = context.read_or(&raw.semantics, Semantics::default());
    let buffers = limits::MIN_BUFFER..=limits::MAX_BUFFER;
    let mut buffer = |text: &Maybe<Text<Bytes>>| context.within(text.as_ref()?, buffers.clone());
    let (fabric_buffer, dci_buffer) = (buffer(&raw.fabric_buffer), buffer(&raw.dci_buffer));
    let mut flag = |text: &Maybe<Text<bool>>| context.read(text.as_ref()?);
    let (ack_priority, pfc) = (flag(&raw.ack_priority), flag(&raw.pfc));
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
    }
}

fn window(context: &mut Context<'_>, text: &Maybe<Text<WindowSpec>>) -> Option<WindowSpec> {
    let text = text.as_ref()?;
    let window = context.read(text)?;
    let bounds = Bytes::new(limits::MIN_PAYLOAD.into())..=limits::MAX_BUFFER;
    if let WindowSpec::Bytes(bytes) = window
        && !bounds.contains(&bytes)
    {
        let (least, most) = bounds.into_inner();
        context.out_of_range(text, format!("{least} to {most}"));
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
    let keys = [
        ("none", cc.none.as_ref().is_some()),
        ("dcqcn", cc.dcqcn.as_ref().is_some()),
        ("hpcc", cc.hpcc.as_ref().is_some()),
        ("timely", cc.timely.as_ref().is_some()),
        ("dctcp", cc.dctcp.as_ref().is_some()),
    ];
    context.one_key(&raw.range, &keys);
    if let Some(raw) = cc.dcqcn.as_ref() {
        return Some(CcSpec::Dcqcn(dcqcn(context, raw, semantics)));
    }
    if let Some(raw) = cc.hpcc.as_ref() {
        return Some(CcSpec::Hpcc(hpcc(context, raw)));
    }
    if let Some(raw) = cc.timely.as_ref() {
        return Some(CcSpec::Timely(timely(context, raw, semantics)));
    }
    if let Some(raw) = cc.dctcp.as_ref() {
        return Some(CcSpec::Dctcp(dctcp(context, raw)));
    }
    cc.none.as_ref().map(|_| CcSpec::None)
}

fn without_parameters(name: CcName) -> CcSpec {
    match name {
        CcName::None => CcSpec::None,
        CcName::Dcqcn => CcSpec::Dcqcn(DcqcnSpec::default()),
        CcName::Hpcc => CcSpec::Hpcc(HpccSpec::default()),
        CcName::Timely => CcSpec::Timely(TimelySpec::default()),
        CcName::Dctcp => CcSpec::Dctcp(DctcpSpec::default()),
    }
}

fn dcqcn(context: &mut Context<'_>, raw: &raw::Dcqcn, semantics: Semantics) -> DcqcnSpec {
    let preset = preset(context, &raw.preset);
    match preset.unwrap_or(semantics) {
        Semantics::Paper => {
            not_of_preset(
                context,
                &raw.decrease_interval,
                "decrease_interval",
                "artifact",
            );
        }
        Semantics::Artifact => {
            not_of_preset(context, &raw.cnp_interval, "cnp_interval", "paper");
            not_of_preset(context, &raw.byte_counter, "byte_counter", "paper");
        }
    }
    DcqcnSpec {
        preset,
        gain: share(context, &raw.gain),
        cnp_interval: timer(context, &raw.cnp_interval),
        alpha_interval: timer(context, &raw.alpha_interval),
        decrease_interval: timer(context, &raw.decrease_interval),
        increase_interval: timer(context, &raw.increase_interval),
        byte_counter: amount(context, &raw.byte_counter),
        fast_recovery: stages(context, &raw.fast_recovery, 1),
        additive_rate: rate(context, &raw.additive_rate),
        hyper_rate: rate(context, &raw.hyper_rate),
        min_rate: rate(context, &raw.min_rate),
    }
}

fn hpcc(context: &mut Context<'_>, raw: &raw::Hpcc) -> HpccSpec {
    let hops = 1..=limits::MAX_INT_HOPS;
    let int_hops = raw.int_hops.as_ref();
    HpccSpec {
        preset: preset(context, &raw.preset),
        utilisation: share(context, &raw.utilisation),
        max_stage: stages(context, &raw.max_stage, 0),
        additive_rate: rate(context, &raw.additive_rate),
        min_rate: rate(context, &raw.min_rate),
        int_hops: int_hops.and_then(|text| context.within(text, hops)),
    }
}

fn timely(context: &mut Context<'_>, raw: &raw::Timely, semantics: Semantics) -> TimelySpec {
    let preset = preset(context, &raw.preset);
    if preset.unwrap_or(semantics) == Semantics::Artifact {
        not_of_preset(context, &raw.segment, "segment", "paper");
    }
    let (t_low, t_high) = (timer(context, &raw.t_low), timer(context, &raw.t_high));
    thresholds(context, raw, [t_low, t_high]);
    TimelySpec {
        preset,
        segment: amount(context, &raw.segment),
        difference_weight: share(context, &raw.difference_weight),
        decrease: share(context, &raw.decrease),
        t_low,
        t_high,
        min_rtt: timer(context, &raw.min_rtt),
        additive_rate: rate(context, &raw.additive_rate),
        hyper_rate: rate(context, &raw.hyper_rate),
        hyper_after: stages(context, &raw.hyper_after, 0),
        min_rate: rate(context, &raw.min_rate),
    }
}

/// Checks that no round trip is both below the lower threshold and above the upper one.
fn thresholds(context: &mut Context<'_>, raw: &raw::Timely, said: [Option<Nanos>; 2]) {
    let [low, high] = said;
    let unsaid = match said {
        [None, Some(_)] => Some("t_low"),
        [Some(_), None] => Some("t_high"),
        [None, None] | [Some(_), Some(_)] => None,
    };
    let low = low.unwrap_or(defaults::TIMELY_LOW);
    let high = high.unwrap_or(defaults::TIMELY_HIGH);
    if low > high
        && let Some(place) = raw.t_low.as_ref().or(raw.t_high.as_ref())
    {
        let kind = ProblemKind::TimelyOrder { low, high, unsaid };
        context.problem(&place.range(), kind);
    }
}

fn dctcp(context: &mut Context<'_>, raw: &raw::Dctcp) -> DctcpSpec {
    DctcpSpec {
        preset: preset(context, &raw.preset),
        gain: share(context, &raw.gain),
        additive_rate: rate(context, &raw.additive_rate),
        min_rate: rate(context, &raw.min_rate),
    }
}

fn preset(context: &mut Context<'_>, text: &Maybe<Text<Semantics>>) -> Option<Semantics> {
    context.read(text.as_ref()?)
}

/// Notes that a parameter was set that the other preset has alone.
fn not_of_preset<T>(
    context: &mut Context<'_>,
    text: &Maybe<Text<T>>,
    key: &'static str,
    preset: &'static str,
) {
    if let Some(text) = text.as_ref() {
        context.problem(&text.range(), ProblemKind::NotOfPreset { key, preset });
    }
}

fn timer(context: &mut Context<'_>, text: &Maybe<Text<Nanos>>) -> Option<Nanos> {
    context.within(text.as_ref()?, limits::MIN_TIMER..=limits::MAX_TIMER)
}

fn amount(context: &mut Context<'_>, text: &Maybe<Text<Bytes>>) -> Option<Bytes> {
    context.within(text.as_ref()?, Bytes::new(1)..=limits::MAX_BUFFER)
}

fn rate(context: &mut Context<'_>, text: &Maybe<Text<BitsPerSec>>) -> Option<BitsPerSec> {
    context.within(text.as_ref()?, limits::MIN_RATE..=limits::MAX_RATE)
}

fn stages(context: &mut Context<'_>, text: &Maybe<Text<u32>>, least: u32) -> Option<u32> {
    context.within(text.as_ref()?, least..=limits::MAX_STAGES)
}

/// A share above zero.
fn share(context: &mut Context<'_>, text: &Maybe<Text<Ratio>>) -> Option<Ratio> {
    let text = text.as_ref()?;
    let share = context.read(text)?;
    if share == Ratio::ZERO || share > Ratio::ONE {
        context.out_of_range(text, "above 0 and at most 1");
    }
    Some(share)
}
