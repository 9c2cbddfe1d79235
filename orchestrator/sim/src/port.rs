//! Port of a node: egress queues, ECN marking, PFC state, and the wire that ends at the port.

use lab_dcqcn::congestion::{self, CongestionPoint};
use lab_plan::{EcnConfig, Link, Role};
use lab_units::{BitsPerSec, Ratio};

use crate::{
    dice::Dice,
    fifo::{Fifo, Pool, WirePacket},
    network::{PortFacts, WireClock},
    packet::{CLASSES, CONTROL, Packet, STRICT, is_strict},
    semantics::SemanticsRules,
    time::SimTime,
    wire::Wire,
};

/// State of a port during a run.
pub struct Port {
    /// Number of the node to which the port belongs.
    pub node: u32,
    /// Role of the node to which the port belongs.
    pub role: Role,
    /// Number of the port at the other end of the link.
    pub peer: u32,
    /// Inter-partition channel towards the peer; `None` if the peer is in the same datacenter.
    pub channel: Option<u32>,
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Serialisation time per byte at `rate`.
    pub clock: WireClock,
    /// Propagation delay of the link.
    pub delay: SimTime,
    /// Time at which the current transmission ends.
    pub busy_until: SimTime,
    /// Time of the scheduled wake-up; `MAX` if none is scheduled.
    pub wake_at: SimTime,
    /// Egress queue of each class.
    pub queues: [Fifo; CLASSES],
    /// Queued bytes of each class.
    pub queue_bytes: [u64; CLASSES],
    /// Classes with queued packets, as a bit set: bit n stands for class n.
    pub ready: u8,
    /// Classes that the peer has paused, as a bit set: bit n stands for class n.
    paused: u8,
    /// Start of the current pause.
    paused_since: SimTime,
    /// Class without strict priority that was served last.
    last_class: u8,
    /// Sum of the queued bytes of all classes.
    pub total_bytes: u64,
    /// Bytes of rejected packets, which the artifact counts as queued forever:
    /// [`crate::semantics::SemanticsRules::COUNTS_REJECTED`].
    pub rejected_bytes: u64,
    /// Maximum of `total_bytes`; packets beyond it are dropped.
    pub limit: u64,
    /// Packets on the wire that ends at this port.
    pub wire: Wire,
    /// True unless a fault has cut the link.
    pub is_up: bool,
    /// True at a DCI switch whose link came back while the switch had no agent, until the agent is back: packets arrive, but
    /// decisions and pinned flows treat the port as dead.
    pub is_marked_dead: bool,
    /// Number of cuts of the link so far, modulo 256; packets that were on the wire at a cut are lost.
    pub cuts: u8,
    /// ECN marking by the egress queue; `None` at hosts.
    pub congestion: Option<CongestionPoint>,
    /// Probability that the wire starting at this port loses a packet, times 2^32.
    loss: u64,
    dice: Dice,
    /// Counters of the port since the run's start.
    pub counts: Counts,
}

/// Counters of a port since the run's start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Number of bytes sent.
    pub tx_bytes: u64,
    /// Number of packets sent.
    pub tx_packets: u64,
    /// Number of packets marked with ECN.
    pub marks: u64,
    /// Number of dropped packets: queue or buffer full, no next hop, link down, random loss, or cut while on the wire.
    pub drops: u64,
    /// Number of packets that a cut removed from the wire that ends at this port, a part of `drops`; records count them
    /// at the sending port.
    pub lost_on_wire: u64,
    /// Maximum number of bytes queued at any time.
    pub peak_bytes: u64,
    /// Number of times that PFC paused the port.
    pub pauses: u64,
    /// Total time for which the port was paused, without the current pause.
    pub paused: SimTime,
}

/// Converts a plan's ECN parameters into marking thresholds in bytes.
fn congestion_point(plan: &EcnConfig) -> CongestionPoint {
    CongestionPoint {
        k_min: plan.k_min.get(),
        k_max: plan.k_max.get(),
        p_max_q32: times_2_32(plan.p_max),
    }
}

impl Port {
    /// Creates the port with `facts` at a node with `role`.
    #[must_use]
    pub fn new(link: &Link, facts: &PortFacts, role: Role, dice: Dice) -> Self {
        let wire = &link.emu;
        Self {
            node: facts.node,
            role,
            peer: facts.peer,
            channel: None,
            rate: wire.rate_bps,
            clock: WireClock::new(wire.rate_bps.get()),
            delay: wire.delay_ns.into(),
            busy_until: SimTime::ZERO,
            wake_at: SimTime::MAX,
            queues: [Fifo::new(); CLASSES],
            queue_bytes: [0; CLASSES],
            ready: 0,
            paused: 0,
            paused_since: SimTime::ZERO,
            last_class: STRICT,
            total_bytes: 0,
            rejected_bytes: 0,
            limit: wire.buffer_bytes.get(),
            wire: Wire::default(),
            is_up: true,
            is_marked_dead: false,
            cuts: 0,
            congestion: wire.ecn.as_ref().map(congestion_point),
            loss: times_2_32(wire.loss),
            dice,
            counts: Counts::default(),
        }
    }

