//! Congestion control of a sending QP.
//!
//! One file each; its head gives the rules, the parameters and their source. A controller is told
//! what happened and when, and answers with a rate and, if it has one, a window. It never sees the
//! network, and it has no clock: `now` is always passed in.

use lab_units::BitsPerSec;

use crate::time::SimTime;

/// What a QP's controller knows of its flow when it begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QpFacts {
    /// Rate of the host's NIC, at which a QP begins.
    pub line_rate: BitsPerSec,
    /// The round trip that the controller takes for an empty network's: the flow's own, or the
    /// largest of the plan (`physics: artifact`).
    pub base_rtt: SimTime,
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

/// An acknowledgement that reached the sender.
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
    fn extra_wire_bytes(parameters: &Self::Parameters) -> ExtraBytes;

    /// How the receiver tells of marks.
    fn notification(parameters: &Self::Parameters) -> Notification;

    /// Whether switches write telemetry into its packets.
    const HAS_INT: bool = false;

    /// A QP that begins at `now`.
    fn new(parameters: &Self::Parameters, facts: QpFacts, now: SimTime) -> Self;

    /// The rate at which packets leave; the next may leave a packet's time at this rate after one.
    fn rate(&self) -> BitsPerSec;

    /// Bytes that may be unacknowledged, if it limits them itself.
    fn window_bytes(&self) -> Option<u64> {
        None
    }

    /// A packet left.
    fn sent(&mut self, now: SimTime, wire_bytes: u32, parameters: &Self::Parameters) {
        let _ = (now, wire_bytes, parameters);
    }

    /// An ACK arrived.
    fn acked(&mut self, now: SimTime, ack: &Ack<'_>, parameters: &Self::Parameters);

    /// A CNP arrived.
    fn notified(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// A NACK arrived: the receiver misses packets.
    fn nacked(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// Nothing came back for a retransmission time-out.
    fn timed_out(&mut self, now: SimTime, parameters: &Self::Parameters) {
        let _ = (now, parameters);
    }

    /// When [`CongestionControl::timer`] is due next. It is called at that time while the QP has
    /// something to send; after a pause it is called late, and then catches up with every step
    /// that was due.
    fn next_timer(&self) -> Option<SimTime> {
        None
    }

    /// The time has come, or has passed.
    fn timer(&mut self, now: SimTime, parameters: &Self::Parameters) {
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
