//! Types of the plan.
//!
//! Tables are vectors indexed by the ids of [`lab_units::ids`]; their order is part of the plan. A quantity is
//! emulated, that is, scaled for an engine, unless its name contains `paper`.

use std::{collections::BTreeSet, net::Ipv4Addr, ops::Range};

pub use lab_parameters::{EcnConfig, LinkConfig};
use lab_policy::Path;
use lab_units::{
    BitsPerSec, Bytes, CandidateSet, DcId, FlowId, LinkChange, LinkId, Mac, Nanos, NodeId, PortId,
    Ratio, Twin,
};
pub use lab_units::{PLAN_FORMAT, Tool};
use serde::{Deserialize, Serialize};

use crate::{frame, transport::TransportPlan};

mod auto_scale;
pub(crate) mod load;
mod policy;
mod wire;

pub use auto_scale::AutoScale;
pub use load::{Arrivals, Concurrency, ListedFlows, LoadPlan, NetworkLoad, SenderLoad};
pub use policy::{EbpfPlan, PolicyPlan, TrainedPlan};
pub use wire::{WirePlan, link_words};

/// Result of resolution: everything that is decided before a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the plan format: [`PLAN_FORMAT`].
    pub format: u32,
    pub name: String,
    pub description: String,
    /// SHA-256 over the scenario's text and the texts of all files that it names, in hexadecimal.
    pub scenario_hash: String,
    /// Seed from which all random numbers of the plan are drawn.
    pub seed: u64,
    /// Lab slot on the machine. It selects the address block, routing tables and interface names that keep labs apart;
    /// see [`crate::address`]. 0 in records; a lab runs the plan [in its own slot](Plan::in_slot).
    pub slot: u8,
    /// Factors that convert the paper's rates, times and sizes to emulated ones.
    pub scale: Scale,
    /// Rationale of the scale; `None` if the scenario gives the factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scale: Option<AutoScale>,
    /// Rule by which next hops became candidates; left out if it is the default.
    #[serde(default, skip_serializing_if = "CandidateSet::is_default")]
    pub candidate_set: CandidateSet,
    /// Time from a cut or repair of links to the new candidates of all switches, in paper time (before scaling); `None`
    /// if the candidates never change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper_reconverge_after_ns: Option<Nanos>,
    pub dcs: Vec<Dc>,
    /// DCI switches, then spines, leaves and hosts.
    pub nodes: Vec<Node>,
    /// Links; each end of a link is a port.
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
    /// Load that the workloads request, and load that their flows offer.
    pub load: LoadPlan,
    pub rdma: Rdma,
    /// Transport of hosts and buffers of switches.
    pub transport: TransportPlan,
    /// Recording intervals, and the window of measured flows.
    pub measure: MeasurePlan,
    /// Age, in emulated time (after scaling), beyond which a switch's tables count as stale.
    pub max_table_age_ns: Nanos,
    /// Link changes while flows run, ordered by time.
    pub faults: Vec<FaultPlan>,
    /// Crashes of switches' agents, ordered by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_crashes: Vec<AgentCrashPlan>,
    /// New candidates after cuts and repairs, ordered by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reconvergences: Vec<Reconvergence>,
    /// Estimated cost of a run.
    pub estimate: Estimate,
    /// Warnings that a reader should know before trusting the results.
    pub warnings: Vec<Warning>,
    /// Sentences, without full stops, on numbers of the topology that its graph does not have or that were changed;
    /// empty if the scenario lists datacenters and links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

impl Plan {
    /// Returns the name of the next hop through a port: the datacenter at the other end, followed by the link's place
    /// among parallel links, such as `dc2`, or `dc2_2` over the second link to `dc2`.
    #[must_use]
    pub fn next_hop(&self, port: PortId) -> String {
        let node = self.ports[port.peer().index()].node;
        let dc = self.nodes[node.index()].dc;
        next_hop(&self.dcs[dc.index()], &self.links[port.link().index()])
    }

    /// Returns the candidates of a datacenter's switch for a destination at the emulated time `at`, relative to the
    /// repetition's start; empty if the switch has no row for it.
    #[must_use]
    pub fn candidates_at(&self, switch: DcId, to: DcId, at: Nanos) -> &[Candidate] {
        let Some((first, destination)) = self.first_row(switch, to) else {
            return &[];
        };
        let latest = self.changed_rows(switch, destination, at).next();
        latest.map_or(&first.candidates, |row| &row.candidates)
    }

