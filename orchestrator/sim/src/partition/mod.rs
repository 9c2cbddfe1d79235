//! One datacenter as a logical process of the parallel simulation.
//!
//! A partition owns its datacenter's nodes and ports, and their events. Packets to another datacenter leave through an
//! inter-partition channel and take at least the shortest inter-DC delay. Partitions may therefore run ahead of each
//! other by this delay, in any order and on any number of threads, with the same result.
//!
//! - `setup`: creation of a partition
//! - `link`: egress queues and wires; `channel`: wires to other partitions
//! - `nic`, `qp_scheduler`: choice of a host's next packet
//! - `qp`, `sender`, `timers`: sending QPs; `receiver`: receiving QPs; `rxe`: rules that only SoftRoCE's QPs have
//! - `switch`: buffers, PFC, ECMP inside the fabric
//! - `dci`: tables of the DCI switch and the egress port of each packet; `decide`: the policy
//! - `flow_table`, `flow_gc`, `failover`, `flow_ageing`, `te_weights`: parts of the DCI switch
//! - `faults`, `sampling`: scheduled faults, periodic samples; `agent`: time without the switch's agent

mod agent;
mod channel;
mod dci;
mod decide;
mod failover;
mod faults;
mod flow_ageing;
mod flow_gc;
mod flow_table;
mod link;
mod nic;
mod qp;
mod qp_scheduler;
mod receiver;
mod rxe;
mod sampling;
mod sender;
mod setup;
mod switch;
mod te_weights;
mod timers;
mod train;

use lab_records::StoryEvent;

pub use self::{
    channel::{Channel, PacketBatch},
    sampling::SampleTimes,
    setup::OwnFlows,
    timers::MAX_TIMEOUTS,
};
use self::{
    dci::Dci,
    faults::PartitionFault,
    nic::Nic,
    qp::{Qp, Slab},
    receiver::Receiver,
    train::Held,
};
use crate::{
    cc::{CongestionControl, IntHop, PathFacts},
    event::{Event, EventKind, EventQueue},
    fifo::{Pool, WirePacket},
    mmu::Mmu,
    packet::Packet,
    port::Port,
    semantics::SemanticsRules,
    time::SimTime,
    trace::{FlowEvent, TraceEvent, TraceFilter},
    world::World,
};

/// State of one datacenter during a run.
pub struct Partition<'w, S: SemanticsRules, C: CongestionControl> {
    world: &'w World<'w, S, C>,
    dc: u32,
    /// Number of the partition's first node; a datacenter's nodes and ports are numbered consecutively.
    first_node: u32,
    first_port: u32,
    now: SimTime,
    events: EventQueue,
    queued: Pool<Packet>,
    on_wires: Pool<WirePacket>,
    ports: Vec<Port>,
    /// Shared buffer of each node; `None` for hosts, and without PFC.
    mmus: Vec<Option<Mmu<S>>>,
    /// NIC of each node; unused for switches.
    nics: Vec<Nic>,
    qps: Slab<Qp<C>>,
    /// Slot of each sending flow's QP, indexed by [`crate::world::SimFlow::sending`].
    qp_of: Vec<u32>,
    /// Flows whose QP has failed.
    given_up: Vec<u32>,
    /// Time of the latest flow end: the sender's receipt of its last ACK.
    last_finish: SimTime,
    /// Receiver of each flow, indexed by [`crate::world::SimFlow::receiving`].
    receivers: Vec<Receiver>,
    /// Flows that start in this partition, in the order of their starts.
    starts: Vec<u32>,
    /// Number of flows started so far.
    started: usize,
    dci: Dci<'w>,
    faults: Vec<PartitionFault>,
    /// Switch telemetry of the packets in flight in this partition.
    telemetry: Slab<Telemetry>,
    /// Trains at hosts whose last packets have not arrived yet.
    held: Slab<Held>,
    /// Empty telemetry vectors, reused for later packets.
    spare_hops: Vec<Vec<IntHop>>,
    /// Packets sent to other partitions since the last exchange, one channel per link.
    channels: Vec<Channel>,
    /// Trace events since the last exchange.
    pub trace: Vec<TraceEvent>,
    filter: &'w TraceFilter,
    sample_times: SampleTimes,
    /// Counters of the work done so far.
    pub work: Work,
}

