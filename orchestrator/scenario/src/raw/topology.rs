//! Datacenters and links, as written in a scenario.

use lab_topologies::{MissingCoordinates, Parallel, Unlabelled};
use lab_units::{BitsPerSec, Nanos};
use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use super::{
    link::{HostWire, InterDcWire, Link},
    with::With,
};
use crate::{
    defaults, limits,
    model::Agent,
    yaml::{At, Maybe, Scalar, Text, Word, WordOr, scalar::words},
};

/// Datacenters and the links between them: written out as `dcs` and `links`, or made of a graph, which `zoo` or `import`
/// names.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["dcs", "links"] },
    { "required": ["zoo"] },
    { "required": ["import"] },
]))]
pub struct Topology {
    /// Defaults of link parameters, by kind of link.
    pub defaults: Maybe<Defaults>,
    /// Datacenters, in the order of their ids.
    #[schemars(length(min = 2, max = limits::MAX_DCS))]
    pub dcs: Maybe<At<Vec<At<Dc>>>>,
    /// Links between datacenters; every datacenter must be reachable.
    #[schemars(length(min = 1, max = limits::MAX_LINKS))]
    pub links: Maybe<At<Vec<At<With<Link>>>>>,
    /// Name of a graph of the Internet Topology Zoo, such as `Geant2012`, which `lcmp-lab topologies` lists. `topology:
    /// zoo:Geant2012` is the same without options.
    pub zoo: Maybe<Text<String>>,
    /// Graph file: GraphML, SNDlib's XML, GML, REPETITA's `.graph`, or an edge list in CSV; path relative to the scenario.
    #[schemars(length(min = 1))]
    pub import: Maybe<Text<String>>,
    /// Speed of light in fibre in km per ms, for the delays of links between coordinates: distance on a great circle
    /// divided by this speed. A delay in the file is used as it is.
    #[schemars(extend("default" = defaults::KM_PER_MS, "minimum" = limits::MIN_KM_PER_MS, "maximum" = limits::MAX_KM_PER_MS))]
    pub km_per_ms: Maybe<Text<u32>>,
    /// Rate of links for which the graph has none.
    #[schemars(extend("default" = defaults::DEFAULT_RATE.to_string()))]
    pub default_rate: Maybe<Text<BitsPerSec>>,
    /// Delay of links for which the graph has neither a delay nor coordinates of both ends. Default: such links are an
    /// error.
    pub default_delay: Maybe<Text<Nanos>>,
    /// Number of hosts in each datacenter of a graph that has hosts.
    #[schemars(extend("default" = defaults::DEFAULT_HOSTS, "minimum" = 1, "maximum" = limits::MAX_HOSTS))]
    pub hosts: Maybe<Text<u32>>,
    /// Datacenters of a graph that have hosts: `all`, a list of names or labels, or those with at least N neighbours,
    /// `degree>=N`. The others are transit datacenters.
    #[schemars(extend("default" = "all"))]
    pub hosts_at: Maybe<At<WordOr<HostsAtWord, Vec<Text<String>>>>>,
    /// Treatment of parallel links. A graph's parallel edges become one link with `merge`, with the sum of the rates and
    /// the least delay; with `keep`, each is a link of its own. In `links`, parallel links are an error without `keep`.
    /// Default: `merge` for a graph.
    pub parallel: Maybe<Text<Parallel>>,
    /// Treatment of nodes without coordinates on links without a delay: `error`, or `neighbours`, the mean position of
    /// the neighbours that have one, repeated.
    #[schemars(extend("default" = "error"))]
    pub missing_coordinates: Maybe<Text<MissingCoordinates>>,
    /// Treatment of nodes without a label: `error`, or `number`, named by their ids.
    #[schemars(extend("default" = "error"))]
    pub unlabelled: Maybe<Text<Unlabelled>>,
    /// If true, nodes outside the largest connected part of the graph are left out.
    #[schemars(extend("default" = false))]
    pub largest_component: Maybe<Text<bool>>,
}

/// Word in place of a topology's keys: a graph's name, `zoo:Geant2012`, or a topology file's path, `8dc.yaml`.
#[derive(Clone, Copy, Debug)]
pub struct TopologyWord;

