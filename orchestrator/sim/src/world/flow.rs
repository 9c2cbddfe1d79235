//! Flows in the simulator's numbering.

use lab_plan::{Flow, HostProfile, Plan, frame};
use lab_units::FlowId;

use crate::{
    error::SimError,
    network::Network,
    semantics::{FlowIdentity, Identities},
    time::SimTime,
    world::{Detours, Transport},
};

/// Static data of a flow, in the simulator's numbering.
///
/// The fields that are read for every packet come first, in one cache line, because packets of thousands of flows are
/// interleaved.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct SimFlow {
    /// Addresses and keys of the flow's packets.
    pub identity: FlowIdentity,
    /// Node number of the sending host.
    pub src: u32,
    /// Node number of the receiving host.
    pub dst: u32,
    /// Index among the flows that the source datacenter sends.
    pub sending: u32,
    /// Index among the flows that the destination datacenter receives.
    pub receiving: u32,
    /// Flow id in the plan.
    pub plan: FlowId,
    /// Number of data packets.
    pub packets: u32,
    /// Size of the flow in bytes.
    pub bytes: u64,
    /// Start in virtual time.
    pub start: SimTime,
    /// Longest base RTT of all paths that the flow may take.
    pub base_rtt: SimTime,
    /// Bytes per message; with [`HostProfile::Rnic`], the size of the whole flow.
    pub message_bytes: u64,
    /// Number of packets in each message.
    pub message_packets: u32,
}

const _: () = assert!(std::mem::offset_of!(SimFlow, packets) + size_of::<u32>() == 64);

impl SimFlow {
    /// Returns the payload bytes of packet `seq`, for a flow with a single message.
    #[inline]
    #[must_use]
    pub fn payload_of(&self, seq: u32, payload: u32) -> u32 {
        if seq + 1 < self.packets {
            return payload;
        }
        self.last_payload(payload)
    }

    /// Returns the payload bytes of the last packet in a message.
    #[inline]
    #[must_use]
    pub fn last_payload(&self, payload: u32) -> u32 {
        let before = u64::from(self.message_packets - 1) * u64::from(payload);
        u32::try_from(self.message_bytes - before).unwrap_or(payload)
    }
}

/// Converts the plan's flows `planned`, in their order.
pub(super) fn flows(
    plan: &Plan,
    network: &Network,
    planned: &[&Flow],
    identities: &Identities,
    transport: &Transport,
) -> Result<Vec<SimFlow>, SimError> {
    let detours = Detours::at_start(plan);
    let mut sent = vec![0; network.dcs.len()];
    let mut received = vec![0; network.dcs.len()];
    let next = |counts: &mut Vec<u32>, node: u32| {
        let counter = &mut counts[network.nodes[node as usize].dc as usize];
        *counter += 1;
        *counter - 1
    };
    let flow = |(flow, &identity): (&&Flow, &FlowIdentity)| {
        let bytes = flow.size_bytes.get();
        let (messages, message_bytes) = match transport.profile {
            HostProfile::Rnic => (1, flow.size_bytes),
            HostProfile::Rxe => (flow.messages, flow.message_bytes),
        };
        let message_packets = frame::packets(message_bytes, transport.payload);
        let too_long = |_| SimError::FlowTooLong {
            flow: flow.id.0,
            bytes,
        };
        let src = network.node(flow.src);
        let dst = network.node(flow.dst);
        Ok(SimFlow {
            plan: flow.id,
            src,
            dst,
            sending: next(&mut sent, src),
            receiving: next(&mut received, dst),
            packets: u32::try_from(u64::from(messages) * message_packets).map_err(too_long)?,
            bytes,
            start: flow.start_ns.into(),
            base_rtt: detours.longest_round_trip(flow).into(),
            message_bytes: message_bytes.get(),
            message_packets: u32::try_from(message_packets).map_err(too_long)?,
            identity,
        })
    };
    planned.iter().zip(&identities.flows).map(flow).collect()
}
