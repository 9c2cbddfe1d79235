//! One end of a link: the egress queues that feed it and the wire that ends at it.

use lab_plan::{EcnPlan, Link, Role};
use lab_units::{BitsPerSec, Ratio};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    fifo::Fifo,
    network::{PortFacts, WireClock},
    packet::{CLASSES, STRICT},
    time::SimTime,
};

/// A port's state.
pub struct Port {
    /// The node it is on.
    pub node: u32,
    /// What that is.
    pub role: Role,
    /// The port at the other end of its link.
    pub peer: u32,
    /// Where packets wait that leave for another datacenter.
    pub outbox: Option<u32>,
    /// Its link's rate.
    pub rate: BitsPerSec,
    /// The same, to look a packet's time up.
    pub clock: WireClock,
    /// Propagation delay of its link.
    pub delay: SimTime,
    /// When the packet being sent is sent.
    pub busy_until: SimTime,
    /// When the last packet sent arrives.
    pub last_arrival: SimTime,
    /// When it is to be looked at again; events at other times are stale.
    pub wake_at: SimTime,
    /// Egress queues, by class.
    pub queues: [Fifo; CLASSES],
    /// Bytes in each.
    pub queue_bytes: [u64; CLASSES],
    /// Bit n: class n has packets.
    pub ready: u8,
    /// Bit n: the peer asked for class n to wait.
    paused: u8,
    /// Since when it has to wait, if it has.
    paused_since: SimTime,
    /// The class that had its turn last.
    turn: u8,
    /// Bytes in all egress queues.
    pub total_bytes: u64,
    /// Bytes that were turned away and are counted as queued for good:
    /// [`crate::semantics::Semantics::COUNTS_TURNED_AWAY`].
    pub lost_count: u64,
    /// Most bytes of all egress queues; drop-tail.
    pub limit: u64,
    /// Packets on the wire to this port, by arrival.
    pub wire: Fifo,
    /// Whether the link is up.
    pub is_up: bool,
    /// How often it was cut: what went on the wire before the last one is lost.
    pub cuts: u8,
    /// ECN marking, at switches.
    pub ecn: Option<Ecn>,
    /// Share of packets lost on the way from here, times 2^32.
    loss: u64,
    random: Pcg64Mcg,
    /// What has happened here since the start.
    pub counts: Counts,
}

/// What happened at a port since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped: no room, no link, lost on the way.
    pub drops: u64,
    /// Most bytes that its egress queues held.
    pub peak_bytes: u64,
    /// How often PFC stopped it.
    pub pauses: u64,
    /// For how long in all; what goes on is not in it.
    pub paused: SimTime,
}

/// RED-style marking by queue length.
#[derive(Clone, Copy, Debug)]
pub struct Ecn {
    k_min: u64,
    k_max: u64,
    /// Marking probability at `k_max`, times 2^32.
    p_max: u64,
}

impl From<&EcnPlan> for Ecn {
    fn from(plan: &EcnPlan) -> Self {
        Self {
            k_min: plan.k_min.get(),
            k_max: plan.k_max.get(),
            p_max: times_2_32(plan.p_max),
        }
    }
}

impl Port {
    /// The port of `facts` on a node of `role`, whose randomness is `seed`'s.
    #[must_use]
    pub fn new(link: &Link, facts: &PortFacts, role: Role, seed: u64) -> Self {
        let wire = &link.emu;
        Self {
            node: facts.node,
            role,
            peer: facts.peer,
            outbox: None,
            rate: wire.rate_bps,
            clock: WireClock::new(wire.rate_bps.get()),
            delay: wire.delay_ns.into(),
            busy_until: SimTime::ZERO,
            last_arrival: SimTime::ZERO,
            wake_at: SimTime::MAX,
            queues: [Fifo::new(); CLASSES],
            queue_bytes: [0; CLASSES],
            ready: 0,
            paused: 0,
            paused_since: SimTime::ZERO,
            turn: STRICT,
            total_bytes: 0,
            lost_count: 0,
            limit: wire.buffer_bytes.get(),
            wire: Fifo::new(),
            is_up: true,
            cuts: 0,
            ecn: wire.ecn.as_ref().map(Ecn::from),
            loss: times_2_32(wire.loss),
            random: Pcg64Mcg::seed_from_u64(seed),
            counts: Counts::default(),
        }
    }

    /// Whether the peer asked for `class` to wait.
    #[inline]
    #[must_use]
    pub const fn is_paused(&self, class: u8) -> bool {
        self.paused & (1 << class) != 0
    }

    /// The peer asks for `class` to wait, or lets it go on.
    pub fn pause(&mut self, class: u8, is_pause: bool, now: SimTime) {
        let bit = 1 << class;
        let others = self.paused & !bit;
        self.hold(if is_pause { others | bit } else { others }, now);
    }

