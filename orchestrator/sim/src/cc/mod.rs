//! Congestion control of a sending QP.
//!
//! One file each; its head gives the rules, the parameters and their source. A controller is told
//! what happened and when, and answers with a rate and, if it has one, a window. It never sees the
//! network, and it has no clock: `now` is always passed in.
//!
//! - [`NoControl`][]: line rate
//! - [`Dcqcn`][], [`ArtifactDcqcn`][]: as published, and as the paper's authors run it
//! - [`Hpcc`][], with telemetry's fields in `int`
//! - [`Timely`][]
//! - [`Dctcp`][]
//! - [`with_control`][]: from a plan's to a type
//!
//! Floats are added, multiplied and divided, which is the same on every machine; nothing else is
//! done with them.

mod choose;
mod dcqcn;
mod dcqcn_artifact;
mod dctcp;
mod hpcc;
mod int;
#[cfg(test)]
mod laws;
mod none;
mod rate;
mod timely;

use lab_units::BitsPerSec;

pub use choose::{WithControl, with_control};
pub use dcqcn::{Dcqcn, Parameters as DcqcnParameters};
pub use dcqcn_artifact::{ArtifactDcqcn, Parameters as ArtifactDcqcnParameters};
pub use dctcp::{Dctcp, Parameters as DctcpParameters};
pub use hpcc::{Hpcc, Parameters as HpccParameters};
pub use none::NoControl;
pub use timely::{Parameters as TimelyParameters, Timely};

use crate::time::SimTime;

/// What a QP's controller knows of its flow when it begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QpFacts {
    /// Rate of the host's NIC, at which a QP begins.
    pub line_rate: BitsPerSec,
    /// The round trip that the controller takes for an empty network's: the flow's own, or the
    /// largest of the plan (`semantics: artifact`).
    pub base_rtt: SimTime,
    /// Bytes that fill the way for `base_rtt` at `line_rate`, as the semantics computes them: the
    /// bandwidth-delay product, or the plan's largest (`semantics: artifact`).
    pub full_window: u64,
    /// Payload of a full packet.
    pub payload_bytes: u32,
}

/// What one switch port wrote into a packet that left it (in-band telemetry).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct IntHop {
    /// When the packet left.
    pub time: SimTime,
    /// Bytes the port has sent since the run's start.
    pub tx_bytes: u64,
    /// Bytes left in its queue.
    pub queue_bytes: u64,
    /// The port's rate in bit/s.
    pub rate_bps: u64,
}

/// An acknowledgement that reached the sender; a NACK is one, too.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Every byte before this one is acknowledged.
    pub acked_bytes: u64,
    /// The first byte not sent yet.
    pub next_bytes: u64,
    /// Bytes that this one acknowledged and none before did.
    pub newly_bytes: u64,
    /// The data packet it answers was marked.
    pub is_marked: bool,
    /// From the sending of that data packet until now.
    pub round_trip: SimTime,
    /// What the switches on the way wrote, first hop first; empty unless the controller asks.
    pub hops: &'a [IntHop],
}

/// How a receiver tells the sender of marks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Notification {
    /// Each ACK says whether its packet was marked.
    Echo,
    /// A CNP for a marked packet, at most one per QP in this time (RoCEv2 annex A17.9.3).
    Cnp(SimTime),
}

/// Sender-side congestion control of one QP.
pub trait CongestionControl: Sized {
    /// Its parameters.
    type Parameters: Clone + Send + Sync;

    /// Bytes it adds to each data packet, and to each ACK, for what it carries in them.
    fn extra_wire_bytes(parameters: &Self::Parameters) -> ExtraBytes {
        let _ = parameters;
        ExtraBytes::default()
    }

    /// How the receiver tells of marks.
    fn notification(parameters: &Self::Parameters) -> Notification {
        let _ = parameters;
        Notification::Echo
    }

    /// Whether switches write telemetry into its packets.
    const HAS_INT: bool = false;

    /// Whether the authors' code moves the packet after the last one sent when it sets a new rate
    /// (`RdmaHw::ChangeRate`). It does for HPCC alone; the others' new rate counts from the next
    /// packet on (`semantics: artifact`).
    const ARTIFACT_RATE_MOVES_NEXT: bool = false;

    /// A QP that begins at `now`.
    fn new(parameters: &Self::Parameters, facts: QpFacts, now: SimTime) -> Self;

    /// The rate at which packets leave; the next may leave a packet's time at this rate after one.
    fn rate(&self) -> BitsPerSec;

    /// Bytes that may be unacknowledged, if it limits them itself.
    fn window_bytes(&self) -> Option<u64> {
        None
    }

    /// A packet left.
    fn on_sent(&mut self, now: SimTime, wire_bytes: u32, parameters: &Self::Parameters) {
        let _ = (now, wire_bytes, parameters);
    }

    /// An ACK arrived.
    fn on_ack(&mut self, now: SimTime, ack: &Ack<'_>, parameters: &Self::Parameters);

    /// A CNP arrived.
    fn on_cnp(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// A NACK arrived: the receiver misses packets.
    fn on_nack(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Nothing came back for a retransmission time-out.
    fn on_timeout(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// When [`CongestionControl::on_timer`] is due next. It is called at that time while the QP has
    /// something to send; after a pause it is called late, and then catches up with every step
    /// that was due. What is due at a time comes before what else happens then, and is caught up
    /// with there, too, so that being called late changes nothing.
    fn next_timer(&self) -> Option<SimTime> {
        None
    }

    /// The time has come, or has passed.
    fn on_timer(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }
}

/// Bytes that a controller adds to packets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ExtraBytes {
    /// To a data packet.
    pub data: u32,
    /// To an ACK.
    pub ack: u32,
}
