//! Types of the plan.
//!
//! Tables are vectors indexed by the ids of [`lab_units::ids`]; their order is part of the plan. Values named `paper`
//! are the scenario's, values named `emu` are scaled for an engine. Every other quantity is emulated unless its name
//! says otherwise.

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

/// Result of resolution: everything that is decided before a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the plan format: [`PLAN_FORMAT`].
    pub format: u32,
    pub name: String,
    pub description: String,
    /// SHA-256 over the scenario's text and the texts of all files that it names, in hexadecimal.
    pub scenario_hash: String,
    /// Seed of all random samples.
    pub seed: u64,
    /// Slot of the machine. It selects the address block, table numbers and interface prefix that keep labs apart; see
    /// [`crate::address`]. 0 in records; a lab runs the plan [in its own slot](Plan::in_slot).
    pub slot: u8,
    /// Factors from paper units to emulated quantities.
    pub scale: Scale,
    /// Rationale of the scale, if it is automatic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scale: Option<AutoScale>,
    pub dcs: Vec<Dc>,
    /// DCI switches, spines, leaves and hosts.
    pub nodes: Vec<Node>,
    /// Links; ports are their ends.
    pub links: Vec<Link>,
    /// Ports, two for each link: [`LinkId::port_a`] and [`LinkId::port_b`].
    pub ports: Vec<Port>,
    /// Routing state of each DCI switch, in the order of `dcs`.
    pub switches: Vec<Switch>,
    /// Policies to run, in the order of the scenario.
    pub policies: Vec<PolicyRun>,
    /// Number of runs per policy; each repetition has its own flows.
    pub repetitions: u32,
    /// The flow schedule of all repetitions, by repetition, then start, then id.
    pub flows: Vec<Flow>,
    /// Load that the workloads request and the flows offer.
    pub load: LoadPlan,
    pub rdma: Rdma,
    /// Transport and buffers in the simulator.
    pub transport: TransportPlan,
    /// Recording intervals.
    pub measure: MeasurePlan,
    /// Age after which a switch's tables are stale, emulated.
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
    pub rate: Ratio,
    pub time: Ratio,
    pub size: Ratio,
}

/// A datacenter.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Dc {
    pub name: String,
    pub dci: NodeId,
    pub hosts: Vec<NodeId>,
    /// Prefix that contains all hosts of the datacenter.
    pub prefix: Prefix,
    /// True if the DCI switch of the datacenter runs no agent and forwards by kernel ECMP.
    pub legacy: bool,
}

/// An IPv4 prefix.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Prefix {
    /// First address of the prefix.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits.
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
    /// Switch at the edge of a datacenter, where policies act.
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
    /// Name: `dc1` for a DCI switch; `dc1/s1`, `dc1/l1`, `dc1/h1` for a spine, leaf and host behind it.
    pub name: String,
    /// Name without `/`: `dc1`, `dc1-s1`, `dc1-l1`, `dc1-h1`.
    pub short: String,
    pub role: Role,
    pub dc: DcId,
    /// Address of a host's NIC; loopback address of any other node.
    pub addr: Ipv4Addr,
    /// Additional addresses of a host's NIC, for flows whose five-tuple would otherwise equal an earlier flow's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_addrs: Vec<Ipv4Addr>,
    /// Ports of the node, in the order of their links.
    pub ports: Vec<PortId>,
    /// Kernel routes: every destination outside the node, with all equal-hop next hops.
    pub routes: Vec<Route>,
}

impl Node {
    /// Returns all addresses: the node's own, then a host's additional ones.
    pub fn addrs(&self) -> impl Iterator<Item = Ipv4Addr> {
        std::iter::once(self.addr).chain(self.further_addrs.iter().copied())
    }
}

/// A kernel route of a node.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Destination: a DC's prefix, a host's or switch's /32, or a host's default route.
    pub to: Prefix,
    /// Egress ports over which the kernel hashes flows.
    pub via: Vec<PortId>,
}

/// Kind of link.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Link between two DCI switches: rate and queue are at the switch, the delay is on the fiber.
    InterDc,
    /// Link between two switches of one datacenter's fabric.
    Fabric,
    /// Link between a host and its switch; the host is at end `b`.
    Host,
}