    /// Returns the changes of a row up to the emulated time `at`, the latest first.
    pub(crate) fn changed_rows(
        &self,
        switch: DcId,
        destination: usize,
        at: Nanos,
    ) -> impl Iterator<Item = &NewRow> {
        let changes = self.reconvergences.iter().rev();
        let past = changes.filter(move |change| change.at_ns <= at);
        past.filter_map(move |change| change.row(switch.index(), destination))
    }

    /// Returns true if there are several repetitions and all have the same flows, because these are listed.
    #[must_use]
    pub fn has_same_flows(&self) -> bool {
        Flow::are_same_again(&self.flows)
    }

    /// Returns a switch's row for a destination at the start of a repetition, and the row's index.
    pub(crate) fn first_row(&self, switch: DcId, to: DcId) -> Option<(&Destination, usize)> {
        let switch = self.switches.get(switch.index())?;
        let index = switch.row_index(to)?;
        Some((&switch.destinations[index], index))
    }

    /// Returns true if a link is cut at the emulated time `at`, relative to the repetition's start.
    #[must_use]
    pub fn is_cut_at(&self, link: LinkId, at: Nanos) -> bool {
        self.is_cut(link, |fault| fault.at_ns <= at)
    }

    /// Returns true if a link is cut at `at` at the paper's scale, relative to the repetition's start.
    #[must_use]
    pub fn is_cut_at_paper(&self, link: LinkId, at: Nanos) -> bool {
        self.is_cut(link, |fault| fault.paper_at_ns <= at)
    }

    fn is_cut(&self, link: LinkId, is_past: impl Fn(&FaultPlan) -> bool) -> bool {
        let faults = self.faults.iter().rev();
        let mut past = faults.filter(|fault| fault.link == link && is_past(fault));
        past.find_map(|fault| match fault.change {
            FaultChange::Down => Some(true),
            FaultChange::Up => Some(false),
            FaultChange::Wire(_) => None,
        })
        .unwrap_or(false)
    }

    /// Returns true if the switch of `at` has several candidates for `to` at all times of a run.
    #[must_use]
    pub fn always_has_choice(&self, at: DcId, to: DcId) -> bool {
        let Some((first, destination)) = self.first_row(at, to) else {
            return false;
        };
        let changes = self.reconvergences.iter();
        let mut changed = changes.filter_map(|it| it.row(at.index(), destination));
        first.candidates.len() > 1 && changed.all(|row| row.candidates.len() > 1)
    }

    /// Strips derived metadata (cost, warnings, assumptions, scale rationale), so that plans that two program versions
    /// make from the same inputs compare equal.
    #[must_use]
    pub fn inputs(self) -> Self {
        Self {
            auto_scale: None,
            estimate: Estimate::default(),
            warnings: Vec::new(),
            assumptions: Vec::new(),
            ..self
        }
    }
}

/// Factors that convert the paper's quantities to emulated ones: `rate` for rates, `time` for times, and `size = rate ·
/// time` for sizes.
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
    /// Full name in the graph of which the topology was made; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub dci: NodeId,
    pub hosts: Vec<NodeId>,
    /// Prefix that contains all hosts of the datacenter.
    pub prefix: Prefix,
    /// True if the DCI switch of the datacenter runs no agent and forwards by kernel ECMP.
    pub legacy: bool,
}

/// IPv4 prefix of addresses in the lab.
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

/// Role of a node in its datacenter.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Switch at the edge of a datacenter, where the policies choose inter-DC paths.
    DciSwitch,
    /// Switch in the upper tier of a datacenter's fabric.
    Spine,
    /// Switch in the lower tier of a datacenter's fabric, to which hosts are attached.
    Leaf,
    /// An RDMA host with one NIC.
    Host,
}

/// Node of the lab: a host or a switch.
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
    /// Additional addresses of a host's NIC, for flows whose five-tuple would otherwise equal the five-tuple of an
    /// earlier flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_addrs: Vec<Ipv4Addr>,
    /// Ports of the node, by increasing link id.
    pub ports: Vec<PortId>,
    /// Kernel routes to every destination outside the node, with all candidates as next hops.
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
    /// Egress ports among which the kernel hashes flows.
    pub via: Vec<PortId>,
}

/// Kind of a link, by the nodes at its ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Link between two DCI switches. Rate limit and queue are on the switches, the delay is on the fiber between them.
    InterDc,
    /// Link between two switches of one datacenter's fabric.
    Fabric,
    /// Link between a host and its switch; the host is at end `b`.
    Host,
}

