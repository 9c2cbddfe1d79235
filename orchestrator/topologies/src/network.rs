//! Conversion of a graph into datacenters and links.

use std::collections::BTreeMap;

use lab_units::{BitsPerSec, Nanos, show::counted};

use crate::{
    components::{largest, neighbours},
    geo::{Coordinates, mean},
    graph::{Graph, GraphDemand, GraphEdge},
    joined::{Joined, kept, merged},
    names::{NameRules, names},
    values::whole,
};

/// Options of the conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkOptions {
    /// Speed of light in fibre, for delays of great circles, in km per ms.
    pub km_per_ms: u32,
    /// Rate of links for which the file has none.
    pub default_rate: BitsPerSec,
    /// Delay of links for which the file has neither a delay nor coordinates of both ends; `None` to refuse them.
    pub default_delay: Option<Nanos>,
    /// Number of hosts in each datacenter that has hosts.
    pub hosts: u32,
    pub hosts_at: HostsAt,
    pub parallel: Parallel,
    pub missing_coordinates: MissingCoordinates,
    pub unlabelled: Unlabelled,
    /// True to leave out all nodes outside the largest connected part.
    pub largest_component: bool,
    /// Maximum number of datacenters.
    pub max_dcs: usize,
    /// Maximum length of a datacenter's name, and names that must not be given.
    pub names: NameRules<'static>,
}

/// Datacenters that have hosts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HostsAt {
    All,
    /// Datacenters with these names or labels.
    Named(Vec<String>),
    /// Datacenters with at least this number of neighbours.
    MinDegree(usize),
}

/// Treatment of parallel edges, those between the same two nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Parallel {
    /// All of them become one link, with the sum of their rates and the least delay.
    Merge,
    /// Each of them becomes a link of its own.
    Keep,
}

/// Treatment of nodes without coordinates whose links have no delay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MissingCoordinates {
    /// The conversion fails.
    Error,
    /// The node is at the mean position of its located neighbours, repeated until no more nodes can be located.
    Neighbours,
}

/// Treatment of nodes without a label.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unlabelled {
    /// The conversion fails.
    Error,
    /// The node is called by its identifier, after an `n`.
    Number,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            km_per_ms: KM_PER_MS,
            default_rate: DEFAULT_RATE,
            default_delay: None,
            hosts: DEFAULT_HOSTS,
            hosts_at: HostsAt::All,
            parallel: Parallel::Merge,
            missing_coordinates: MissingCoordinates::Error,
            unlabelled: Unlabelled::Error,
            largest_component: false,
            max_dcs: usize::MAX,
            names: NameRules::default(),
        }
    }
}

/// Default speed of light in fibre, 200 km per ms: two thirds of the speed in vacuum.
pub const KM_PER_MS: u32 = 200;
/// Default number of hosts in each datacenter that has hosts.
pub const DEFAULT_HOSTS: u32 = 1;
/// Default rate of links for which a file has none, 100 Gbit/s: the paper's inter-DC links have 40 to 200.
pub const DEFAULT_RATE: BitsPerSec = BitsPerSec::new(100_000_000_000).expect("it is not zero");

/// Datacenters and links made of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Wan {
    /// Datacenters, in the order of the file.
    pub dcs: Vec<NetworkDc>,
    /// Links, by the indices of their datacenters; parallel ones in the order of the file.
    pub links: Vec<NetworkLink>,
    /// Index of the datacenter made from each node in the graph; `None` for a node that was left out.
    pub dc_of_node: Vec<Option<usize>>,
    /// Number of demands between the network's nodes, which only traffic has.
    pub demands: usize,
    /// Sentences, without full stops, on everything that the file does not have or that was left out.
    pub assumptions: Vec<String>,
}

impl Wan {
    /// Returns the sentence, without a full stop, on demands of the graph that no traffic uses; `None` if it has none.
    #[must_use]
    pub fn unused_demands(&self) -> Option<String> {
        let count = u64::try_from(self.demands).unwrap_or(u64::MAX);
        let demands = counted(count, "demand");
        (count > 0).then(|| {
            format!("{demands} of the file not used; an entry `demands` of `traffic` sends them")
        })
    }
}

