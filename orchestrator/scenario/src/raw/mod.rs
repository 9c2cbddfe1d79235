//! Form in which a scenario is written: keys, lists and texts, each with its byte range.
//!
//! The JSON Schema is generated from these types, and editors show their doc comments. [`crate::resolve`] parses the
//! texts and checks that the values are consistent.
//!
//! Alternatives are written as a mapping with one key (`- workload: {…}`), because serde's untagged and flattened forms
//! lose the locations and reasons of errors.

pub mod link;
pub mod parameters;
pub mod policy;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod with;

use lab_units::{
    Nanos, Ratio,
    candidates::{DOWNHILL_DELAY, FEWEST_HOPS, TUNNELS},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

pub use link::{Fault, HostWire, Link, LinkOfFault, Marking, NoEcn};
pub use parameters::Parameters;
pub use policy::{NoParameters, POLICY_KEYS, Policy, PolicyBody, PolicyName, Trained};
pub use topology::{
    ALL, Dc, Defaults, HostsAtWord, MIN_DEGREE, TOPOLOGY_EXTENSION, Topology, TopologyWord,
    ZOO_PREFIX,
};
pub use traffic::{AllToAll, Flow, MatrixKeys, Pair, Traffic, Workload};
pub use transport::{Cc, CcName, Transport};
pub use with::{SetsParameters, With};

use crate::{
    defaults,
    expect::Expectation,
    limits,
    model::Tool,
    yaml::{At, Maybe, Scalar, Text, WordOr, scalar::words},
};

/// Experiment: a topology, traffic over it, and the policies to compare.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "lcmp-lab scenario", extend("anyOf" = [
    { "required": ["topology", "traffic", "policies"] },
    { "required": ["extends"] },
]))]
pub struct Scenario {
    /// Name of the experiment, and by default of its lab: lower-case letters, digits and dashes.
    #[schemars(pattern(limits::NAME_PATTERN), length(max = limits::MAX_NAME))]
    pub name: Text<String>,
    /// Purpose of the experiment in one sentence.
    #[serde(default)]
    #[schemars(length(max = limits::MAX_VALUE))]
    pub description: Maybe<Text<String>>,
    /// Path of another scenario, relative to this one. Each top-level key that is not written here is taken from that
    /// scenario as a whole, except `name` and `description`; files that such a key names are relative to that scenario.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::MAX_VALUE))]
    pub extends: Maybe<Text<String>>,
    /// Datacenters and the links between them; or `zoo:` and the name of a graph of the Internet Topology Zoo. It can
    /// also be the path of a `.yaml` file, relative to the scenario: a file with the keys of a topology, or a scenario
    /// whose topology is used.
    #[serde(default)]
    pub topology: Maybe<At<WordOr<TopologyWord, Topology>>>,
    /// Next hops among which the policies choose.
    #[serde(default)]
    pub routing: Maybe<Routing>,
    /// Sources of flows.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::MAX_TRAFFIC))]
    pub traffic: Maybe<At<Vec<At<Traffic>>>>,
    /// Policies to compare, in the order of their runs.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::MAX_POLICIES))]
    pub policies: Maybe<Policies>,
    /// Scale from the paper's quantities to emulated ones: the factors `rate` and `time`, or `auto`, the finest scale
    /// that fits the capacity of the machine or guest that runs the lab. `sim` without `--scaled` uses all quantities
    /// as written.
    #[serde(default)]
    #[schemars(extend("default" = "auto"))]
    pub scale: Maybe<At<WordOr<AutoScale, Scale>>>,
    /// Seed of all random numbers.
    #[serde(default)]
    #[schemars(extend("default" = defaults::SEED))]
    pub seed: Maybe<Text<u64>>,
    /// Number of runs of each policy, each with its own flow schedule: one number, or one number per engine, because a
    /// run takes seconds in the simulator and minutes in the lab.
    #[serde(default)]
    #[schemars(schema_with = "repetitions")]
    pub repetitions: Maybe<At<WordOr<RepetitionCount, Repetitions>>>,
    /// Traffic generator and QP settings: `perftest`, `verbs`, or a mapping.
    #[serde(default)]
    pub generator: Maybe<At<WordOr<GeneratorWord, Generator>>>,
    /// Recording intervals and the window of measured flows, at the paper's scale (before scaling for emulation).
    #[serde(default)]
    pub measure: Maybe<Measure>,
    /// Maximum age of a DCI switch's tables and queue samples, at the paper's scale (before scaling for emulation). If
    /// they are older, the switch hashes new flows over all candidates. In the simulator, tables and samples
    /// expire only after a crash of the switch's agent.
    #[serde(default)]
    #[schemars(extend("default" = defaults::MAX_TABLE_AGE.to_string()))]
    pub max_table_age: Maybe<Text<Nanos>>,
    /// Changes of links while flows run.
    #[serde(default)]
    #[schemars(length(max = limits::MAX_FAULTS))]
    pub faults: Maybe<At<Vec<At<With<Fault>>>>>,
    /// Transport and buffers in the simulator.
    #[serde(default)]
    pub transport: Maybe<With<Transport>>,
    /// Assertions on every run, which `lcmp-lab regress` checks: `lcmp.p99 <= 0.6 * ecmp.p99`,
    /// `unfinished == 0`, `path(dc1,dc8) uses dc4`.
    #[serde(default)]
    #[schemars(length(max = limits::MAX_EXPECTATIONS))]
    pub expect: Maybe<At<Vec<Text<Expectation>>>>,
}

