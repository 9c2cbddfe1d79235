//! The plan: everything that is decided before time starts.
//!
//! Tables are vectors indexed by the ids of [`lab_units::ids`]; their order is part of the plan.
//! Where paper and emulated values differ, both are there: `paper` is what the scenario says, `emu`
//! what an engine makes true. Everything else is emulated unless its name says otherwise.

use std::net::Ipv4Addr;

use lab_parameters::{LcmpConfig, TeConfig, UcmpConfig};
pub use lab_units::Tool;
use lab_units::{
    BitsPerSec, Bytes, DcId, FlowId, LinkChange, LinkId, Mac, Nanos, NodeId, PortId, Ratio,
};
use serde::{Deserialize, Serialize};

use crate::{frame, transport::TransportPlan};

/// Version of this structure; a reader of another version refuses.
pub const PLAN_FORMAT: u32 = 1;

/// Everything that is decided before time starts.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// The scenario's name.
    pub name: String,
    /// The scenario's description.
    pub description: String,
    /// SHA-256 of the scenario's text and of every file it names, in hex.
    pub scenario_hash: String,
    /// Seed of everything sampled.
    pub seed: u64,
    /// Which of the address blocks, table numbers and interface prefixes of this machine the lab
    /// uses, so that labs can stand side by side; see [`crate::address`].
    pub slot: u8,
    /// Emulated ÷ paper.
    pub scale: Scale,
    /// Datacenters.
    pub dcs: Vec<Dc>,
    /// DCI switches, spines, leaves and hosts.
    pub nodes: Vec<Node>,
    /// Links; ports are their ends.
    pub links: Vec<Link>,
    /// Ports, two for each link: [`LinkId::port_a`] and [`LinkId::port_b`].
    pub ports: Vec<Port>,
    /// One for each DCI switch, in the order of `dcs`.
    pub switches: Vec<Switch>,
    /// The runs: each policy, in the order of the scenario.
    pub policies: Vec<PolicyRun>,
    /// How often each policy runs; each repetition has its own flows.
    pub repetitions: u32,
    /// The flow schedule of all repetitions, by repetition, then start, then id.
    pub flows: Vec<Flow>,
    /// How QPs are set.
    pub rdma: Rdma,
    /// Transport and buffers in the simulator.
    pub transport: TransportPlan,
    /// How often things are recorded.
    pub measure: MeasurePlan,
    /// Switches' tables older than this are not decided by, emulated.
    pub max_table_age_ns: Nanos,
    /// Link changes while flows run, by time.
    pub faults: Vec<FaultPlan>,
    /// What the plan costs to run.
    pub estimate: Estimate,
    /// What a reader should know before trusting results.
    pub warnings: Vec<Warning>,
}

/// Emulated ÷ paper: rates by `rate`, times by `time`, sizes by `size = rate · time`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Of rates.
    pub rate: Ratio,
    /// Of times.
    pub time: Ratio,
    /// Of sizes.
    pub size: Ratio,
}

/// A datacenter.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Dc {
    /// Its name.
    pub name: String,
    /// Its DCI switch.
    pub dci: NodeId,
    /// Its hosts.
    pub hosts: Vec<NodeId>,
    /// The prefix that holds all its hosts.
    pub prefix: Prefix,
    /// Its DCI switch runs no agent: plain kernel ECMP.
    pub legacy: bool,
}

/// An IPv4 prefix.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Prefix {
    /// The first address.
    pub addr: Ipv4Addr,
    /// Number of leading bits.
    pub len: u8,
}

/// What a node is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The switch at a datacenter's edge, where policies act.
    DciSwitch,
    /// Upper tier of the fabric.
    Spine,
    /// Lower tier of the fabric.
    Leaf,
    /// An RDMA host with one NIC.
    Host,
}

/// A node of the lab.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// `dc1` for a DCI switch, `dc1/s1`, `dc1/l1`, `dc1/h1` behind it.
    pub name: String,
    /// The name where `/` cannot stand: `dc1`, `dc1-s1`, `dc1-l1`, `dc1-h1`.
    pub short: String,
    /// What it is.
    pub role: Role,
    /// Where it is.
    pub dc: DcId,
    /// A host's NIC address, any other node's loopback address.
    pub addr: Ipv4Addr,
    /// Its ports, in the order of their links.
    pub ports: Vec<PortId>,
    /// Kernel routes: every destination outside the node, with all equal-hop next hops.
    pub routes: Vec<Route>,
}

