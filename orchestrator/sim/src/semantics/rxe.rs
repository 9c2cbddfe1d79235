//! The paper's semantics with SoftRoCE hosts, as the kernel engine runs them (Linux 6.1, HZ 250).
//!
//! - A QP puts packets into its host's egress queue while at most [`MAX_UNACKED`] are unacknowledged.
//! - This queue is FIFO over all QPs, and ACKs wait in it together with data.
//! - The sender requests an ACK with each message's last packet, and after [`MAX_NOT_ACKED`] packets without a request.
//!   The receiver acknowledges only packets with a request, and duplicates.
//! - The receiver sends one NACK per gap. The sender goes back at the first NACK after an ACK, and ignores further
//!   NACKs until the next ACK. It also ignores answers to packets that were acknowledged before.
//! - A QP that retries without limit (retry count 7) goes back at each time-out, when the kernel's
//!   [`WheelTimer`](lab_plan::timer_wheel::WheelTimer) expires; the lab starts at a multiple of its granularity.
//!
//! rxe has a second limit, 64 packets that the host has not released (`RXE_INFLIGHT_SKBS_PER_QP_HIGH`). It takes effect
//! under congestion control, where packets wait in the pacer: at most [`MAX_PACED`], refilled only when fewer than
//! [`REFILL_PACED`] are left or an answer arrives. A QP that goes back first sends the packets that are already in its
//! pacer. Without congestion control, the limit never takes effect: a host's queue is netem, which disowns packets when
//! it queues them (`skb_orphan_partial`).
//!
//! Switches mark a packet according to the queue in front of it, as the lab's switches do and as DCQCN's congestion
//! point is published (Zhu et al., section 3.1). Under the other semantics, switches mark a packet according to the
//! queue behind it, as in the authors' simulator.
//!
//! Sources: `rxe_req.c`, `rxe_comp.c` and `rxe_resp.c` of
//! <https://github.com/torvalds/linux/tree/v6.1/drivers/infiniband/sw/rxe>; both comparisons with the limits are as in
//! the machine code of Debian's 6.1.0-48 module.

use lab_plan::{Flow, HostProfile, Plan, pfc};
use lab_units::BitsPerSec;

use super::{Identities, Paper, SemanticsRules, paper::round_trip};
use crate::time::SimTime;

/// Number of unacknowledged packets at which a QP stops sending. The next packet number may exceed the first
/// unacknowledged one by `RXE_MAX_UNACKED_PSNS` = 128, so 129 packets can be in flight.
pub const MAX_UNACKED: u32 = 129;

/// Number of packets without an ACK request after which the next packet requests an ACK. A counter from 0 must exceed
/// `RXE_MAX_PKT_PER_ACK` = 64, so every 66th packet of a long message is acknowledged.
pub const MAX_NOT_ACKED: u32 = 65;

/// Maximum number of packets that a QP has in its pacer: one more than `RXE_INFLIGHT_SKBS_PER_QP_HIGH` = 64.
pub const MAX_PACED: usize = 65;

/// Number of packets in the pacer below which the QP refills it: `RXE_INFLIGHT_SKBS_PER_QP_LOW`.
pub const REFILL_PACED: usize = 16;

/// Rules of the paper, with SoftRoCE hosts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rxe;

impl SemanticsRules for Rxe {
    const DATA_HEADER_BYTES: u32 = Paper::DATA_HEADER_BYTES;
    const PAYLOAD_ALIGN: u32 = Paper::PAYLOAD_ALIGN;
    const ACK_BYTES: u32 = Paper::ACK_BYTES;
    const CNP_BYTES: u32 = Paper::CNP_BYTES;
    const PFC_BYTES: u32 = Paper::PFC_BYTES;
    const PFC_CLASS: u8 = Paper::PFC_CLASS;
    const RESERVE_BYTES: u64 = Paper::RESERVE_BYTES;
    const RESUME_OFFSET_BYTES: u64 = Paper::RESUME_OFFSET_BYTES;
    const PORT_LIMIT_BYTES: Option<u64> = Paper::PORT_LIMIT_BYTES;
    const COUNTS_REJECTED: bool = Paper::COUNTS_REJECTED;
    const PINS_EVERYTHING: bool = Paper::PINS_EVERYTHING;
    const RATE_MOVES_NEXT: bool = Paper::RATE_MOVES_NEXT;
    const NIC_OVERSLEEPS: bool = Paper::NIC_OVERSLEEPS;
    const SCHEDULER_KEEPS_QPS: bool = Paper::SCHEDULER_KEEPS_QPS;
    const IS_RXE: bool = true;

    fn clock(exact: SimTime) -> SimTime {
        Paper::clock(exact)
    }

    fn bdp(round_trip: SimTime, rate: BitsPerSec) -> u64 {
        Paper::bdp(round_trip, rate)
    }

    fn window(largest: u64, rate: BitsPerSec, line_rate: BitsPerSec) -> u64 {
        Paper::window(largest, rate, line_rate)
    }

    fn headroom(rate: BitsPerSec, delay: SimTime, largest_packet: u32) -> u64 {
        let in_flight = Self::bdp(round_trip(delay), rate);
        pfc::headroom(in_flight, largest_packet, HostProfile::Rxe)
    }

    fn shared_bytes(buffer: u64, headrooms: &[u64], reserves: u64) -> Option<u64> {
        Paper::shared_bytes(buffer, headrooms, reserves)
    }

    fn free_bytes(shared: u64, used: u64) -> u64 {
        Paper::free_bytes(shared, used)
    }

    fn identities(plan: &Plan, flows: &[&Flow]) -> Identities {
        Paper::identities(plan, flows)
    }
}