    /// What the peer asked for counts no more.
    pub fn forget_pauses(&mut self, now: SimTime) {
        self.hold(0, now);
    }

    /// The classes of these bits wait, and no other.
    fn hold(&mut self, classes: u8, now: SimTime) {
        if self.paused == 0 && classes != 0 {
            self.counts.pauses += 1;
            self.paused_since = now;
        }
        if self.paused != 0 && classes == 0 {
            self.counts.paused += now - self.paused_since;
        }
        self.paused = classes;
    }

    /// What has happened here until `now`, with a pause that goes on.
    #[must_use]
    pub fn counts_at(&self, now: SimTime) -> Counts {
        let mut counts = self.counts;
        if self.paused != 0 {
            counts.paused += now.saturating_sub(self.paused_since);
        }
        counts
    }

    /// Takes a new rate, delay and loss.
    pub fn rewire(&mut self, wire: &lab_plan::WirePlan) {
        self.rate = wire.rate_bps;
        self.clock = WireClock::new(self.rate.get());
        self.delay = wire.delay_ns.into();
        self.loss = times_2_32(wire.loss);
    }

    /// The class to send from next: the strict one, else the next in turn that is not paused.
    #[inline]
    #[must_use]
    pub fn next_class(&self) -> Option<u8> {
        let strict = 1 << STRICT;
        if self.ready & strict != 0 {
            return Some(STRICT);
        }
        let ready = self.ready & !self.paused;
        if ready == 0 {
            return None;
        }
        let behind = ready & (u8::MAX << 1 << self.turn);
        let among = if behind == 0 { ready } else { behind };
        u8::try_from(among.trailing_zeros()).ok()
    }

    /// Whether a packet of `class` may leave at `now` without waiting.
    #[inline]
    #[must_use]
    pub fn is_free(&self, class: u8, now: SimTime) -> bool {
        let is_paused = class != STRICT && self.paused & (1 << class) != 0;
        self.ready == 0 && self.busy_until <= now && !is_paused
    }

    /// `class` has had its turn.
    #[inline]
    pub const fn took_turn(&mut self, class: u8) {
        if class != STRICT {
            self.turn = class;
        }
    }

    /// Whether a packet that leaves `queue_bytes` of its class behind is marked.
    #[inline]
    pub fn marks(&mut self, queue_bytes: u64) -> bool {
        let Some(ecn) = self.ecn else { return false };
        if queue_bytes <= ecn.k_min {
            return false;
        }
        if queue_bytes > ecn.k_max {
            return true;
        }
        let share = u128::from(ecn.p_max) * u128::from(queue_bytes - ecn.k_min);
        let chance = share / u128::from((ecn.k_max - ecn.k_min).max(1));
        u128::from(self.random.next_u32()) < chance
    }

    /// Whether a packet is lost on the way from here.
    #[inline]
    pub fn loses(&mut self) -> bool {
        self.loss > 0 && u64::from(self.random.next_u32()) < self.loss
    }
}

fn times_2_32(share: Ratio) -> u64 {
    share.scale_nearest(1 << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> Port {
        let plan = crate::testing::pair();
        let facts = crate::network::Network::new(&plan)
            .expect("a network")
            .ports[0];
        let mut port = Port::new(&plan.links[0], &facts, Role::DciSwitch, 1);
        port.ecn = Some(Ecn {
            k_min: 1_000,
            k_max: 3_000,
            p_max: (1 << 32) / 5,
        });
        port
    }

    #[test]
    fn classes_take_turns_and_the_strict_one_does_not() {
        let mut port = port();
        let mut order = Vec::new();
        port.ready = 0b0010_1010;
        for _ in 0..4 {
            let class = port.next_class().expect("three are ready");
            port.took_turn(class);
            order.push(class);
        }
        assert_eq!(order, [1, 3, 5, 1]);
        port.ready |= 1;
        assert_eq!(port.next_class(), Some(STRICT));
        port.took_turn(STRICT);
        port.ready &= !1;
        assert_eq!(port.next_class(), Some(3), "its turn is not lost");
    }

    #[test]
    fn a_paused_class_waits_and_the_strict_one_cannot_be() {
        let mut port = port();
        port.ready = 0b1001;
        port.paused = 0b1001;
        assert_eq!(port.next_class(), Some(STRICT));
        port.ready = 0b1000;
        assert_eq!(port.next_class(), None);
    }

    #[test]
    fn marks_grow_with_the_queue_between_the_thresholds() {
        let mut port = port();
        let mut share = |queue| {
            let marked = (0..20_000).filter(|_| port.marks(queue)).count();
            f64::from(u32::try_from(marked).expect("few")) / 20_000.0
        };
        assert_eq!(share(1_000), 0.0);
        assert!((share(2_000) - 0.1).abs() < 0.01, "half way to one in five");
        assert!((share(3_000) - 0.2).abs() < 0.01);
        assert_eq!(share(3_001), 1.0);
    }
}
