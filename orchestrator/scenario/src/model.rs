//! Scenarios as values, in paper units.
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
    /// Name of the experiment, and by default of its lab.
    pub name: String,
    /// Purpose of the experiment, in a sentence.
    pub description: String,
    /// Datacenters and the links between them.
    pub topology: Topology,
    /// Workloads and single flows.
    pub traffic: Vec<Traffic>,
    /// Policies to compare, in the order of their runs.
    pub policies: Vec<PolicySpec>,
    /// Scale from paper to emulated quantities.
    pub scale: ScaleSpec,
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of runs of each policy; each repetition has its own flow schedule.
    pub repetitions: u32,
    /// Traffic generator and QP settings.
    pub generator: Generator,
    /// Recording intervals, in paper time.
    pub measure: Measure,
    /// Maximum age of a switch's tables and queue samples in paper time; ECMP decides beyond it.
    pub max_table_age: Nanos,
    /// Changes to links while flows run.
    pub faults: Vec<Fault>,
    /// Transport and buffers in the simulator.
    pub transport: TransportSpec,
}

/// Datacenters and the links between them.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Topology {
    /// Datacenters in the order of the file, which is the order of ids.
    pub dcs: Vec<Dc>,
    /// Inter-DC links, in the order of the file.
    pub links: Vec<InterDcLink>,
}

/// A datacenter: one DCI switch with its fabric and hosts.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Dc {
    /// Name, such as `dc1`.
    pub name: String,
    /// Hosts, and the switches between them and the DCI switch.
    pub fabric: Fabric,
    /// Control of inter-DC flows at the DCI switch.
    pub agent: Agent,
}

/// Hosts and switches of a datacenter.
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
        /// Link from host to leaf.
        host_link: Wire,
        /// Link from leaf to spine.
        leaf_spine: Wire,
        /// Link from spine to DCI switch.
        spine_dci: Wire,
    },
}

/// Properties of a link, equal in both directions.
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
    /// ECN marking at the egress queues; `None`: no marking.
    pub ecn: Option<Ecn>,
}

/// RED-style ECN marking by queue length.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Ecn {
    /// Queue length below which no packet is marked.
    pub k_min: Bytes,
    /// Queue length above which every packet is marked.
    pub k_max: Bytes,
    /// Marking probability at `k_max`.
    pub p_max: Ratio,
}

/// A link between the DCI switches of two datacenters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct InterDcLink {
    /// Names of the two datacenters.
    pub between: [String; 2],
    /// Properties of the link.
    pub wire: Wire,
}

/// Control of inter-DC flows at a DCI switch.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Switch agent with the policy of the run.
    #[default]
    Policy,
    /// Plain kernel ECMP without an agent.
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
    /// Pairs of datacenters.
    pub pairs: Pairs,
    /// Offered load as a share of [`Workload::load_base`], above zero.
    pub load: Ratio,
    /// Reference of the load.
    pub load_base: LoadBase,
    /// Arrival process.
    pub arrivals: Arrivals,
    /// Time in which flows start.
    pub duration: Nanos,
    /// Maximum number of flows, which thins the arrivals over the whole duration.
    pub max_flows: Option<u32>,
}

/// Pairs of datacenters with traffic.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Pairs {
    /// Every DC with hosts to every other, uniformly.
    AllToAll,
    /// Listed pairs.
    Listed(Vec<DcPair>),
}

/// A sending and a receiving datacenter.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct DcPair {
    /// Sending DC.
    pub from: String,
    /// Receiving DC.
    pub to: String,
    /// True if flows also go in reverse, with the same load.
    pub both_ways: bool,
}

/// Reference of an offered load of one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBase {
    /// Capacity of every sending host's NIC (the paper's and its artifact's meaning).
    #[default]
    HostNic,
    /// Capacity of the sending DC's inter-DC links.
    DciEgress,
}

/// Arrival process.
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
    /// Bytes to transfer.
    pub size: Bytes,
    /// Start time, from the start of the run.
    pub start: Nanos,
}

/// Policy to run, with the parameters that a scenario sets.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum PolicySpec {
    /// 5-tuple hash over all candidates.
    Ecmp,
    /// 5-tuple hash over the candidates in proportion to their paths' capacity.
    Wcmp,
    /// 5-tuple hash over the candidates of minimum uniform cost.
    Ucmp(Settings),
    /// 5-tuple hash over the candidates of the widest first link: UCMP in the authors' code.
    UcmpArtifact,
    /// Centralised traffic engineering.
    Te(Settings),
    /// Long-haul cost-aware multi-path routing.
    Lcmp(Settings),
    /// User-defined policy, compiled in.
    Own(OwnSpec),
    /// User-defined switch program.
    Ebpf(EbpfSpec),
}

impl PolicySpec {
    /// Returns the policy's name in records and plots; labels of a scenario differ.
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

/// User-defined policy, compiled in.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct OwnSpec {
    /// Name in the program.
    pub name: String,
    /// Name in records and plots.
    pub label: Option<String>,
}

/// User-defined switch program.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EbpfSpec {
    /// Path of the object file as written, relative to the scenario.
    pub object: String,
}

impl EbpfSpec {
    /// Returns the file's name up to the first dot: `two-choice` of `own/two-choice.bpf.o`.
    #[must_use]
    pub fn name(&self) -> &str {
        let file = self.object.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default()
    }
}

/// Scale from paper to emulated quantities: rates by `rate`, times by `time`, sizes by the product.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum ScaleSpec {
    /// Factors chosen by the capacity estimate.
    Auto,
    /// Both pinned.
    Fixed {
        /// Emulated rate / paper rate.
        rate: Ratio,
        /// Emulated time / paper time.
        time: Ratio,
    },
}

/// Traffic generator and QP settings.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Generator {
    /// Program that makes flows.
    pub tool: Tool,
    /// RoCE path MTU in bytes: 1024, 2048 or 4096.
    pub mtu: u32,
    /// Traffic class of the QPs: DSCP and the two ECN bits, as in the IP header.
    pub traffic_class: u8,
}

/// Recording intervals, in paper time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Measure {
    /// Interval of the DCI switches' egress queues.
    pub queues: Nanos,
    /// Interval of the inter-DC links' byte counters.
    pub links: Nanos,
    /// Interval of the DCI switches' counters.
    pub switches: Nanos,
}

/// A change to a link at a time after the first flow may start.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    /// Time from the earliest possible flow start.
    pub at: Nanos,
    /// Names of the link's two datacenters.
    pub link: [String; 2],
    /// Change of the link.
    pub change: FaultSpec,
}

/// Change that a fault makes to a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum FaultSpec {
    /// Link cut.
    Down,
    /// Link restored.
    Up,
    /// New rate of both directions.
    Rate(BitsPerSec),
    /// New one-way delay.
    Delay(Nanos),
    /// New share of lost packets.
    Loss(Ratio),
}

/// Texts of the files a scenario names, by path as written.
pub type Files = BTreeMap<String, String>;