/// Full-duplex link with the same parameters in both directions.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name of the link, such as `dc1-dc2` or `dc1-dc1/h1`.
    pub name: String,
    pub kind: LinkKind,
    /// Node at end `a`.
    pub a: NodeId,
    /// Node at end `b`.
    pub b: NodeId,
    /// Parameters of the link at the paper's scale (before scaling for emulation).
    pub paper: WirePlan,
    /// Parameters of the link after scaling for emulation.
    pub emu: WirePlan,
}

/// Returns the name of the next hop over `link` to the datacenter `dc`.
pub(crate) fn next_hop(dc: &Dc, link: &Link) -> String {
    format!("{}{}", dc.name, link.twin())
}

impl Link {
    /// Returns the link's place among the parallel links of its nodes, which its name ends with.
    #[must_use]
    pub fn twin(&self) -> Twin {
        Twin::split(&self.name).1
    }

    /// Returns the packet limit of netem at a node with `role` on a link inside a DC, in frames of `frame` bytes. A
    /// host's limit exceeds the windows of all its QPs together, because a host waits for its NIC and never drops
    /// packets.
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

    /// Returns the size of the egress queue at a node with `role`, in emulated bytes (after scaling).
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

/// One end of a link, with its interface.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Node to which the port belongs.
    pub node: NodeId,
    /// Interface name: at most 15 characters, and unique among all lab slots of the machine.
    pub interface: String,
    /// MAC address, derived from the lab slot and the port id.
    pub mac: Mac,
    /// Address of this link end, for routes and traceroute; on a host, this is the host's own address.
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
    /// Returns the paths to a datacenter; `None` if the datacenter has no hosts or is the switch's own.
    #[must_use]
    pub fn towards(&self, dc: DcId) -> Option<&Destination> {
        self.destinations.get(self.row_index(dc)?)
    }

    /// Returns the index of a datacenter in `destinations`; `None` if it has no hosts or is the switch's own.
    #[must_use]
    pub fn row_index(&self, dc: DcId) -> Option<usize> {
        // Where all datacenters have hosts, only the switch's own row is missing. The search of a large table costs more
        // than a look at these two.
        let likely = [Some(dc.index()), dc.index().checked_sub(1)];
        let is_row = |row: &usize| self.destinations.get(*row).is_some_and(|it| it.dc == dc);
        likely.into_iter().flatten().find(is_row).or_else(|| {
            let row = self.destinations.binary_search_by_key(&dc, |row| row.dc);
            row.ok()
        })
    }
}

/// Paths from one DCI switch to one DC.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    pub dc: DcId,
    /// Minimum number of inter-DC links over the candidates' best paths; with `fewest-hops`, all paths have this number.
    pub hops: u32,
    /// Next hops that the plan's candidate set selects, by increasing one-way delay, then port.
    pub candidates: Vec<Candidate>,
    /// Tunnels, the best first. Each lists egress ports: first the switch's own, which is a candidate's, and last that
    /// of the switch before the destination. Empty, and left out, with other candidate sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<Vec<PortId>>,
}

impl Destination {
    /// Returns the egress ports of the switches behind the next hop at `port`, on the tunnel that starts there. `None`
    /// without tunnels: each of these switches chooses again.
    #[must_use]
    pub fn rest_of_tunnel(&self, port: PortId) -> Option<&[PortId]> {
        let mut tunnels = self.tunnels.iter().filter_map(|ports| ports.split_first());
        let found = tunnels.find(|(first, _)| **first == port);
        found.map(|(_, behind)| behind)
    }
}

/// Next hop towards a datacenter, with the attributes of the best path over candidates through this next hop: the one
/// with the least delay, then with the most capacity, then with the fewest links. With tunnels, the path is the tunnel
/// that starts there.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Egress port towards the next hop.
    pub port: PortId,
    /// Datacenter of the next hop.
    pub next_dc: DcId,
    /// Number of inter-DC links on the path beyond [`Destination::hops`]; 0 with `fewest-hops`, and left out then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub extra_hops: u32,
    /// One-way delay of the path between the two DCI switches, in paper time (before scaling).
    pub paper_delay_ns: Nanos,
    /// Smallest capacity of a link on the path, before scaling.
    pub paper_bottleneck_bps: BitsPerSec,
    /// Delay of the path's first link, in paper time (before scaling); the artifact's delay score depends on this
    /// delay, not on the whole path's.
    pub paper_first_link_delay_ns: Nanos,
    /// Capacity of the path's first link, before scaling; the artifact's capacity score depends on this capacity, not
    /// on the bottleneck.
    pub paper_first_link_bps: BitsPerSec,
}

