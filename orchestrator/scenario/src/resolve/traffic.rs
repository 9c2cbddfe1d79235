//! Resolution of traffic sources.

use std::{collections::BTreeMap, ops::Range};

use lab_units::{Bytes, Nanos, Ratio};

use super::{
    context::{Context, one_key},
    demands,
    topology::IndexedTopology,
};
use crate::{
    error::{ProblemKind, ScenarioErrors},
    limits,
    model::{
        Arrivals, DcPair, DemandMatrix, Files, FlowProcess, FlowSpec, LoadBase, Pairs, Traffic,
        Workload,
    },
    raw,
    yaml::{At, Maybe, OneOrMany, Text, WordOr},
};

/// Resolves the list `traffic`; `files` has the texts of demand matrices.
///
/// # Errors
/// With the problems of the first demand matrix that cannot be used.
pub(super) fn traffic(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: &At<Vec<At<raw::Traffic>>>,
    files: &Files,
) -> Result<Vec<Traffic>, ScenarioErrors> {
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_TRAFFIC);
    let sources = raw.value.iter().take(limits::MAX_TRAFFIC);
    let mut first_sweep: Option<(Vec<Ratio>, Range<usize>)> = None;
    let mut traffic = Vec::new();
    for raw in sources {
        let Some(source) = source(context, network, raw, files)? else {
            continue;
        };
        let workload = raw.value.workload.as_ref().map(|raw| &raw.load);
        let scale = || raw.value.demands.as_ref()?.scale.as_ref();
        if let Some(list) = workload.or_else(scale)
            && !source.sweep().is_empty()
        {
            match &first_sweep {
                None => first_sweep = Some((source.sweep().to_vec(), list.range.clone())),
                Some((sweep, _)) if *sweep == source.sweep() => {}
                Some((_, range)) => {
                    let first_line = context.line(range);
                    context.problem(&list.range, ProblemKind::OtherSweep { first_line });
                }
            }
        }
        traffic.push(source);
    }
    Ok(traffic)
}

fn source(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: &At<raw::Traffic>,
    files: &Files,
) -> Result<Option<Traffic>, ScenarioErrors> {
    let At { value, range } = raw;
    one_key!(context, range, value, "workload": workload, "demands": demands, "flows": flows, "flow_file": flow_file);
    Ok(
        match (&value.workload.0, &value.demands.0, &value.flows.0) {
            (Some(raw), ..) => Some(Traffic::Workload(workload(context, network, raw))),
            (_, Some(raw), _) => Some(Traffic::Demands(matrix(context, network, raw, files)?)),
            (.., Some(raw)) => Some(Traffic::Flows(flows(context, network, raw))),
            _ => value.flow_file.as_ref().map(|text| {
                let path = file(context, text);
                Traffic::FlowFile { path }
            }),
        },
    )
}

/// Checks the path of a file, and returns it relative to the scenario that is resolved.
pub(super) fn file(context: &mut Context<'_>, text: &Text<String>) -> String {
    let path = text.as_str();
    if path.trim().is_empty() {
        context.problem(&text.range(), ProblemKind::EmptyPath);
    }
    context.no_control_characters(&text.range(), path);
    context.path_of(path)
}

/// Checks the path or name of a distribution of flow sizes. A path is returned relative to the scenario that is
/// resolved; a word without a folder and an extension can be the name of a built-in distribution, which is not relative
/// to a file.
fn sizes(context: &mut Context<'_>, text: &Text<String>) -> String {
    let path = file(context, text);
    let is_name = text.as_str().bytes().all(|it| it.is_ascii_alphanumeric());
    if is_name {
        text.as_str().to_owned()
    } else {
        path
    }
}

/// Keys of an arrival process, as a workload or a demand matrix has them.
struct ProcessKeys<'a> {
    arrivals: &'a Maybe<Text<Arrivals>>,
    bursts: &'a Maybe<Text<Nanos>>,
    duration: &'a Text<Nanos>,
    target_flows: &'a Maybe<Text<u32>>,
    min_duration: &'a Maybe<Text<Nanos>>,
    max_flows: &'a Maybe<Text<u32>>,
}