/// A kernel route of a node.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// A DC's prefix, a host's or switch's /32, or everything: a host's default route.
    pub to: Prefix,
    /// The ports to take; the kernel hashes over them.
    pub via: Vec<PortId>,
}

/// What kind of link.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Between two DCI switches: rate and queue at the switch, delay on the fiber.
    InterDc,
    /// Between two switches of one fabric.
    Fabric,
    /// Between a host and its switch; the host is at end `b`.
    Host,
}

/// A full-duplex link, alike in both directions.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// `dc1-dc2`, `dc1-dc1/h1`.
    pub name: String,
    /// What kind.
    pub kind: LinkKind,
    /// The node at end `a`.
    pub a: NodeId,
    /// The node at end `b`.
    pub b: NodeId,
    /// As the scenario has it.
    pub paper: WirePlan,
    /// As an engine makes it.
    pub emu: WirePlan,
}

impl Link {
    /// Packets that netem holds at the end of a node of `role`: a host waits for its NIC and never
    /// drops, so the limit is above all QPs' windows together.
    #[must_use]
    pub const fn netem_packets(&self, role: Role) -> u32 {
        match role {
            Role::Host => HOST_QUEUE_PACKETS,
            Role::DciSwitch | Role::Spine | Role::Leaf => self.emu.delay_line_packets,
        }
    }

    /// Bytes that the egress queue holds at the end of a node of `role`, emulated.
    #[must_use]
    pub const fn queue_bytes(&self, role: Role) -> Bytes {
        match role {
            Role::Host => HOST_QUEUE_BYTES,
            Role::DciSwitch | Role::Spine | Role::Leaf => self.emu.buffer_bytes,
        }
    }
}

const HOST_QUEUE_PACKETS: u32 = 1_000_000;
const HOST_QUEUE_BYTES: Bytes = Bytes::new(1 << 30);

/// What a link is like.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct WirePlan {
    /// Rate of each direction.
    pub rate_bps: BitsPerSec,
    /// One-way propagation delay.
    pub delay_ns: Nanos,
    /// Egress queue at each end.
    pub buffer_bytes: Bytes,
    /// Packets that netem holds at a switch's or fiber's end: [`frame::netem_packets`].
    pub delay_line_packets: u32,
    /// Share of packets lost at random.
    pub loss: Ratio,
    /// ECN marking.
    pub ecn: Option<EcnPlan>,
}

/// RED-style ECN marking by queue length.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct EcnPlan {
    /// No marks below.
    pub k_min: Bytes,
    /// All packets are marked above.
    pub k_max: Bytes,
    /// Marking probability at `k_max`.
    pub p_max: Ratio,
}

/// One end of a link.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// The node it is on.
    pub node: NodeId,
    /// Interface name, at most 15 characters, unique on the machine among labs of other slots.
    pub interface: String,
    /// Hardware address, derived from slot and port id.
    pub mac: Mac,
    /// This end's address on the link, for routes and traceroute; a host's is the host's own.
    pub addr: Ipv4Addr,
}

/// A DCI switch's routing state, the same for every policy.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// The node.
    pub node: NodeId,
    /// Seed of its flow hash.
    pub hash_seed: u32,
    /// Every other DC that has hosts, in the order of ids.
    pub destinations: Vec<Destination>,
}

/// The ways from one DCI switch to one DC.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    /// Where to.
    pub dc: DcId,
    /// Links between DCI switches on the way.
    pub hops: u32,
    /// Equal-hop next hops, by increasing one-way delay, then port.
    pub candidates: Vec<Candidate>,
}

/// One next hop towards a DC, with the attributes of the best path behind it: of all equal-hop
/// paths through it the one of least delay, among those the one of most capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The egress port.
    pub port: PortId,
    /// The DC at the other end.
    pub next_dc: DcId,
    /// End-to-end one-way delay between the DCI switches, in paper time.
    pub paper_delay_ns: Nanos,
    /// Least link capacity on the way, in paper units.
    pub paper_bottleneck_bps: BitsPerSec,
    /// Delay of the first link alone, in paper time (the artifact's notion).
    pub paper_first_link_delay_ns: Nanos,
    /// Capacity of the first link alone, in paper units (the artifact's notion).
    pub paper_first_link_bps: BitsPerSec,
}