/// Policy with the label and the tables of its run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PolicyRun {
    /// Name of the policy in records and plots.
    pub label: String,
    /// Policy with its parameters. Times are emulated (after scaling), but `max_delay_ns` and `max_capacity_bps` are
    /// not scaled.
    pub policy: PolicyPlan,
    /// Path cost C_path by switch, destination and candidate, in the order of [`Plan::switches`]; empty if the policy
    /// has no path costs.
    pub path_scores: Vec<Vec<Vec<u8>>>,
    /// Number of hash buckets by switch, destination and candidate; empty if the policy gives each candidate one
    /// bucket.
    pub buckets: Vec<Vec<Vec<u16>>>,
}

impl Candidate {
    /// Returns the attributes of the path through this next hop; `hops` is the destination's [`Destination::hops`].
    #[must_use]
    pub const fn path(&self, hops: u32) -> Path {
        Path {
            delay: self.paper_delay_ns,
            capacity: self.paper_bottleneck_bps,
            link_rate: self.paper_first_link_bps,
            hops: hops.saturating_add(self.extra_hops),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that `skip_serializing_if` needs"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
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

/// RDMA flow that is scheduled in one repetition.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Id of the flow, its position in [`Plan::flows`].
    pub id: FlowId,
    /// Repetition of the flow, from 0.
    pub repetition: u32,
    pub src: NodeId,
    pub dst: NodeId,
    /// Size of the flow before scaling.
    pub paper_size_bytes: Bytes,
    /// Start time relative to the repetition's start, in paper time (before scaling).
    pub paper_start_ns: Nanos,
    /// Bytes that an engine transfers: `messages · message_bytes`, the scaled size rounded to whole messages.
    pub size_bytes: Bytes,
    /// Number of messages of the flow.
    pub messages: u32,
    /// Size of each message in bytes.
    pub message_bytes: Bytes,
    /// Start time relative to the repetition's start, in emulated time (after scaling).
    pub start_ns: Nanos,
    /// Round-trip time of one full packet and its ACK with empty queues, on the path with the least delay, in emulated
    /// time (after scaling).
    pub base_rtt_ns: Nanos,
    /// FCT of this flow alone, on the fastest path that the switches' tables allow, in emulated time (after scaling).
    pub ideal_fct_ns: Nanos,
    /// True if the flow comes from a list in the scenario or a flow file, and so is not part of a workload's load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_listed: bool,
}

impl Flow {
    /// Returns true if there are several repetitions and `flows` are the same in each, because none is drawn.
    pub(crate) fn are_same_again(flows: &[Self]) -> bool {
        let is_repeated = flows.iter().any(|flow| flow.repetition > 0);
        is_repeated && flows.iter().all(|flow| flow.is_listed)
    }

    /// Returns the number of data packets that the flow's messages take.
    #[must_use]
    pub fn packets(&self, path_mtu: u32) -> u64 {
        u64::from(self.messages) * frame::packets(self.message_bytes, path_mtu)
    }

    /// Returns an upper bound for the wire bytes of the flow's data packets.
    ///
    /// Headers add less than a sixteenth to a full packet even at the smallest MTU; each message also has one packet
    /// that is not full.
    pub(crate) fn max_wire_bytes(&self) -> Bytes {
        let payload = self.size_bytes.get();
        let partial = u64::from(self.messages) * frame::data(0, frame::RETH);
        Bytes::new(payload.saturating_add(payload / 16).saturating_add(partial))
    }
}

/// QP settings that all flows of a plan share.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rdma {
    /// Load generator, a perftest program such as `ib_write_bw`.
    pub tool: Tool,
    /// RoCE path MTU in bytes.
    pub path_mtu: u32,
    /// MTU of every interface: the path MTU plus room for the RoCEv2 headers.
    pub interface_mtu: u32,
    pub traffic_class: u8,
    /// Exponent `u` of the QPs' transport time-out 4.096 µs · 2^u. The time-out is at least the scenario's
    /// `retransmit_timeout`; if `retransmit_timeout` is not set, the time-out is over twice the longest round trip with
    /// full queues, so that no retransmission is spurious, or the longest that there is.
    pub qp_timeout: u8,
    /// Time after a flow's start at which the flow is aborted if it is unfinished.
    pub flow_deadline_ns: Nanos,
}

/// Recording intervals in emulated time (after scaling), and the window of measured flows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// Time between two samples of the DCI switches' egress queues.
    pub queues_ns: Nanos,
    /// Time between two samples of the inter-DC links' byte counters.
    pub links_ns: Nanos,
    /// Time between two samples of the DCI switches' counters.
    pub switches_ns: Nanos,
    /// Window of measured flows; `None` if all flows are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredWindow>,
}

