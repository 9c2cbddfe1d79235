//! The two sets of semantics, never mixed: what the paper says, and what the authors' code does.
//!
//! A set is a type without values, so that a simulation of one has nothing of the other in its hot
//! path. Where a flow's addresses, keys and next hops differ, they are looked up once, at set-up.

use lab_plan::{Flow, Plan};
use lab_units::BitsPerSec;

use crate::time::SimTime;

pub mod artifact;
mod identity;
mod paper;

pub use artifact::Artifact;
pub use identity::{FlowIdentity, Identities, NextHopOrder};
pub use paper::Paper;

/// One set of semantics.
pub trait SemanticsRules: Copy + Send + Sync + 'static {
    /// Bytes of a data packet besides its payload and what congestion control adds.
    const DATA_HEADER_BYTES: u32;
    /// Payloads are padded to a multiple of this.
    const PAYLOAD_ALIGN: u32;
    /// Bytes of an ACK or NACK.
    const ACK_BYTES: u32;
    /// Bytes of a CNP.
    const CNP_BYTES: u32;
    /// Bytes of a PFC frame.
    const PFC_BYTES: u32;
    /// Bytes every port and class of a switch has for itself.
    const RESERVE_BYTES: u64;
    /// A paused class is resumed this many bytes below the threshold it was paused at.
    const RESUME_OFFSET_BYTES: u64;
    /// Bytes a port's queues may hold, whatever the buffer: the device's own limit.
    const PORT_LIMIT_BYTES: Option<u64>;
    /// The switch counts a packet as in its buffer and its egress queue before that queue turns it
    /// away, and for good: `SwitchNode::SendToDev` tells the MMU first, and nobody tells it that the
    /// device has dropped the packet.
    const COUNTS_REJECTED: bool;

    /// A new rate also moves the packet after the last one sent, whatever the congestion control.
    const RATE_MOVES_NEXT: bool;

    /// A NIC whose QPs all wait sleeps until the earliest of them may send by its pacing alone, held
    /// by its window or not. It does not sleep at all if that time has passed, and does not wake
    /// earlier for a QP that may send before; only an arrival or a new flow wakes it then.
    const NIC_OVERSLEEPS: bool;

    /// A QP keeps its place in its NIC's round, whether it has something to send or not, until it is
    /// found to have finished: so `RdmaEgressQueue::GetNextQindex` has it, which finds those only that
    /// it passes on the way to the next turn, and leaves `m_rrlast` where it is. Whose first packet is
    /// first decides for all flows of one key: with this, no flow of Figure 1 under UCMP goes another
    /// way than the published one, without it eight do.
    const SCHEDULER_KEEPS_QPS: bool;

    /// What the clock makes of the exact time a packet takes.
    fn clock(exact: SimTime) -> SimTime;

    /// Bandwidth-delay product.
    fn bdp(round_trip: SimTime, rate: BitsPerSec) -> u64;

    /// The window of a QP at `rate`, on a line of `line_rate`, where `largest` is the plan's
    /// largest bandwidth-delay product.
    fn window(largest: u64, rate: BitsPerSec, line_rate: BitsPerSec) -> u64;

    /// Buffer kept for what is under way when a pause is sent.
    fn headroom(rate: BitsPerSec, delay: SimTime, largest_packet: u32) -> u64;

    /// What a switch has to share: its buffer without the ports' headrooms and reserves. `None`
    /// when they do not leave anything.
    fn shared_bytes(buffer: u64, headrooms: &[u64], reserves: u64) -> Option<u64>;

    /// What is left to share.
    fn free_bytes(shared: u64, used: u64) -> u64;

    /// Whether a QP's data and its ACKs have entries in flow tables even where there is only one
    /// candidate, or the datacenter's own spines.
    const PINS_EVERYTHING: bool;

    /// Who `flows` and the switches are.
    fn identities(plan: &Plan, flows: &[&Flow]) -> Identities;

    /// A port's share of what is free is this power of two of it: a faster port's is larger.
    fn threshold_shift(rate: BitsPerSec, nic_rate: BitsPerSec) -> u32 {
        let times = rate.get() / nic_rate.get().max(1);
        SLOW_PORT_SHIFT.saturating_sub(times.checked_ilog2().unwrap_or(0))
    }
}

/// An eighth for a port of the hosts' rate: HPCC's NS-3 MMU, which the artifact is built on.
const SLOW_PORT_SHIFT: u32 = 3;
