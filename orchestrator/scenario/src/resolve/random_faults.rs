//! Random faults in the list `faults`.

use lab_units::Nanos;

use super::{
    context::Context,
    links::{self, KnownLinks},
    topology::IndexedTopology,
};
use crate::{
    error::ProblemKind,
    limits,
    model::{FaultyLink, RandomFaults},
    raw::{self, SetsParameters},
    yaml::At,
};

/// Resolves the entries of the list `faults` that have the key `random`.
pub(super) fn random_faults(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: Option<&At<Vec<At<raw::With<raw::Fault>>>>>,
) -> Vec<RandomFaults> {
    let known = KnownLinks::of(network);
    let entries = raw.into_iter().flat_map(|raw| raw.value.iter().enumerate());
    let random = entries.filter_map(|(entry, raw)| {
        let random = raw.value.own.random.as_ref()?;
        alone(context, raw);
        let means = Nanos::new(1)..=limits::MAX_MEAN_TIME;
        let mtbf = context.within(&random.mtbf, means.clone());
        let mttr = context.within(&random.mttr, means);
        let groups = groups(context, &known, random.groups.as_ref());
        Some(RandomFaults {
            entry,
            mtbf: mtbf?,
            mttr: mttr?,
            groups,
            keep_connected: context.read_or(&random.keep_connected, true),
            seed: random.seed.as_ref().and_then(|seed| context.read(seed)),
        })
    });
    random.collect()
}

/// Checks that `random` is the only key of its entry.
fn alone(context: &mut Context<'_>, raw: &At<raw::With<raw::Fault>>) {
    let raw::With { own, texts } = &raw.value;
    let written = [
        ("at", own.at.as_ref().is_some()),
        ("link", own.link.as_ref().is_some()),
        ("links", own.links.as_ref().is_some()),
        ("dc", own.dc.as_ref().is_some()),
        ("agent", own.agent.as_ref().is_some()),
        ("down", own.down.as_ref().is_some()),
        ("up", own.up.as_ref().is_some()),
    ];
    let parameters = raw::Fault::parameters().map(|parameter| parameter.name);
    let keys: Vec<&'static str> = (written.into_iter())
        .chain(parameters.map(|name| (name, texts.of(name).is_some())))
        .filter_map(|(key, is_there)| is_there.then_some(key))
        .collect();
    if !keys.is_empty() {
        context.problem(&raw.range, ProblemKind::KeysBesideRandom { keys });
    }
}

/// Returns the groups in the list `groups`; without a list, each link is a group.
fn groups(
    context: &mut Context<'_>,
    known: &KnownLinks<'_>,
    raw: Option<&At<Vec<At<Vec<raw::LinkOfFault>>>>>,
) -> Vec<Vec<FaultyLink>> {
    let Some(raw) = raw else {
        return known.links.iter().map(|link| vec![link.clone()]).collect();
    };
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_FAULTS);
    let written = raw.value.iter().take(limits::MAX_FAULTS);
    let groups = written.map(|group| links::shared_risk(context, known, group));
    groups.collect()
}
