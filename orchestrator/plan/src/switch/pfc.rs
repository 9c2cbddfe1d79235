//! Shared buffers of switches under priority flow control, and switches whose buffer is too small for their headrooms.

/// Buffer bytes that the paper's semantics reserve per port and class, and the number of bytes below its pause
/// threshold at which a paused port resumes. Switches in a lab use the same values.
pub use lab_abi::pfc::{RESERVE_BYTES, RESUME_OFFSET_BYTES};
use lab_units::{BitsPerSec, Bytes, Nanos, NodeId};

use crate::{
    frame,
    model::{Link, Node, Role, WirePlan},
    transport::{CcPlan, HostProfile, TransportPlan},
    wires::Wires,
};

/// Wire bytes of a pause frame, the minimum size of an Ethernet frame (IEEE 802.1Qbb).
pub const FRAME: u64 = 64;

/// Number of traffic classes per port.
pub const CLASSES: u64 = 8;

/// Returns the headroom of a port: the bytes that it must hold beyond its share of the buffer. `in_flight` is the
/// number of bytes that the link carries in a round trip. The headroom covers the packet that exceeds the share and
/// triggers the pause, and the bytes that the peer sends until it stops (IEEE 802.1Q, annex N): while the switch
/// finishes a packet that delays the pause, while the pause is sent and propagates, the bytes that are then on the
/// link, and the packet that the peer has begun to send. Processing times are taken as zero. SoftRoCE's pacer may have
/// released one more packet if its timer was late for the previous one.
#[must_use]
pub const fn headroom(in_flight: u64, largest_packet: u32, profile: HostProfile) -> u64 {
    let packets = match profile {
        HostProfile::Rnic => 3,
        HostProfile::Rxe => 4,
    };
    in_flight
        .saturating_add(packets * largest_packet as u64)
        .saturating_add(FRAME)
}

/// Returns the wire bytes of the largest packet under the paper's semantics.
#[must_use]
pub fn largest_packet(transport: &TransportPlan) -> u32 {
    let extended = match (&transport.cc, transport.profile) {
        (CcPlan::Hpcc(hpcc), _) => frame::telemetry(hpcc.int_hops).into(),
        // The write of a verbs flow may have one packet, with RETH and immediate data.
        (_, HostProfile::Rxe) => frame::RETH + frame::IMMDT,
        (_, HostProfile::Rnic) => 0,
    };
    let bytes = frame::data(u64::from(transport.payload_bytes), extended);
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Returns the shift s of a port's threshold, which is the free buffer bytes divided by 2^s; a faster port has a larger
/// threshold.
#[must_use]
pub fn threshold_shift(rate: BitsPerSec, nic_rate: BitsPerSec) -> u32 {
    let times = rate.get() / nic_rate.get().max(1);
    SLOW_PORT_SHIFT.saturating_sub(times.checked_ilog2().unwrap_or(0))
}

/// Threshold shift of ports at the hosts' rate, one eighth of the free buffer, as in HPCC's NS-3 MMU, which the
/// artifact extends.
const SLOW_PORT_SHIFT: u32 = 3;

/// Returns the emulated rate of the first host's NIC, which all hosts are assumed to have; `None` without hosts.
#[must_use]
pub fn nic_rate(nodes: &[Node], links: &[Link]) -> Option<BitsPerSec> {
    let host = nodes.iter().find(|node| node.role == Role::Host)?;
    let link = host.ports.first()?.link();
    Some(links[link.index()].emu.rate_bps)
}

/// Division of a switch's shared buffer, in emulated bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SharedBuffer {
    /// Size of the whole buffer.
    pub bytes: Bytes,
    /// Bytes that ports share dynamically: the buffer without reserves and headrooms.
    pub shared: Bytes,
    /// Bytes that reserves and headrooms of all ports would need.
    pub needed: Bytes,
    /// Headroom of each port in bytes; 0 for a port that drops packets instead of pausing its neighbour.
    pub headrooms: Vec<u64>,
    /// Ports that lost their headroom, and so drop packets instead of pausing their neighbours.
    pub lossy_ports: Vec<LossyPort>,
}