impl Word for TopologyWord {
    const WORDS: &'static [(&'static str, Self)] = &[];

    fn expected() -> &'static str {
        "`zoo:` and the name of a graph, the path of a `.yaml` file, or the keys of a topology"
    }

    fn word_schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": format!("^({ZOO_PREFIX}[A-Za-z0-9]+|.+\\{TOPOLOGY_EXTENSION})$"),
            "examples": ["zoo:Geant2012", "8dc.yaml"],
        })
    }
}

/// Text before the name of a graph of the Topology Zoo.
pub const ZOO_PREFIX: &str = "zoo:";
/// End of the path of a topology file.
pub const TOPOLOGY_EXTENSION: &str = ".yaml";

/// Word in place of a list of datacenters that have hosts.
#[derive(Clone, Copy, Debug)]
pub struct HostsAtWord;

impl Word for HostsAtWord {
    const WORDS: &'static [(&'static str, Self)] = &[];

    fn expected() -> &'static str {
        "`all`, `degree>=N`, or a list of datacenters"
    }

    fn word_schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": format!("^({ALL}|{MIN_DEGREE}[0-9]+)$"),
            "examples": [ALL, "degree>=3"],
        })
    }
}

/// Word for all datacenters.
pub const ALL: &str = "all";
/// Text before the least number of neighbours of datacenters that have hosts.
pub const MIN_DEGREE: &str = "degree>=";

words! {
    Parallel: "a treatment of parallel links" { "merge" => Self::Merge, "keep" => Self::Keep }
    MissingCoordinates: "a treatment of missing coordinates" {
        "error" => Self::Error,
        "neighbours" => Self::Neighbours,
    }
    Unlabelled: "a treatment of nodes without a label" {
        "error" => Self::Error,
        "number" => Self::Number,
    }
}

/// Defaults of link parameters, by kind of link.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    /// Links from hosts to a leaf or to the DCI switch.
    pub host_link: Maybe<With<HostWire>>,
    /// Links between datacenters.
    pub inter_dc: Maybe<With<InterDcWire>>,
}

/// Datacenter: one DCI switch with its hosts, or with a fabric and hosts. Without hosts, it is a transit datacenter.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dc {
    /// Name: lower-case letters and digits, at most eight, starting with a letter.
    #[schemars(pattern(limits::DC_NAME_PATTERN), length(max = limits::MAX_DC_NAME))]
    pub name: Text<String>,
    /// Number of hosts linked directly to the DCI switch; cannot be combined with `fabric`.
    #[serde(default)]
    #[schemars(extend("default" = 0, "maximum" = limits::MAX_HOSTS))]
    pub hosts: Maybe<Text<u32>>,
    /// Hosts behind leaf and spine switches; cannot be combined with `hosts`.
    #[serde(default)]
    pub fabric: Maybe<At<Fabric>>,
    /// Mechanism that routes inter-DC flows: `policy`, or `legacy` for the kernel's ECMP without an agent.
    #[serde(default)]
    #[schemars(extend("default" = Agent::default()))]
    pub agent: Maybe<Text<Agent>>,
}

/// Fabric of hosts, leaves, spines and the DCI switch, in which each switch tier is fully meshed with the next.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// Number of spine switches.
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FABRIC_SWITCHES))]
    pub spines: Text<u32>,
    /// Number of leaf switches.
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FABRIC_SWITCHES))]
    pub leaves: Text<u32>,
    /// Number of hosts on each leaf switch.
    #[schemars(extend("minimum" = 0, "maximum" = limits::MAX_HOSTS))]
    pub hosts_per_leaf: Text<u32>,
    /// Link from host to leaf. Default: `topology.defaults.host_link`.
    #[serde(default)]
    pub host_link: Maybe<With<HostWire>>,
    /// Link from leaf to spine. Default: 100 Gbit and 1 us.
    #[serde(default)]
    pub leaf_spine: Maybe<With<HostWire>>,
    /// Link from spine to DCI switch. Default: 400 Gbit and 1 us.
    #[serde(default)]
    pub spine_dci: Maybe<With<HostWire>>,
}
