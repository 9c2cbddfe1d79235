//! What a scenario says, in paper units, before anything is derived from it.
//!
//! Defaults are the constants in [`crate::defaults`]; the limits are in [`crate::limits`].

use std::collections::BTreeMap;

use lab_parameters::{Preset, Value};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
pub use lab_units::{Semantics, Tool};
use serde::{Deserialize, Serialize};

mod transport;

pub use transport::{CcSpec, TimeoutSpec, TransportSpec, WindowSpec};

/// One experiment: a topology, traffic over it, and the policies to compare.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Scenario {
    /// Name of the experiment and, unless told otherwise, of its lab.
    pub name: String,
    /// What the experiment is for, in a sentence.
    pub description: String,
    /// Datacenters and the links between them.
    pub topology: Topology,
    /// Workloads and single flows.
    pub traffic: Vec<Traffic>,
    /// The policies to compare, in the order they run.
    pub policies: Vec<PolicySpec>,
    /// How paper quantities become emulated ones.
    pub scale: ScaleSpec,
    /// Seed of everything that is sampled.
    pub seed: u64,
    /// How often each policy's run is repeated; repetition `n` has its own flow schedule.
    pub repetitions: u32,
    /// What makes the flows.
    pub generator: Generator,
    /// How often queues, links and switches are recorded, in paper time.
    pub measure: Measure,
    /// Tables older than this are not decided by, in paper time.
    pub max_table_age: Nanos,
    /// Changes to links while flows run.
    pub faults: Vec<Fault>,
    /// Transport and buffers in the simulator.
    pub transport: TransportSpec,
}

/// Datacenters and the links between them.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Topology {
    /// In the order of the file, which is the order of ids.
    pub dcs: Vec<Dc>,
    /// Inter-DC links, in the order of the file.
    pub links: Vec<InterDcLink>,
}

/// A datacenter: one DCI switch and what is behind it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Dc {
    /// `dc1`.
    pub name: String,
    /// Hosts, straight at the DCI switch or below leaves.
    pub fabric: Fabric,
    /// What steers inter-DC flows at this DC's DCI switch.
    pub agent: Agent,
}

/// The inside of a datacenter.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Fabric {
    /// Hosts on the DCI switch itself.
    Direct {
        /// Number of hosts; zero for a transit DC.
        hosts: u32,
        /// Each host's link to the DCI switch.
        host_link: Wire,
    },
    /// Hosts – leaves – spines – DCI switch, each tier fully meshed with the next.
    LeafSpine {
        /// Number of spine switches.
        spines: u32,
        /// Number of leaf switches.
        leaves: u32,
        /// Hosts on each leaf switch.
        hosts_per_leaf: u32,
        /// Host to leaf.
        host_link: Wire,
        /// Leaf to spine.
        leaf_spine: Wire,
        /// Spine to DCI switch.
        spine_dci: Wire,
    },
}

/// What a link is like, alike in both directions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Wire {
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// One-way propagation delay.
    pub delay: Nanos,
    /// Egress queue at each end.
    pub buffer: Bytes,
    /// Share of packets lost at random.
    pub loss: Ratio,
    /// ECN marking at the egress queues; none when absent.
    pub ecn: Option<Ecn>,
}

/// RED-style ECN marking by queue length.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Ecn {
    /// No marks below.
    pub k_min: Bytes,
    /// All packets are marked above.
    pub k_max: Bytes,
    /// Marking probability at `k_max`.
    pub p_max: Ratio,
}

/// A link between the DCI switches of two datacenters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct InterDcLink {
    /// Names of the two datacenters.
    pub between: [String; 2],
    /// What it is like.
    pub wire: Wire,
}

/// What steers flows at a DCI switch.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// The switch agent, with the policy of the run.
    #[default]
    Policy,
    /// No agent: plain kernel ECMP.
    Legacy,
}

/// A source of flows.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Traffic {
    /// Flows sampled from a size distribution and an arrival process.
    Workload(Workload),
    /// Flows written down one by one.
    Flows(Vec<FlowSpec>),
    /// Flows of a file in the format of the paper's artifact.
    FlowFile {
        /// Path as written, relative to the scenario.
        path: String,
    },
}

/// Flows sampled from a size distribution and an arrival process.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Workload {
    /// Flow size distribution: path of a CSV file as written, relative to the scenario.
    pub sizes: String,
    /// Which datacenters talk.
    pub pairs: Pairs,
    /// Offered load as a share of [`Workload::load_base`], above zero.
    pub load: Ratio,
    /// What the load is a share of.
    pub load_base: LoadBase,
    /// How flows arrive.
    pub arrivals: Arrivals,
    /// Time in which flows start.
    pub duration: Nanos,
    /// Stop after this many flows, even before the duration is over.
    pub max_flows: Option<u32>,
}

