//! Policies and their parameters.

use std::{collections::BTreeMap, ops::Range};

use lab_units::{Nanos, Ratio};

use super::{context::Context, names};
use crate::{
    defaults,
    error::ProblemKind,
    limits,
    model::{EbpfSpec, LcmpPreset, LcmpSpec, OwnSpec, PolicySpec, TeSpec, UcmpSpec},
    raw::{self, PolicyName},
    yaml::{At, Maybe, Text, WordOr},
};

/// Resolves the policies to compare.
pub(super) fn policies(
    context: &mut Context<'_>,
    raw: &At<Vec<At<WordOr<PolicyName, raw::Policy>>>>,
) -> Vec<PolicySpec> {
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_POLICIES);
    let mut places: BTreeMap<String, &Range<usize>> = BTreeMap::new();
    let mut policies = Vec::new();
    for raw in raw.value.iter().take(limits::MAX_POLICIES) {
        let Some(policy) = policy(context, raw) else {
            continue;
        };
        let label = policy.label().to_owned();
        if let Some(first) = places.get(&label) {
            let first_line = context.line(first);
            let label = label.clone();
            context.problem(
                &raw.range,
                ProblemKind::DuplicateLabel { label, first_line },
            );
        }
        places.entry(label).or_insert(&raw.range);
        policies.push(policy);
    }
    policies
}

fn policy(
    context: &mut Context<'_>,
    raw: &At<WordOr<PolicyName, raw::Policy>>,
) -> Option<PolicySpec> {
    match &raw.value {
        WordOr::Word(word, _) => Some(named(context.word(&raw.range, word)?)),
        WordOr::Body(policy) => with_parameters(context, &raw.range, policy),
    }
}

/// A policy without parameters.
fn named(name: PolicyName) -> PolicySpec {
    match name {
        PolicyName::Ecmp => PolicySpec::Ecmp,
        PolicyName::Wcmp => PolicySpec::Wcmp,
        PolicyName::Ucmp => PolicySpec::Ucmp(UcmpSpec::default()),
        PolicyName::UcmpArtifact => PolicySpec::UcmpArtifact,
        PolicyName::Te => PolicySpec::Te(TeSpec {
            label: te_label(defaults::TE_INTERVAL),
            interval: defaults::TE_INTERVAL,
            buckets: defaults::TE_BUCKETS,
        }),
        PolicyName::Lcmp => PolicySpec::Lcmp(LcmpSpec::default()),
        PolicyName::RmAlpha => PolicySpec::Lcmp(Weight::Alpha.removed(LcmpSpec::default())),
        PolicyName::RmBeta => PolicySpec::Lcmp(Weight::Beta.removed(LcmpSpec::default())),
    }
}

/// A policy under one of its keys.
fn with_parameters(
    context: &mut Context<'_>,
    range: &Range<usize>,
    policy: &raw::Policy,
) -> Option<PolicySpec> {
    let raw::Policy {
        ecmp,
        wcmp,
        ucmp,
        ucmp_artifact,
        te,
        lcmp: plain,
        rm_alpha,
        rm_beta,
        own,
        ebpf,
    } = policy;
    let keys = [
        ("ecmp", ecmp.as_ref().is_some()),
        ("wcmp", wcmp.as_ref().is_some()),
        ("ucmp", ucmp.as_ref().is_some()),
        ("ucmp-artifact", ucmp_artifact.as_ref().is_some()),
        ("te", te.as_ref().is_some()),
        ("lcmp", plain.as_ref().is_some()),
        ("rm-alpha", rm_alpha.as_ref().is_some()),
        ("rm-beta", rm_beta.as_ref().is_some()),
        ("own", own.as_ref().is_some()),
        ("ebpf", ebpf.as_ref().is_some()),
    ];
    context.one_key(range, &keys);
    if let Some(raw) = ucmp.as_ref() {
        return Some(PolicySpec::Ucmp(uniform_cost(context, raw)));
    }
    if let Some(raw) = te.as_ref() {
        return Some(PolicySpec::Te(traffic_engineering(context, raw)));
    }
    if let Some(raw) = own.as_ref() {
        return Some(PolicySpec::Own(OwnSpec {
            name: names::label(context, &raw.name),
            label: raw.label.as_ref().map(|text| names::label(context, text)),
        }));
    }
    if let Some(path) = ebpf.as_ref() {
        let object = path.as_str().trim().to_owned();
        context.no_control_characters(&path.range(), &object);
        let spec = EbpfSpec { object };
        if spec.name().is_empty() {
            context.problem(&path.range(), ProblemKind::NoObjectName);
        }
        return Some(PolicySpec::Ebpf(spec));
    }
    if let Some(raw) = plain.as_ref() {
        return Some(PolicySpec::Lcmp(lcmp(context, range, raw)));
    }
    for (raw, weight) in [(rm_alpha, Weight::Alpha), (rm_beta, Weight::Beta)] {
        if let Some(raw) = raw.as_ref() {
            weight.refuse_given(context, raw);
            let spec = lcmp(context, range, raw);
            return Some(PolicySpec::Lcmp(weight.removed(spec)));
        }
    }
    let plain = [
        (ecmp, PolicySpec::Ecmp),
        (wcmp, PolicySpec::Wcmp),
        (ucmp_artifact, PolicySpec::UcmpArtifact),
    ];
    let mut plain = plain.into_iter();
    let found = plain.find(|(there, _)| there.as_ref().is_some());
    found.map(|(_, policy)| policy)
}