/// Datacenter made of a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NetworkDc {
    /// Short name, unique in the network.
    pub name: String,
    /// Full label of the node; `None` if the node has none.
    pub label: Option<String>,
    /// Number of hosts.
    pub hosts: u32,
}

/// Link between two datacenters: one edge, its two directions, or all edges if parallel ones are merged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NetworkLink {
    /// Indices of the datacenters, the lower one first.
    pub ends: [usize; 2],
    pub rate: BitsPerSec,
    pub rate_origin: Origin,
    /// One-way propagation delay.
    pub delay: Nanos,
    pub delay_origin: Origin,
}

/// Origin of a link's number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// The file has the number.
    File,
    /// The number is an option's value.
    Default,
    /// The number is computed from coordinates in the file.
    Coordinates,
    /// The number is computed from coordinates of which at least one is the mean of a node's neighbours.
    Neighbours,
}

/// Reason why a graph cannot be converted.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NetworkError {
    #[error(
        "the graph has {found} nodes{part}, but a scenario may have at most {max} datacenters (hint: take a smaller graph)"
    )]
    TooManyDcs {
        found: usize,
        /// Text on the part that was counted; empty for the whole graph.
        part: &'static str,
        max: usize,
    },
    #[error("the graph has {found} nodes; a network must have at least 2 datacenters")]
    TooFewDcs { found: usize },
    #[error(
        "the graph has {parts} parts that no links connect; the largest has {largest} of {nodes} nodes (hint: write \
         `largest_component: true` to leave out the others)"
    )]
    Disconnected {
        parts: usize,
        largest: usize,
        nodes: usize,
    },
    #[error(
        "{} without a label, the first with the id `{id}` (hint: write `unlabelled: number` to number them)",
        nodes(*count)
    )]
    Unlabelled { count: usize, id: String },
    #[error(
        "{} without coordinates on links without a delay, the first is `{node}` (hint: write \
         `missing_coordinates: neighbours` for the mean of their neighbours, or a `default_delay`)",
        nodes(*count)
    )]
    NoCoordinates { count: usize, node: String },
    #[error(
        "{} on links without a delay, without coordinates of their own or of their neighbours; the first is `{node}` \
         (hint: write a `default_delay` for these links)",
        nodes(*count)
    )]
    NoLocatedNeighbours { count: usize, node: String },
    #[error("there is no datacenter `{name}`")]
    UnknownDc {
        /// Index of the name in [`HostsAt::Named`].
        index: usize,
        name: String,
        known: Vec<String>,
    },
    #[error("datacenter `{name}` is listed twice (hint: remove one of the two)")]
    RepeatedDc {
        /// Index of the second name in [`HostsAt::Named`].
        index: usize,
        name: String,
    },
    #[error("no datacenter has {degree} neighbours; the most have {max}")]
    NoHosts { degree: usize, max: usize },
}

fn nodes(count: usize) -> String {
    counted(u64::try_from(count).unwrap_or(u64::MAX), "node")
}