/// Window of scheduled starts; percentiles and comparisons include only flows that start in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasuredWindow {
    /// Earliest start of a measured flow, in paper time (before scaling).
    pub paper_from_ns: Nanos,
    /// End of the window, in paper time (before scaling): a flow that starts at or after it is not measured. `None`
    /// without an end.
    pub paper_to_ns: Option<Nanos>,
}

impl MeasuredWindow {
    /// Returns the ids of the measured flows among `flows`, which are all flows of a plan. Ids are ordered by
    /// repetition and start, so each repetition contributes at most one range.
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
    /// Time of the change relative to the repetition's start, in emulated time (after scaling).
    pub at_ns: Nanos,
    /// Time of the change relative to the repetition's start, in paper time (before scaling).
    pub paper_at_ns: Nanos,
    pub link: LinkId,
    pub change: FaultChange,
    /// New candidate rows, for every policy whose tables depend on link rates and delays.
    pub path_cost_updates: Vec<PathCostUpdate>,
}

/// New candidates for one destination at one switch under one policy, after a link change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathCostUpdate {
    /// Index of the policy in [`Plan::policies`].
    pub policy: usize,
    /// Index of the switch in [`Plan::switches`].
    pub switch: usize,
    /// Index of the destination in [`Switch::destinations`].
    pub destination: usize,
    /// Minimum number of inter-DC links over the candidates' best paths after the change; `None` if it is still
    /// [`Destination::hops`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
    /// All candidates for the destination, by increasing one-way delay after the change, then port.
    pub candidates: Vec<ScoredCandidate>,
}

/// Next hop with the best path through it, its path cost and its hash buckets under a policy.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ScoredCandidate {
    /// Next hop with the attributes of the best path through it.
    pub candidate: Candidate,
    /// Path cost C_path; 0 if the policy has no path costs.
    pub c_path: u8,
    /// Number of hash buckets of the candidate.
    pub buckets: u16,
}

/// Change that a fault makes to a link, with values after scaling.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultChange {
    /// The link is cut.
    Down,
    /// The link is restored.
    Up,
    /// The link gets a new rate, delay or loss.
    Wire(WirePlan),
}

impl FaultChange {
    /// Returns the kind of change as records name it.
    #[must_use]
    pub const fn kind(self) -> LinkChange {
        match self {
            Self::Down => LinkChange::Down,
            Self::Up => LinkChange::Up,
            Self::Wire(_) => LinkChange::Changed,
        }
    }
}

/// Time span in which a datacenter's DCI switch has no agent. Of several changes at one instant, a crash comes first and a
/// restart last.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AgentCrashPlan {
    pub dc: DcId,
    /// Time of the crash relative to the repetition's start, in emulated time (after scaling).
    pub at_ns: Nanos,
    /// Time of the crash relative to the repetition's start, in paper time (before scaling).
    pub paper_at_ns: Nanos,
    /// Start of the next agent; `None` if the switch has no agent until the repetition's end.
    pub restart: Option<AgentRestart>,
}

/// Start of an agent after a crash, relative to the repetition's start.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AgentRestart {
    /// Time in emulated time (after scaling).
    pub at_ns: Nanos,
    /// Time in paper time (before scaling).
    pub paper_at_ns: Nanos,
}

impl AgentCrashPlan {
    /// Returns true if the switch has no agent at the emulated time `at`. The instant of the restart counts as without
    /// an agent, because the restart is the last change of its instant.
    #[must_use]
    pub fn covers(&self, at: Nanos) -> bool {
        self.at_ns <= at && self.restart.is_none_or(|restart| at <= restart.at_ns)
    }
}

/// New rows of the switches' tables, which all switches get at one instant.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Reconvergence {
    /// Time of the change relative to the repetition's start, in emulated time (after scaling).
    pub at_ns: Nanos,
    /// Time of the change relative to the repetition's start, in paper time (before scaling).
    pub paper_at_ns: Nanos,
    /// Rows whose candidates, or whose candidates' paths, change, in the order of switches and destinations; the same for
    /// every policy.
    pub rows: Vec<NewRow>,
}

