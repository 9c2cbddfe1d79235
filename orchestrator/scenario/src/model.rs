//! Types of a parsed scenario; all quantities are in paper units.
//!
//! Defaults are constants in [`crate::defaults`], limits are constants in [`crate::limits`].

use std::{borrow::Cow, collections::BTreeMap};

use lab_parameters::Value;
pub use lab_parameters::{EcnConfig, LinkConfig};
use lab_policy::{BucketPolicy, redte};
use lab_units::{BitsPerSec, Bytes, CandidateSet, Nanos, Ratio, Trainer, Twin};
pub use lab_units::{Semantics, Tool};
use serde::{Deserialize, Serialize, Serializer};

use crate::expect::Expectation;

mod settings;
mod transport;

pub use settings::Settings;
pub use transport::{CcSpec, TransportSpec};

/// Experiment: a topology, traffic over it, and the policies to compare.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    pub name: String,
    pub description: String,
    /// Paths of the scenarios from which keys are taken, relative to this one: the extended scenario, the one that it
    /// extends, and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extends: Vec<String>,
    pub topology: Topology,
    /// Rule by which next hops become candidates.
    #[serde(skip_serializing_if = "CandidateSet::is_default")]
    pub candidate_set: CandidateSet,
    /// Time from a cut or repair of links to the new candidates of all switches, in paper time; `None` if the candidates
    /// never change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconverge_after: Option<Nanos>,
    pub traffic: Vec<Traffic>,
    pub policies: Vec<PolicySpec>,
    pub scale: ScaleSpec,
    pub seed: u64,
    pub repetitions: Repetitions,
    pub generator: Generator,
    pub measure: Measure,
    pub max_table_age: Nanos,
    pub faults: Vec<Fault>,
    /// Crashes of switches' agents, by datacenter and time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_crashes: Vec<AgentCrash>,
    /// Random faults, whose times are drawn when the scenario is planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub random_faults: Vec<RandomFaults>,
    pub transport: TransportSpec,
    /// Assertions on every run.
    pub expect: Vec<Expectation>,
}

impl Scenario {
    /// Returns the loads of the sweep, each of which gets a run; empty without a sweep.
    #[must_use]
    pub fn sweep(&self) -> &[Ratio] {
        let sweeps = self.traffic.iter().map(Traffic::sweep);
        sweeps.max_by_key(|sweep| sweep.len()).unwrap_or_default()
    }

    /// Returns the key that sets how much sampled traffic there is, for hints: that of workloads, of demand matrices, or
    /// both.
    #[must_use]
    pub fn load_key(&self) -> &'static str {
        let has = |is_kind: fn(&Traffic) -> bool| self.traffic.iter().any(is_kind);
        let has_matrix = has(|it| matches!(it, Traffic::Demands(_)));
        match (has_matrix, has(|it| matches!(it, Traffic::Workload(_)))) {
            (false, _) => "`load`",
            (true, false) => "`scale`",
            (true, true) => "`load` and `scale`",
        }
    }

    /// Returns the scenario for one run at `load`. `load` replaces the load of the workloads, and the scale of the
    /// demand matrices, that have a sweep or, if none has one, of all workloads and matrices. The scenario's name gets
    /// the load in percent as a suffix.
    #[must_use]
    pub fn at_load(mut self, load: Ratio) -> Self {
        let has_sweep = !self.sweep().is_empty();
        for traffic in &mut self.traffic {
            let (current, sweep) = match traffic {
                Traffic::Workload(workload) => (&mut workload.load, &mut workload.sweep),
                Traffic::Demands(matrix) => (&mut matrix.scale, &mut matrix.sweep),
                Traffic::Flows(_) | Traffic::FlowFile { .. } => continue,
            };
            if has_sweep != sweep.is_empty() {
                *current = load;
                sweep.clear();
            }
        }
        self.name = format!("{}-{}", self.name, load.scale_nearest(100));
        self
    }
}

