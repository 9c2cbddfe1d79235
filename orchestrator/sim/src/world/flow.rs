//! Flows, as packets look them up.

use lab_plan::Flow;
use lab_units::FlowId;

use crate::{
    error::SimError,
    network::Network,
    semantics::{FlowIdentity, Identities},
    time::SimTime,
};

/// A flow.
///
/// What every switch and both hosts look up for a packet comes first, in one line of the cache:
/// flows are thousands, and packets of any of them follow each other.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct SimFlow {
    /// What it is known by.
    pub who: FlowIdentity,
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
    /// Its place among those its datacenter sends.
    pub sending: u32,
    /// Its place among those its destination receives.
    pub receiving: u32,
    /// In the plan.
    pub plan: FlowId,
    /// Packets it is cut into.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
    /// When it starts.
    pub start: SimTime,
    /// Round trip on the path of least delay.
    pub base_rtt: SimTime,
}

const _: () = assert!(std::mem::offset_of!(SimFlow, packets) + size_of::<u32>() == 64);

impl SimFlow {
    /// Payload of the packet of number `seq`.
    #[inline]
    #[must_use]
    pub fn payload_of(&self, seq: u32, payload: u32) -> u32 {
        if seq + 1 < self.packets {
            return payload;
        }
        let before = u64::from(self.packets - 1) * u64::from(payload);
        u32::try_from(self.bytes - before).unwrap_or(payload)
    }
}

/// Those of `planned`, in that order.
pub(super) fn flows(
    network: &Network,
    planned: &[&Flow],
    identities: &Identities,
    payload: u32,
) -> Result<Vec<SimFlow>, SimError> {
    let mut sent = vec![0; network.dcs.len()];
    let mut received = vec![0; network.dcs.len()];
    let next = |counts: &mut Vec<u32>, node: u32| {
        let counter = &mut counts[network.nodes[node as usize].dc as usize];
        *counter += 1;
        *counter - 1
    };
    let flow = |(flow, &who): (&&Flow, &FlowIdentity)| {
        let bytes = flow.size_bytes.get();
        let packets = bytes.div_ceil(u64::from(payload)).max(1);
        let (src, dst) = (network.node(flow.src), network.node(flow.dst));
        Ok(SimFlow {
            plan: flow.id,
            src,
            dst,
            sending: next(&mut sent, src),
            receiving: next(&mut received, dst),
            packets: u32::try_from(packets).map_err(|_| SimError::FlowTooLong {
                flow: flow.id.0,
                bytes,
            })?,
            bytes,
            start: flow.start_ns.into(),
            base_rtt: flow.base_rtt_ns.into(),
            who,
        })
    };
    planned.iter().zip(&identities.flows).map(flow).collect()
}