/// One policy's run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PolicyRun {
    /// Name in records and plots.
    pub label: String,
    /// The policy and its parameters. Times in it are emulated; `max_delay_ns` and
    /// `max_capacity_bps`, which only path scores depend on, are paper units.
    pub policy: PolicyPlan,
    /// One for each switch, one row for each destination, one score for each candidate, in the
    /// order of [`Plan::switches`]; empty where the policy has no path scores.
    pub path_scores: Vec<Vec<Vec<u8>>>,
    /// Hash buckets of the candidates, in the same order; empty where the policy gives each one.
    pub buckets: Vec<Vec<Vec<u16>>>,
}

impl PolicyRun {
    /// Hash buckets of a candidate; the numbers are positions in [`Plan::switches`],
    /// [`Switch::destinations`] and [`Destination::candidates`].
    #[must_use]
    pub fn buckets_of(&self, switch: usize, destination: usize, candidate: usize) -> u16 {
        let row = self.buckets.get(switch).map(|switch| &switch[destination]);
        row.map_or(1, |row| row[candidate])
    }
}

/// A policy and its parameters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyPlan {
    /// 5-tuple hash over all candidates.
    Ecmp,
    /// 5-tuple hash over the candidates in proportion to their ways' capacity.
    Wcmp,
    /// 5-tuple hash over the candidates of least uniform cost.
    Ucmp(UcmpConfig),
    /// 5-tuple hash over the candidates of the widest first link.
    UcmpArtifact,
    /// Centralised traffic engineering.
    Te(TeConfig),
    /// LCMP, parameters resolved.
    Lcmp(LcmpConfig),
    /// The policy of the user's own of this name.
    Own(String),
    /// A switch program of the user's own.
    Ebpf(EbpfPlan),
}

/// A switch program of the user's own.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct EbpfPlan {
    /// The path of its object as written, relative to the scenario.
    pub object: String,
    /// What C_path and C_cong in its tables are computed with.
    pub parameters: LcmpConfig,
}

impl PolicyPlan {
    /// LCMP's parameters, if it is LCMP or a switch program that is given LCMP's tables.
    #[must_use]
    pub const fn lcmp(&self) -> Option<&LcmpConfig> {
        match self {
            Self::Lcmp(config) => Some(config),
            Self::Ebpf(plan) => Some(&plan.parameters),
            Self::Ecmp
            | Self::Wcmp
            | Self::Ucmp(_)
            | Self::UcmpArtifact
            | Self::Te(_)
            | Self::Own(_) => None,
        }
    }

    /// What of the policy the kernel engine cannot do, if there is something.
    #[must_use]
    pub const fn not_in_kernel(&self) -> Option<&'static str> {
        match self {
            Self::Own(_) => Some("a policy that is compiled into this program runs in no switch"),
            Self::Ecmp
            | Self::Wcmp
            | Self::Ucmp(_)
            | Self::UcmpArtifact
            | Self::Te(_)
            | Self::Lcmp(_)
            | Self::Ebpf(_) => None,
        }
    }
}

/// One RDMA flow.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Position in [`Plan::flows`].
    pub id: FlowId,
    /// The repetition it belongs to, from 0.
    pub repetition: u32,
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Size in paper units.
    pub paper_size_bytes: Bytes,
    /// Start in paper time, from the repetition's start.
    pub paper_start_ns: Nanos,
    /// Bytes actually moved: `messages · message_bytes`, the scaled size rounded to whole messages.
    pub size_bytes: Bytes,
    /// Messages the flow is sent as.
    pub messages: u32,
    /// Bytes of each message.
    pub message_bytes: Bytes,
    /// Start from the repetition's start.
    pub start_ns: Nanos,
    /// Round trip of one full packet and its ACK on the path of least delay, nothing queued.
    pub base_rtt_ns: Nanos,
    /// FCT of this flow alone on the path of least delay.
    pub ideal_fct_ns: Nanos,
}

impl Flow {
    /// Number of packets that its messages are cut into.
    #[must_use]
    pub fn packets(&self, path_mtu: u32) -> u64 {
        u64::from(self.messages) * frame::packets(self.message_bytes, path_mtu)
    }

