//! Rows of priority flow control (PFC): a switch's shared buffer and a host's paused NIC.
//!
//! The departure time of a packet is known when it enters its egress queue, so no program has to observe its
//! departure. A calendar counts the bytes that leave in each time slot, and a pause lasts until enough bytes have
//! left for the sender to resume.

use lab_units::BitsPerSec;

use crate::{layout::row, rows::MAX_PORTS};

/// Number of time slots in the calendar, which counts the buffered bytes that leave in each slot; a power of two.
pub const CALENDAR_SLOTS: u32 = 512;

/// Bytes of the buffer reserved for each port, which a port fills before it uses the shared part.
pub const RESERVE_BYTES: u64 = 4_096;

/// Bytes by which a paused port must fall below its share of the shared buffer before the sender may resume (XON).
pub const RESUME_OFFSET_BYTES: u64 = 3_072;

/// Priority of data packets, the only priority that is paused.
pub const PFC_PRIORITY: u32 = 3;

/// Ethertype of MAC control frames (IEEE 802.3, annex 31A).
pub const MAC_CONTROL: u16 = 0x8808;

/// Opcode of priority flow control (IEEE 802.1Qbb).
pub const PFC_OPCODE: u16 = 0x0101;

/// Size of the pause ring buffer in bytes: room for 100,000 pauses.
pub const PAUSE_RING_BYTES: u32 = 4 << 20;

/// Bit times per pause quantum (IEEE 802.1Qbb).
const QUANTUM_BITS: u64 = 512;

/// Returns the length of a pause quantum on a link of `rate`, ns; at least 1.
#[must_use]
pub const fn quantum_ns(rate: BitsPerSec) -> u64 {
    let nanos = QUANTUM_BITS * 1_000_000_000 / rate.get();
    if nanos == 0 { 1 } else { nanos }
}

row! {
    /// Buffer occupancy of an ingress port.
    pub struct IngressPort as "ingress_port" {
        /// Size of the headroom for packets in flight when a pause is sent, bytes; 0: the port drops packets instead
        /// of pausing.
        pub headroom: u64,
        /// Buffered bytes of the port's packets in the port's reserve and in its share of the shared buffer.
        pub bytes: u64,
        /// Buffered bytes of the port's packets in the port's headroom.
        pub headroom_bytes: u64,
        /// End of the sender's latest pause, ns.
        pub paused_until_ns: u64,
        /// Length of a pause quantum, ns; 0: the sender is not a host and ignores pauses.
        pub quantum_ns: u64,
        /// Index of the port's interface in the switch's network namespace.
        pub ifindex: u32,
        /// Exponent of the port's share of the shared buffer: at most 2^-threshold_shift times the free bytes.
        pub threshold_shift: u32,
    }
}

row! {
    /// Shared buffer of a switch: its size, its occupancy and its ingress ports.
    pub struct SharedBuffer as "shared_buffer" {
        /// Size of the part of the buffer that all ports share, bytes; 0: the switch has no PFC.
        pub shared: u64,
        /// Bytes of the shared part that are in use.
        pub used: u64,
        /// Calendar slot of the latest packet: the packet's time divided by 2^slot_bits ns.
        pub slot: u64,
        /// Base-2 logarithm of a calendar slot's length in ns.
        pub slot_bits: u32,
        /// Number of ports with a row in `ports`.
        pub count: u32,
        pub ports: [IngressPort; MAX_PORTS],
    }
}

row! {
    /// Buffered bytes that leave in one slot of the calendar.
    pub struct CalendarSlot as "calendar_slot" {
        /// Bytes that leave in the slot, by ingress port.
        pub bytes: [u32; MAX_PORTS],
        /// Sum of the bytes of all ports.
        pub total: u64,
    }
}

row! {
    /// NIC of a host; its transmission clock stops while it is paused.
    pub struct NicRow as "nic" {
        /// Line rate in bit/s, which is also the initial rate of the NIC's QPs.
        pub line_bps: u64,
        /// Length of a pause quantum, ns; 0: the NIC is never paused.
        pub quantum_ns: u64,
        /// Start of the current pause, ns; 0: not paused.
        pub paused_at_ns: u64,
        /// End of the current pause, ns.
        pub paused_until_ns: u64,
        /// Total duration of the finished pauses, ns.
        pub stopped_ns: u64,
        /// Time on the NIC's clock at which all packets so far will have left, ns.
        pub busy_until: u64,
    }
}

row! {
    /// Finished pause of a NIC, a record of the ring buffer.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct PauseRecord as "pause_record" {
        pub from_ns: u64,
        pub until_ns: u64,
        /// Index of the NIC's interface.
        pub ifindex: u32,
        pub pad: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_is_512_bits_on_the_link() {
        let quantum = |rate| quantum_ns(BitsPerSec::new(rate).expect("a rate above zero"));
        assert_eq!(quantum(50_000_000), 10_240);
        assert_eq!(quantum(100_000_000_000), 5);
        assert_eq!(quantum(1_000_000_000_000), 1);
    }
}