/// A weight of the total cost that an ablation removes.
#[derive(Clone, Copy)]
enum Weight {
    Alpha,
    Beta,
}

impl Weight {
    const fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Alpha => ("alpha", "rm-alpha"),
            Self::Beta => ("beta", "rm-beta"),
        }
    }

    fn refuse_given(self, context: &mut Context<'_>, raw: &raw::Lcmp) {
        let text = match self {
            Self::Alpha => &raw.alpha,
            Self::Beta => &raw.beta,
        };
        if let Some(text) = text.as_ref() {
            let (key, name) = self.name();
            context.problem(&text.range(), ProblemKind::FixedWeight { key, name });
        }
    }

    fn removed(self, spec: LcmpSpec) -> LcmpSpec {
        let label = spec.label.clone();
        let label = label.or_else(|| Some(self.name().1.to_owned()));
        match self {
            Self::Alpha => LcmpSpec {
                label,
                alpha: Some(0),
                ..spec
            },
            Self::Beta => LcmpSpec {
                label,
                beta: Some(0),
                ..spec
            },
        }
    }
}

fn uniform_cost(context: &mut Context<'_>, raw: &raw::Ucmp) -> UcmpSpec {
    let default = UcmpSpec::default();
    UcmpSpec {
        label: raw.label.as_ref().map(|text| names::label(context, text)),
        alpha: alpha(context, &raw.alpha).unwrap_or(default.alpha),
        quantum: context.within_or(
            &raw.quantum,
            Nanos::ZERO..=limits::MAX_INTERVAL,
            default.quantum,
        ),
        ageing: context.read_or(&raw.ageing, default.ageing),
    }
}

/// The switch has it in hundredths.
fn alpha(context: &mut Context<'_>, text: &Maybe<Text<Ratio>>) -> Option<Ratio> {
    let text = text.as_ref()?;
    let alpha = context.read(text)?;
    let percent = alpha.scale_exact(100);
    if percent.is_none_or(|percent| percent > 100 * limits::MAX_UCMP_ALPHA) {
        let bounds = format!("0 to {} in steps of 0.01", limits::MAX_UCMP_ALPHA);
        context.out_of_range(text, bounds);
    }
    Some(alpha)
}

fn traffic_engineering(context: &mut Context<'_>, raw: &raw::Te) -> TeSpec {
    let bounds = limits::MIN_INTERVAL..=limits::MAX_INTERVAL;
    let interval = context.within_or(&raw.interval, bounds, defaults::TE_INTERVAL);
    let label = raw.label.as_ref().map(|text| names::label(context, text));
    TeSpec {
        label: label.unwrap_or_else(|| te_label(interval)),
        interval,
        buckets: context.within_or(
            &raw.buckets,
            1..=limits::MAX_TE_BUCKETS,
            defaults::TE_BUCKETS,
        ),
    }
}

/// `te-100ms`.
fn te_label(interval: Nanos) -> String {
    format!("te-{}", interval.to_string().replace(' ', ""))
}

