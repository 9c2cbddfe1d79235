//! Network of a new scenario, with the options that its graph needs.

use std::path::{Component, Path, PathBuf};

use lab_scenario::{limits, near_graphs};
use lab_topologies::{
    Format, Graph, MissingCoordinates, NameRules, NetworkError, NetworkOptions, Parallel,
    Unlabelled, network, read, zoo,
};
use lab_units::Nanos;

use crate::{failure::Failure, load};

/// Network of a new scenario.
pub struct InitNetwork {
    /// Name of the scenario.
    pub name: String,
    /// Network in words, for the scenario's description.
    pub words: String,
    /// Section `topology`, with comments.
    pub section: String,
    /// Path of a file with demands for the network, as the scenario writes it; `None` if there are none.
    pub demands: Option<String>,
    /// True if all links that the network lists have one rate, so that policies cannot differ by capacity.
    pub has_one_rate: bool,
}

impl InitNetwork {
    /// Returns the example: two datacenters with hosts, and two paths between them.
    pub fn example() -> Self {
        Self {
            name: "example".to_owned(),
            words: "two datacenters with two paths between them".to_owned(),
            section: EXAMPLE.to_owned(),
            demands: None,
            has_one_rate: false,
        }
    }

    /// Returns the network that the command line calls `named`: `zoo:NAME`, a graph file or a topology file. The scenario
    /// is written into `folder`.
    /// Fails on an unknown graph, on a file that cannot be read, and on a graph of which no network can be made, with exit
    /// code 2.
    pub fn named(named: &str, folder: &Path) -> Result<Self, Failure> {
        if let Some(name) = named.strip_prefix(ZOO) {
            let graph = zoo::graph(name).ok_or_else(|| unknown(name))?;
            return of_graph(&graph, name, named, &format!("zoo: {name}"));
        }
        let path = Path::new(named);
        if path.extension().is_some_and(|it| it == "yaml") {
            let written = relative(path, folder)?.display().to_string();
            return Ok(Self {
                name: scenario_name(path),
                words: format!("the topology in {written}"),
                section: format!("topology: {}\n", quoted(&written)),
                demands: None,
                has_one_rate: false,
            });
        }
        let format = Format::of_path(named).ok_or_else(|| {
            let extensions = Format::EXTENSIONS.iter().map(|(extension, _)| *extension);
            let known: Vec<&str> = extensions.collect();
            Failure::usage(format_args!(
                "`{named}` is neither `zoo:NAME` nor a file with one of the extensions yaml, {}",
                known.join(", ")
            ))
        })?;
        let text = load::read_text(path, limits::MAX_FILE_BYTES)?;
        let graph = read(format, text.as_bytes())
            .map_err(|error| Failure::usage(format_args!("`{named}`: {}", error.kind)))?;
        let name = scenario_name(path);
        let written = relative(path, folder)?.display().to_string();
        let import = format!("import: {}", quoted(&written));
        let made = of_graph(&graph, &name, named, &import)?;
        Ok(Self {
            demands: (!graph.demands.is_empty()).then(|| quoted(&written)),
            ..made
        })
    }
}

/// Returns the network made of `graph`. `called` is the graph's name on the command line, and `key` the key of `topology`
/// that names it.
fn of_graph(graph: &Graph, name: &str, called: &str, key: &str) -> Result<InitNetwork, Failure> {
    let needed =
        needed(graph).map_err(|error| Failure::usage(format_args!("`{called}`: {error}")))?;
    let mut rates = needed.network.links.iter().map(|link| link.rate);
    let first = rates.next();
    let assumptions = needed.network.assumptions.iter();
    let assumed: String = assumptions
        .map(|it| format!("# Assumed: {it}.\n"))
        .collect();
    let options = needed.options.iter();
    let lines: String = options
        .map(|(comment, option)| format!("  # {comment}\n  {option}\n"))
        .collect();
    let section = format!("{assumed}topology:\n  {key}\n{lines}{HOST_BUFFER}");
    let [dcs, links] = [needed.network.dcs.len(), needed.network.links.len()];
    Ok(InitNetwork {
        name: scenario_name(Path::new(name)),
        words: format!("{name}, {dcs} datacenters and {links} links"),
        section,
        demands: None,
        has_one_rate: rates.all(|rate| Some(rate) == first),
    })
}

/// Network with the options that its graph needs.
struct Needed {
    network: lab_topologies::Wan,
    /// Comments and keys of `topology`.
    options: Vec<(&'static str, &'static str)>,
}