/// Datacenters and the links between them.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Topology {
    pub dcs: Vec<Dc>,
    pub links: Vec<InterDcLink>,
    /// Path of the topology file as written, relative to the scenario; `None` if the scenario has the topology's keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Path of the graph file, relative to the scenario; `None` if the topology is not imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// Sentences, without full stops, on everything that a named or imported graph does not have or that was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

/// Datacenter: one DCI switch with its fabric and hosts.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Dc {
    pub name: String,
    /// Full name in the graph of which the topology was made; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub fabric: Fabric,
    pub agent: Agent,
}

/// Hosts of a datacenter, and the switches between them and the DCI switch.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Fabric {
    /// Hosts linked directly to the DCI switch.
    Direct {
        /// Number of hosts; zero for a transit datacenter.
        hosts: u32,
        /// Link from each host to the DCI switch.
        host_link: LinkConfig,
    },
    /// Leaf-spine fabric: hosts – leaves – spines – DCI switch, each tier fully meshed with the next.
    LeafSpine {
        spines: u32,
        leaves: u32,
        /// Number of hosts on each leaf switch.
        hosts_per_leaf: u32,
        /// Link from host to leaf.
        host_link: LinkConfig,
        /// Link from leaf to spine.
        leaf_spine: LinkConfig,
        /// Link from spine to DCI switch.
        spine_dci: LinkConfig,
    },
}

/// Link between the DCI switches of two datacenters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct InterDcLink {
    pub between: [String; 2],
    pub wire: LinkConfig,
}

/// Mechanism that routes inter-DC flows at a DCI switch.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Switch agent and switch program, which run the policy.
    #[default]
    Policy,
    /// ECMP of the kernel, without an agent.
    Legacy,
}

/// Entry of the list `traffic`: a source of flows.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Traffic {
    /// Flows sampled from a size distribution and an arrival process.
    Workload(Workload),
    /// Flows sampled for the rates of a demand matrix.
    Demands(DemandMatrix),
    /// Flows listed one by one.
    Flows(Vec<FlowSpec>),
    /// Flows from a file in the format of the paper's artifact.
    FlowFile {
        /// Path of the flow file as written, relative to the scenario.
        path: String,
    },
}

impl Traffic {
    /// Returns the loads or scales of the sweep, each of which gets a run; empty without a sweep.
    #[must_use]
    pub fn sweep(&self) -> &[Ratio] {
        match self {
            Self::Workload(workload) => &workload.sweep,
            Self::Demands(matrix) => &matrix.sweep,
            Self::Flows(_) | Self::FlowFile { .. } => &[],
        }
    }

    /// Returns the path or name of the size distribution, and the arrival process, of flows that are sampled; `None`
    /// for listed flows.
    #[must_use]
    pub fn sampled(&self) -> Option<(&str, &FlowProcess)> {
        match self {
            Self::Workload(workload) => Some((&workload.sizes, &workload.process)),
            Self::Demands(matrix) => Some((&matrix.sizes, &matrix.process)),
            Self::Flows(_) | Self::FlowFile { .. } => None,
        }
    }

    /// Returns the key of the entry in a scenario's list `traffic`.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Workload(_) => "workload",
            Self::Demands(_) => "demands",
            Self::Flows(_) => "flows",
            Self::FlowFile { .. } => "flow_file",
        }
    }
}

/// Flows sampled from a size distribution and an arrival process.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Workload {
    pub sizes: String,
    pub pairs: Pairs,
    /// Load of this run; with a sweep, initially its first load.
    pub load: Ratio,
    /// Loads of the sweep, each of which gets a run; empty without a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Ratio>,
    pub load_base: LoadBase,
    #[serde(flatten)]
    pub process: FlowProcess,
}