/// Converts a graph into datacenters and links.
///
/// Two edges in opposite directions are one link, with the lesser rate and the lesser delay.
///
/// # Errors
/// If the graph lacks what the options do not replace, or has too many nodes: see [`NetworkError`].
pub fn network(graph: &Graph, options: &NetworkOptions) -> Result<Wan, NetworkError> {
    let (part, parts) = largest(graph);
    if parts > 1 && !options.largest_component {
        return Err(NetworkError::Disconnected {
            parts,
            largest: part.len(),
            nodes: graph.nodes.len(),
        });
    }
    if part.len() > options.max_dcs {
        return Err(NetworkError::TooManyDcs {
            found: part.len(),
            part: if parts > 1 {
                " in its largest part"
            } else {
                ""
            },
            max: options.max_dcs,
        });
    }
    if part.len() < 2 {
        return Err(NetworkError::TooFewDcs { found: part.len() });
    }
    let whole_graph = graph;
    let graph = &of_nodes(graph, &part);
    let joined = match options.parallel {
        Parallel::Merge => merged(graph),
        Parallel::Keep => kept(graph),
    };
    let dcs = dcs(graph, options)?;
    let (places, guessed) = places(graph, &joined, &dcs, options)?;
    let mut short = 0;
    let links: Vec<NetworkLink> = joined
        .iter()
        .map(|link| {
            let ends = link.ends;
            let [a, b] = ends.map(|end| places[end]);
            let (delay, delay_origin) = match (link.delay, a.zip(b)) {
                (Some(delay), _) => (delay, Origin::File),
                (None, Some((a, b))) => {
                    let distance = a.distance_km(b);
                    short += usize::from(distance < MIN_KM);
                    let nanos = distance.max(MIN_KM) / f64::from(options.km_per_ms) * NANOS_PER_MS;
                    let is_guessed = ends.iter().any(|end| guessed.contains(end));
                    let origin = if is_guessed {
                        Origin::Neighbours
                    } else {
                        Origin::Coordinates
                    };
                    (Nanos::new(whole(nanos)), origin)
                }
                // `places` succeeds without both positions only if there is a default.
                (None, None) => {
                    let delay = options.default_delay.unwrap_or(Nanos::ZERO);
                    (delay, Origin::Default)
                }
            };
            let (rate, rate_origin) = match link.rate {
                Some(rate) => (rate, Origin::File),
                None => (options.default_rate, Origin::Default),
            };
            NetworkLink {
                ends,
                rate,
                rate_origin,
                delay,
                delay_origin,
            }
        })
        .collect();
    let left_out = Removed {
        nodes: whole_graph.nodes.len() - graph.nodes.len(),
        self_loops: graph
            .edges
            .iter()
            .filter(|it| it.ends[0] == it.ends[1])
            .count(),
    };
    let guessed: Vec<&str> = guessed.iter().map(|node| &*dcs[*node].name).collect();
    let assumptions = assumptions(
        graph,
        &Made {
            links: &links,
            dcs: &dcs,
            guessed: &guessed,
            joined: &joined,
            short,
            left_out,
        },
        options,
    );
    let mut dc_of_node = vec![None; whole_graph.nodes.len()];
    for (dc, node) in part.iter().enumerate() {
        dc_of_node[*node] = Some(dc);
    }
    Ok(Wan {
        dcs,
        links,
        dc_of_node,
        demands: graph.demands.len(),
        assumptions,
    })
}

/// Returns the part of a graph that consists of `nodes`, which are sorted, and the edges between them.
fn of_nodes(graph: &Graph, nodes: &[usize]) -> Graph {
    let new: BTreeMap<usize, usize> = nodes.iter().copied().zip(0..).collect();
    let ends = |ends: [usize; 2]| Some([*new.get(&ends[0])?, *new.get(&ends[1])?]);
    let edges = graph.edges.iter().filter_map(|edge| {
        let ends = ends(edge.ends)?;
        Some(GraphEdge {
            ends,
            ..edge.clone()
        })
    });
    let demands = graph.demands.iter().filter_map(|demand| {
        let ends = ends(demand.ends)?;
        Some(GraphDemand {
            ends,
            ..demand.clone()
        })
    });
    Graph {
        nodes: nodes
            .iter()
            .map(|node| graph.nodes[*node].clone())
            .collect(),
        edges: edges.collect(),
        demands: demands.collect(),
        has_assumed_unit: graph.has_assumed_unit,
    }
}

/// Returns the datacenters, with their names and hosts.
fn dcs(graph: &Graph, options: &NetworkOptions) -> Result<Vec<NetworkDc>, NetworkError> {
    let mut unlabelled = graph.nodes.iter().filter(|node| node.shown().is_none());
    if options.unlabelled == Unlabelled::Error
        && let Some(first) = unlabelled.next()
    {
        return Err(NetworkError::Unlabelled {
            count: 1 + unlabelled.count(),
            id: first.id.clone(),
        });
    }
    let shown = graph.nodes.iter();
    let shown = shown.map(|node| node.shown().unwrap_or(&node.id));
    let mut dcs: Vec<NetworkDc> = names(shown, options.names)
        .into_iter()
        .zip(&graph.nodes)
        .map(|(name, node)| NetworkDc {
            name,
            label: node.shown().map(str::to_owned),
            hosts: 0,
        })
        .collect();
    for index in with_hosts(graph, &dcs, &options.hosts_at)? {
        dcs[index].hosts = options.hosts;
    }
    Ok(dcs)
}

