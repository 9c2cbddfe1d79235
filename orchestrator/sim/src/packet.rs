//! Packets as the simulator represents them.
//!
//! Several packets of one flow can be a train, which is one [`Packet`], handled as one event instead of one per packet.

use crate::time::SimTime;

/// Number of traffic classes. Classes 7 and 0 have strict priority, 7 first; the other classes are served round-robin.
pub const CLASSES: usize = 8;

/// Strict-priority class that PFC never pauses. It carries CNPs of hardware NICs, ACKs with `ack_priority`, and the
/// artifact's PFC frames.
pub const STRICT: u8 = 0;

/// Class of PFC frames, which the MAC sends before all other packets (IEEE 802.1Q, annex N; 802.3, annex 31D).
pub const CONTROL: u8 = 7;

/// Returns true if `class` has strict priority and is never paused by PFC.
#[inline]
#[must_use]
pub const fn is_strict(class: u8) -> bool {
    matches!(class, STRICT | CONTROL)
}

/// Class of RDMA data, called priority group in the artifact.
pub const DATA_CLASS: u8 = 3;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Kind {
    /// Data packet of a flow.
    Data,
    /// Acknowledgement of all packets before number `seq`.
    Ack,
    /// Negative acknowledgement: packet `seq` is missing, and all packets before it have arrived.
    Nack,
    /// Congestion notification packet (CNP).
    Cnp,
    /// PFC pause of the class in `seq`.
    Pause,
    /// PFC resume of the class in `seq`.
    Resume,
}

impl Kind {
    /// Returns true for a PFC frame, which travels only from one end of a link to the other.
    #[must_use]
    pub const fn is_pfc(self) -> bool {
        matches!(self, Self::Pause | Self::Resume)
    }
}

/// Packet in 24 bytes, because millions are in flight at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet {
    /// Sending time of the data packet, in nanoseconds. A packet with telemetry has the slot of its telemetry instead,
    /// and a train its length and the arrival of its last packet.
    pub stamp: u64,
    /// Index of the flow among the run's flows.
    pub flow: u32,
    /// Number within the flow; a train has the number of its first packet, and an ACK or NACK that of the next expected
    /// packet.
    pub seq: u32,
    /// Index of the destination host; of most packets, switches read only this field.
    pub to: u16,
    /// Ingress port at the current switch, as an index among that switch's ports.
    pub ingress: u16,
    /// Size on the wire in bytes; a train has the size of its last packet.
    pub bytes: u16,
    /// Bit field of the kind and the count of detours.
    kind_and_detours: u8,
    /// Bit field of traffic class, ECN marks and cut count.
    bits: u8,
}

const _: () = assert!(size_of::<Packet>() == 24);

impl Default for Packet {
    fn default() -> Self {
        Self::new(Kind::Data, STRICT, 0, 0, 0, 0)
    }
}

const KIND: u8 = 0b111;
const DETOURS_SHIFT: u32 = 3;
const MAX_DETOURS: u8 = u8::MAX >> DETOURS_SHIFT;
const CLASS: u8 = 0b111;
const MARKED: u8 = 0b1000;
const ECHO: u8 = 0b1_0000;
/// Flag of data packets for an ACK request. It shares the bit of `ECHO`, because data packets echo no mark.
const ACK_REQUEST: u8 = ECHO;
const CUTS_SHIFT: u32 = 5;
/// Bits of the stamp with the arrival of a train's last packet, in nanoseconds, below those with the train's length. No
/// other stamp reaches these: 2^48 ns are three days.
const LAST_AT_BITS: u32 = 48;
const LAST_AT: u64 = (1 << LAST_AT_BITS) - 1;

impl Packet {
    /// Creates a packet of `class` without a mark.
    #[must_use]
    pub const fn new(kind: Kind, class: u8, flow: u32, seq: u32, bytes: u16, stamp: u64) -> Self {
        Self {
            stamp,
            flow,
            seq,
            to: 0,
            ingress: 0,
            bytes,
            kind_and_detours: kind as u8,
            bits: class & CLASS,
        }
    }