/// Arrival process of flows that are sampled.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct FlowProcess {
    pub arrivals: Arrivals,
    /// Length of bursts; `None` if rates are steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Nanos>,
    pub duration: Nanos,
    /// Number of flows at whose mean arrival the duration ends; `None` if it does not end sooner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_flows: Option<u32>,
    /// Shortest time span in which flows start, even if the target flows have arrived sooner; `None` without a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_duration: Option<Nanos>,
    pub max_flows: Option<u32>,
}

/// Mean rates between pairs of datacenters, which sampled flows offer.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct DemandMatrix {
    /// Path of the matrix's file as written, relative to the scenario.
    pub file: String,
    /// Rates at a scale of 1, by the order of the datacenters; each ordered pair occurs at most once.
    pub rates: Vec<PairRate>,
    /// Factor on all rates in this run; with a sweep, initially its first scale.
    pub scale: Ratio,
    /// Scales of the sweep, each of which gets a run; empty without a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Ratio>,
    pub sizes: String,
    #[serde(flatten)]
    pub process: FlowProcess,
}

/// Mean rate from one datacenter to another, in paper units.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PairRate {
    pub from: String,
    pub to: String,
    pub rate: BitsPerSec,
}

/// Pairs of datacenters between which a workload sends.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum Pairs {
    /// All ordered pairs of datacenters that have hosts, chosen uniformly.
    AllToAll,
    /// Pairs listed in the scenario.
    Listed(Vec<DcPair>),
}

/// Sending and receiving datacenter.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct DcPair {
    pub from: String,
    pub to: String,
    pub both_ways: bool,
}

/// Capacity that corresponds to a load of 1.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBase {
    /// NIC rate of each sending host, as in the paper and its artifact.
    #[default]
    HostNic,
    /// Total capacity of the sending datacenter's inter-DC links, shared by its hosts.
    DciEgress,
    /// Rate of the busiest inter-DC link, if every switch splits the workload's demands evenly over its next hops.
    BusiestLink,
    /// Capacity of the tightest cut of the inter-DC network that the workload's demands must cross.
    MinCut,
}

impl LoadBase {
    /// Returns true if a load is a share of what inter-DC links carry together, not of what each sender can send.
    #[must_use]
    pub const fn is_of_network(self) -> bool {
        match self {
            Self::HostNic | Self::DciEgress => false,
            Self::BusiestLink | Self::MinCut => true,
        }
    }
}

/// Distribution of the gaps between a source's flows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent, exponentially distributed gaps.
    #[default]
    Poisson,
    /// Equal gaps; only the start of a source's first flow is random.
    Even,
}

/// One flow listed in the scenario.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct FlowSpec {
    pub from: String,
    pub to: String,
    pub size: Bytes,
    pub start: Nanos,
}

/// Policy to run, with the parameters that the scenario sets.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub enum PolicySpec {
    /// UCMP: 5-tuple hash over the candidates with minimum uniform cost; without flow ageing, over the candidates with
    /// minimum delay.
    Ucmp(Settings),
    /// Centralised traffic engineering.
    Te(Settings),
    /// Policy with trained weights.
    Trained(TrainedSpec),
    /// Long-haul cost-aware multi-path routing.
    Lcmp(Settings),
    /// User-defined policy that is compiled into this program.
    Own(OwnSpec),
    /// User-defined policy that is an eBPF program for switches.
    Ebpf(EbpfSpec),
    /// 5-tuple hash over buckets that depend only on the paths.
    #[serde(untagged, serialize_with = "as_name")]
    Buckets(&'static BucketPolicy),
}

/// Serialises a policy that only assigns hash buckets as its name.
fn as_name<S: Serializer>(policy: &BucketPolicy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(policy.name)
}

