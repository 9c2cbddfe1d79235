//! Types of the plan.
//!
//! Tables are vectors indexed by the ids of [`lab_units::ids`]; their order is part of the plan.
//! `paper` values are the scenario's, `emu` values are scaled for an engine. Every other quantity is
//! emulated unless its name says otherwise.

use std::{net::Ipv4Addr, ops::Range};

pub use lab_parameters::{EcnConfig, LinkConfig};
use lab_policy::Path;
use lab_units::{
    BitsPerSec, Bytes, DcId, FlowId, LinkChange, LinkId, Mac, Nanos, NodeId, PortId, Ratio,
};
pub use lab_units::{PLAN_FORMAT, Tool};
use serde::{Deserialize, Serialize};

use crate::{frame, transport::TransportPlan};

mod auto_scale;
pub(crate) mod load;
mod policy;
mod wire;

pub use auto_scale::AutoScale;
pub use load::{Concurrency, ListedFlows, LoadPlan, SenderLoad};
pub use policy::{EbpfPlan, PolicyPlan};
pub use wire::WirePlan;

/// Everything that is decided before a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// The scenario's name.
    pub name: String,
    /// The scenario's description.
    pub description: String,
    /// SHA-256 over the scenario's text and every file it names, in hex.
    pub scenario_hash: String,
    /// Seed of everything sampled.
    pub seed: u64,
    /// Slot of the machine: address block, table numbers and interface prefix, which keep labs apart;
    /// see [`crate::address`]. 0 in records; a lab takes the plan [in its own slot](Plan::in_slot).
    pub slot: u8,
    /// Factors from paper to emulated quantities.
    pub scale: Scale,
    /// Reasons of the scale, if it is automatic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scale: Option<AutoScale>,
    /// Datacenters.
    pub dcs: Vec<Dc>,
    /// DCI switches, spines, leaves and hosts.
    pub nodes: Vec<Node>,
    /// Links; ports are their ends.
    pub links: Vec<Link>,
    /// Ports, two for each link: [`LinkId::port_a`] and [`LinkId::port_b`].
    pub ports: Vec<Port>,
    /// Routing state of each DCI switch, in the order of `dcs`.
    pub switches: Vec<Switch>,
    /// Runs of each policy, in the order of the scenario.
    pub policies: Vec<PolicyRun>,
    /// Number of runs per policy; each repetition has its own flows.
    pub repetitions: u32,
    /// The flow schedule of all repetitions, by repetition, then start, then id.
    pub flows: Vec<Flow>,
    /// Load that the workloads ask for and the flows offer.
    pub load: LoadPlan,
    /// QP settings.
    pub rdma: Rdma,
    /// Transport and buffers in the simulator.
    pub transport: TransportPlan,
    /// Recording intervals.
    pub measure: MeasurePlan,
    /// Age from which a switch's tables are stale, emulated.
    pub max_table_age_ns: Nanos,
    /// Link changes while flows run, by time.
    pub faults: Vec<FaultPlan>,
    /// Cost of a run.
    pub estimate: Estimate,
    /// Facts to know before trusting results.
    pub warnings: Vec<Warning>,
}

impl Plan {
    /// Strips derived metadata (cost, warnings, scale rationale), so that plans that two program versions make from the
    /// same inputs compare equal.
    #[must_use]
    pub fn inputs(self) -> Self {
        Self {
            auto_scale: None,
            estimate: Estimate::default(),
            warnings: Vec::new(),
            ..self
        }
    }
}

/// Factors emulated ÷ paper: rates by `rate`, times by `time`, sizes by `size = rate · time`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Factor of rates.
    pub rate: Ratio,
    /// Factor of times.
    pub time: Ratio,
    /// Factor of sizes.
    pub size: Ratio,
}

/// A datacenter.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Dc {
    /// Name.
    pub name: String,
    /// DCI switch.
    pub dci: NodeId,
    /// Hosts.
    pub hosts: Vec<NodeId>,
    /// The prefix that holds all its hosts.
    pub prefix: Prefix,
    /// True if its DCI switch runs no agent: plain kernel ECMP.
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

impl Prefix {
    /// Returns true if the address is in the prefix.
    #[must_use]
    pub fn contains(self, addr: Ipv4Addr) -> bool {
        let host_bits = 32 - u32::from(self.len);
        let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
        self.addr.to_bits() & mask == addr.to_bits() & mask
    }
}