/// Full-duplex link with the same parameters in both directions.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name: `dc1-dc2`, `dc1-dc1/h1`.
    pub name: String,
    pub kind: LinkKind,
    /// The node at end `a`.
    pub a: NodeId,
    /// The node at end `b`.
    pub b: NodeId,
    /// Parameters in paper units.
    pub paper: WirePlan,
    /// Emulated parameters.
    pub emu: WirePlan,
}

impl Link {
    /// Returns the packet limit of netem at a node with `role` on a link inside a DC, in frames of `frame` bytes. A
    /// host waits for its NIC and never drops, so its limit exceeds the sum of all QPs' windows.
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

    /// Returns the bytes that the egress queue holds at a node with `role`, emulated.
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
    /// Node that has the port.
    pub node: NodeId,
    /// Interface name: at most 15 characters and different from the names in other slots of the machine.
    pub interface: String,
    /// MAC address, derived from the slot and the port id.
    pub mac: Mac,
    /// Address of this link end, for routes and traceroute; on a host, the host's own address.
    pub addr: Ipv4Addr,
}

/// Routing state of a DCI switch, the same for every policy.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    pub node: NodeId,
    /// Seed of the switch's flow hash.
    pub hash_seed: u32,
    /// Paths to every other DC that has hosts, in the order of ids.
    pub destinations: Vec<Destination>,
}

impl Switch {
    /// Returns the paths to a datacenter; `None` for a datacenter without hosts and for the switch's own.
    #[must_use]
    pub fn towards(&self, dc: DcId) -> Option<&Destination> {
        self.destinations.iter().find(|row| row.dc == dc)
    }
}

/// Paths from one DCI switch to one DC.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    pub dc: DcId,
    /// Number of links between DCI switches on each path.
    pub hops: u32,
    /// Equal-hop next hops, by increasing one-way delay, then port.
    pub candidates: Vec<Candidate>,
}

/// Next hop towards a DC, with the attributes of the best path through it: the path with the least delay among all
/// equal-hop paths, then with the most capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Egress port towards the next hop.
    pub port: PortId,
    /// Datacenter of the next hop.
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

/// Run of one policy.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PolicyRun {
    /// Name of the policy in records and plots.
    pub label: String,
    /// Policy with its parameters. Times are emulated; `max_delay_ns` and `max_capacity_bps`, which affect only path
    /// scores, are in paper units.
    pub policy: PolicyPlan,
    /// C_path by switch, destination and candidate, in the order of [`Plan::switches`]; empty under a policy without
    /// path scores.
    pub path_scores: Vec<Vec<Vec<u8>>>,
    /// Hash buckets by switch, destination and candidate; empty under a policy that gives each candidate one bucket.
    pub buckets: Vec<Vec<Vec<u16>>>,
}

impl Candidate {
    /// Returns the path through the next hop; `hops` is the path's number of links.
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
    /// Returns the number of hash buckets of a candidate. The arguments are positions in [`Plan::switches`],
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
    /// Repetition of the flow, from 0.
    pub repetition: u32,
    pub src: NodeId,
    pub dst: NodeId,
    /// Size in paper units.
    pub paper_size_bytes: Bytes,
    /// Start in paper time, from the repetition's start.
    pub paper_start_ns: Nanos,
    /// Bytes that the engine transfers: `messages · message_bytes`, the scaled size rounded to whole messages.
    pub size_bytes: Bytes,
    /// Number of messages of the flow.
    pub messages: u32,
    /// Bytes of each message.
    pub message_bytes: Bytes,
    /// Start, emulated, from the repetition's start.
    pub start_ns: Nanos,
    /// Round-trip time of one full packet and its ACK on the path with the least delay and empty queues.
    pub base_rtt_ns: Nanos,
    /// FCT of this flow alone on the fastest path that the tables allow.
    pub ideal_fct_ns: Nanos,
    /// True if the flow is from a list or a flow file and therefore not part of a workload's load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_listed: bool,
}

impl Flow {
    /// Returns the number of packets of the flow's messages.
    #[must_use]
    pub fn packets(&self, path_mtu: u32) -> u64 {
        u64::from(self.messages) * frame::packets(self.message_bytes, path_mtu)
    }

    /// Returns an upper bound of the wire bytes of the flow's data.
    ///
    /// In full packets of the smallest MTU, headers take less than a sixteenth; each message also has one packet that
    /// is not full.
    pub(crate) fn max_wire_bytes(&self) -> Bytes {
        let payload = self.size_bytes.get();
        let partial = u64::from(self.messages) * frame::data(0, frame::RETH);
        Bytes::new(payload.saturating_add(payload / 16).saturating_add(partial))
    }
}