impl PolicySpec {
    /// Returns the policy's name in records and plots, which is unique within a scenario.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Buckets(policy) => policy.name,
            Self::Ucmp(settings) => settings.label.as_deref().unwrap_or("ucmp"),
            Self::Te(settings) => settings.label.as_deref().unwrap_or("te"),
            Self::Trained(spec) => {
                let name = redte::name(spec.trainer);
                spec.label.as_deref().unwrap_or(name)
            }
            Self::Lcmp(settings) => settings.label.as_deref().unwrap_or("lcmp"),
            Self::Own(spec) => spec.label.as_deref().unwrap_or(&spec.name),
            Self::Ebpf(spec) => spec.name(),
        }
    }
}

/// Policy with trained weights.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct TrainedSpec {
    /// Trainer that must have made the weights.
    pub trainer: Trainer,
    pub weights: WeightSource,
    pub label: Option<String>,
}

/// Origin of a policy's weights.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum WeightSource {
    /// The program's own weights for the scenario's inter-DC network.
    Program,
    /// Path of a weight file as written, relative to the scenario.
    File(String),
    /// Training before the first run.
    #[serde(serialize_with = "as_train")]
    Trained(TrainMode),
}

/// Kind of training before the first run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainMode {
    /// The trainer's default number of steps, on the scenario's workloads and with its seed.
    Auto,
}

/// Serialises a training under its key.
fn as_train<S: Serializer>(mode: &TrainMode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("train", mode)])
}

impl TrainedSpec {
    /// Returns the name of the policy's weights among the scenario's [`Files`](crate::Files); `None` for the program's
    /// own weights. Weights that are trained before the run have the name `trained:POLICY`, although the scenario names
    /// no such file.
    #[must_use]
    pub fn file(&self) -> Option<Cow<'_, str>> {
        match &self.weights {
            WeightSource::Program => None,
            WeightSource::File(path) => Some(path.into()),
            WeightSource::Trained(TrainMode::Auto) => {
                Some(format!("trained:{}", redte::name(self.trainer)).into())
            }
        }
    }
}

/// User-defined policy that is compiled into this program: its name in the program, and its label in records.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct OwnSpec {
    pub name: String,
    pub label: Option<String>,
}

/// User-defined policy that is an eBPF program for switches.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EbpfSpec {
    /// Path of the eBPF object file as written, relative to the scenario.
    pub object: String,
}

impl EbpfSpec {
    /// Returns the policy's label, the file's name up to the first dot: `two-choice` for `own/two-choice.bpf.o`.
    #[must_use]
    pub fn name(&self) -> &str {
        let file = self.object.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default()
    }
}

/// Number of runs per policy in each engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Repetitions {
    /// Number of repetitions in the lab, and in `sim --scaled`, which simulates the lab's plan.
    pub lab: u32,
    /// Number of repetitions in `sim` without `--scaled`.
    pub sim: u32,
}

impl Repetitions {
    /// Returns the same number of repetitions, `count`, for both engines.
    #[must_use]
    pub const fn both(count: u32) -> Self {
        Self {
            lab: count,
            sim: count,
        }
    }
}

/// Scale factors from the paper's quantities to emulated quantities: rates × `rate`, times × `time`, sizes × both.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum ScaleSpec {
    /// Factors that are chosen to fit the capacity of the machine or guest that runs the lab.
    Auto,
    /// Factors that the scenario sets.
    Fixed {
        /// Emulated rate ÷ paper rate.
        rate: Ratio,
        /// Emulated time ÷ paper time.
        time: Ratio,
    },
}

/// Traffic generator and QP settings.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Generator {
    pub tool: Tool,
    pub mtu: u32,
    pub traffic_class: u8,
}

/// Recording intervals and the window of measured flows, in paper time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Measure {
    /// Earliest scheduled start of a measured flow.
    pub from: Nanos,
    /// Scheduled start at and after which flows are not measured; `None` without an end.
    pub to: Option<Nanos>,
    pub queues: Nanos,
    pub links: Nanos,
    pub switches: Nanos,
}