/// Makes a network of `graph`, with as few options as possible.
fn needed(graph: &Graph) -> Result<Needed, NetworkError> {
    let mut options = NetworkOptions {
        max_dcs: limits::MAX_DCS,
        names: NameRules {
            max: limits::MAX_DC_NAME,
            reserved: limits::RESERVED_NAMES,
        },
        ..NetworkOptions::default()
    };
    let mut written = Vec::new();
    loop {
        let added = match network(graph, &options) {
            Ok(made) => {
                options.parallel = Parallel::Keep;
                if network(graph, &options)?.links.len() > made.links.len() {
                    written.push((
                        "Several links between two datacenters are merged into one; with `keep`, each is a link of its own.",
                        "parallel: merge",
                    ));
                }
                return Ok(Needed {
                    network: made,
                    options: written,
                });
            }
            Err(NetworkError::Disconnected { .. }) if !options.largest_component => {
                options.largest_component = true;
                (
                    "The graph has parts that no links connect; only the largest is used.",
                    "largest_component: true",
                )
            }
            Err(NetworkError::Unlabelled { .. }) if options.unlabelled == Unlabelled::Error => {
                options.unlabelled = Unlabelled::Number;
                (
                    "Nodes without a label are called by their ids.",
                    "unlabelled: number",
                )
            }
            Err(NetworkError::NoCoordinates { .. })
                if options.missing_coordinates == MissingCoordinates::Error =>
            {
                options.missing_coordinates = MissingCoordinates::Neighbours;
                (
                    "A node without coordinates is taken to be at the mean position of its neighbours.",
                    "missing_coordinates: neighbours",
                )
            }
            Err(NetworkError::NoLocatedNeighbours { .. }) if options.default_delay.is_none() => {
                options.default_delay = Some(Nanos::from_millis(5));
                (
                    "Delay of links whose ends have no coordinates, and no neighbours with any.",
                    "default_delay: 5 ms",
                )
            }
            Err(error) => return Err(error),
        };
        written.push(added);
    }
}

fn unknown(name: &str) -> Failure {
    let near = near_graphs(name).join("`, `");
    let hint = match near.as_str() {
        "" => "`lcmp-lab topologies` lists them".to_owned(),
        near => format!("did you mean `{near}`?"),
    };
    Failure::usage(format_args!(
        "there is no graph `{name}` in the Topology Zoo (hint: {hint})"
    ))
}

/// Returns the path of the existing file `path` relative to the existing folder `folder`.
fn relative(path: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let here = Path::new(".");
    let folder = if folder == Path::new("") {
        here
    } else {
        folder
    };
    let [path, folder] = [load::absolute(path)?, load::absolute(folder)?];
    let shared = path
        .components()
        .zip(folder.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = folder
        .components()
        .skip(shared)
        .map(|_| Component::ParentDir);
    Ok(up.chain(path.components().skip(shared)).collect())
}

/// Returns the name of a scenario on the network in the file `path`: lower-case letters, digits and dashes.
fn scenario_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let dashed: String = stem
        .to_lowercase()
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
        .take(limits::MAX_NAME)
        .collect();
    match dashed.trim_matches('-') {
        "" => "network".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns `value` as a YAML value, in quotes if it may mean something else without them.
fn quoted(value: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "/._-".contains(it);
    if value.chars().all(is_plain) && !value.starts_with('-') {
        value.to_owned()
    } else {
        format!("{value:?}")
    }
}

/// Text before the name of a graph of the Topology Zoo.
const ZOO: &str = "zoo:";

/// Buffer at the hosts' links, for graphs with one host in each datacenter, to which the hosts of all others send.
const HOST_BUFFER: &str = "  \
  # Flows from several datacenters reach a host at once. With the default buffer of 32 MB at the host's link, some would
  # lose packets; if a flow's last packet is lost, the NIC sends it again only after a time-out.
  defaults: { host_link: { buffer: 6 GB } }
";

/// Section `topology` of the example. Its paths differ in rate and delay, so that all policies have something to weigh.
const EXAMPLE: &str = "\
topology:
  dcs:
    # A name has 1 to 8 letters and digits. A host has a NIC of 100 Gbit/s; a datacenter without hosts only forwards.
    - { name: west, hosts: 2 }
    - { name: east, hosts: 2 }
    - { name: north }
    - { name: south }
  links:
    # The rate of each direction, and the one-way delay. The path via `north` is wide, that via `south` is short.
    - { between: [west, north], rate: 200 Gbit, delay: 5 ms }
    - { between: [north, east], rate: 200 Gbit, delay: 5 ms }
    - { between: [west, south], rate: 100 Gbit, delay: 2 ms }
    - { between: [south, east], rate: 100 Gbit, delay: 2 ms }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_scenarios_have_letters_digits_and_dashes() {
        let name = |path: &str| scenario_name(Path::new(path));
        assert_eq!(name("nets/My Net_2.graphml"), "my-net-2");
        assert_eq!(name("Geant2012"), "geant2012");
        assert_eq!(name("..csv"), "network");
        assert_eq!(name("ÄÖ.csv"), "network");
    }

    #[test]
    fn values_that_yaml_reads_otherwise_are_in_quotes() {
        assert_eq!(quoted("../a/b-1.csv"), "../a/b-1.csv");
        assert_eq!(quoted("a: b.csv"), "\"a: b.csv\"");
        assert_eq!(quoted("- a.csv"), "\"- a.csv\"");
    }
}
