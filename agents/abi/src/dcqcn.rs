//! Map rows of the host eBPF programs: DCQCN's parameters and state, and the pacer's state of each QP.
//!
//! All times share one unit, which the caller chooses: nanoseconds of `CLOCK_MONOTONIC` in the kernel, picoseconds in
//! the simulator. `lab-dcqcn` is the reference implementation; `agents/ebpf/dcqcn.bpf.h` is the kernel's copy.

use core::net::Ipv4Addr;

use crate::layout::row;

/// The number 1 in Q30, the fixed-point format of α and its gain.
pub const ONE_Q30: u32 = 1 << 30;

/// Largest rate in bit/s. The product of a rate and α is computed in two parts; up to this rate each part fits in 64
/// bits.
pub const MAX_RATE_BPS: u64 = 1 << 42;

/// Largest number of stages past fast recovery that the hyper increase is multiplied by. The target grows with the
/// square of the stages and reaches the line rate long before this bound.
pub const MAX_HYPER_STAGES: u32 = 1 << 20;

/// Maximum number of missed rate increases that one event performs after a pause; also the largest loop count that the
/// kernel's `bpf_loop` accepts.
pub const MAX_RAISES: u32 = 1 << 23;

/// Bit that a CNP sets in its destination QP number; SoftRoCE assigns only lower numbers. The bits below it are the
/// receiver's QP number, which identifies the flow's data packets. Switches use this bit to tell CNPs from data.
pub const CNP_QP: u32 = 1 << 23;

/// Bit of `ReactionPoint::pending`: a CNP arrived since the last update of α.
pub const REACTION_ALPHA: u32 = 1;

/// Bit of `ReactionPoint::pending`: a CNP arrived since the last cut.
pub const REACTION_CUT: u32 = 2;

/// Event of a DCQCN self-test step (`LawStep::event`): the QP started.
pub const LAW_START: u32 = 0;

/// Event of a DCQCN self-test step (`LawStep::event`): the timer expired.
pub const LAW_TIMER: u32 = 1;

/// Event of a DCQCN self-test step (`LawStep::event`): a packet was sent.
pub const LAW_SENT: u32 = 2;

/// Event of a DCQCN self-test step (`LawStep::event`): a CNP arrived.
pub const LAW_CNP: u32 = 3;

/// Event of a DCQCN self-test step (`LawStep::event`): a marked packet arrived at the receiver.
pub const LAW_MARKED: u32 = 4;

/// Event of a DCQCN self-test step (`LawStep::event`): a packet was queued.
pub const LAW_QUEUED: u32 = 5;

/// Largest marking threshold of an eBPF program, in the unit of its queue length: the product with a 32-bit fraction
/// still fits in 64 bits.
pub const MAX_THRESHOLD: u64 = 1 << 31;

row! {
    /// DCQCN's congestion point: thresholds of an egress queue, in the unit of the queue length. eBPF programs require
    /// thresholds of at most 2^31, the simulator does not.
    pub struct CongestionPoint as "congestion_point" {
        /// Queue length up to which no packet is marked (Kmin).
        pub k_min: u64,
        /// Queue length above which every packet is marked (Kmax).
        pub k_max: u64,
        /// Share of packets marked at Kmax (Pmax), in units of 2^-32.
        pub p_max_q32: u64,
    }
}

row! {
    /// Parameters of DCQCN's reaction point and notification point, for both the published law and the artifact's
    /// variant. Times are in ns in eBPF programs and in ps in the simulator.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct DcqcnParams as "dcqcn_params" {
        /// Minimum time between two CNPs of one QP (N).
        pub cnp_interval: u64,
        /// Time without a CNP after which α decays (K); not 0.
        pub alpha_interval: u64,
        /// Time between two timer-driven rate raises (T); not 0.
        pub increase_interval: u64,
        /// Bytes sent between two rate raises by the byte counter (B); not 0.
        pub byte_counter: u64,
        /// Increase of the target rate per raise after fast recovery (R_AI), bit/s.
        pub additive_bps: u64,
        /// Increase of the target rate per stage once both timer and byte counter are past fast recovery (R_HAI),
        /// bit/s.
        pub hyper_bps: u64,
        /// Minimum rate, bit/s; not 0.
        pub min_bps: u64,
        /// Weight of a new mark in the average α (g), Q30.
        pub gain_q30: u32,
        /// Number of raises in fast recovery (F).
        pub fast_recovery: u32,
        /// Minimum time between two rate cuts (D) in the artifact's variant. 0 selects the published law, in which
        /// every CNP cuts the rate.
        pub decrease_interval: u64,
        /// Time from a QP's first CNP to its first rate cut, in the artifact's variant.
        pub first_decrease: u64,
    }
}