/// Policies, each a name or a mapping with its parameters.
pub type Policies = At<Vec<At<WordOr<PolicyName, Policy>>>>;

/// Next hops among which the policies choose, the same for every policy.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// Rule by which a switch's neighbours become candidates for a destination. `fewest-hops`: all neighbours from
    /// which a path needs one inter-DC link less, as in the paper's artifact; `downhill-delay`: all neighbours that are
    /// nearer by least delay, within the bounds of `stretch` and `max`; `tunnels`: the first links of paths that the
    /// first switch chooses among and all others follow. With each, packets cannot loop.
    #[schemars(extend("default" = FEWEST_HOPS))]
    pub candidates: Maybe<Text<CandidateRule>>,
    /// With `downhill-delay`: largest one-way delay of the best path through a candidate, divided by the least delay
    /// from the switch.
    #[schemars(extend("default" = "3/2", "minimum" = 1, "maximum" = limits::MAX_STRETCH))]
    pub stretch: Maybe<Text<Ratio>>,
    /// With `downhill-delay`: maximum number of candidates for one destination. Of more, those with the least delay are
    /// kept.
    #[schemars(extend("default" = defaults::MAX_CANDIDATES, "minimum" = limits::MIN_CANDIDATES, "maximum" = limits::MAX_CANDIDATES))]
    pub max: Maybe<Text<u8>>,
    /// Paths with `candidates: tunnels`.
    pub tunnels: Maybe<At<Tunnels>>,
    /// Recomputation of the candidates after links are cut or restored. Default: never, as in the paper.
    pub reconverge: Maybe<Reconverge>,
}

/// Recomputation of all switches' candidates after links are cut or restored.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reconverge {
    /// Time from a cut or repair to the instant at which all switches have the candidates of the links that were then
    /// up, at the paper's scale (before scaling for emulation).
    pub after: Text<Nanos>,
}

/// Paths between each pair of datacenters with `candidates: tunnels`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tunnels {
    /// Maximum number of tunnels: the path with the least delay, then that with the least delay over the links that are
    /// left, and so on.
    #[schemars(extend("default" = defaults::TUNNELS, "minimum" = limits::MIN_CANDIDATES, "maximum" = limits::MAX_CANDIDATES))]
    pub k: Maybe<Text<u8>>,
    /// Element that no two tunnels of a pair share. `edge`: a link, so that the link over which a packet arrives names
    /// its tunnel, and packets need no label.
    #[schemars(extend("default" = EDGE))]
    pub disjoint: Maybe<Text<Disjoint>>,
}

/// Element of the network that no two tunnels of a pair share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Disjoint {
    Edge,
}

/// Word for [`Disjoint::Edge`].
const EDGE: &str = "edge";

words! {
    Disjoint: "an element that tunnels do not share" = &[(EDGE, Self::Edge)];
}

/// Rule by which a switch's neighbours become candidates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CandidateRule {
    FewestHops,
    DownhillDelay,
    Tunnels,
}

words! {
    CandidateRule: "a rule for candidates" = &[
        (FEWEST_HOPS, Self::FewestHops),
        (DOWNHILL_DELAY, Self::DownhillDelay),
        (TUNNELS, Self::Tunnels),
    ];
}

