//! Rows of the host programs: DCQCN's parameters and state, and the pacer's state of a QP.
//!
//! The law counts times in one unit of the caller's choice: nanoseconds of `CLOCK_MONOTONIC` in the
//! kernel, picoseconds in the simulator. `lab-dcqcn` is its reference, `agents/ebpf/dcqcn.bpf.h` its copy
//! for the kernel.

use core::net::Ipv4Addr;

use crate::layout::row;

/// One in Q30, the scale of α and its gain.
pub const ONE_Q30: u32 = 1 << 30;

/// Largest rate of the law in bit/s: a product with α then fits in 64 bits in two parts.
pub const MAX_RATE_BPS: u64 = 1 << 42;

/// Largest number of stages past fast recovery that multiply the hyper increase. The target reaches the
/// line rate long before, as it grows with the square of the stages.
pub const MAX_HYPER_STAGES: u32 = 1 << 20;

/// Largest number of raises that one event makes up for after a pause; the kernel's limit of a loop.
pub const MAX_RAISES: u32 = 1 << 23;

/// Bit in a CNP's destination QP, above every SoftRoCE QP number: the other bits are the receiver's QP, by which the
/// flow's data packets are known. Switches keep CNPs and data apart by it.
pub const CNP_QP: u32 = 1 << 23;

/// Bit of `ReactionPoint::pending`: a CNP arrived since the last update of α.
pub const REACTION_ALPHA: u32 = 1;

/// Bit of `ReactionPoint::pending`: a CNP arrived since the last cut.
pub const REACTION_CUT: u32 = 2;

/// Value of `LawStep::event`: the QP starts.
pub const LAW_START: u32 = 0;

/// Value of `LawStep::event`: the timer is due.
pub const LAW_TIMER: u32 = 1;

/// Value of `LawStep::event`: a packet was sent.
pub const LAW_SENT: u32 = 2;

/// Value of `LawStep::event`: a CNP arrived.
pub const LAW_CNP: u32 = 3;

/// Value of `LawStep::event`: a marked packet arrived at the receiver.
pub const LAW_MARKED: u32 = 4;

/// Value of `LawStep::event`: a packet met a queue.
pub const LAW_QUEUED: u32 = 5;

/// Largest threshold of a queue, in units that the caller chooses: a product with a fraction of 2^32 then fits in 64
/// bits.
pub const MAX_THRESHOLD: u64 = 1 << 31;

row! {
    /// DCQCN's congestion point: thresholds of an egress queue, at most 2^31 each.
    pub struct CongestionPoint as "congestion_point" {
        /// Queue up to which no packet is marked (Kmin).
        pub k_min: u64,
        /// Queue above which every packet is marked (Kmax).
        pub k_max: u64,
        /// Share of packets that are marked at Kmax (Pmax), in units of 2^-32.
        pub p_max_q32: u64,
    }
}

row! {
    /// Parameters for DCQCN's reaction point and notification point, and for the artifact's variant of both.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct DcqcnParams as "dcqcn_params" {
        /// Minimum time between two CNPs of one QP (N).
        pub cnp_interval: u64,
        /// Time without a CNP after which α decays (K); not 0.
        pub alpha_interval: u64,
        /// Time between two raises of the rate (T); not 0.
        pub increase_interval: u64,
        /// Bytes sent between two raises of the rate (B); not 0.
        pub byte_counter: u64,
        /// Raise of the target after fast recovery (R_AI), bit/s.
        pub additive_bps: u64,
        /// Raise of the target per stage once timer and byte counter are past fast recovery (R_HAI),
        /// bit/s.
        pub hyper_bps: u64,
        /// Minimum rate, bit/s; not 0.
        pub min_bps: u64,
        /// Weight of a new mark in α (g), Q30.
        pub gain_q30: u32,
        /// Raises of fast recovery (F).
        pub fast_recovery: u32,
        /// Minimum time between two rate cuts (D) in the artifact's variant; 0: the published law,
        /// by which every CNP cuts.
        pub decrease_interval: u64,
        /// Time from a QP's first CNP to its first cut, of the artifact's variant.
        pub first_decrease: u64,
    }
}

row! {
    /// DCQCN's reaction point: state of a sending QP.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct ReactionPoint as "reaction_point" {
        /// Rate (R_C), bit/s.
        pub rate_bps: u64,
        /// Target rate (R_T), bit/s.
        pub target_bps: u64,
        /// Rate of the NIC, bit/s.
        pub line_bps: u64,
        /// Time of the next α update, which is made up for at the next CNP or cut; the largest number:
        /// never.
        pub alpha_due: u64,
        /// Time of the timer's next raise; the largest number: never.
        pub increase_due: u64,
        /// Time of the next cut if a CNP asks for one, in the artifact's variant.
        pub decrease_due: u64,
        /// Bytes to send until the byte counter raises the rate.
        pub bytes_left: u64,
        /// Estimate of congestion (α), Q30.
        pub alpha_q30: u32,
        /// Raises by the timer since the last cut.
        pub timer_stage: u32,
        /// Raises by the byte counter since the last cut.
        pub byte_stage: u32,
        /// CNPs that have not had their effect, REACTION_*, of the artifact's variant.
        pub pending: u32,
    }
}