/// Which datacenters send to which.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Pairs {
    /// Every DC with hosts to every other, uniformly.
    AllToAll,
    /// The listed pairs.
    Listed(Vec<DcPair>),
}

/// Two datacenters that talk.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct DcPair {
    /// Sending DC.
    pub from: String,
    /// Receiving DC.
    pub to: String,
    /// Flows go the other way too, with the same load.
    pub both_ways: bool,
}

/// What an offered load of one means.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBase {
    /// Every sending host's NIC is full (the paper's and its artifact's meaning).
    #[default]
    HostNic,
    /// The sending DC's inter-DC links are full.
    DciEgress,
}

/// How flows arrive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent exponential gaps at each source.
    #[default]
    Poisson,
    /// Equal gaps at each source, the first one at a random phase.
    Even,
}

/// One flow, written down.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct FlowSpec {
    /// Sending host, `dc1/h1`.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Bytes to move.
    pub size: Bytes,
    /// When it starts.
    pub start: Nanos,
}

/// A policy to run, with the parameters it departs from its preset in.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum PolicySpec {
    /// 5-tuple hash over all candidates.
    Ecmp,
    /// 5-tuple hash over the candidates in proportion to their ways' capacity.
    Wcmp,
    /// 5-tuple hash over the candidates of least uniform cost.
    Ucmp(Settings),
    /// 5-tuple hash over the candidates of the widest first link: UCMP in the authors' code.
    UcmpArtifact,
    /// Centralised traffic engineering.
    Te(Settings),
    /// Long-haul cost-aware multi-path routing.
    Lcmp(Settings),
    /// A policy of the user's own, compiled in.
    Own(OwnSpec),
    /// A switch program of the user's own.
    Ebpf(EbpfSpec),
}

impl PolicySpec {
    /// The policy's name in records and plots; no two policies of a scenario share one.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Ecmp => "ecmp",
            Self::Wcmp => "wcmp",
            Self::Ucmp(settings) => settings.label.as_deref().unwrap_or("ucmp"),
            Self::UcmpArtifact => "ucmp-artifact",
            Self::Te(settings) => settings.label.as_deref().unwrap_or("te"),
            Self::Lcmp(settings) => settings.label.as_deref().unwrap_or("lcmp"),
            Self::Own(spec) => spec.label.as_deref().unwrap_or(&spec.name),
            Self::Ebpf(spec) => spec.name(),
        }
    }
}

/// Parameters as a scenario sets them; what is not set keeps its default.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Settings {
    /// Source of the defaults; if `None`, `paper` for policies, that of `transport.semantics` for
    /// congestion controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Name of the policy in records and plots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Values by parameter name, in paper units.
    pub values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Sets the parameter `name`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.values.insert(name, value);
        self
    }
}

/// A policy of the user's own.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct OwnSpec {
    /// The name it has in the program.
    pub name: String,
    /// Shown instead of its name in records and plots.
    pub label: Option<String>,
}

/// A switch program of the user's own.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EbpfSpec {
    /// Path of its object as written, relative to the scenario.
    pub object: String,
}

impl EbpfSpec {
    /// The file's name up to the first dot: `two-choice` of `own/two-choice.bpf.o`.
    #[must_use]
    pub fn name(&self) -> &str {
        let file = self.object.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default()
    }
}

/// How paper quantities become emulated ones: rates by `rate`, times by `time`, sizes by their
/// product.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum ScaleSpec {
    /// The capacity estimate picks them.
    Auto,
    /// Both pinned.
    Fixed {
        /// Emulated rate / paper rate.
        rate: Ratio,
        /// Emulated time / paper time.
        time: Ratio,
    },
}

/// What makes the flows, and how their QPs are set.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Generator {
    /// The perftest program.
    pub tool: Tool,
    /// RoCE path MTU in bytes: 1024, 2048 or 4096.
    pub mtu: u32,
    /// Traffic class of the QPs: DSCP and the two ECN bits, as in the IP header.
    pub traffic_class: u8,
}

/// How often things are recorded, in paper time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Measure {
    /// Egress queues of DCI switches.
    pub queues: Nanos,
    /// Bytes carried by inter-DC links.
    pub links: Nanos,
    /// DCI switches as a whole.
    pub switches: Nanos,
}

/// A change to a link at a time after the first flow may start.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    /// When.
    pub at: Nanos,
    /// The datacenters at the link's ends.
    pub link: [String; 2],
    /// What changes.
    pub change: FaultSpec,
}

/// What a fault changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum FaultSpec {
    /// The link is cut.
    Down,
    /// The link is back.
    Up,
    /// A new rate, both directions.
    Rate(BitsPerSec),
    /// A new one-way delay.
    Delay(Nanos),
    /// A new share of lost packets.
    Loss(Ratio),
}

/// The texts of the files a scenario names, by the path as written there.
pub type Files = BTreeMap<String, String>;
