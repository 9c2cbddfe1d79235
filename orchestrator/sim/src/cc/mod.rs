//! Congestion control of a sending QP.
//!
//! Each controller has a file whose module documentation gives its rules, its parameters and their sources. A
//! controller receives events with their time and returns a rate and, if it limits one itself, a window. It has access
//! to neither the network nor a clock.
//!
//! - [`NoControl`][]: always line rate
//! - [`Dcqcn`][]: as published, and as the artifact implements it
//! - [`Hpcc`][], with the fields of telemetry in `int`
//! - [`Timely`][]
//! - [`Dctcp`][]
//! - [`with_control`][]: selects the type for a plan's congestion control
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

/// Facts about a QP that are known at its start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QpFacts {
    /// Rate of the host's NIC, at which a QP starts.
    pub line_rate: BitsPerSec,
    /// Round-trip time of an empty network, on the longest of the flow's paths, because a host does not know its path
    /// before the first ACK. With `semantics: artifact`, on the plan's longest path.
    pub base_rtt: SimTime,
    /// Bandwidth-delay product `base_rtt · line_rate` in bytes. With `semantics: artifact`, the plan's largest product.
    pub full_window: u64,
    /// Payload bytes of a full packet.
    pub payload_bytes: u32,
}

/// In-band telemetry (INT) that one switch port writes into a packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct IntHop {
    /// Time at which the packet left the port.
    pub time: SimTime,
    /// Bytes that the port has sent since the run's start.
    pub tx_bytes: u64,
    /// Bytes in the port's queue after the packet left.
    pub queue_bytes: u64,
    /// Rate of the port in bit/s.
    pub rate_bps: u64,
}

/// Path of a data packet and its ACK, as telemetry describes it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PathFacts {
    /// Identifier of the data packet's path; paths that differ in a switch port have different identifiers. The paper's
    /// header has the XOR of the switches' 12-bit ids instead.
    pub id: u32,
    /// Round-trip time of an empty network on this path: delays of all links in both directions, and the time to send a
    /// packet and its ACK.
    pub base_rtt: SimTime,
}

/// Acknowledgement in an ACK or NACK, as passed to the congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Number of bytes acknowledged so far, including by this ACK.
    pub acked_bytes: u64,
    /// Number of bytes that the sender has sent so far.
    pub next_bytes: u64,
    /// Number of bytes that this ACK acknowledges for the first time.
    pub newly_bytes: u64,
    /// True if the acknowledged data packet was marked.
    pub is_marked: bool,
    /// Time since the acknowledged data packet was sent.
    pub round_trip: SimTime,
    /// Telemetry of the switches on the path, first hop first; empty without `HAS_INT`.
    pub hops: &'a [IntHop],
    /// Path to which `hops` belong; default without `HAS_INT`.
    pub path: PathFacts,
}

/// Message in which receivers return ECN marks to the sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Notification {
    /// Each ACK repeats the mark of its data packet.
    Echo,
    /// A CNP follows a marked packet, at most one per QP in this time (RoCEv2 annex A17.9.3).
    Cnp(SimTime),
}

/// Sender-side congestion control of one QP.
pub trait CongestionControl: Sized {
    /// Type of the parameters that all QPs share.
    type Parameters: Clone + Send + Sync;

    /// Returns the bytes that the controller's headers add to each data packet and each ACK.
    fn extra_wire_bytes(parameters: &Self::Parameters) -> ExtraBytes {
        let _ = parameters;
        ExtraBytes::default()
    }

    /// Returns the message in which receivers return ECN marks.
    fn notification(parameters: &Self::Parameters) -> Notification {
        let _ = parameters;
        Notification::Echo
    }

    /// True if the rate can be below the NIC's rate, so that hosts must pace their QPs.
    const PACES: bool = true;

    /// True if switches write telemetry into packets.
    const HAS_INT: bool = false;

    /// True if, under `semantics: artifact`, a new rate also changes the time of the next packet, as HPCC's does
    /// (`RdmaHw::ChangeRate`). Other controllers' rates apply after the next packet.
    const ARTIFACT_RATE_MOVES_NEXT: bool = false;

    /// Creates the controller of a QP at `now`.
    fn new(parameters: &Self::Parameters, facts: QpFacts, now: SimTime) -> Self;

    /// Returns the pacing rate.
    fn rate(&self) -> BitsPerSec;

    /// Returns the target rate and α at `now`, for the records; α is a fixed-point number with 30 fractional bits.
    /// Returns `None` if the controller has no target rate and no α.
    fn target_and_alpha(
        &self,
        now: SimTime,
        parameters: &Self::Parameters,
    ) -> Option<(BitsPerSec, u32)> {
        let _ = (now, parameters);
        None
    }

    /// Returns the maximum number of unacknowledged bytes; `None` if the controller does not limit it.
    fn window_bytes(&self) -> Option<u64> {
        None
    }

    /// Updates the state after the QP has sent a packet of `wire_bytes`.
    fn on_sent(&mut self, now: SimTime, wire_bytes: u32, parameters: &Self::Parameters) {
        let _ = (now, wire_bytes, parameters);
    }

    /// Processes an ACK or NACK.
    fn on_ack(&mut self, now: SimTime, ack: &Ack<'_>, parameters: &Self::Parameters);

    /// Processes a CNP.
    fn on_cnp(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Processes a NACK, which means that packets are missing; called after [`CongestionControl::on_ack`].
    fn on_nack(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Processes a retransmission time-out.
    fn on_timeout(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Returns the next time at which [`CongestionControl::on_timer`] is due.
    ///
    /// While the QP has packets to send, the call is punctual. After a pause, it is late and performs all steps that
    /// were due. Other events also perform the due steps first, so that a late call makes no difference.
    fn next_timer(&self, parameters: &Self::Parameters) -> Option<SimTime> {
        let _ = parameters;
        None
    }

    /// Performs all timer steps that are due at `now`.
    fn on_timer(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }
}

/// Bytes that a controller's headers add to packets on the wire.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ExtraBytes {
    /// Bytes added to each data packet.
    pub data: u32,
    /// Bytes added to each ACK.
    pub ack: u32,
}
