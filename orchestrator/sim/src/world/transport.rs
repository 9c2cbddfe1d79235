//! Transport of the hosts, in the simulator's units.

use lab_plan::{HostProfile, Plan, Role, WindowPlan};
use lab_units::{BitsPerSec, Tool};

use crate::{
    cc::CongestionControl,
    packet::{DATA_CLASS, STRICT},
    semantics::{SemanticsRules, rxe},
    time::SimTime,
};

/// Parameters of the transport.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// Model of the hosts' RDMA devices.
    pub profile: HostProfile,
    /// Operation that moves a flow's data, under [`HostProfile::Rxe`].
    pub tool: Tool,
    /// Payload bytes of a full packet.
    pub payload: u32,
    /// Bytes on the wire of a full data packet.
    pub full_bytes: u32,
    /// Bytes that congestion control adds to a data packet.
    pub data_extra: u32,
    /// Bytes on the wire of an ACK.
    pub ack_bytes: u32,
    /// Traffic class of ACKs.
    pub ack_class: u8,
    /// Minimum time between two NACKs for one packet.
    pub nack_interval: SimTime,
    /// Retransmission time-out; `None` if senders never time out.
    pub timeout: Option<SimTime>,
    /// Time from its start after which an unfinished flow is given up, under [`HostProfile::Rxe`].
    pub flow_deadline: SimTime,
    /// Rule for the bytes that may be unacknowledged.
    pub window: WindowPlan,
    /// True if switches pause their neighbours (PFC) instead of dropping.
    pub pfc: bool,
}

pub(super) fn transport<S: SemanticsRules, C: CongestionControl>(
    plan: &Plan,
    control: &C::Parameters,
) -> Transport {
    let (rdma, plan) = (&plan.rdma, &plan.transport);
    let extra = C::extra_wire_bytes(control);
    let payload = plan.payload_bytes;
    Transport {
        profile: plan.profile,
        tool: rdma.tool,
        payload,
        full_bytes: S::DATA_HEADER_BYTES + extra.data + payload.next_multiple_of(S::PAYLOAD_ALIGN),
        data_extra: extra.data,
        ack_bytes: S::ACK_BYTES + extra.ack,
        ack_class: if plan.ack_priority {
            STRICT
        } else {
            DATA_CLASS
        },
        nack_interval: plan.nack_interval_ns.into(),
        timeout: plan
            .retransmit_timeout_ns
            .map(|timeout| match plan.profile {
                HostProfile::Rnic => timeout.into(),
                HostProfile::Rxe => rxe::timer(timeout).into(),
            }),
        flow_deadline: rdma.flow_deadline_ns.into(),
        window: plan.window,
        pfc: plan.pfc,
    }
}

/// Returns the rate of the hosts' NICs.
pub(crate) fn nic_rate(plan: &Plan) -> Option<BitsPerSec> {
    let host = plan.nodes.iter().find(|node| node.role == Role::Host)?;
    let link = host.ports.first()?.link();
    Some(plan.links[link.index()].emu.rate_bps)
}
