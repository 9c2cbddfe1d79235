//! Datacenters and links, as written in a scenario.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    link::{HostWire, InterDcWire, Link},
    with::With,
};
use crate::{
    limits,
    model::Agent,
    yaml::{At, Maybe, Text},
};

/// Datacenters and the links between them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Defaults of link parameters, by kind of link.
    #[serde(default)]
    pub defaults: Maybe<Defaults>,
    /// Datacenters, in the order of their ids.
    #[schemars(length(min = 2, max = limits::MAX_DCS))]
    pub dcs: At<Vec<At<Dc>>>,
    /// Links between datacenters; every datacenter must be reachable.
    #[schemars(length(min = 1, max = limits::MAX_LINKS))]
    pub links: At<Vec<At<With<Link>>>>,
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