row! {
    /// Step of the law's self-test: an event, and the state before it, which the program replaces.
    pub struct LawStep as "law_step" {
        /// Event, LAW_*.
        pub event: u32,
        /// Wire bytes of a sent packet.
        pub bytes: u32,
        /// Time of the event.
        pub now: u64,
        /// Earliest time of the receiver's next CNP.
        pub next_cnp: u64,
        /// CNPs that the receiver has sent.
        pub cnps: u64,
        /// Parameters.
        pub params: DcqcnParams,
        /// State of the sender.
        pub point: ReactionPoint,
        /// Thresholds of the queue.
        pub congestion: CongestionPoint,
        /// Queue that a packet met.
        pub queue: u64,
        /// The packet's uniform number, which decides whether it is marked.
        pub dice: u32,
        /// 1: the packet was marked.
        pub is_marked: u32,
    }
}

row! {
    /// Parameters of the host programs.
    pub struct HostParams as "host_params" {
        /// Parameters of the law, in nanoseconds.
        pub law: DcqcnParams,
        /// Time after which a parked packet is looked at again at the earliest, ns; at least the timer's
        /// interval is waited for.
        pub horizon_ns: u64,
        /// Interface through which packets enter the pacer.
        pub pacer: u32,
        /// 1: the pacer drops what it holds, as the flows are being given up.
        pub is_closing: u32,
    }
}

row! {
    /// QP with a direction: the one that its data packets name.
    pub struct QpKey as "qp_key" {
        /// Source address of data packets, in network byte order.
        pub src: u32,
        /// Destination address of data packets, in network byte order.
        pub dst: u32,
        /// Destination QP of data packets.
        pub dest_qp: u32,
    }
}

impl QpKey {
    /// Returns the key of data from `src` to `dest_qp` at `dst`.
    #[must_use]
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr, dest_qp: u32) -> Self {
        Self {
            src: src.to_bits().to_be(),
            dst: dst.to_bits().to_be(),
            dest_qp,
        }
    }
}

row! {
    /// Sending QP: its reaction point and its place in the pacer.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct PacedQp as "paced_qp" {
        /// State of the law.
        pub point: ReactionPoint,
        /// Time from which the next packet is due after its predecessor's transmission, ns.
        pub last_tx_ns: u64,
        /// CNPs received.
        pub cnps: u64,
        /// Time of the NIC's clock from which the first packet may leave, where pauses can come; 0: it is
        /// not in the NIC's queue yet.
        pub ticket: u64,
        /// Packets that left the pacer.
        pub packets: u64,
        /// Bytes that left the pacer, Ethernet header included.
        pub bytes: u64,
        /// Packets sent round again because they were early or out of turn.
        pub rounds: u64,
        /// Bytes of the packet that left the pacer last.
        pub last_bytes: u32,
        /// Interface of the host's NIC.
        pub nic: u32,
        /// Sequence number of the next packet that enters the pacer.
        pub next_in: u32,
        /// Sequence number of the next packet that leaves it.
        pub next_out: u32,
        /// Largest number of packets in the pacer.
        pub max_parked: u32,
        /// Packets that left out of order because one before them never came.
        pub out_of_order: u32,
    }
}

row! {
    /// Receiving QP: its notification point.
    pub struct MarkedQp as "marked_qp" {
        /// Earliest time of the next CNP, ns.
        pub next_cnp: u64,
        /// Marked packets received.
        pub marked: u64,
        /// CNPs sent.
        pub cnps: u64,
    }
}

row! {
    /// Counters of the host programs.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct HostCounters as "host_counters" {
        /// Data packets that were not paced for want of a row for their QP.
        pub unpaced: u64,
        /// Marked packets whose CNP could not be sent.
        pub lost_cnps: u64,
        /// CNPs of QPs without a row.
        pub stray_cnps: u64,
        /// Packets that the pacer dropped: all while it closes, and those of QPs without a row.
        pub dropped: u64,
        /// Pauses that were not recorded.
        pub lost_pauses: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_addresses_in_network_byte_order() {
        let key = QpKey::new(Ipv4Addr::new(10, 1, 2, 3), Ipv4Addr::LOCALHOST, 17);
        assert_eq!(key.src.to_ne_bytes(), [10, 1, 2, 3]);
        assert_eq!((key.dst.to_ne_bytes(), key.dest_qp), ([127, 0, 0, 1], 17));
    }
}
