//! Resolution of a topology's form: written out, or made of a graph that the scenario names or imports.

use std::ops::Range;

use lab_topologies::{
    Format, Graph, HostsAt, MissingCoordinates, NameRules, NetworkError, NetworkOptions, Parallel,
    Unlabelled, Wan, network, read, zoo,
};
use lab_units::Nanos;

use super::context::Context;
use crate::{
    defaults,
    error::{Finding, ProblemKind, ScenarioErrors, SourceText},
    limits,
    model::Files,
    raw::{self, ALL, MIN_DEGREE, ZOO_PREFIX},
    suggest::{did_you_mean, near_graphs},
    topology_file::WrittenTopology,
    yaml::{At, Text, WordOr},
};

/// Topology of a scenario, after its keys were checked.
pub(super) struct TopologyForm<'a> {
    /// Defaults of link parameters; `None` if the scenario sets none.
    pub defaults: Option<&'a raw::Defaults>,
    pub source: TopologySource<'a>,
}

/// Origin of datacenters and links.
pub(super) enum TopologySource<'a> {
    /// The scenario lists them.
    Written {
        dcs: &'a At<Vec<At<raw::Dc>>>,
        links: &'a At<Vec<At<raw::With<raw::Link>>>>,
        /// True if links between the same two datacenters are parallel links; false if they are a mistake.
        keeps_parallel: bool,
    },
    /// They are made of a graph.
    Made(MadeTopology),
}

/// Datacenters and links made of a graph.
pub(super) struct MadeTopology {
    pub network: Wan,
    /// Byte range of the graph's name in the scenario.
    pub range: Range<usize>,
    /// Path of the graph file, relative to the scenario; `None` for a graph of the Topology Zoo.
    pub import: Option<String>,
}

/// Checks the keys of a topology, and makes a network of its graph if it has one. `files` has the texts of graph files.
///
/// # Errors
/// If the keys do not fit together, or the graph cannot be found, read or converted.
pub(super) fn form<'a>(
    written: WrittenTopology<'a>,
    files: &Files,
) -> Result<TopologyForm<'a>, ScenarioErrors> {
    let mut context = Context::new(written.source);
    let raw = written.raw;
    let found = match &raw.value {
        WordOr::Word(word, _) => {
            let found = of_word(&mut context, &raw.range, word);
            found.map(|made| TopologyForm {
                defaults: None,
                source: TopologySource::Made(made),
            })
        }
        WordOr::Body(keys) => {
            let source = of_keys(&mut context, written, keys, files)?;
            let defaults = keys.defaults.as_ref();
            source.map(|source| TopologyForm { defaults, source })
        }
    };
    let found = context.finish(found)?;
    Ok(found.expect("a topology without a form has a problem"))
}

fn of_word(context: &mut Context<'_>, range: &Range<usize>, word: &str) -> Option<MadeTopology> {
    let Some(name) = word.strip_prefix(ZOO_PREFIX) else {
        context.word::<raw::TopologyWord>(range, word);
        return None;
    };
    let graph = of_zoo(context, range, name)?;
    let keys = raw::Topology::default();
    let network = made(context, range, &keys, &graph)?;
    Some(MadeTopology {
        network,
        range: range.clone(),
        import: None,
    })
}

