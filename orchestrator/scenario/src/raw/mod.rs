//! The shapes of a scenario as it is written: keys, lists and texts, each with its place.
//!
//! These types are also the JSON Schema: their doc comments are what an editor shows. What the
//! texts mean, and whether they fit together, is [`crate::resolve`]'s part.
//!
//! Alternatives are written as a mapping with one key (`- workload: {…}`): serde's untagged and
//! flattened forms lose both the places and the reasons of errors.

pub mod parameters;
pub mod policy;
pub mod topology;
pub mod traffic;
pub mod transport;

use lab_units::{Nanos, Ratio};
use schemars::JsonSchema;
use serde::Deserialize;

pub use parameters::Parameters;
pub use policy::{NoParameters, Policy, PolicyName};
pub use topology::{Dc, Ecn, HostWire, InterDcWire, Link, NoEcn, Topology};
pub use traffic::{AllToAll, Fault, Flow, Pair, Traffic, Workload};
pub use transport::{Cc, CcName, Transport};

use crate::{
    defaults, limits,
    model::Tool,
    yaml::{At, Maybe, Scalar, Text, WordOr, scalar::words},
};

/// One experiment: a topology, traffic over it, and the policies to compare.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "lcmp-lab scenario")]
pub struct Scenario {
    /// Name of the experiment and, unless told otherwise, of its lab: lower-case letters, digits
    /// and dashes.
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_NAME))]
    pub name: Text<String>,
    /// What the experiment is for, in a sentence.
    #[serde(default)]
    #[schemars(length(max = limits::MAX_VALUE))]
    pub description: Maybe<Text<String>>,
    /// Datacenters and the links between them.
    pub topology: Topology,
    /// Where flows come from.
    #[schemars(length(min = 1, max = limits::MAX_TRAFFIC))]
    pub traffic: At<Vec<At<Traffic>>>,
    /// The policies to compare, in the order they run.
    #[schemars(length(min = 1, max = limits::MAX_POLICIES))]
    pub policies: At<Vec<At<WordOr<PolicyName, Policy>>>>,
    /// How paper quantities become emulated ones: `auto`, or both factors.
    #[serde(default)]
    #[schemars(extend("default" = "auto"))]
    pub scale: Maybe<At<WordOr<AutoScale, Scale>>>,
    /// Seed of everything that is sampled.
    #[serde(default)]
    #[schemars(extend("default" = defaults::SEED))]
    pub seed: Maybe<Text<u64>>,
    /// How often each policy's run is repeated, each time with a flow schedule of its own.
    #[serde(default)]
    #[schemars(extend("default" = defaults::REPETITIONS, "minimum" = 1, "maximum" = limits::MAX_REPETITIONS))]
    pub repetitions: Maybe<Text<u32>>,
    /// What makes the flows.
    #[serde(default)]
    pub generator: Maybe<Generator>,
    /// How often queues, links and switches are recorded, in paper time.
    #[serde(default)]
    pub measure: Maybe<Measure>,
    /// A DCI switch whose tables the control plane has neither written nor confirmed for this long,
    /// or whose queues nobody has sampled for this long, hashes new flows over all candidates; in
    /// paper time.
    #[serde(default)]
    #[schemars(extend("default" = defaults::MAX_TABLE_AGE.to_string()))]
    pub max_table_age: Maybe<Text<Nanos>>,
    /// Changes to links while flows run.
    #[serde(default)]
    #[schemars(length(max = limits::MAX_FAULTS))]
    pub faults: Maybe<At<Vec<At<Fault>>>>,
    /// Transport and buffers in the simulator.
    #[serde(default)]
    pub transport: Maybe<Transport>,
}

/// Factors from paper to emulated quantities; sizes take the product of both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["rate", "time"]))]
pub struct Scale {
    /// Emulated rate / paper rate, such as `1/2000`.
    #[serde(default)]
    pub rate: Maybe<Text<Ratio>>,
    /// Emulated time / paper time, such as `10`.
    #[serde(default)]
    pub time: Maybe<Text<Ratio>>,
}

/// The scale is picked by the capacity estimate.
#[derive(Clone, Copy, Debug)]
pub struct AutoScale;

words! {
    AutoScale: "`auto`, or the factors `rate` and `time`" { "auto" => Self }
}

/// What makes the flows, and how their QPs are set.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// The perftest program.
    #[serde(default)]
    #[schemars(extend("default" = defaults::GENERATOR.tool))]
    pub tool: Maybe<Text<Tool>>,
    /// RoCE path MTU in bytes.
    #[serde(default)]
    #[schemars(extend("default" = defaults::GENERATOR.mtu, "enum" = limits::MTUS))]
    pub mtu: Maybe<Text<u32>>,
    /// Traffic class of the QPs: DSCP and the two ECN bits, as in the IP header.
    #[serde(default)]
    #[schemars(extend("default" = defaults::GENERATOR.traffic_class))]
    pub traffic_class: Maybe<Text<u8>>,
}

/// How often things are recorded, in paper time.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Egress queues of DCI switches.
    #[serde(default)]
    #[schemars(extend("default" = defaults::MEASURE.queues.to_string()))]
    pub queues: Maybe<Text<Nanos>>,
    /// Bytes carried by inter-DC links.
    #[serde(default)]
    #[schemars(extend("default" = defaults::MEASURE.links.to_string()))]
    pub links: Maybe<Text<Nanos>>,
    /// DCI switches as a whole: flow table, decisions, fallbacks, failovers.
    #[serde(default)]
    #[schemars(extend("default" = defaults::MEASURE.switches.to_string()))]
    pub switches: Maybe<Text<Nanos>>,
}