/// Returns the indices of the datacenters that have hosts.
fn with_hosts(
    graph: &Graph,
    dcs: &[NetworkDc],
    hosts_at: &HostsAt,
) -> Result<Vec<usize>, NetworkError> {
    match hosts_at {
        HostsAt::All => Ok((0..dcs.len()).collect()),
        HostsAt::Named(names) => {
            let found = names.iter().enumerate().map(|(index, name)| {
                let by_name = dcs.iter().position(|dc| dc.name == *name);
                let by_label = || dcs.iter().position(|dc| dc.label.as_ref() == Some(name));
                let unknown = || NetworkError::UnknownDc {
                    index,
                    name: name.clone(),
                    known: dcs.iter().map(|dc| dc.name.clone()).collect(),
                };
                by_name.or_else(by_label).ok_or_else(unknown)
            });
            let hosts: Vec<usize> = found.collect::<Result<_, _>>()?;
            match (1..hosts.len()).find(|at| hosts[..*at].contains(&hosts[*at])) {
                None => Ok(hosts),
                Some(index) => {
                    let name = names[index].clone();
                    Err(NetworkError::RepeatedDc { index, name })
                }
            }
        }
        HostsAt::MinDegree(degree) => {
            let degrees: Vec<usize> = neighbours(graph).iter().map(Vec::len).collect();
            let found: Vec<usize> = (0..dcs.len())
                .filter(|dc| degrees[*dc] >= *degree)
                .collect();
            if found.is_empty() {
                return Err(NetworkError::NoHosts {
                    degree: *degree,
                    max: degrees.into_iter().max().unwrap_or(0),
                });
            }
            Ok(found)
        }
    }
}

/// Returns the position of each node, and the nodes whose position is the mean of their neighbours.
///
/// # Errors
/// If a link needs a position that is missing, and links have no default delay.
fn places(
    graph: &Graph,
    links: &[Joined],
    dcs: &[NetworkDc],
    options: &NetworkOptions,
) -> Result<(Vec<Option<Coordinates>>, Vec<usize>), NetworkError> {
    let mut places: Vec<Option<Coordinates>> = graph.nodes.iter().map(|node| node.at).collect();
    let without_delay = links.iter().filter(|link| link.delay.is_none());
    let mut needed: Vec<usize> = without_delay.flat_map(|link| link.ends).collect();
    needed.sort_unstable();
    needed.dedup();
    needed.retain(|node| places[*node].is_none());
    if !needed.is_empty() && options.missing_coordinates == MissingCoordinates::Neighbours {
        locate(graph, &mut places);
    }
    let (guessed, lost): (Vec<usize>, Vec<usize>) =
        needed.iter().partition(|node| places[**node].is_some());
    if let (Some(&first), None) = (lost.first(), options.default_delay) {
        let count = lost.len();
        let shown = dcs[first].label.as_ref().unwrap_or(&dcs[first].name);
        let node = shown.clone();
        return Err(match options.missing_coordinates {
            // The mean of neighbours is a remedy only if some node has coordinates.
            MissingCoordinates::Error if places.iter().any(Option::is_some) => {
                NetworkError::NoCoordinates { count, node }
            }
            MissingCoordinates::Error | MissingCoordinates::Neighbours => {
                NetworkError::NoLocatedNeighbours { count, node }
            }
        });
    }
    Ok((places, guessed))
}

/// Places nodes without a position at the mean position of their neighbours, repeated until no more can be placed.
fn locate(graph: &Graph, places: &mut [Option<Coordinates>]) {
    let neighbours = neighbours(graph);
    loop {
        // All nodes of a round get positions from nodes of earlier rounds, so their order does not matter.
        let nodes = (0..places.len()).filter(|node| places[*node].is_none());
        let found: Vec<(usize, Coordinates)> = nodes
            .filter_map(|node| {
                let around = neighbours[node].iter().filter_map(|other| places[*other]);
                Some((node, mean(around)?))
            })
            .collect();
        if found.is_empty() {
            return;
        }
        for (node, place) in found {
            places[node] = Some(place);
        }
    }
}

/// Parts of a graph that a network does not have.
struct Removed {
    nodes: usize,
    self_loops: usize,
}