/// QP settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rdma {
    /// Program that generates the flows.
    pub tool: Tool,
    /// RoCE path MTU in bytes.
    pub path_mtu: u32,
    /// MTU of every interface: the path MTU plus room for the RoCEv2 headers.
    pub interface_mtu: u32,
    pub traffic_class: u8,
    /// Exponent `u` of the QPs' transport time-out 4.096 µs · 2^u. The time-out is at least the scenario's
    /// `retransmit_timeout`; if that is not set, it is over twice the longest round trip with full queues, so that no
    /// retransmission is spurious.
    pub qp_timeout: u8,
    /// Time from a flow's start after which the flow is aborted if unfinished.
    pub flow_deadline_ns: Nanos,
}

/// Recording intervals, emulated, and the window of measured flows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// Recording interval of egress queues of DCI switches.
    pub queues_ns: Nanos,
    /// Recording interval of bytes carried by inter-DC links.
    pub links_ns: Nanos,
    /// Recording interval of DCI switch counters.
    pub switches_ns: Nanos,
    /// Window of measured flows; `None` if all flows are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredWindow>,
}

/// Window of scheduled starts; percentiles and comparisons include only flows that start in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasuredWindow {
    /// Earliest start of a measured flow, in paper time.
    pub paper_from_ns: Nanos,
    /// Start from which flows are no longer measured, in paper time.
    pub paper_to_ns: Option<Nanos>,
}

impl MeasuredWindow {
    /// Returns the ids of the measured flows in `flows`, the flows of a plan: one range per repetition that has
    /// measured flows, because ids are ordered by repetition and start.
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

/// Link change while flows run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FaultPlan {
    /// Time of the change from the repetition's start, emulated.
    pub at_ns: Nanos,
    /// Time of the change from the repetition's start, in paper time.
    pub paper_at_ns: Nanos,
    pub link: LinkId,
    pub change: FaultChange,
    /// New candidate rows for every policy whose tables depend on the rates and delays of links.
    pub path_cost_updates: Vec<PathCostUpdate>,
}

/// Candidates for one destination at one switch after a link change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathCostUpdate {
    /// Position in [`Plan::policies`].
    pub policy: usize,
    /// Position in [`Plan::switches`].
    pub switch: usize,
    /// Position in [`Switch::destinations`].
    pub destination: usize,
    /// All candidates for the destination, by increasing one-way delay after the change, then port.
    pub candidates: Vec<ScoredCandidate>,
}

/// Next hop, the best path through it, and the path's cost under a policy.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ScoredCandidate {
    /// Next hop with the attributes of its best path.
    pub candidate: Candidate,
    /// C_path; 0 if the policy has no path scores.
    pub c_path: u8,
    /// Number of hash buckets.
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
    /// The link gets a new rate and delay line.
    Wire(WirePlan),
}

impl FaultChange {
    /// Returns the kind of the change for records.
    #[must_use]
    pub const fn kind(self) -> LinkChange {
        match self {
            Self::Down => LinkChange::Down,
            Self::Up => LinkChange::Up,
            Self::Wire(_) => LinkChange::Changed,
        }
    }
}

/// Estimated cost of the plan's run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Data packets of one policy's run over all repetitions.
    pub data_packets: u64,
    /// Data and ACK packets, each multiplied by the number of links that it crosses.
    pub packet_hops: u64,
    /// CPU time of one policy's run on the reference guest (10^9 instructions per second).
    pub cpu_ns: Nanos,
    /// Time from a repetition's start to the ideal end of its last flow.
    pub span_ns: Nanos,
    /// Memory for queues, delay lines and processes.
    pub memory_bytes: Bytes,
    /// Maximum share of the reference guest's CPU that packets and samples take within one second, in percent.
    pub forwarding_percent: u32,
    /// Share of flows whose emulated size is under one packet, in percent.
    pub sub_packet_flows_percent: u32,
    /// Longest serialisation time of a full packet relative to the shortest inter-DC delay, in percent.
    pub packet_vs_delay_percent: u32,
}

/// Fact to know before trusting results.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name: `rxe-window`, `delay-score-ties`, …
    pub code: String,
    /// Warning text, with numbers and a hint.
    pub text: String,
}