fn lcmp(context: &mut Context<'_>, range: &Range<usize>, raw: &raw::Lcmp) -> LcmpSpec {
    let preset = context.read_or(&raw.preset, LcmpPreset::default());
    let mut number = |text: &Maybe<Text<u8>>| context.read(text.as_ref()?);
    let (alpha, beta) = (number(&raw.alpha), number(&raw.beta));
    let (w_dl, w_lc) = (number(&raw.w_dl), number(&raw.w_lc));
    let (w_ql, w_tl, w_dp) = (number(&raw.w_ql), number(&raw.w_tl), number(&raw.w_dp));
    let congested_threshold = number(&raw.congested_threshold);
    let drop_threshold = number(&raw.drop_threshold);
    if alpha == Some(0) && beta == Some(0) {
        context.problem(range, ProblemKind::ZeroWeights);
    }
    let mut shift = |text: &Maybe<Text<u8>>, most| context.within(text.as_ref()?, 0..=most);
    let s_path = shift(&raw.s_path, limits::MAX_SCORE_SHIFT);
    let s_cong = shift(&raw.s_cong, limits::MAX_SCORE_SHIFT);
    let trend_shift = shift(&raw.trend_shift, limits::MAX_STATE_SHIFT);
    let duration_shift = shift(&raw.duration_shift, limits::MAX_STATE_SHIFT);
    let (high_water, low_water) = water_marks(context, raw);
    let mut interval = |text: &Maybe<Text<Nanos>>| {
        context.within(text.as_ref()?, limits::MIN_INTERVAL..=limits::MAX_INTERVAL)
    };
    let sample_interval = interval(&raw.sample_interval);
    let gc_interval = interval(&raw.gc_interval);
    let idle_timeout = interval(&raw.idle_timeout);
    let rates = limits::MIN_RATE..=limits::MAX_RATE;
    let max_capacity = raw.max_capacity.as_ref();
    let entries = 1..=limits::MAX_FLOW_TABLE_ENTRIES;
    let flow_table_entries = raw.flow_table_entries.as_ref();
    LcmpSpec {
        preset,
        label: raw.label.as_ref().map(|text| names::label(context, text)),
        alpha,
        beta,
        w_dl,
        w_lc,
        s_path,
        w_ql,
        w_tl,
        w_dp,
        s_cong,
        max_delay: max_delay(context, &raw.max_delay, preset),
        max_capacity: max_capacity.and_then(|text| context.within(text, rates)),
        trend_shift,
        duration_shift,
        high_water,
        low_water,
        sample_interval,
        gc_interval,
        idle_timeout,
        flow_table_entries: flow_table_entries.and_then(|text| context.within(text, entries)),
        congested_threshold,
        drop_threshold,
    }
}

/// Between the two water marks nothing is counted; were they to meet or cross, a queue level could
/// be both. One that is not set is the preset's, where there is nothing to point at.
fn water_marks(context: &mut Context<'_>, raw: &raw::Lcmp) -> (Option<u8>, Option<u8>) {
    let (high_text, low_text) = (raw.high_water.as_ref(), raw.low_water.as_ref());
    let mut mark = |text: Option<&Text<u8>>, bounds, preset| match text {
        Some(text) => context.within(text, bounds),
        None => Some(preset),
    };
    let high = mark(high_text, 1..=u8::MAX, defaults::HIGH_WATER);
    let low = mark(low_text, 0..=u8::MAX - 1, defaults::LOW_WATER);
    if let (Some(low), Some(high)) = (low, high)
        && low >= high
        && let Some(place) = low_text.or(high_text)
    {
        let unsaid = match (low_text, high_text) {
            (None, _) => Some("low_water"),
            (_, None) => Some("high_water"),
            (Some(_), Some(_)) => None,
        };
        let kind = ProblemKind::WaterMarks { low, high, unsaid };
        context.problem(&place.range(), kind);
    }
    (high_text.and(high), low_text.and(low))
}

/// The delay score is a shift, so that the delay it saturates at is a power of two of its unit.
fn max_delay(
    context: &mut Context<'_>,
    text: &Maybe<Text<Nanos>>,
    preset: LcmpPreset,
) -> Option<Nanos> {
    let text = text.as_ref()?;
    let (unit, name) = match preset {
        LcmpPreset::Paper => (1_000, "us"),
        LcmpPreset::Artifact => (1_000_000, "ms"),
    };
    let delay = context.within(text, Nanos::new(unit)..=limits::MAX_INTERVAL)?;
    let units = delay.get() / unit;
    if delay.get() % unit != 0 || !units.is_power_of_two() {
        let below = 1 << units.ilog2();
        let kind = ProblemKind::NotPowerOfTwo {
            found: delay,
            unit: name,
            nearest: [below, 2 * below]
                .map(|units| format!("{units} {name}"))
                .into(),
        };
        context.problem(&text.range(), kind);
    }
    Some(delay)
}