/// Network without its assumptions.
struct Made<'a> {
    links: &'a [NetworkLink],
    dcs: &'a [NetworkDc],
    /// Names of the datacenters whose positions are means of their neighbours.
    guessed: &'a [&'a str],
    joined: &'a [Joined],
    /// Number of links whose ends are less than [`MIN_KM`] apart.
    short: usize,
    left_out: Removed,
}

/// Returns sentences on everything that the file does not have or that was left out.
fn assumptions(graph: &Graph, made: &Made<'_>, options: &NetworkOptions) -> Vec<String> {
    let of = |count: usize, what| counted(u64::try_from(count).unwrap_or(u64::MAX), what);
    let links =
        |is_of: &dyn Fn(&NetworkLink) -> bool| made.links.iter().filter(|it| is_of(it)).count();
    let joined = |is_of: fn(&Joined) -> bool| made.joined.iter().filter(|it| is_of(it)).count();
    // Parallel links follow each other.
    let bundles = made.joined.chunk_by(|one, other| one.ends == other.ends);
    let kept = bundles.filter(|it| it.len() > 1).map(<[_]>::len).sum();
    let located =
        links(&|link| matches!(link.delay_origin, Origin::Coordinates | Origin::Neighbours));
    let unlabelled = made.dcs.iter().filter(|dc| dc.label.is_none()).count();
    let guessed = made.guessed.len();
    let by_default = links(&|link| link.rate_origin == Origin::Default);
    let delayed = links(&|link| link.delay_origin == Origin::Default);
    let Removed { nodes, self_loops } = made.left_out;
    let rates = made.links.len() - by_default;
    let merged = joined(|link| link.count > 1);
    let one_way = joined(|link| link.is_one_way);
    let two_rates = joined(|link| link.has_two_rates);
    let two_delays = joined(|link| link.has_two_delays);
    let rate = options.default_rate;
    let km_per_ms = options.km_per_ms;
    let sentences = [
        (
            located,
            format!(
                "delays of {} from coordinates at {km_per_ms} km/ms",
                of(located, "link")
            ),
        ),
        (
            made.short,
            format!(
                "{} shorter than {MIN_KM} km by their ends' coordinates, counted as {MIN_KM} km",
                of(made.short, "link")
            ),
        ),
        (
            guessed,
            format!(
                "coordinates of {} by the mean of their neighbours: {}",
                of(guessed, "datacenter"),
                shortened(made.guessed)
            ),
        ),
        (
            delayed,
            format!(
                "delays of {} by default ({})",
                of(delayed, "link"),
                options.default_delay.unwrap_or_default()
            ),
        ),
        (
            by_default,
            format!("rates of {} by default ({rate})", of(by_default, "link")),
        ),
        (
            if graph.has_assumed_unit { rates } else { 0 },
            format!(
                "rates of {} in Mbit/s, because the file has no unit",
                of(rates, "link")
            ),
        ),
        (
            merged,
            format!(
                "{} merged from parallel ones: rates added, least delay",
                of(merged, "link")
            ),
        ),
        (
            kept,
            format!(
                "{} parallel to others, each a link of its own",
                of(kept, "link")
            ),
        ),
        (
            one_way,
            format!(
                "{} in both directions, of which the file has one",
                of(one_way, "link")
            ),
        ),
        (
            two_rates,
            format!(
                "the lesser rate of the two directions at {}",
                of(two_rates, "link")
            ),
        ),
        (
            two_delays,
            format!(
                "the lesser delay of the two directions at {}",
                of(two_delays, "link")
            ),
        ),
        (
            unlabelled,
            format!("{} numbered, without a label", of(unlabelled, "datacenter")),
        ),
        (
            self_loops,
            format!("{} left out", of(self_loops, "self loop")),
        ),
        (
            nodes,
            format!(
                "{} outside the largest connected part left out",
                of(nodes, "node")
            ),
        ),
    ];
    let made = sentences.into_iter().filter(|(count, _)| *count > 0);
    made.map(|(_, sentence)| sentence).collect()
}

/// Returns the first names and the number of the others.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let listed = names
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Nanoseconds in a millisecond.
const NANOS_PER_MS: f64 = 1e6;

/// Least distance between datacenters, in km. Coordinates are often those of a city, so two datacenters can share them,
/// but a link without delay is no inter-DC link, and the simulator has no use for one.
const MIN_KM: f64 = 1.0;
