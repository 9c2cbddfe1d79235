//! Rows of priority flow control: a switch's shared buffer, a host's paused NIC.
//!
//! A packet's time of departure is known when it enters its egress queue, so no program has to see it
//! leave: a calendar has the bytes that leave in each of its slots, and a pause lasts until so many have
//! left that the sender may continue.

use lab_units::BitsPerSec;

use crate::{layout::row, rows::MAX_PORTS};

/// Slots of the calendar; a power of two.
pub const CALENDAR_SLOTS: u32 = 512;

/// Bytes that a port has to itself before it takes from the shared ones.
pub const RESERVE_BYTES: u64 = 4_096;

/// Bytes below its share at which a paused port's sender may continue (XON).
pub const RESUME_OFFSET_BYTES: u64 = 3_072;

/// Priority of data packets, which is the paused one.
pub const PFC_PRIORITY: u32 = 3;

/// Ethertype of MAC control frames (IEEE 802.3, annex 31A).
pub const MAC_CONTROL: u16 = 0x8808;

/// Opcode of priority flow control (IEEE 802.1Qbb).
pub const PFC_OPCODE: u16 = 0x0101;

/// Size of the pause ring buffer in bytes: room for 100,000 pauses.
pub const PAUSE_RING_BYTES: u32 = 4 << 20;

/// Bits that a pause's unit of time takes on the link (IEEE 802.1Qbb).
const QUANTUM_BITS: u64 = 512;

/// Returns the unit of a pause's time on a link of `rate`, ns; at least 1.
#[must_use]
pub const fn quantum_ns(rate: BitsPerSec) -> u64 {
    let nanos = QUANTUM_BITS * 1_000_000_000 / rate.get();
    if nanos == 0 { 1 } else { nanos }
}

row! {
    /// Buffered bytes of an ingress port.
    pub struct IngressPort as "ingress_port" {
        /// Bytes that it holds for packets under way when a pause is sent; 0: it drops instead.
        pub headroom: u64,
        /// Bytes in reserve and share.
        pub bytes: u64,
        /// Bytes in the headroom.
        pub headroom_bytes: u64,
        /// End of its sender's latest pause.
        pub paused_until_ns: u64,
        /// Unit of a pause's time, ns; 0: its sender is no host and hears no pause.
        pub quantum_ns: u64,
        /// Index of the interface.
        pub ifindex: u32,
        /// The port's share of the free bytes is 2^-threshold_shift.
        pub threshold_shift: u32,
    }
}

row! {
    /// Shared buffer of a switch.
    pub struct SharedBuffer as "shared_buffer" {
        /// Bytes that the ports share; 0: the switch has no PFC.
        pub shared: u64,
        /// Bytes used of them.
        pub used: u64,
        /// Slot of the latest packet: its time, divided by 2^slot_bits ns.
        pub slot: u64,
        /// Bits of a slot's length.
        pub slot_bits: u32,
        /// Ports in use.
        pub count: u32,
        /// Ports by slot.
        pub ports: [IngressPort; MAX_PORTS],
    }
}

row! {
    /// Buffered bytes that leave in one slot of the calendar.
    pub struct CalendarSlot as "calendar_slot" {
        /// Bytes by ingress port.
        pub bytes: [u32; MAX_PORTS],
        /// Bytes of all ports.
        pub total: u64,
    }
}

row! {
    /// NIC of a host, whose clock stands still while it is paused.
    pub struct NicRow as "nic" {
        /// Rate in bit/s, the first rate of its QPs.
        pub line_bps: u64,
        /// Unit of a pause's time, ns; 0: nothing pauses the NIC.
        pub quantum_ns: u64,
        /// Start of the pause; 0: none.
        pub paused_at_ns: u64,
        /// End of the pause.
        pub paused_until_ns: u64,
        /// Total time of pauses that are over.
        pub stopped_ns: u64,
        /// Time of the NIC's clock at which all packets so far will have left.
        pub busy_until: u64,
    }
}

row! {
    /// Pause of a NIC that is over, in the ring buffer.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct PauseRecord as "pause_record" {
        /// Start.
        pub from_ns: u64,
        /// End.
        pub until_ns: u64,
        /// Interface of the NIC.
        pub ifindex: u32,
        /// Zero.
        pub pad: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_is_512_bits_on_the_link() {
        let quantum = |rate| quantum_ns(BitsPerSec::new(rate).expect("not zero"));
        assert_eq!(quantum(50_000_000), 10_240);
        assert_eq!(quantum(100_000_000_000), 5);
        assert_eq!(quantum(1_000_000_000_000), 1);
    }
}