fn of_keys<'a>(
    context: &mut Context<'_>,
    written: WrittenTopology<'_>,
    keys: &'a raw::Topology,
    files: &Files,
) -> Result<Option<TopologySource<'a>>, ScenarioErrors> {
    let range = &written.raw.range;
    let dcs = keys.dcs.as_ref();
    let links = keys.links.as_ref();
    let (graph, name, import) = match (keys.zoo.as_ref(), keys.import.as_ref()) {
        (None, None) => {
            for (key, at) in options(keys) {
                context.problem(&at, ProblemKind::NeedsGraph { key });
            }
            for (key, is_missing) in [("dcs", dcs.is_none()), ("links", links.is_none())] {
                if is_missing {
                    context.problem(range, ProblemKind::MissingKey { key });
                }
            }
            let keeps_parallel = keeps_parallel(context, keys);
            let written = dcs.zip(links);
            return Ok(written.map(|(dcs, links)| TopologySource::Written {
                dcs,
                links,
                keeps_parallel,
            }));
        }
        (Some(_), Some(import)) => {
            let [key, other] = ["import", "zoo"];
            context.problem(&import.range(), ProblemKind::NotWith { key, other });
            return Ok(None);
        }
        (Some(zoo), None) => {
            not_with(context, keys, "zoo");
            (of_zoo(context, &zoo.range(), zoo.as_str()), zoo, None)
        }
        (None, Some(import)) => {
            not_with(context, keys, "import");
            let path = written.path_of(import.as_str());
            let graph = of_file(context, &import.range(), &path, files)?;
            (graph, import, Some(path))
        }
    };
    let range = name.range();
    let network = graph.and_then(|graph| made(context, &range, keys, &graph));
    Ok(network.map(|network| {
        TopologySource::Made(MadeTopology {
            network,
            range,
            import,
        })
    }))
}

/// Returns true if the key `parallel` allows parallel links in `links`.
fn keeps_parallel(context: &mut Context<'_>, keys: &raw::Topology) -> bool {
    let Some(text) = keys.parallel.as_ref() else {
        return false;
    };
    let parallel = context.read(text);
    if parallel == Some(Parallel::Merge) {
        context.problem(&text.range(), ProblemKind::MergeOfWritten);
    }
    parallel == Some(Parallel::Keep)
}

/// Checks that a topology with the key `other` lists no datacenters or links.
fn not_with(context: &mut Context<'_>, keys: &raw::Topology, other: &'static str) {
    let dcs = keys.dcs.as_ref().map(|list| ("dcs", &list.range));
    let links = keys.links.as_ref().map(|list| ("links", &list.range));
    for (key, range) in dcs.into_iter().chain(links) {
        context.problem(range, ProblemKind::NotWith { key, other });
    }
}

/// Returns the options that apply only to a graph and that a topology sets, with their byte ranges.
fn options(keys: &raw::Topology) -> Vec<(&'static str, Range<usize>)> {
    let hosts_at = keys.hosts_at.as_ref();
    let all = [
        ("km_per_ms", keys.km_per_ms.as_ref().map(Text::range)),
        ("default_rate", keys.default_rate.as_ref().map(Text::range)),
        (
            "default_delay",
            keys.default_delay.as_ref().map(Text::range),
        ),
        ("hosts", keys.hosts.as_ref().map(Text::range)),
        ("hosts_at", hosts_at.map(|at| at.range.clone())),
        (
            "missing_coordinates",
            keys.missing_coordinates.as_ref().map(Text::range),
        ),
        ("unlabelled", keys.unlabelled.as_ref().map(Text::range)),
        (
            "largest_component",
            keys.largest_component.as_ref().map(Text::range),
        ),
    ];
    let set = all.into_iter();
    set.filter_map(|(key, range)| Some((key, range?))).collect()
}

/// Returns the graph `name` of the Topology Zoo.
fn of_zoo(context: &mut Context<'_>, range: &Range<usize>, name: &str) -> Option<Graph> {
    let graph = zoo::graph(name);
    if graph.is_none() {
        let name = name.to_owned();
        let near = near_graphs(&name);
        context.problem(range, ProblemKind::UnknownZoo { name, near });
    }
    graph
}

/// Reads the graph of the imported file at `path`; `range` is the byte range of its name.
///
/// # Errors
/// With the problem of the file, if it cannot be read.
fn of_file(
    context: &mut Context<'_>,
    range: &Range<usize>,
    path: &str,
    files: &Files,
) -> Result<Option<Graph>, ScenarioErrors> {
    context.no_control_characters(range, path);
    let Some(format) = Format::of_path(path) else {
        let known = Format::EXTENSIONS
            .iter()
            .map(|(extension, _)| *extension)
            .collect();
        let path = path.to_owned();
        context.problem(range, ProblemKind::GraphExtension { path, known });
        return Ok(None);
    };
    let Some(text) = files.get(path) else {
        let path = path.to_owned();
        context.problem(range, ProblemKind::NoText { path });
        return Ok(None);
    };
    read(format, text.as_bytes()).map(Some).map_err(|error| {
        let source = SourceText { name: path, text };
        let finding = Finding {
            range: error.range,
            kind: error.kind,
        };
        let refused = ScenarioErrors::check(source, vec![finding], |_| error.path.clone());
        refused.expect_err("a finding is a problem")
    })
}