row! {
    /// DCQCN's reaction point: state of a sending QP.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct ReactionPoint as "reaction_point" {
        /// Current rate (R_C), bit/s.
        pub rate_bps: u64,
        /// Target rate (R_T), bit/s.
        pub target_bps: u64,
        /// Line rate of the NIC, bit/s.
        pub line_bps: u64,
        /// Time of the next α update, applied at the next CNP or cut; `u64::MAX`: never.
        pub alpha_due: u64,
        /// Time of the timer's next raise; `u64::MAX`: never.
        pub increase_due: u64,
        /// Time of the next check for a cut, in the artifact's variant.
        pub decrease_due: u64,
        /// Bytes to send until the byte counter raises the rate.
        pub bytes_left: u64,
        /// Congestion estimate (α), Q30.
        pub alpha_q30: u32,
        /// Timer-driven raises since the last cut.
        pub timer_stage: u32,
        /// Byte-counter raises since the last cut.
        pub byte_stage: u32,
        /// CNPs that have not taken effect yet: a bit set of REACTION_*, in the artifact's variant.
        pub pending: u32,
    }
}

row! {
    /// One step of the DCQCN self-test: an event, and the state before it, which the program overwrites with the state
    /// after it.
    pub struct LawStep as "law_step" {
        /// Event that the step applies, one of LAW_*.
        pub event: u32,
        /// Size of the sent packet on the wire, bytes.
        pub bytes: u32,
        /// Time at which the event occurs.
        pub now: u64,
        /// Earliest time at which the receiver may send its next CNP.
        pub next_cnp: u64,
        /// CNPs that the receiver has sent.
        pub cnps: u64,
        pub params: DcqcnParams,
        pub point: ReactionPoint,
        pub congestion: CongestionPoint,
        /// Queue length when the packet arrives.
        pub queue: u64,
        /// Uniform random number that decides whether the packet is marked.
        pub dice: u32,
        /// 1: the packet was marked; 0: it was not.
        pub is_marked: u32,
    }
}

row! {
    pub struct HostParams as "host_params" {
        /// Parameters of DCQCN; times in nanoseconds.
        pub law: DcqcnParams,
        /// Minimum time until the pacer checks a held packet again, ns; under the published law, DCQCN's timer interval
        /// applies instead if it is longer.
        pub horizon_ns: u64,
        /// Index of the interface through which packets enter the pacer.
        pub pacer: u32,
        /// 1: the pacer drops all packets that it holds, because the flows are being aborted.
        pub is_closing: u32,
    }
}

row! {
    /// One direction of a QP, identified by the addresses and the destination QP of its data packets.
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
    /// Returns the key of the data packets from `src` to the QP `dest_qp` at `dst`.
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
    /// Sending QP: its reaction point and its state in the pacer.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct PacedQp as "paced_qp" {
        pub point: ReactionPoint,
        /// Transmission time of the latest packet, from which the due time of the next packet is computed, ns.
        pub last_tx_ns: u64,
        /// CNPs received for this QP.
        pub cnps: u64,
        /// Time on the NIC's clock from which the QP's next packet may leave, if the NIC can be paused; 0: that packet
        /// is not in the NIC's queue yet.
        pub ticket: u64,
        /// Packets that have left the pacer.
        pub packets: u64,
        /// Bytes that have left the pacer, Ethernet headers included.
        pub bytes: u64,
        /// Number of times that a packet was sent through the pacer again because it was early or out of turn.
        pub rounds: u64,
        /// Size of the latest packet that left the pacer, bytes.
        pub last_bytes: u32,
        /// Index of the host's NIC interface.
        pub nic: u32,
        /// Sequence number of the next packet that enters the pacer.
        pub next_in: u32,
        /// Sequence number of the next packet that leaves the pacer.
        pub next_out: u32,
        /// Largest number of packets held in the pacer at once.
        pub max_parked: u32,
        /// Packets released out of order: those sent ahead of a packet that was given up as lost, and such a packet if
        /// it arrives late.
        pub out_of_order: u32,
    }
}

row! {
    /// Receiving QP that has received marked packets: its notification point.
    pub struct MarkedQp as "marked_qp" {
        /// Earliest time of the next CNP, ns.
        pub next_cnp: u64,
        /// Marked packets that this QP has received.
        pub marked: u64,
        /// CNPs sent for this QP's marked packets.
        pub cnps: u64,
    }
}

row! {
    /// Counters of the host programs.
    #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
    pub struct HostCounters as "host_counters" {
        /// Data packets that were not paced because their QP has no row.
        pub unpaced: u64,
        /// Marked packets whose CNP could not be sent.
        pub lost_cnps: u64,
        /// CNPs that arrived for QPs without a row.
        pub stray_cnps: u64,
        /// Packets that the pacer dropped: all packets while it closes, and packets of QPs without a row.
        pub dropped: u64,
        /// Pauses of the NIC that could not be recorded because the ring buffer was full.
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