    /// Upper bound of its data's wire bytes.
    ///
    /// Headers are under a sixteenth of full packets of the smallest MTU; each message also has one
    /// packet that is not full.
    pub(crate) fn max_wire_bytes(&self) -> Bytes {
        let payload = self.size_bytes.get();
        let partial = u64::from(self.messages) * frame::data(0, frame::RETH);
        Bytes::new(payload.saturating_add(payload / 16).saturating_add(partial))
    }
}

/// How QPs are set.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rdma {
    /// The perftest program.
    pub tool: Tool,
    /// RoCE path MTU in bytes.
    pub path_mtu: u32,
    /// MTU of every interface: the path MTU and room for the RoCEv2 headers.
    pub interface_mtu: u32,
    /// Traffic class of the QPs.
    pub traffic_class: u8,
    /// QP transport time-out exponent `u`: 4.096 µs · 2^u, no less than the scenario's
    /// `retransmit_timeout` or, if that is not said, above twice the longest round trip with full
    /// queues, so that no retransmission is spurious.
    pub qp_timeout: u8,
    /// When a flow that has not finished is given up, from its start.
    pub flow_deadline_ns: Nanos,
}

/// How often things are recorded, emulated.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// Egress queues of DCI switches.
    pub queues_ns: Nanos,
    /// Bytes carried by inter-DC links.
    pub links_ns: Nanos,
    /// DCI switches as a whole.
    pub switches_ns: Nanos,
}

/// A link change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FaultPlan {
    /// When, from the repetition's start, emulated.
    pub at_ns: Nanos,
    /// When, in paper time.
    pub paper_at_ns: Nanos,
    /// Which link.
    pub link: LinkId,
    /// What changes, emulated.
    pub change: FaultChange,
    /// Candidates whose order, path or buckets change with it, under every policy whose tables are
    /// made of what links are provisioned with.
    pub path_cost_updates: Vec<PathCostUpdate>,
}

/// The candidates of one destination at one switch, once its paths are provisioned otherwise.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathCostUpdate {
    /// Position in [`Plan::policies`].
    pub policy: usize,
    /// Position in [`Plan::switches`].
    pub switch: usize,
    /// Position in [`Switch::destinations`].
    pub destination: usize,
    /// All its candidates, by increasing one-way delay as it is now, then port.
    pub candidates: Vec<ScoredCandidate>,
}

/// A next hop, the path behind it and what a policy makes of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ScoredCandidate {
    /// The next hop and the path behind it.
    pub candidate: Candidate,
    /// C_path; 0 where the policy has no path scores.
    pub c_path: u8,
    /// Hash buckets.
    pub buckets: u16,
}

/// What a fault changes, emulated.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultChange {
    /// The link is cut.
    Down,
    /// The link is back.
    Up,
    /// New rate and delay line.
    Wire(WirePlan),
}

impl FaultChange {
    /// Kind of the change, as records name it.
    #[must_use]
    pub const fn kind(self) -> LinkChange {
        match self {
            Self::Down => LinkChange::Down,
            Self::Up => LinkChange::Up,
            Self::Wire(_) => LinkChange::Changed,
        }
    }
}

/// What a run of the plan costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Data packets of one policy's run, all repetitions.
    pub data_packets: u64,
    /// Data and ACK packets times the links they cross.
    pub packet_hops: u64,
    /// CPU time of one policy's run on the reference guest (10^9 instructions a second).
    pub cpu_ns: Nanos,
    /// From a repetition's start to the last flow's ideal end.
    pub span_ns: Nanos,
    /// Memory for queues, delay lines and processes.
    pub memory_bytes: Bytes,
    /// Most bytes per second offered to the emulated network, as a share of what the reference
    /// guest forwards, in percent.
    pub forwarding_percent: u32,
    /// Share of flows whose emulated size is under one packet, in percent.
    pub sub_packet_flows_percent: u32,
    /// Longest serialisation of one full packet against the shortest inter-DC delay, in percent.
    pub packet_vs_delay_percent: u32,
}

/// Something a reader should know before trusting results.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name: `rxe-window`, `delay-score-ties`, …
    pub code: String,
    /// The sentence, with numbers and a hint.
    pub text: String,
}