/// Makes a network of a graph, by the options in `keys`. `range` is the byte range of the graph's name.
fn made(
    context: &mut Context<'_>,
    range: &Range<usize>,
    keys: &raw::Topology,
    graph: &Graph,
) -> Option<Wan> {
    let km_per_ms = limits::MIN_KM_PER_MS..=limits::MAX_KM_PER_MS;
    let rates = limits::MIN_RATE..=limits::MAX_RATE;
    let hosts_at = hosts_at(context, keys);
    let options = NetworkOptions {
        km_per_ms: context.within_or(&keys.km_per_ms, km_per_ms, defaults::KM_PER_MS),
        default_rate: context.within_or(&keys.default_rate, rates, defaults::DEFAULT_RATE),
        default_delay: keys
            .default_delay
            .as_ref()
            .and_then(|text| context.within(text, Nanos::ZERO..=limits::MAX_DELAY)),
        hosts: context.within_or(&keys.hosts, 1..=limits::MAX_HOSTS, defaults::DEFAULT_HOSTS),
        hosts_at: hosts_at.unwrap_or(HostsAt::All),
        parallel: context.read_or(&keys.parallel, Parallel::Merge),
        missing_coordinates: context.read_or(&keys.missing_coordinates, MissingCoordinates::Error),
        unlabelled: context.read_or(&keys.unlabelled, Unlabelled::Error),
        largest_component: context.read_or(&keys.largest_component, false),
        max_dcs: limits::MAX_DCS,
        names: NameRules {
            max: limits::MAX_DC_NAME,
            reserved: limits::RESERVED_NAMES,
        },
    };
    let listed = |index: usize| {
        let at = keys.hosts_at.as_ref().and_then(|raw| match &raw.value {
            WordOr::Body(names) => names.get(index).map(Text::range),
            WordOr::Word(..) => None,
        });
        at.unwrap_or_else(|| range.clone())
    };
    match network(graph, &options) {
        Ok(network) => Some(network),
        Err(NetworkError::UnknownDc { index, name, known }) => {
            let suggestion = did_you_mean(&name, known.iter().map(String::as_str));
            let kind = ProblemKind::UnknownDc {
                name,
                known,
                suggestion,
            };
            context.problem(&listed(index), kind);
            None
        }
        Err(error @ NetworkError::RepeatedDc { index, .. }) => {
            context.problem(&listed(index), error.into());
            None
        }
        Err(error @ NetworkError::NoHosts { .. }) => {
            let at = keys.hosts_at.as_ref().map(|raw| &raw.range);
            context.problem(at.unwrap_or(range), error.into());
            None
        }
        Err(error) => {
            context.problem(range, error.into());
            None
        }
    }
}

/// Resolves the key `hosts_at`.
fn hosts_at(context: &mut Context<'_>, keys: &raw::Topology) -> Option<HostsAt> {
    let raw = keys.hosts_at.as_ref()?;
    match &raw.value {
        WordOr::Body(names) => {
            context.count(&raw.range, names.len(), 1..=limits::MAX_DCS);
            let names = names.iter().map(|name| name.as_str().to_owned());
            Some(HostsAt::Named(names.collect()))
        }
        WordOr::Word(word, _) if word == ALL => Some(HostsAt::All),
        WordOr::Word(word, _) => {
            let degree = word.strip_prefix(MIN_DEGREE).and_then(|degree| {
                let is_plain = degree.bytes().all(|byte| byte.is_ascii_digit());
                degree.parse().ok().filter(|_| is_plain)
            });
            if degree.is_none() {
                context.word::<raw::HostsAtWord>(&raw.range, word);
            }
            degree.map(HostsAt::MinDegree)
        }
    }
}