    /// Returns true if the peer has paused `class`.
    #[inline]
    #[must_use]
    pub const fn is_paused(&self, class: u8) -> bool {
        self.paused & (1 << class) != 0
    }

    /// Processes a PFC pause or resume of `class` by the peer.
    pub fn pause(&mut self, class: u8, is_pause: bool, now: SimTime) {
        let bit = 1 << class;
        let others = self.paused & !bit;
        self.set_paused(if is_pause { others | bit } else { others }, now);
    }

    /// Ends all pauses by the peer, as when the link goes down.
    pub fn forget_pauses(&mut self, now: SimTime) {
        self.set_paused(0, now);
    }

    fn set_paused(&mut self, classes: u8, now: SimTime) {
        if self.paused == 0 && classes != 0 {
            self.counts.pauses += 1;
            self.paused_since = now;
        }
        if self.paused != 0 && classes == 0 {
            self.counts.paused += now - self.paused_since;
        }
        self.paused = classes;
    }

    /// Returns the counters at `now`, with the current pause counted up to then.
    #[must_use]
    pub fn counts_at(&self, now: SimTime) -> Counts {
        let mut counts = self.counts;
        if self.paused != 0 {
            counts.paused += now.saturating_sub(self.paused_since);
        }
        counts
    }

    /// Applies the link's new rate, delay and loss.
    pub fn rewire(&mut self, wire: &lab_plan::WirePlan) {
        self.rate = wire.rate_bps;
        self.clock = WireClock::new(self.rate.get());
        self.delay = wire.delay_ns.into();
        self.loss = times_2_32(wire.loss);
    }

    /// Puts `packet`, a packet or train of `bytes`, into the egress queue of its class; the queue's blocks are from `pool`.
    #[inline]
    pub fn enqueue(&mut self, pool: &mut Pool<Packet>, packet: Packet, bytes: u64) {
        let class = packet.class();
        self.queues[usize::from(class)].push(pool, packet);
        self.queue_bytes[usize::from(class)] += bytes;
        self.total_bytes += bytes;
        self.counts.peak_bytes = self.counts.peak_bytes.max(self.total_bytes);
        self.ready |= 1 << class;
    }

    /// Returns the class to serve next: a queued class with strict priority, else the next queued class in round-robin
    /// order that is not paused; `None` if no class can send.
    #[inline]
    #[must_use]
    pub fn next_class(&self) -> Option<u8> {
        for strict in [CONTROL, STRICT] {
            if self.ready & 1 << strict != 0 {
                return Some(strict);
            }
        }
        let ready = self.ready & !self.paused;
        if ready == 0 {
            return None;
        }
        let behind = ready & (u8::MAX << 1 << self.last_class);
        let among = if behind == 0 { ready } else { behind };
        u8::try_from(among.trailing_zeros()).ok()
    }

    /// Returns the class to serve next in a NIC's own queue, which contains answers such as ACKs. A pause applies to
    /// SoftRoCE's packets while they are in the pacer, before this queue, so answers are still sent.
    #[inline]
    #[must_use]
    pub fn next_answer<S: SemanticsRules>(&self) -> Option<u8> {
        if !S::IS_RXE || self.ready == 0 {
            return self.next_class();
        }
        u8::try_from(self.ready.trailing_zeros()).ok()
    }

    /// Returns true if a packet of `class` can be sent at `now` without waiting.
    #[inline]
    #[must_use]
    pub fn is_free(&self, class: u8, now: SimTime) -> bool {
        let is_paused = !is_strict(class) && self.paused & (1 << class) != 0;
        self.ready == 0 && self.busy_until <= now && !is_paused
    }

    /// Records `class` as the class that was served last.
    #[inline]
    pub const fn set_last_class(&mut self, class: u8) {
        if !is_strict(class) {
            self.last_class = class;
        }
    }

    /// Returns the bytes in front of a new packet at `now`: the queued bytes and the rest of the packet in
    /// transmission.
    #[inline]
    #[must_use]
    pub fn bytes_ahead(&self, now: SimTime) -> u64 {
        let busy = self.busy_until.saturating_sub(now);
        self.total_bytes + self.rate.bytes_in(busy.nanos_trunc()).get()
    }

    /// Returns the time at which `first`, the first packet on the wire that ends at this port, arrives.
    #[inline]
    pub fn arrival<S: SemanticsRules>(&mut self, first: &WirePacket) -> SimTime {
        let clock = &self.clock;
        let time = || S::clock(clock.on_wire(u32::from(first.packet.bytes)));
        self.wire.arrival(first, time)
    }

