//! Datacenters and links, as written.

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    defaults, limits,
    model::Agent,
    yaml::{At, Maybe, Scalar, Text, WordOr, scalar::words},
};

/// Datacenters and the links between them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Defaults of links.
    #[serde(default)]
    pub defaults: Maybe<Defaults>,
    /// Datacenters, in the order of their ids.
    #[schemars(length(min = 2, max = limits::MAX_DCS))]
    pub dcs: At<Vec<At<Dc>>>,
    /// Links between datacenters; every datacenter must be reachable.
    #[schemars(length(min = 1, max = limits::MAX_LINKS))]
    pub links: At<Vec<At<Link>>>,
}

/// Defaults of links.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    /// Links of hosts, to a leaf or to the DCI switch.
    pub host_link: Maybe<HostWire>,
    /// Links between datacenters.
    pub inter_dc: Maybe<InterDcWire>,
}

/// A datacenter: one DCI switch with its fabric and hosts. A datacenter without hosts is a transit
/// datacenter.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dc {
    /// Name: lower-case letters and digits, at most eight, starting with a letter.
    #[schemars(pattern(limits::DC_NAME_PATTERN), length(max = limits::MAX_DC_NAME))]
    pub name: Text<String>,
    /// Hosts on the DCI switch itself; instead of `fabric`.
    #[serde(default)]
    #[schemars(extend("default" = 0, "maximum" = limits::MAX_HOSTS))]
    pub hosts: Maybe<Text<u32>>,
    /// Hosts behind leaf and spine switches; instead of `hosts`.
    #[serde(default)]
    pub fabric: Maybe<At<Fabric>>,
    /// Control of inter-DC flows: `policy`, or `legacy` for plain kernel ECMP.
    #[serde(default)]
    #[schemars(extend("default" = Agent::default()))]
    pub agent: Maybe<Text<Agent>>,
}

/// Hosts, leaves, spines and the DCI switch, each tier fully meshed with the next.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// Number of spine switches.
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FABRIC_SWITCHES))]
    pub spines: Text<u32>,
    /// Number of leaf switches.
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FABRIC_SWITCHES))]
    pub leaves: Text<u32>,
    /// Hosts on each leaf switch.
    #[schemars(extend("minimum" = 0, "maximum" = limits::MAX_HOSTS))]
    pub hosts_per_leaf: Text<u32>,
    /// Link from host to leaf. Default: `topology.defaults.host_link`.
    #[serde(default)]
    pub host_link: Maybe<HostWire>,
    /// Link from leaf to spine. Default: 100 Gbit and 1 us.
    #[serde(default)]
    pub leaf_spine: Maybe<HostWire>,
    /// Link from spine to DCI switch. Default: 400 Gbit and 1 us.
    #[serde(default)]
    pub spine_dci: Maybe<HostWire>,
}

/// Properties of a link inside a datacenter, equal in both directions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostWire {
    /// Rate of each direction.
    pub rate: Maybe<Text<BitsPerSec>>,
    /// One-way propagation delay, at most 10 s.
    pub delay: Maybe<Text<Nanos>>,
    /// Egress queue at each end. Default: 32 MB.
    pub buffer: Maybe<Text<Bytes>>,
    /// Share of packets lost at random, below one.
    pub loss: Maybe<Text<Ratio>>,
    /// ECN marking at the egress queues. Default: `none`.
    pub ecn: Maybe<At<WordOr<NoEcn, Ecn>>>,
}

/// Defaults of links between datacenters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InterDcWire {
    /// Egress queue at each end.
    #[schemars(extend("default" = defaults::INTER_DC_BUFFER.to_string()))]
    pub buffer: Maybe<Text<Bytes>>,
    /// Share of packets lost at random, below one.
    pub loss: Maybe<Text<Ratio>>,
    /// ECN marking at the egress queues. Default: `none`.
    pub ecn: Maybe<At<WordOr<NoEcn, Ecn>>>,
}

/// A link between the DCI switches of two datacenters, equal in both directions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Names of the two datacenters.
    #[schemars(length(min = 2, max = 2))]
    pub between: At<Vec<Text<String>>>,
    /// Rate of each direction.
    pub rate: Text<BitsPerSec>,
    /// One-way propagation delay, at most 10 s.
    pub delay: Text<Nanos>,
    /// Egress queue at each end. Default: `topology.defaults.inter_dc`.
    #[serde(default)]
    pub buffer: Maybe<Text<Bytes>>,
    /// Share of packets lost at random, below one.
    #[serde(default)]
    pub loss: Maybe<Text<Ratio>>,
    /// ECN marking at the egress queues.
    #[serde(default)]
    pub ecn: Maybe<At<WordOr<NoEcn, Ecn>>>,
}

/// RED-style ECN marking by queue length.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecn {
    /// Queue length below which no packet is marked.
    pub k_min: Text<Bytes>,
    /// Queue length above which every packet is marked.
    pub k_max: Text<Bytes>,
    /// Marking probability at `k_max`, above zero.
    pub p_max: Text<Ratio>,
}

/// No ECN marking, where the default marks.
#[derive(Clone, Copy, Debug)]
pub struct NoEcn;

words! {
    NoEcn: "`none`, or the keys `k_min`, `k_max` and `p_max`" { "none" => Self }
}