/// Role of a node.
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
    /// Name for contexts without `/`: `dc1`, `dc1-s1`, `dc1-l1`, `dc1-h1`.
    pub short: String,
    /// Role.
    pub role: Role,
    /// Datacenter.
    pub dc: DcId,
    /// A host's NIC address, any other node's loopback address.
    pub addr: Ipv4Addr,
    /// Further addresses of a host's NIC, for flows whose five-tuple would else be an earlier flow's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_addrs: Vec<Ipv4Addr>,
    /// Its ports, in the order of their links.
    pub ports: Vec<PortId>,
    /// Kernel routes: every destination outside the node, with all equal-hop next hops.
    pub routes: Vec<Route>,
}

impl Node {
    /// Returns all addresses: the node's own, then a host's further ones.
    pub fn addrs(&self) -> impl Iterator<Item = Ipv4Addr> {
        std::iter::once(self.addr).chain(self.further_addrs.iter().copied())
    }
}

/// A kernel route of a node.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Destination: a DC's prefix, a host's or switch's /32, or a host's default route.
    pub to: Prefix,
    /// Egress ports, which the kernel hashes over.
    pub via: Vec<PortId>,
}

/// Kind of link.
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
    /// Kind.
    pub kind: LinkKind,
    /// The node at end `a`.
    pub a: NodeId,
    /// The node at end `b`.
    pub b: NodeId,
    /// Link in paper units.
    pub paper: WirePlan,
    /// Link as emulated.
    pub emu: WirePlan,
}

impl Link {
    /// Packets that an intra-DC netem holds at a node with `role`, in frames with `frame` bytes: a host waits for its
    /// NIC and never drops, so its limit is above all QPs' windows together.
    #[must_use]
    pub fn queue_packets(&self, role: Role, frame: Bytes) -> u32 {
        let wire = &self.emu;
        match role {
            Role::Host => HOST_QUEUE_PACKETS,
            Role::DciSwitch | Role::Spine | Role::Leaf => {
                frame::queue_packets(wire.rate_bps, wire.delay_ns, wire.buffer_bytes, frame)
            }
        }
    }

    /// Bytes that the egress queue holds at a node with `role`, emulated.
    #[must_use]
    pub const fn queue_bytes(&self, role: Role) -> Bytes {
        match role {
            Role::Host => HOST_QUEUE_BYTES,
            Role::DciSwitch | Role::Spine | Role::Leaf => self.emu.parameters.buffer_bytes,
        }
    }
}

const HOST_QUEUE_PACKETS: u32 = 1_000_000;
const HOST_QUEUE_BYTES: Bytes = Bytes::new(1 << 30);

/// One end of a link.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Node of the port.
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

impl Switch {
    /// Returns the paths to a datacenter; `None` for one without hosts, and for the switch's own.
    #[must_use]
    pub fn towards(&self, dc: DcId) -> Option<&Destination> {
        self.destinations.iter().find(|row| row.dc == dc)
    }
}

/// Paths from one DCI switch to one DC.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    /// Destination datacenter.
    pub dc: DcId,
    /// Number of links between DCI switches.
    pub hops: u32,
    /// Equal-hop next hops, by increasing one-way delay, then port.
    pub candidates: Vec<Candidate>,
}

/// One next hop towards a DC, with the attributes of the best path behind it: the least delay among
/// all equal-hop paths through it, then the most capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The egress port.
    pub port: PortId,
    /// Datacenter at the port's other end.
    pub next_dc: DcId,
    /// End-to-end one-way delay between the DCI switches, in paper time.
    pub paper_delay_ns: Nanos,
    /// Smallest link capacity of the path, in paper units.
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
    /// C_path by switch, destination and candidate, in the order of [`Plan::switches`]; empty under a
    /// policy without path scores.
    pub path_scores: Vec<Vec<Vec<u8>>>,
    /// Hash buckets in the same order; empty under a policy that gives each candidate one.
    pub buckets: Vec<Vec<Vec<u16>>>,
}

impl Candidate {
    /// Returns the path behind the next hop, of `hops` links.
    #[must_use]
    pub const fn path(&self, hops: u32) -> Path {
        Path {
            delay: self.paper_delay_ns,
            capacity: self.paper_bottleneck_bps,
            link_rate: self.paper_first_link_bps,
            hops,
        }
    }
}