fn process(context: &mut Context<'_>, raw: &ProcessKeys<'_>) -> FlowProcess {
    let [target_flows, max_flows] = [raw.target_flows, raw.max_flows].map(|key| {
        let max = u32::try_from(limits::MAX_FLOWS).unwrap_or(u32::MAX);
        let text = key.as_ref()?;
        context.within(text, 1..=max)
    });
    let duration = context.within(raw.duration, limits::MIN_INTERVAL..=limits::MAX_DURATION);
    let min_duration = raw.min_duration.as_ref().and_then(|text| {
        if raw.target_flows.as_ref().is_none() {
            context.problem(&text.range(), ProblemKind::MinDurationWithoutTarget);
        }
        context.within(text, limits::MIN_INTERVAL..=duration?)
    });
    let arrivals = context.read_or(raw.arrivals, Arrivals::default());
    let bursts = raw.bursts.as_ref().and_then(|text| {
        if arrivals == Arrivals::Even {
            context.problem(&text.range(), ProblemKind::BurstsOfEvenArrivals);
        }
        context.within(text, limits::MIN_INTERVAL..=limits::MAX_DURATION)
    });
    FlowProcess {
        arrivals,
        bursts,
        duration: duration.unwrap_or(Nanos::ZERO),
        target_flows,
        min_duration,
        max_flows,
    }
}

/// Resolves a demand matrix, whose file is in `files`.
///
/// # Errors
/// With the problems of the file.
fn matrix(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: &raw::MatrixKeys,
    files: &Files,
) -> Result<DemandMatrix, ScenarioErrors> {
    let scales = match raw.scale.as_ref() {
        Some(list) => ratios(context, list, scale),
        None => vec![Ratio::ONE],
    };
    let is_sweep = raw.scale.as_ref().is_some_and(|list| list.is_list);
    let keys = ProcessKeys {
        arrivals: &raw.arrivals,
        bursts: &raw.bursts,
        duration: &raw.duration,
        target_flows: &raw.target_flows,
        min_duration: &raw.min_duration,
        max_flows: &raw.max_flows,
    };
    let path = file(context, &raw.file);
    Ok(DemandMatrix {
        rates: demands::rates(context, network, (&raw.file.range(), &path), files)?,
        file: path,
        scale: scales.first().copied().unwrap_or(Ratio::ONE),
        sweep: if is_sweep { scales } else { Vec::new() },
        sizes: sizes(context, &raw.sizes),
        process: process(context, &keys),
    })
}

fn workload(context: &mut Context<'_>, network: &IndexedTopology, raw: &raw::Workload) -> Workload {
    let loads = ratios(context, &raw.load, load);
    let keys = ProcessKeys {
        arrivals: &raw.arrivals,
        bursts: &raw.bursts,
        duration: &raw.duration,
        target_flows: &raw.target_flows,
        min_duration: &raw.min_duration,
        max_flows: &raw.max_flows,
    };
    Workload {
        sizes: sizes(context, &raw.sizes),
        pairs: pairs(context, network, &raw.pairs),
        load: loads.first().copied().unwrap_or(Ratio::ONE),
        sweep: if raw.load.is_list { loads } else { Vec::new() },
        load_base: context.read_or(&raw.load_base, LoadBase::default()),
        process: process(context, &keys),
    }
}