/// Change of an inter-DC link at a given time after the earliest possible flow start.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    /// Position of the entry in the scenario's list `faults`; an entry for several links makes as many faults.
    #[serde(skip)]
    pub entry: usize,
    pub at: Nanos,
    /// Names of the link's two datacenters.
    pub link: [String; 2],
    /// Place of the link among the parallel links of its two datacenters.
    #[serde(skip_serializing_if = "Twin::is_first")]
    pub twin: Twin,
    pub change: FaultSpec,
}

/// Link that faults change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct FaultyLink {
    /// Names of the link's two datacenters.
    pub between: [String; 2],
    /// Place of the link among the parallel links of its two datacenters.
    #[serde(skip_serializing_if = "Twin::is_first")]
    pub twin: Twin,
}

/// Names of a link's two datacenters, in alphabetical order, and its place among parallel links: equal for both orders in
/// which a scenario can name the datacenters.
pub type LinkKey<'a> = ([&'a str; 2], Twin);

impl Fault {
    #[must_use]
    pub fn key(&self) -> LinkKey<'_> {
        (sorted(&self.link), self.twin)
    }

    /// Returns the name by which a scenario can call the link.
    #[must_use]
    pub fn link_name(&self) -> String {
        link_name(&self.link, self.twin)
    }
}

impl FaultyLink {
    #[must_use]
    pub fn key(&self) -> LinkKey<'_> {
        (sorted(&self.between), self.twin)
    }

    /// Returns the name by which a scenario can call the link.
    #[must_use]
    pub fn name(&self) -> String {
        link_name(&self.between, self.twin)
    }
}

fn sorted(between: &[String; 2]) -> [&str; 2] {
    let mut ends = between.each_ref().map(String::as_str);
    ends.sort_unstable();
    ends
}

fn link_name([a, b]: &[String; 2], twin: Twin) -> String {
    format!("{a}-{b}{twin}")
}

impl Topology {
    /// Returns the inter-DC links in the form in which faults name them, in the order of the topology.
    #[must_use]
    pub fn named_links(&self) -> Vec<FaultyLink> {
        let mut counts: BTreeMap<[&str; 2], u32> = BTreeMap::new();
        let links = self.links.iter().map(|link| {
            let earlier = counts.entry(sorted(&link.between)).or_default();
            let twin = Twin(*earlier);
            *earlier += 1;
            FaultyLink {
                between: link.between.clone(),
                twin,
            }
        });
        links.collect()
    }
}

/// Time span in which a datacenter's DCI switch has no agent, counted from the earliest possible flow start.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct AgentCrash {
    /// Position of the entry with the crash in the scenario's list `faults`.
    #[serde(skip)]
    pub entry: usize,
    /// Name of the datacenter.
    pub dc: String,
    /// Time of the crash.
    pub at: Nanos,
    /// Time at which the agent starts again, later than the crash; `None` if it stays down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Nanos>,
}

/// Cuts and repairs of groups of links at random times while flows start, in paper time.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RandomFaults {
    /// Position of the entry in the scenario's list `faults`.
    #[serde(skip)]
    pub entry: usize,
    /// Mean time from the start, or from a repair, to the next cut of a group.
    pub mtbf: Nanos,
    /// Mean time from the cut of a group to its repair.
    pub mttr: Nanos,
    /// Links that are cut and restored together.
    pub groups: Vec<Vec<FaultyLink>>,
    /// True if cuts that would separate two datacenters are not made.
    pub keep_connected: bool,
    /// Seed of the times; `None` for the seed of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Kind of link change.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum FaultSpec {
    /// The link is cut.
    Down,
    /// The link is restored.
    Up,
    /// One parameter of the link gets a new value.
    Set {
        /// Name of the parameter, such as `rate`.
        parameter: &'static str,
        /// New value, at the paper's scale (before scaling for emulation).
        value: Value,
    },
}

/// Contents of the files to which a scenario refers, by path as written in the scenario.
pub type Files = BTreeMap<String, String>;