/// Factors that convert the paper's quantities to emulated ones. Sizes are scaled by the product of both factors.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["rate", "time"]))]
pub struct Scale {
    /// Emulated rate divided by the paper's rate, such as `1/2000`.
    pub rate: Maybe<Text<Ratio>>,
    /// Emulated time divided by the paper's time, such as `10`.
    pub time: Maybe<Text<Ratio>>,
}

/// Word `auto`: the finest scale that fits the capacity of the machine or guest that runs the lab.
#[derive(Clone, Copy, Debug)]
pub struct AutoScale;

words! {
    AutoScale: "`auto`, or the factors `rate` and `time`" { "auto" => Self }
}

/// Number of repetitions, the same in both engines.
#[derive(Clone, Copy, Debug)]
pub struct RepetitionCount;

words! {
    RepetitionCount: "a number, or numbers for `lab` and `sim`" {}
}

/// Number of repetitions in each engine.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Repetitions {
    /// Number of repetitions in the lab, and in `sim --scaled`, which simulates the lab's plan.
    #[schemars(extend("default" = defaults::REPETITIONS, "minimum" = 1, "maximum" = limits::MAX_REPETITIONS))]
    pub lab: Maybe<Text<u32>>,
    /// Number of repetitions in `sim` without `--scaled`.
    #[schemars(extend("default" = defaults::REPETITIONS, "minimum" = 1, "maximum" = limits::MAX_REPETITIONS))]
    pub sim: Maybe<Text<u32>>,
}

/// Returns the schema of the number of repetitions: one number, or one per engine.
fn repetitions(generator: &mut SchemaGenerator) -> Schema {
    let mut count = <u32 as Scalar>::schema();
    count.insert("minimum".to_owned(), 1.into());
    count.insert("maximum".to_owned(), limits::MAX_REPETITIONS.into());
    let each = generator.subschema_for::<Repetitions>();
    json_schema!({ "anyOf": [count, each], "default": defaults::REPETITIONS })
}

/// Name of a traffic generator, with default settings.
#[derive(Clone, Copy, Debug)]
pub enum GeneratorWord {
    /// Word `perftest`: two perftest processes per flow.
    Perftest,
    /// Word `verbs`: one process for all flows.
    Verbs,
}

words! {
    GeneratorWord: "`perftest`, `verbs`, or the generator's keys" {
        "perftest" => Self::Perftest,
        "verbs" => Self::Verbs,
    }
}

/// Traffic generator and QP settings.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Generator {
    /// Program that generates the flows: a perftest program, for tens of flows, or `verbs`, for thousands of flows.
    #[schemars(extend("default" = defaults::GENERATOR.tool))]
    pub tool: Maybe<Text<Tool>>,
    /// RoCE path MTU in bytes.
    #[schemars(extend("default" = defaults::GENERATOR.mtu, "enum" = limits::MTUS))]
    pub mtu: Maybe<Text<u32>>,
    /// Traffic class of the QPs: DSCP and the two ECN bits, as in the IP header. The simulator's switches mark packets
    /// of every class.
    #[schemars(extend("default" = defaults::GENERATOR.traffic_class))]
    pub traffic_class: Maybe<Text<u8>>,
}

/// Recording intervals and the window of measured flows, at the paper's scale (before scaling for emulation).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// Start of the window. Flows scheduled to start earlier run, but do not count in slowdowns, sizes and comparisons.
    #[schemars(extend("default" = defaults::MEASURE.from.to_string()))]
    pub from: Maybe<Text<Nanos>>,
    /// End of the window. Flows scheduled to start at this time or later run, but do not count in slowdowns, sizes and
    /// comparisons. Default: none.
    pub to: Maybe<Text<Nanos>>,
    /// Time between two samples of DCI switches' egress queues.
    #[schemars(extend("default" = defaults::MEASURE.queues.to_string()))]
    pub queues: Maybe<Text<Nanos>>,
    /// Time between two samples of inter-DC links' byte counters.
    #[schemars(extend("default" = defaults::MEASURE.links.to_string()))]
    pub links: Maybe<Text<Nanos>>,
    /// Time between two samples of DCI switches' counters: flow table, decisions, fallbacks, failovers.
    #[schemars(extend("default" = defaults::MEASURE.switches.to_string()))]
    pub switches: Maybe<Text<Nanos>>,
}
