//! Rules that differ between the paper's text and the artifact's code. A run has one set of rules, never a mixture.
//! [`Rxe`] has the paper's rules with the kernel engine's hosts.
//!
//! Each set of rules is a type without values, so that the packet loop is compiled per set, without branches.
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

/// One set of rules for the simulated network.
pub trait SemanticsRules: Copy + Send + Sync + 'static {
    /// Bytes of a data packet's headers, without the headers of congestion control.
    const DATA_HEADER_BYTES: u32;
    /// Alignment of payloads in bytes: they are padded to a multiple of this number.
    const PAYLOAD_ALIGN: u32;
    /// Wire bytes of an ACK or NACK.
    const ACK_BYTES: u32;
    /// Wire bytes of a CNP.
    const CNP_BYTES: u32;
    /// Wire bytes of a PFC frame.
    const PFC_BYTES: u32;
    /// Class of PFC frames. In the artifact, they wait behind other strict-priority packets.
    const PFC_CLASS: u8;
    /// Buffer bytes reserved for each port and class of a switch.
    const RESERVE_BYTES: u64;
    /// Distance in bytes below the pause threshold at which a paused class is resumed.
    const RESUME_OFFSET_BYTES: u64;
    /// Maximum bytes in the queues of one port, regardless of the switch's buffer; `None` for no such limit.
    const PORT_LIMIT_BYTES: Option<u64>;
    /// True if a packet that its egress queue rejects stays counted in the buffer and the queue forever:
    /// `SwitchNode::SendToDev` counts first, and a drop by the device does not correct the count.
    const COUNTS_REJECTED: bool;

    /// True if, under any congestion control, a new rate also changes the time of the QP's next packet.
    const RATE_MOVES_NEXT: bool;

    /// True if a NIC whose QPs must all wait sleeps until the earliest pacing time of any QP, even of those that wait
    /// for their window. The NIC does not sleep if that time has passed. Only an arriving packet or a new flow wakes it
    /// earlier.
    const NIC_OVERSLEEPS: bool;

    /// True if a QP keeps its position in its NIC's scheduler until an iteration finds the QP finished.
    ///
    /// In the artifact, `RdmaEgressQueue::GetNextQindex` removes finished QPs only when its search passes one, and
    /// corrects `m_rrlast` only if it serves a QP. The order of packets matters, because the first packet decides for
    /// all flows with the same key: with this rule, all flows of Figure 1 under UCMP take the published paths; without
    /// it, eight do not.
    const SCHEDULER_KEEPS_QPS: bool;

    /// True if hosts have SoftRoCE devices; see [`rxe`].
    const IS_RXE: bool = false;

    /// Rounds the exact serialisation time of a packet to the resolution of the simulation's clock.
    fn clock(exact: SimTime) -> SimTime;

    /// Returns the bandwidth-delay product of `round_trip` and `rate`, in bytes.
    fn bdp(round_trip: SimTime, rate: BitsPerSec) -> u64;

    /// Returns the window in bytes of a QP at `rate`, when the NIC has `line_rate` and `largest` is the plan's largest
    /// bandwidth-delay product.
    fn window(largest: u64, rate: BitsPerSec, line_rate: BitsPerSec) -> u64;

    /// Returns a port's PFC headroom in bytes, for the packet that triggers a pause and those that follow it.
    fn headroom(rate: BitsPerSec, delay: SimTime, largest_packet: u32) -> u64;

    /// Returns the bytes of a switch's buffer that its ports share, without headrooms and reserves; `None` if nothing
    /// is left.
    fn shared_bytes(buffer: u64, headrooms: &[u64], reserves: u64) -> Option<u64>;

    /// Returns the free bytes of the shared part of a buffer.
    fn free_bytes(shared: u64, used: u64) -> u64;

    /// True if DCI switches, except under plain ECMP, pin flows even if there is only one candidate, and also flows to
    /// hosts in their own datacenter.
    const PINS_EVERYTHING: bool;

    /// Returns the addresses, keys and hash seeds of `flows` and of all nodes.
    fn identities(plan: &Plan, flows: &[&Flow]) -> Identities;
}