    /// Decides randomly whether a packet is marked with ECN, given `queue_bytes`, the length of the queue behind it or
    /// in front of it.
    #[inline]
    pub fn marks_packet(&mut self, queue_bytes: u64) -> bool {
        let Some(point) = self.congestion else {
            return false;
        };
        let is_certain = queue_bytes <= point.k_min || queue_bytes > point.k_max;
        let dice = if is_certain { 0 } else { self.dice.mark() };
        congestion::is_marked(&point, queue_bytes, dice)
    }

    /// Decides randomly whether the wire loses a packet.
    #[inline]
    pub fn loses_packet(&mut self) -> bool {
        self.loss > 0 && u64::from(self.dice.loss()) < self.loss
    }
}

fn times_2_32(share: Ratio) -> u64 {
    share.scale_nearest(1 << 32)
}

#[cfg(test)]
mod tests {
    use lab_units::Bytes;

    use super::*;
    use crate::semantics::{Paper, Rxe};

    fn port() -> Port {
        let plan = crate::testing::pair("ecmp");
        let facts = crate::network::Network::new(&plan)
            .expect("a network")
            .ports[0];
        let dice = Dice::of(&plan, 0, facts.plan);
        let mut port = Port::new(&plan.links[0], &facts, Role::DciSwitch, dice);
        port.congestion = Some(CongestionPoint {
            k_min: 1_000,
            k_max: 3_000,
            p_max_q32: (1 << 32) / 5,
        });
        port
    }

    #[test]
    fn classes_are_served_round_robin_after_the_strict_one() {
        let mut port = port();
        let mut order = Vec::new();
        port.ready = 0b0010_1010;
        for _ in 0..4 {
            let class = port.next_class().expect("three are ready");
            port.set_last_class(class);
            order.push(class);
        }
        assert_eq!(order, [1, 3, 5, 1]);
        port.ready |= 1;
        assert_eq!(port.next_class(), Some(STRICT));
        port.set_last_class(STRICT);
        port.ready &= !1;
        assert_eq!(port.next_class(), Some(3), "the order is kept");
    }

    #[test]
    fn a_paused_class_waits_and_the_strict_one_is_never_paused() {
        let mut port = port();
        port.ready = 0b1001;
        port.paused = 0b1001;
        assert_eq!(port.next_class(), Some(STRICT));
        port.ready = 0b1000;
        assert_eq!(port.next_class(), None);
    }

    /// With marking thresholds of 3 and 4 GB, a 2.73 GB queue marks no packet, and a 3.5 GB queue marks half of the
    /// packets.
    #[test]
    fn thresholds_are_those_of_the_plan() {
        let mut port = port();
        port.congestion = Some(congestion_point(&EcnConfig {
            k_min: Bytes::new(3_000_000_000),
            k_max: Bytes::new(4_000_000_000),
            p_max: Ratio::ONE,
        }));
        let mut marked = |queue| (0..1_000).filter(|_| port.marks_packet(queue)).count();
        assert_eq!(marked(2_730_000_000), 0);
        // Five standard errors of 1,000 draws with probability 1/2 are 79.
        assert!(marked(3_500_000_000).abs_diff(500) < 79);
        assert_eq!(marked(4_000_000_001), 1_000);
    }

    /// The wire loses half of the packets, and the same ones if the port also marks packets between its thresholds.
    #[test]
    fn marks_change_no_loss() {
        let lost = |is_marked: bool| {
            let mut port = port();
            port.loss = 1 << 31;
            let decide = |_| (is_marked && port.marks_packet(2_000), port.loses_packet()).1;
            (0..100).map(decide).collect::<Vec<_>>()
        };
        assert_eq!(lost(true), lost(false));
    }

    #[test]
    fn a_pause_holds_the_answers_of_hardware_and_not_those_of_softroce() {
        let mut port = port();
        port.ready = 0b1000;
        port.paused = 0b1000;
        assert_eq!(port.next_answer::<Paper>(), None);
        assert_eq!(port.next_answer::<Rxe>(), Some(3));
        port.ready = 0;
        assert_eq!(port.next_answer::<Rxe>(), None);
    }

    #[test]
    fn marks_grow_with_the_queue_between_the_thresholds() {
        let mut port = port();
        let mut share = |queue| {
            let marked = (0..20_000).filter(|_| port.marks_packet(queue)).count();
            f64::from(u32::try_from(marked).expect("few")) / 20_000.0
        };
        assert_eq!(share(1_000), 0.0);
        assert!((share(2_000) - 0.1).abs() < 0.01, "half of p_max");
        assert!((share(3_000) - 0.2).abs() < 0.01);
        assert_eq!(share(3_001), 1.0);
    }
}
