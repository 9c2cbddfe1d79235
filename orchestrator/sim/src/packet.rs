//! What travels.

/// Traffic classes: 0 is served before all others, which take turns.
pub const CLASSES: usize = 8;

/// The strict class, which PFC never pauses: PFC frames, CNPs, and ACKs with `ack_priority`.
pub const STRICT: u8 = 0;

/// The class of RDMA data, the artifact's priority group.
pub const DATA_CLASS: u8 = 3;

/// What a packet is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Payload of a flow.
    Data,
    /// Every packet before `seq` has arrived.
    Ack,
    /// The same, and the one of `seq` is missing.
    Nack,
    /// Congestion notification.
    Cnp,
    /// PFC: the class in `seq` is to wait.
    Pause,
    /// PFC: the class in `seq` may go on.
    Resume,
}

impl Kind {
    /// Whether it is a frame of flow control, from one end of a link to the other.
    #[must_use]
    pub const fn is_pfc(self) -> bool {
        matches!(self, Self::Pause | Self::Resume)
    }
}

/// A packet: 20 bytes, for millions are under way at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet {
    /// When its data packet was sent, the low 32 bits of the nanoseconds; where switches write
    /// telemetry, the place of that in the shard's pool.
    pub stamp: u32,
    /// The flow, by its place in the run's flows.
    pub flow: u32,
    /// Data: the packet's number in its flow. ACK, NACK: the number expected next.
    pub seq: u32,
    /// The host it is for, by its place among hosts; switches need nothing else of most packets.
    pub to: u16,
    /// The port by which it came into the switch it is in, by its place there.
    pub ingress: u16,
    /// Bytes on the wire.
    pub bytes: u16,
    /// What it is.
    pub kind: Kind,
    /// Its class and marks.
    bits: u8,
}

const _: () = assert!(size_of::<Packet>() == 20);

impl Default for Packet {
    fn default() -> Self {
        Self::new(Kind::Data, STRICT, 0, 0, 0, 0)
    }
}

const CLASS: u8 = 0b111;
const MARKED: u8 = 0b1000;
const ECHO: u8 = 0b1_0000;
const CUTS_SHIFT: u32 = 5;

impl Packet {
    /// A packet of `class`, not marked.
    #[must_use]
    pub const fn new(kind: Kind, class: u8, flow: u32, seq: u32, bytes: u16, stamp: u32) -> Self {
        Self {
            stamp,
            flow,
            seq,
            to: 0,
            ingress: 0,
            bytes,
            kind,
            bits: class & CLASS,
        }
    }

    /// The same for the host of this place among hosts.
    #[must_use]
    pub const fn bound_for(mut self, host: u16) -> Self {
        self.to = host;
        self
    }

    /// Its class, under [`CLASSES`].
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.bits & CLASS
    }

    /// Whether a queue marked it.
    #[must_use]
    pub const fn is_marked(&self) -> bool {
        self.bits & MARKED != 0
    }

    /// Marks it.
    pub const fn mark(&mut self) {
        self.bits |= MARKED;
    }

    /// Whether the data packet this ACK answers was marked.
    #[must_use]
    pub const fn echoes_mark(&self) -> bool {
        self.bits & ECHO != 0
    }

    /// Says that the data packet this ACK answers was marked.
    pub const fn echo_mark(&mut self) {
        self.bits |= ECHO;
    }

    /// Goes on a wire that was cut `cuts` times so far.
    pub const fn board(&mut self, cuts: u8) {
        self.bits = self.bits & (CLASS | MARKED | ECHO) | cuts << CUTS_SHIFT;
    }

    /// Whether its wire, by now cut `cuts` times, was cut since it went on. Eight cuts are taken for
    /// none: they would have to come while one packet is under way.
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
    fn a_cut_is_seen_by_what_was_on_the_wire_and_by_nothing_else() {
        let mut packet = Packet::new(Kind::Data, DATA_CLASS, 1, 2, 1048, 0);
        packet.mark();
        for cuts in 0..20 {
            packet.board(cuts);
            assert!(!packet.was_cut_off(cuts));
            assert!(packet.was_cut_off(cuts + 1));
            assert!(packet.was_cut_off(cuts + 7));
            assert_eq!((packet.is_marked(), packet.class()), (true, DATA_CLASS));
        }
    }
}