/// New candidates for one destination at one switch.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NewRow {
    /// Index of the switch in [`Plan::switches`].
    pub switch: usize,
    /// Index of the destination in [`Switch::destinations`].
    pub destination: usize,
    /// Minimum number of inter-DC links over the candidates' best paths.
    pub hops: u32,
    /// All candidates for the destination, by increasing one-way delay, then port.
    pub candidates: Vec<Candidate>,
    /// Tunnels from the switch, as [`Destination::tunnels`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<Vec<PortId>>,
}

impl FaultPlan {
    /// Adds the link to the cut links in `down` if the fault cuts it, and removes it if the fault repairs it.
    pub(crate) fn cut_or_repair(&self, down: &mut BTreeSet<LinkId>) {
        match self.change {
            FaultChange::Down => down.insert(self.link),
            FaultChange::Up => down.remove(&self.link),
            FaultChange::Wire(_) => false,
        };
    }
}

impl Reconvergence {
    /// Returns the new row with these indices; `None` if the row does not change.
    fn row(&self, switch: usize, destination: usize) -> Option<&NewRow> {
        let key = |row: &NewRow| (row.switch, row.destination);
        let found = self.rows.binary_search_by_key(&(switch, destination), key);
        self.rows.get(found.ok()?)
    }

    /// Replaces the changed rows in `switches`, the tables before the reconvergence.
    pub fn apply(&self, switches: &mut [Switch]) {
        for row in &self.rows {
            row.apply(switches);
        }
    }
}

impl NewRow {
    /// Replaces the row in `switches`, the tables before the reconvergence.
    pub(crate) fn apply(&self, switches: &mut [Switch]) {
        let rows = switches.get_mut(self.switch).map(|it| &mut it.destinations);
        if let Some(destination) = rows.and_then(|rows| rows.get_mut(self.destination)) {
            destination.hops = self.hops;
            destination.candidates.clone_from(&self.candidates);
            destination.tunnels.clone_from(&self.tunnels);
        }
    }
}

/// Estimated cost of one run of the plan.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Number of data packets in all repetitions under one policy.
    pub data_packets: u64,
    /// Sum over data packets and ACKs of the number of links that each crosses.
    pub packet_hops: u64,
    /// CPU time of all repetitions under one policy, on the reference guest with 10^9 instructions per second.
    pub cpu_ns: Nanos,
    /// Time from a repetition's start to the ideal end of its last flow, the maximum over the repetitions.
    pub span_ns: Nanos,
    /// Memory for queues, delay lines and processes, in bytes.
    pub memory_bytes: Bytes,
    /// Maximum share of the reference guest's CPU that flows and periodic sampling need in any second, in percent.
    pub forwarding_percent: u32,
    /// Share of flows whose size after scaling is under one packet, in percent.
    pub sub_packet_flows_percent: u32,
    /// Longest serialisation time of a full packet divided by the shortest inter-DC delay, in percent.
    pub packet_vs_delay_percent: u32,
}

/// Fact that a reader should know before trusting results.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable identifier of the warning, such as `rxe-window` or `delay-score-ties`.
    pub code: String,
    /// Warning text, with numbers and a hint.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first switch is that of datacenter 1, and the datacenters 2 and 5 have no hosts. The second is that of datacenter
    /// 2 of five that all have hosts.
    #[test]
    fn a_switch_finds_its_row_for_each_datacenter_with_hosts() {
        let row = |&dc: &u32| Destination {
            dc: DcId(dc),
            hops: 1,
            candidates: Vec::new(),
            tunnels: Vec::new(),
        };
        let of_rows = |dcs: &[u32]| Switch {
            node: NodeId(0),
            hash_seed: 0,
            destinations: dcs.iter().map(row).collect(),
        };
        let found = |switch: &Switch| -> Vec<Option<usize>> {
            (0..9).map(|dc| switch.row_index(DcId(dc))).collect()
        };
        let switch = of_rows(&[0, 3, 4, 6, 7]);
        let wanted = [
            Some(0),
            None,
            None,
            Some(1),
            Some(2),
            None,
            Some(3),
            Some(4),
            None,
        ];
        assert_eq!(found(&switch), wanted);
        let [a, b, c, d] = [0, 1, 2, 3].map(Some);
        let full = of_rows(&[0, 1, 3, 4]);
        assert_eq!(found(&full), [a, b, None, c, d, None, None, None, None]);
        assert_eq!(switch.towards(DcId(6)).unwrap().dc, DcId(6));
    }
}
