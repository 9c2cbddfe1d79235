//! The plan's transport, in the simulator's units.

use lab_plan::{Plan, Role, TransportPlan, WindowPlan};
use lab_units::BitsPerSec;

use crate::{
    cc::CongestionControl,
    packet::{DATA_CLASS, STRICT},
    semantics::Semantics,
    time::SimTime,
};

/// The plan's transport in the simulator's units.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// Payload of a full packet.
    pub payload: u32,
    /// Bytes of a full data packet.
    pub full_bytes: u32,
    /// Bytes congestion control adds to a data packet.
    pub data_extra: u32,
    /// Bytes of an ACK.
    pub ack_bytes: u32,
    /// Class of ACKs.
    pub ack_class: u8,
    /// The shortest time between two NACKs for one packet.
    pub nack_interval: SimTime,
    /// Retransmission time-out.
    pub timeout: Option<SimTime>,
    /// Bytes that may be unacknowledged.
    pub window: WindowPlan,
    /// PFC instead of drops.
    pub pfc: bool,
}

pub(super) fn transport<P: Semantics, C: CongestionControl>(
    plan: &TransportPlan,
    control: &C::Parameters,
) -> Transport {
    let extra = C::extra_wire_bytes(control);
    let payload = plan.payload_bytes;
    Transport {
        payload,
        full_bytes: P::DATA_HEADER_BYTES + extra.data + payload.next_multiple_of(P::PAYLOAD_ALIGN),
        data_extra: extra.data,
        ack_bytes: P::ACK_BYTES + extra.ack,
        ack_class: if plan.ack_priority {
            STRICT
        } else {
            DATA_CLASS
        },
        nack_interval: plan.nack_interval_ns.into(),
        timeout: plan.retransmit_timeout_ns.map(SimTime::from),
        window: plan.window,
        pfc: plan.pfc,
    }
}

/// The rate of a host's NIC.
pub(crate) fn nic_rate(plan: &Plan) -> Option<BitsPerSec> {
    let host = plan.nodes.iter().find(|node| node.role == Role::Host)?;
    let link = host.ports.first()?.link();
    Some(plan.links[link.index()].emu.rate_bps)
}