/// Counters of the work that a simulation has done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Work {
    /// Number of processed events.
    pub events: u64,
    /// Number of times that a packet was put on a wire.
    pub packet_hops: u64,
    /// Number of dropped packets.
    pub drops: u64,
    /// Number of packets that egress queues had no room for.
    pub queue_drops: u64,
    /// Number of packets that were dropped despite PFC, because a switch's shared buffer had no room.
    pub buffer_drops: u64,
    /// Number of decisions that moved a pinned flow to another port.
    pub reroutes: u64,
    /// Number of data packets that hosts sent, including retransmissions.
    pub data_packets: u64,
    /// Number of times that a NACK or a time-out made a sender retransmit from its first unacknowledged packet
    /// (go-back-N).
    pub go_backs: u64,
    /// Number of go-backs, included in `go_backs`, that a retransmission time-out caused.
    pub timeouts: u64,
    /// Number of flows whose sender has received all ACKs.
    pub finished: u64,
    /// Number of decisions after which the flow could not be pinned, because the flow table had no room.
    pub not_pinned: u64,
}

/// In-band telemetry that one packet carries.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    hops: Vec<IntHop>,
    path: PathFacts,
}

/// Prime of the 32-bit FNV-1a hash that turns the ports of a path into the path's identifier.
const PATH_PRIME: u32 = 16_777_619;

impl Telemetry {
    /// Appends the telemetry of the switch port `port`, unless the packet already holds the telemetry of `room`
    /// switches.
    fn push(&mut self, port: u32, hop: IntHop, room: usize) {
        self.path.id = (self.path.id ^ port).wrapping_mul(PATH_PRIME);
        if self.hops.len() < room {
            self.hops.push(hop);
        }
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Returns the time of the next scheduled event; `None` if there is none.
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        self.events.next_time()
    }

    /// Returns the time of the last processed event.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Returns the time of the latest flow end so far.
    #[must_use]
    pub const fn last_finish(&self) -> SimTime {
        self.last_finish
    }

    /// Returns true if any event that can send packets is scheduled.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.events.has_work()
    }

    /// Processes all events before `end`.
    pub fn run_until(&mut self, end: SimTime) {
        while let Some(event) = self.events.next_before(end) {
            debug_assert!(
                event.at >= self.now,
                "events are processed in order of time"
            );
            self.now = event.at;
            self.work.events += 1;
            match event.kind {
                EventKind::Arrive => self.arrive(event.index),
                EventKind::Wake => self.wake_up(event.index),
                _ => {
                    self.events.pop_timer();
                    self.handle_timer(event);
                }
            }
        }
    }

    fn handle_timer(&mut self, event: Event) {
        match event.kind {
            EventKind::Arrive | EventKind::Wake => {}
            EventKind::LastArrival => self.last_arrival_due(event.index),
            EventKind::NicAwake => self.kick_nic(event.index),
            EventKind::FlowStart => self.start_flow(),
            EventKind::CcTimer => self.cc_timer_due(event.index),
            EventKind::Paced => self.paced_due(event.index),
            EventKind::Timeout => self.timeout_due(event.index),
            EventKind::Fault => self.fault_due(event.index as usize),
            EventKind::Monitor => self.monitor_due(),
            EventKind::FlowGc => self.flow_gc_due(),
            EventKind::Eviction => self.eviction_due(),
            EventKind::SampleLinks => self.sample_links_due(),
            EventKind::SampleQueues => self.sample_queues_due(),
            EventKind::SampleSwitch => self.sample_switch_due(),
            EventKind::TeTick => self.te_tick_due(),
            EventKind::SampleRates => self.sample_rates_due(),
        }
    }

    /// Returns the node to which `port`, a port of this partition, belongs.
    #[inline]
    fn node_of(&self, port: u32) -> u32 {
        self.ports[(port - self.first_port) as usize].node
    }

    #[inline]
    fn port(&mut self, port: u32) -> &mut Port {
        &mut self.ports[(port - self.first_port) as usize]
    }

    /// Traces `event` of `flow` at `node`, if the trace filter selects the flow.
    #[inline]
    fn trace_flow(&mut self, flow: u32, node: u32, event: StoryEvent) {
        if *self.filter != TraceFilter::None {
            self.trace_flow_detail(flow, node, event, None, None);
        }
    }

    fn trace_flow_detail(
        &mut self,
        flow: u32,
        node: u32,
        event: StoryEvent,
        rate: Option<u64>,
        packet: Option<u32>,
    ) {
        if self
            .filter
            .includes(|| self.world.flows[flow as usize].plan)
        {
            self.trace.push(TraceEvent::Flow(FlowEvent {
                at: self.now,
                flow,
                event,
                node,
                rate,
                packet,
            }));
        }
    }
}

fn range(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}
