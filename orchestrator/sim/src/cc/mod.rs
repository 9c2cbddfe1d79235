//! Congestion control of a sending QP.
//!
//! Each controller has a file, whose head describes the rules, the parameters and their source. A controller receives
//! events with their time and returns a rate and, if it limits one itself, a window. It has access to neither the
//! network nor a clock.
//!
//! - [`NoControl`][]: line rate
//! - [`Dcqcn`][]: as published, and as the artifact implements it
//! - [`Hpcc`][], with the fields of telemetry in `int`
//! - [`Timely`][]
//! - [`Dctcp`][]
//! - [`with_control`][]: dispatch from a plan to a type
//!
//! [`Dcqcn`] computes in integers, as a lab's host programs do. The other controllers only add, multiply and divide
//! floats, which gives the same result on every machine.

mod dcqcn;
mod dctcp;
mod dispatch;
mod hpcc;
mod int;
#[cfg(test)]
mod laws;
mod rate;
mod timely;

use lab_units::BitsPerSec;

pub use dcqcn::{Dcqcn, Parameters as DcqcnParameters};
pub use dctcp::{Dctcp, Parameters as DctcpParameters};
pub use dispatch::{NoControl, WithControl, with_control};
pub use hpcc::{Hpcc, Parameters as HpccParameters};
pub use timely::{Parameters as TimelyParameters, Timely};

use crate::time::SimTime;

/// Facts about a QP's flow, known at its start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QpFacts {
    /// Rate of the host's NIC, which is a QP's initial rate.
    pub line_rate: BitsPerSec,
    /// Round-trip time of an empty network: on the longest of the flow's paths, because a host does not know its path
    /// before the first packet returns, or on the plan's longest path (`semantics: artifact`).
    pub base_rtt: SimTime,
    /// Bandwidth-delay product of `base_rtt` and `line_rate` in bytes, or the plan's largest product (`semantics:
    /// artifact`).
    pub full_window: u64,
    /// Payload bytes of a full packet.
    pub payload_bytes: u32,
}

/// In-band telemetry that one switch port writes into a packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct IntHop {
    /// Time at which the packet left the port.
    pub time: SimTime,
    /// Bytes that the port has sent since the run's start.
    pub tx_bytes: u64,
    /// Bytes that are left in the port's queue.
    pub queue_bytes: u64,
    /// Rate of the port in bit/s.
    pub rate_bps: u64,
}

/// Path that a data packet and its answer took, as described by telemetry.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PathFacts {
    /// Identifier of the data packet's path: paths that differ in a switch port have different identifiers. The paper's
    /// header contains the XOR of the switches' 12-bit numbers.
    pub id: u32,
    /// Round-trip time in an empty network: the delays of all links in both directions, and the time to send the
    /// packets.
    pub base_rtt: SimTime,
}

/// Acknowledgement that reached the sender in an ACK or a NACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Number of bytes acknowledged so far.
    pub acked_bytes: u64,
    /// Number of bytes sent so far.
    pub next_bytes: u64,
    /// Number of bytes acknowledged for the first time.
    pub newly_bytes: u64,
    /// True if the acknowledged data packet was marked.
    pub is_marked: bool,
    /// Time since the acknowledged data packet was sent.
    pub round_trip: SimTime,
    /// Telemetry of the switches on the path, first hop first; empty without `HAS_INT`.
    pub hops: &'a [IntHop],
    /// Path of `hops`; default without `HAS_INT`.
    pub path: PathFacts,
}

/// Form in which receivers notify senders of marks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Notification {
    /// Each ACK echoes the mark of its packet.
    Echo,
    /// A CNP follows a marked packet, with at least this time between two CNPs of a QP (RoCEv2 annex A17.9.3).
    Cnp(SimTime),
}

/// Sender-side congestion control of one QP.
pub trait CongestionControl: Sized {
    /// Parameters that all QPs share.
    type Parameters: Clone + Send + Sync;

    /// Returns the bytes that the controller adds to each data packet and to each ACK.
    fn extra_wire_bytes(parameters: &Self::Parameters) -> ExtraBytes {
        let _ = parameters;
        ExtraBytes::default()
    }

    /// Returns the form in which receivers notify senders of marks.
    fn notification(parameters: &Self::Parameters) -> Notification {
        let _ = parameters;
        Notification::Echo
    }

    /// True if the rate may fall below the NIC's rate, so that a host paces its QPs.
    const PACES: bool = true;

    /// True if switches write telemetry into packets.
    const HAS_INT: bool = false;

    /// True if a new rate also moves the next packet under `semantics: artifact` (`RdmaHw::ChangeRate`), as for HPCC. A
    /// new rate of the other controllers applies after the next packet.
    const ARTIFACT_RATE_MOVES_NEXT: bool = false;

    /// Creates the controller of a QP at `now`.
    fn new(parameters: &Self::Parameters, facts: QpFacts, now: SimTime) -> Self;

    /// Returns the pacing rate.
    fn rate(&self) -> BitsPerSec;

    /// Returns the target rate and α (Q30) at `now` if the controller's rates are recorded.
    fn target_and_alpha(
        &self,
        now: SimTime,
        parameters: &Self::Parameters,
    ) -> Option<(BitsPerSec, u32)> {
        let _ = (now, parameters);
        None
    }

    /// Returns the maximum unacknowledged bytes, if the controller limits them.
    fn window_bytes(&self) -> Option<u64> {
        None
    }

    /// Processes the sending of a packet.
    fn on_sent(&mut self, now: SimTime, wire_bytes: u32, parameters: &Self::Parameters) {
        let _ = (now, wire_bytes, parameters);
    }

    /// Processes an ACK or NACK.
    fn on_ack(&mut self, now: SimTime, ack: &Ack<'_>, parameters: &Self::Parameters);

    /// Processes a CNP.
    fn on_cnp(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Processes a NACK, which indicates missing packets, after [`CongestionControl::on_ack`].
    fn on_nack(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Processes a retransmission time-out.
    fn on_timeout(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Returns the next time at which [`CongestionControl::on_timer`] is due.
    ///
    /// While the QP has packets to send, the call is on time. After a pause, the call is late and performs every step
    /// that was due. Other events also perform the due steps first, so that a late call makes no difference.
    fn next_timer(&self, parameters: &Self::Parameters) -> Option<SimTime> {
        let _ = parameters;
        None
    }

    /// Performs all timer steps that are due at `now`.
    fn on_timer(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }
}

/// Bytes that a controller adds to packets on the wire.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ExtraBytes {
    /// Bytes added to a data packet.
    pub data: u32,
    /// Bytes added to an ACK.
    pub ack: u32,
}