impl PolicyRun {
    /// Returns the hash buckets of a candidate; arguments are positions in [`Plan::switches`],
    /// [`Switch::destinations`] and [`Destination::candidates`].
    #[must_use]
    pub fn buckets_of(&self, switch: usize, destination: usize, candidate: usize) -> u16 {
        let row = self.buckets.get(switch).map(|switch| &switch[destination]);
        row.map_or(1, |row| row[candidate])
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
    /// Round trip of one full packet and its ACK on the path with the least delay, nothing queued.
    pub base_rtt_ns: Nanos,
    /// FCT of this flow alone on the fastest path in the tables.
    pub ideal_fct_ns: Nanos,
    /// True if the flow is from a list or a flow file, which a workload's load does not include.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_listed: bool,
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

/// QP settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rdma {
    /// Program that makes flows.
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
    /// Time from its start after which an unfinished flow is given up.
    pub flow_deadline_ns: Nanos,
}

/// Recording intervals, emulated, and the window of measured flows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// Egress queues of DCI switches.
    pub queues_ns: Nanos,
    /// Bytes carried by inter-DC links.
    pub links_ns: Nanos,
    /// Counters of DCI switches.
    pub switches_ns: Nanos,
    /// Window of measured flows; `None` if all are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredWindow>,
}

/// Window of scheduled starts; percentiles and comparisons include only flows that start in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasuredWindow {
    /// Earliest start of a measured flow, paper.
    pub paper_from_ns: Nanos,
    /// Start from which on flows are not measured, paper.
    pub paper_to_ns: Option<Nanos>,
}

impl MeasuredWindow {
    /// Returns the ids of the measured flows in `flows`, a plan's flows: one range per repetition that has measured
    /// flows, because ids are ordered by repetition and start.
    #[must_use]
    pub fn ids(&self, flows: &[Flow]) -> Vec<Range<u32>> {
        let is_in = |flow: &&Flow| {
            let start = flow.paper_start_ns;
            start >= self.paper_from_ns && self.paper_to_ns.is_none_or(|to| start < to)
        };
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for id in flows.iter().filter(is_in).map(|flow| flow.id.0) {
            match ranges.last_mut() {
                Some(range) if range.end == id => range.end += 1,
                _ => ranges.push(id..id + 1),
            }
        }
        ranges
    }
}

/// A link change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FaultPlan {
    /// Time from the repetition's start, emulated.
    pub at_ns: Nanos,
    /// Time from the repetition's start, paper.
    pub paper_at_ns: Nanos,
    /// Changed link.
    pub link: LinkId,
    /// Change, emulated.
    pub change: FaultChange,
    /// New candidate rows under every policy whose tables depend on links' rates and delays.
    pub path_cost_updates: Vec<PathCostUpdate>,
}

/// Candidates of one destination at one switch after a link change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathCostUpdate {
    /// Position in [`Plan::policies`].
    pub policy: usize,
    /// Position in [`Plan::switches`].
    pub switch: usize,
    /// Position in [`Switch::destinations`].
    pub destination: usize,
    /// All its candidates, by increasing one-way delay after the change, then port.
    pub candidates: Vec<ScoredCandidate>,
}

/// Next hop, the path behind it, and its cost under a policy.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ScoredCandidate {
    /// The next hop and the path behind it.
    pub candidate: Candidate,
    /// C_path; 0 where the policy has no path scores.
    pub c_path: u8,
    /// Hash buckets.
    pub buckets: u16,
}

/// Change of a link by a fault, emulated.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultChange {
    /// The link is cut.
    Down,
    /// The link is restored.
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

/// Cost of the plan's run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Data packets of one policy's run, all repetitions.
    pub data_packets: u64,
    /// Data and ACK packets times the links they cross.
    pub packet_hops: u64,
    /// CPU time of one policy's run on the reference guest (10^9 instructions a second).
    pub cpu_ns: Nanos,
    /// Time from a repetition's start to the last flow's ideal end.
    pub span_ns: Nanos,
    /// Memory for queues, delay lines and processes.
    pub memory_bytes: Bytes,
    /// Largest share of the reference guest that packets and samples take in one second, in percent.
    pub forwarding_percent: u32,
    /// Share of flows whose emulated size is under one packet, in percent.
    pub sub_packet_flows_percent: u32,
    /// Longest serialisation of one full packet against the shortest inter-DC delay, in percent.
    pub packet_vs_delay_percent: u32,
}

/// Fact to know before trusting results.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name: `rxe-window`, `delay-score-ties`, …
    pub code: String,
    /// The sentence, with numbers and a hint.
    pub text: String,
}