/// Returns the shared buffer of a switch under the paper's semantics; `None` for a host. A port's headroom is for the
/// largest rate and delay that its link has at any time, including faults, because a switch does not resize headrooms
/// while flows run. If reserves and headrooms leave nothing to share, headrooms are removed one by one, the largest
/// first.
#[must_use]
pub fn shared_buffer(
    switch: &Node,
    wires: Wires<'_>,
    transport: &TransportPlan,
) -> Option<SharedBuffer> {
    let bytes = match switch.role {
        Role::Host => return None,
        Role::DciSwitch => transport.dci_buffer_bytes,
        Role::Leaf | Role::Spine => transport.fabric_buffer_bytes,
    };
    let mut headrooms = headrooms(switch, wires, transport);
    let needed = Bytes::new(total(&headrooms));
    let lossy_ports = given_up(bytes, &headrooms)
        .into_iter()
        .map(|index| LossyPort {
            index,
            headroom: Bytes::new(std::mem::take(&mut headrooms[index])),
        })
        .collect();
    Some(SharedBuffer {
        bytes,
        shared: Bytes::new(bytes.get().saturating_sub(total(&headrooms))),
        needed,
        headrooms,
        lossy_ports,
    })
}

/// Returns the headroom that each port of a switch needs, in bytes.
fn headrooms(switch: &Node, wires: Wires<'_>, transport: &TransportPlan) -> Vec<u64> {
    let largest = largest_packet(transport);
    switch
        .ports
        .iter()
        .map(|port| {
            let held = |wire: &WirePlan| in_flight(wire.rate_bps, wire.delay_ns);
            let max = wires.of(port.link()).map(held).max().unwrap_or(0);
            headroom(max, largest, transport.profile)
        })
        .collect()
}

/// Switch whose buffer is too small for the headrooms of all its ports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Overcommitted {
    pub switch: NodeId,
    /// Size of the shared buffer in bytes.
    pub buffer: Bytes,
    /// Bytes that reserves and headrooms of all ports would need.
    pub needed: Bytes,
    /// Ports that lost their headroom, and so drop packets instead of pausing their neighbours.
    pub lossy_ports: Vec<LossyPort>,
}

/// Port whose headroom does not fit into the switch's buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LossyPort {
    /// Index among the switch's ports.
    pub index: usize,
    /// Headroom that the port needs, in bytes.
    pub headroom: Bytes,
}

/// Returns the switches that have ports without headroom, which drop packets despite PFC. Headrooms that exceed the
/// buffer are removed one by one, the largest first. The result is empty under the artifact's semantics, where the size
/// of the remaining buffer wraps around below zero instead.
#[must_use]
pub fn overcommitted(
    nodes: &[Node],
    wires: Wires<'_>,
    transport: &TransportPlan,
) -> Vec<Overcommitted> {
    if !transport.is_lossless() {
        return Vec::new();
    }
    let of_switch = |(id, node): (u32, &Node)| {
        let buffer = shared_buffer(node, wires, transport)?;
        (!buffer.lossy_ports.is_empty()).then_some(Overcommitted {
            switch: NodeId(id),
            buffer: buffer.bytes,
            needed: buffer.needed,
            lossy_ports: buffer.lossy_ports,
        })
    };
    (0u32..).zip(nodes).filter_map(of_switch).collect()
}

/// Returns the bytes that a link carries in a round trip, at its rate and one-way delay.
fn in_flight(rate: BitsPerSec, delay: Nanos) -> u64 {
    let bits = u128::from(rate.get()) * 2 * u128::from(delay.get());
    u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX)
}

/// Returns the indices of the ports that lose their headroom. Headrooms are removed from the largest on, until some of
/// the buffer is left to share.
fn given_up(buffer: Bytes, headrooms: &[u64]) -> Vec<usize> {
    let mut left = headrooms.to_vec();
    let mut ports = Vec::new();
    while total(&left) >= buffer.get() {
        // Among ports with equal headrooms, `max_by_key` returns the last.
        let largest = (0..).zip(&left).max_by_key(|(_, bytes)| **bytes);
        match largest {
            Some((port, &bytes)) if bytes > 0 => {
                left[port] = 0;
                ports.push(port);
            }
            _ => break,
        }
    }
    ports.sort_unstable();
    ports
}

/// Returns the bytes that the headrooms and their ports' reserves need together.
fn total(headrooms: &[u64]) -> u64 {
    let ports = u64::try_from(headrooms.len()).unwrap_or(u64::MAX);
    let reserves = ports.saturating_mul(CLASSES * RESERVE_BYTES);
    headrooms
        .iter()
        .fold(reserves, |sum, &bytes| sum.saturating_add(bytes))
}