/// Parses the loads of a workload, or the scales of a matrix, each by `one`; reports a problem if a list has the same
/// ratio twice.
fn ratios(
    context: &mut Context<'_>,
    raw: &OneOrMany<Ratio>,
    one: impl Fn(&mut Context<'_>, &Text<Ratio>) -> Option<Ratio>,
) -> Vec<Ratio> {
    context.count(&raw.range, raw.values.len(), 1..=limits::MAX_SWEEP);
    let mut loads = Vec::new();
    for text in raw.values.iter().take(limits::MAX_SWEEP) {
        let Some(load) = one(context, text) else {
            continue;
        };
        if loads.contains(&load) {
            context.problem(&text.range(), ProblemKind::DuplicateLoad { load });
        }
        loads.push(load);
    }
    loads
}

fn load(context: &mut Context<'_>, text: &Text<Ratio>) -> Option<Ratio> {
    let load = context.read(text)?;
    if let Some(bounds) = limits::beyond_load(load, text.as_str()) {
        context.out_of_range(text, bounds);
        return None;
    }
    Some(load)
}

fn scale(context: &mut Context<'_>, text: &Text<Ratio>) -> Option<Ratio> {
    let scale = context.read(text)?;
    let max = Ratio::new(limits::MAX_DEMAND_SCALE, 1).expect("one is not zero");
    if scale == Ratio::ZERO || scale > max {
        context.out_of_range(text, format!("above 0 and at most {max}"));
        return None;
    }
    Some(scale)
}

fn pairs(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: &At<WordOr<raw::AllToAll, Vec<At<raw::Pair>>>>,
) -> Pairs {
    let listed = match &raw.value {
        WordOr::Word(word, _) => {
            context.word::<raw::AllToAll>(&raw.range, word);
            let dcs = 0..network.model.dcs.len();
            let found = dcs.filter(|&index| network.hosts(index) != Some(0)).count();
            if found < 2 {
                context.problem(&raw.range, ProblemKind::TooFewSenders { found });
            }
            return Pairs::AllToAll;
        }
        WordOr::Body(listed) => listed,
    };
    let max = limits::MAX_DCS * (limits::MAX_DCS - 1);
    context.count(&raw.range, listed.len(), 1..=max);
    let mut ranges = BTreeMap::new();
    let pairs = listed.iter().take(max);
    Pairs::Listed(
        pairs
            .filter_map(|raw| pair(context, network, raw, &mut ranges))
            .collect(),
    )
}

/// Resolves a pair of datacenters; `ranges` maps the source and destination of earlier pairs to their byte ranges, to
/// find duplicates.
fn pair<'a>(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: &'a At<raw::Pair>,
    ranges: &mut BTreeMap<(usize, usize), &'a Range<usize>>,
) -> Option<DcPair> {
    let both_ways = context.read_or(&raw.value.both_ways, false);
    let from = &raw.value.from;
    let to = &raw.value.to;
    let ends = [from, to].map(|text| sender(context, network, text));
    let [Some(a), Some(b)] = ends else {
        return None;
    };
    if a == b {
        let dc = network.name(a).to_owned();
        context.problem(&to.range(), ProblemKind::SameDc { dc });
        return None;
    }
    let reverse = both_ways.then_some((b, a));
    for (a, b) in [Some((a, b)), reverse].into_iter().flatten() {
        if let Some(first) = ranges.insert((a, b), &raw.range) {
            let kind = ProblemKind::DuplicatePair {
                from: network.name(a).to_owned(),
                to: network.name(b).to_owned(),
                first_line: context.line(first),
            };
            context.problem(&raw.range, kind);
        }
    }
    Some(DcPair {
        from: network.name(a).to_owned(),
        to: network.name(b).to_owned(),
        both_ways,
    })
}

/// Returns the index of a datacenter; reports a problem if the datacenter has no hosts.
fn sender(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    text: &Text<String>,
) -> Option<usize> {
    let index = network.dc(context, text)?;
    if network.hosts(index) == Some(0) {
        let name = network.name(index).to_owned();
        context.problem(&text.range(), ProblemKind::NoHosts { name });
    }
    Some(index)
}

/// Resolves a list of single flows.
fn flows(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: &At<Vec<raw::Flow>>,
) -> Vec<FlowSpec> {
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_FLOWS);
    raw.value
        .iter()
        .map(|raw| flow(context, network, raw))
        .collect()
}

fn flow(context: &mut Context<'_>, network: &IndexedTopology, raw: &raw::Flow) -> FlowSpec {
    let ends = [&raw.from, &raw.to].map(|text| host_dc(context, network, text));
    if let [Some(from), Some(to)] = ends
        && from == to
    {
        let dc = network.name(from).to_owned();
        context.problem(&raw.to.range(), ProblemKind::SameDc { dc });
    }
    let size = context.within(&raw.size, Bytes::new(1)..=limits::MAX_FLOW_SIZE);
    let starts = Nanos::ZERO..=limits::MAX_DURATION;
    FlowSpec {
        from: raw.from.as_str().to_owned(),
        to: raw.to.as_str().to_owned(),
        size: size.unwrap_or(Bytes::ZERO),
        start: context.within_or(&raw.start, starts, Nanos::ZERO),
    }
}

/// Returns the index of a host's datacenter; reports a problem and returns `None` if the host does not exist.
fn host_dc(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    text: &Text<String>,
) -> Option<usize> {
    let found = text.as_str();
    let Some((dc, number)) = found.split_once('/') else {
        let found = found.to_owned();
        context.problem(&text.range(), ProblemKind::NotAHost { found });
        return None;
    };
    let index = network.dc_called(context, dc, &text.range())?;
    let digits = number.strip_prefix('h').unwrap_or_default();
    let plain = !digits.starts_with(['0', '+']);
    let Some(number) = digits.parse::<u64>().ok().filter(|_| plain) else {
        let found = found.to_owned();
        context.problem(&text.range(), ProblemKind::NotAHost { found });
        return None;
    };
    if let Some(hosts) = network.hosts(index)
        && number > hosts
    {
        let kind = ProblemKind::UnknownHost {
            host: found.to_owned(),
            dc: dc.to_owned(),
            hosts,
        };
        context.problem(&text.range(), kind);
        return None;
    }
    Some(index)
}
