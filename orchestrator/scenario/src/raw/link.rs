//! Mappings of a scenario that set link parameters.

use lab_parameters::{EcnConfig, LinkConfig, Parameter, ParameterSet};
use lab_units::Nanos;
use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use super::{
    parameters::Parameters,
    with::{SetsParameters, keys, with_default},
};
use crate::{
    defaults, limits,
    yaml::{At, Maybe, Scalar, Text, Word, WordOr, scalar::words},
};

/// Key `ecn`: ECN parameters, or `none` to switch off marking that is the default.
pub type Marking = Maybe<At<WordOr<NoEcn, Parameters<EcnConfig>>>>;

/// Properties of a link inside a datacenter, equal in both directions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostWire {
    /// ECN marking at the egress queues. Default: `none`.
    #[serde(default)]
    pub ecn: Marking,
}

impl SetsParameters for HostWire {
    type Set = LinkConfig;

    const OWN: [&'static [&'static str]; 2] = [&[], &["ecn"]];

    keys!(HostWire);

    /// Returns the parameter's description without its default, which differs between links inside a datacenter and
    /// links between datacenters.
    fn describe(parameter: &Parameter) -> String {
        let tiers = [defaults::LEAF_SPINE, defaults::SPINE_DCI];
        let default = defaults::HOST_LINK.get(parameter.name);
        let is_equal = tiers.iter().all(|tier| tier.get(parameter.name) == default);
        let default = default.filter(|_| is_equal).map(|it| format!("`{it}`"));
        with_default(parameter, default)
    }
}

/// Defaults of links between datacenters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterDcWire {
    /// ECN marking at the egress queues. Default: `none`.
    #[serde(default)]
    pub ecn: Marking,
}

impl SetsParameters for InterDcWire {
    type Set = LinkConfig;

    const OWN: [&'static [&'static str]; 2] = [&[], &["ecn"]];

    keys!(InterDcWire);

    fn allows(parameter: &Parameter) -> bool {
        !parameter.is_required
    }

    fn describe(parameter: &Parameter) -> String {
        let default = defaults::INTER_DC.get(parameter.name);
        with_default(parameter, default.map(|it| format!("`{it}`")))
    }
}

/// Link between the DCI switches of two datacenters, equal in both directions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Names of the two datacenters.
    #[schemars(length(min = 2, max = 2))]
    pub between: At<Vec<Text<String>>>,
    /// ECN marking at the egress queues. Default: `topology.defaults.inter_dc`.
    #[serde(default)]
    pub ecn: Marking,
}

impl SetsParameters for Link {
    type Set = LinkConfig;

    const OWN: [&'static [&'static str]; 2] = [&["between"], &["ecn"]];

    keys!(Link);

    fn requires(parameter: &Parameter) -> bool {
        parameter.is_required
    }

    fn describe(parameter: &Parameter) -> String {
        let default = "`topology.defaults.inter_dc`".to_owned();
        with_default(parameter, (!parameter.is_required).then_some(default))
    }
}

/// Link of a fault: its name, or the names of its two datacenters.
pub type LinkOfFault = At<WordOr<LinkName, Vec<Text<String>>>>;

/// Link name in place of two datacenters: `dc1-dc2`, or `dc1-dc2_2` if another link between them comes before it.
#[derive(Clone, Copy, Debug)]
pub struct LinkName;

impl Word for LinkName {
    const WORDS: &'static [(&'static str, Self)] = &[];

    fn expected() -> &'static str {
        "the names of two datacenters, `[dc1, dc2]`, or the name of a link, `dc1-dc2_2`"
    }

    fn word_schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[a-z][a-z0-9]*-[a-z][a-z0-9]*(_[0-9]+)?$",
            "examples": ["dc1-dc2", "dc1-dc2_2"],
        })
    }
}

/// Change of links: time, exactly one of `link`, `links` and `dc`, and exactly one other key. Crash or restart of a switch's
/// agent: time, `agent`, and `down` or `up`. `random` alone draws cuts and repairs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["at", "link"], "minProperties": 3, "maxProperties": 3 },
    { "required": ["at", "links"], "minProperties": 3, "maxProperties": 3 },
    { "required": ["at", "dc"], "minProperties": 3, "maxProperties": 3 },
    { "required": ["at", "agent", "down"], "maxProperties": 3 },
    { "required": ["at", "agent", "up"], "maxProperties": 3 },
    { "required": ["random"], "maxProperties": 1 },
]))]
pub struct Fault {
    /// Time of the change, counted from the earliest possible flow start.
    #[serde(default)]
    pub at: Maybe<Text<Nanos>>,
    /// Names of the link's two datacenters, or the link's own name. Parallel links are called `dc1-dc2`, `dc1-dc2_2`, in
    /// the order of the topology.
    #[serde(default)]
    pub link: Maybe<LinkOfFault>,
    /// Links, each as in `link`, that share a risk, such as a duct, and change in one instant.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::MAX_FAULTS))]
    pub links: Maybe<At<Vec<LinkOfFault>>>,
    /// Name of a datacenter, all of whose links to other datacenters change in one instant.
    #[serde(default)]
    pub dc: Maybe<Text<String>>,
    /// Name of a datacenter whose DCI switch loses its agent (`down`) or gets it back (`up`). Meanwhile the switch forwards
    /// with its last tables.
    #[serde(default)]
    pub agent: Maybe<Text<String>>,
    /// If true, cuts the link, or kills the agent.
    #[serde(default)]
    #[schemars(extend("const" = true))]
    pub down: Maybe<Text<bool>>,
    /// If true, restores the link, or starts the agent again.
    #[serde(default)]
    #[schemars(extend("const" = true))]
    pub up: Maybe<Text<bool>>,
    /// Cuts and repairs at random times while flows start.
    #[serde(default)]
    pub random: Maybe<RandomFaults>,
}

/// Cuts and repairs of links at random times while flows start, the same in all repetitions. The times between repair
/// and cut, and between cut and repair, are exponentially distributed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomFaults {
    /// Mean time from the start, or from a repair, to the next cut of a group.
    pub mtbf: Text<Nanos>,
    /// Mean time from the cut of a group to its repair.
    pub mttr: Text<Nanos>,
    /// Groups of links that share a risk, such as a duct, and are cut and restored together; each link is given as in
    /// `link`. Default: each link of the topology is a group of its own.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::MAX_FAULTS))]
    pub groups: Maybe<At<Vec<At<Vec<LinkOfFault>>>>>,
    /// If true, a cut that would separate two datacenters is not made.
    #[serde(default)]
    #[schemars(extend("default" = true))]
    pub keep_connected: Maybe<Text<bool>>,
    /// Seed of these times. Default: the scenario's `seed`.
    #[serde(default)]
    pub seed: Maybe<Text<u64>>,
}

impl SetsParameters for Fault {
    type Set = LinkConfig;

    const OWN: [&'static [&'static str]; 2] = [
        &["at", "link", "links", "dc", "agent", "down", "up"],
        &["random"],
    ];

    keys!(Fault);

    fn allows(parameter: &Parameter) -> bool {
        parameter.is_changeable
    }

    fn describe(parameter: &Parameter) -> String {
        let meaning = parameter.doc.trim().trim_end_matches('.');
        format!("{meaning}, from `at` on.")
    }
}

/// Word `none`: no ECN marking, even if marking is the default.
#[derive(Clone, Copy, Debug)]
pub struct NoEcn;

words! {
    NoEcn: "`none`, or the keys `k_min`, `k_max` and `p_max`" { "none" => Self }
}