    /// Returns the kind.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.kind_and_detours & KIND {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Nack,
            3 => Kind::Cnp,
            4 => Kind::Pause,
            _ => Kind::Resume,
        }
    }

    /// Counts a visit to a switch with old tables, by which the packet may be in a loop. Returns false after 31 visits: in a
    /// loop of two switches the packet has then passed about 64 switches, the TTL of a lab's packets.
    pub const fn count_detour(&mut self) -> bool {
        let is_left = self.kind_and_detours >> DETOURS_SHIFT < MAX_DETOURS;
        if is_left {
            self.kind_and_detours += 1 << DETOURS_SHIFT;
        }
        is_left
    }

    /// Sets the index of the destination host.
    #[must_use]
    pub const fn to_host(mut self, host: u16) -> Self {
        self.to = host;
        self
    }

    /// Makes the packet lead a train of `packets`, whose last one arrives at `last_at` where the train is now. If
    /// only one packet remains, `last_at` becomes its sending time.
    #[must_use]
    pub const fn leading(mut self, packets: u16, last_at: SimTime) -> Self {
        let followers = packets.saturating_sub(1) as u64;
        if followers > 0 || self.followers() > 0 {
            self.stamp = followers << LAST_AT_BITS | last_at.picos().div_ceil(1_000) & LAST_AT;
        }
        self
    }

    /// Sets the time at which the train's last packet arrives.
    #[inline]
    #[must_use]
    pub const fn leading_until(mut self, last_at: SimTime) -> Self {
        let followers = self.stamp & !LAST_AT;
        self.stamp = followers | last_at.picos().div_ceil(1_000) & LAST_AT;
        self
    }

    /// Returns the number of packets that follow this one in its train; 0 for a packet alone.
    #[inline]
    #[must_use]
    pub const fn followers(&self) -> u64 {
        self.stamp >> LAST_AT_BITS
    }

    /// Returns the time at which the last packet of the train arrives where the train is now, rounded up to a nanosecond.
    #[inline]
    #[must_use]
    pub const fn last_at(&self) -> SimTime {
        SimTime::from_picos((self.stamp & LAST_AT) * 1_000)
    }

    /// Returns the slot of the packet's telemetry in its partition.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a slot has 32 bits")]
    pub const fn telemetry_slot(&self) -> u32 {
        self.stamp as u32
    }

    /// Returns the class, less than [`CLASSES`].
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.bits & CLASS
    }

    /// Returns true if the packet has no strict priority, so that switches count it in their buffers, may ECN-mark it,
    /// and may pause its class.
    #[inline]
    #[must_use]
    pub const fn is_counted(&self) -> bool {
        !is_strict(self.class())
    }

    /// Returns true if a queue marked the packet.
    #[must_use]
    pub const fn is_marked(&self) -> bool {
        self.bits & MARKED != 0
    }

    /// Sets the packet's ECN mark.
    pub const fn mark(&mut self) {
        self.bits |= MARKED;
    }

    /// Returns true if the data packet that this packet acknowledges was marked.
    #[must_use]
    pub const fn echoes_mark(&self) -> bool {
        self.bits & ECHO != 0
    }

    /// Records that the data packet that this packet acknowledges was marked.
    pub const fn echo_mark(&mut self) {
        self.bits |= ECHO;
    }

    /// Returns true if this data packet's sender requests an ACK (profile `rxe`).
    #[must_use]
    pub const fn requests_ack(&self) -> bool {
        self.bits & ACK_REQUEST != 0
    }

    /// Sets the request for an ACK on a data packet.
    pub const fn request_ack(&mut self) {
        self.bits |= ACK_REQUEST;
    }

    /// Records how often the packet's wire had been cut when the packet was put on it.
    pub const fn set_cut_count(&mut self, cuts: u8) {
        self.bits = self.bits & (CLASS | MARKED | ECHO) | cuts << CUTS_SHIFT;
    }

    /// Returns true if the packet's wire, which has now been cut `cuts` times, was cut while the packet was on it. The
    /// count wraps around after eight cuts, so that eight cuts look like none.
    pub const fn was_cut_off(&self, cuts: u8) -> bool {
        self.bits >> CUTS_SHIFT != cuts << CUTS_SHIFT >> CUTS_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_leaves_the_class_alone() {
        let mut packet = Packet::new(Kind::Data, DATA_CLASS, 1, 2, 1048, 0);
        assert!(!packet.is_marked());
        packet.mark();
        assert_eq!((packet.is_marked(), packet.class()), (true, DATA_CLASS));
        assert!(!packet.echoes_mark(), "an ACK's own mark is not its data's");
    }

    #[test]
    fn detours_leave_the_kind_alone_and_are_limited() {
        let kinds = [
            Kind::Data,
            Kind::Ack,
            Kind::Nack,
            Kind::Cnp,
            Kind::Pause,
            Kind::Resume,
        ];
        for kind in kinds {
            let mut packet = Packet::new(kind, DATA_CLASS, 1, 2, 1048, 0);
            for _ in 0..31 {
                assert!(packet.count_detour());
                assert_eq!(packet.kind(), kind);
            }
            assert!(!packet.count_detour());
            assert_eq!(packet.kind(), kind);
        }
    }

    #[test]
    fn a_cut_is_seen_by_what_was_on_the_wire_and_by_nothing_else() {
        let mut packet = Packet::new(Kind::Data, DATA_CLASS, 1, 2, 1048, 0);
        packet.mark();
        for cuts in 0..20 {
            packet.set_cut_count(cuts);
            assert!(!packet.was_cut_off(cuts));
            assert!(packet.was_cut_off(cuts + 1));
            assert!(packet.was_cut_off(cuts + 7));
            assert_eq!((packet.is_marked(), packet.class()), (true, DATA_CLASS));
        }
    }
}
