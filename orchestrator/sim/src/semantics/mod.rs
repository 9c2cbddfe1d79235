//! Rules of the two semantics, the paper's text and the artifact's code, which are never mixed. [`Rxe`] is the paper's
//! semantics with the kernel engine's hosts.
//!
//! Each set of rules is a type without values, so that the hot path of one set has no branches for the other.
//! Addresses, keys and next hops are computed once, before a run.

use lab_plan::{Flow, Plan};
use lab_units::BitsPerSec;

use crate::time::SimTime;

pub mod artifact;
mod identity;
mod paper;
pub mod rxe;

pub use artifact::Artifact;
pub use identity::{FlowIdentity, Identities, NextHopOrder};
pub use paper::Paper;
pub use rxe::Rxe;

/// Rules of one semantics.
pub trait SemanticsRules: Copy + Send + Sync + 'static {
    /// Header bytes of a data packet, without those of congestion control.
    const DATA_HEADER_BYTES: u32;
    /// Alignment in bytes: payloads are padded to a multiple of this number.
    const PAYLOAD_ALIGN: u32;
    /// Bytes of an ACK or NACK.
    const ACK_BYTES: u32;
    /// Bytes of a CNP.
    const CNP_BYTES: u32;
    /// Bytes of a PFC frame.
    const PFC_BYTES: u32;
    /// Class of PFC frames. In the artifact, they wait behind other packets of the strict-priority class.
    const PFC_CLASS: u8;
    /// Buffer bytes reserved for each port and class of a switch.
    const RESERVE_BYTES: u64;
    /// Bytes below the pause threshold at which a paused class resumes.
    const RESUME_OFFSET_BYTES: u64;
    /// Limit of the device: maximum bytes in a port's queues, independent of the buffer.
    const PORT_LIMIT_BYTES: Option<u64>;
    /// True if a packet that its egress queue rejects stays counted in the buffer and the queue forever:
    /// `SwitchNode::SendToDev` counts first, and a drop by the device does not correct the count.
    const COUNTS_REJECTED: bool;

    /// True if a new rate also moves the next packet, under any congestion control.
    const RATE_MOVES_NEXT: bool;

    /// True if a NIC whose QPs all wait sleeps until the earliest pacing time of any QP, including QPs that their
    /// window holds. The NIC does not sleep if that time has passed. Only an arrival or a new flow wakes the NIC
    /// earlier.
    const NIC_OVERSLEEPS: bool;

    /// True if a QP keeps its position in its NIC's scheduler until an iteration finds the QP finished.
    ///
    /// `RdmaEgressQueue::GetNextQindex` removes only the finished QPs that it passes, and does not correct `m_rrlast`.
    /// The order matters because the first packet decides for all flows with the same key: with this rule, all flows of
    /// Figure 1 under UCMP take the published paths; without it, eight do not.
    const SCHEDULER_KEEPS_QPS: bool;

    /// True if hosts have SoftRoCE devices; see [`rxe`].
    const IS_RXE: bool = false;

    /// Rounds the exact serialisation time of a packet to the clock's resolution.
    fn clock(exact: SimTime) -> SimTime;

    /// Returns the bandwidth-delay product in bytes.
    fn bdp(round_trip: SimTime, rate: BitsPerSec) -> u64;

    /// Returns the window in bytes for a QP at `rate` on a line with `line_rate`; `largest` is the plan's largest
    /// bandwidth-delay product.
    fn window(largest: u64, rate: BitsPerSec, line_rate: BitsPerSec) -> u64;

    /// Returns the headroom in bytes, for the packet that triggers a pause and the packets that follow it.
    fn headroom(rate: BitsPerSec, delay: SimTime, largest_packet: u32) -> u64;

    /// Returns the shared bytes of a switch: the buffer minus headrooms and reserves; `None` if nothing is left.
    fn shared_bytes(buffer: u64, headrooms: &[u64], reserves: u64) -> Option<u64>;

    /// Returns the free bytes of the shared buffer.
    fn free_bytes(shared: u64, used: u64) -> u64;

    /// True if flows are pinned even towards a single candidate or the datacenter's own spines.
    const PINS_EVERYTHING: bool;

    /// Returns the addresses, keys and seeds of `flows` and of the nodes.
    fn identities(plan: &Plan, flows: &[&Flow]) -> Identities;
}
