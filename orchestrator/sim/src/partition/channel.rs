//! Inter-partition channels, which carry packets between the partitions of two datacenters.

use super::{Partition, Telemetry};
use crate::{cc::CongestionControl, fifo::WirePacket, packet::Kind, semantics::SemanticsRules};

/// One direction of an inter-DC link, with the packets sent since the last exchange.
pub struct Channel {
    pub to_dc: u32,
    /// Port at the destination's end of the link.
    pub port: u32,
    /// Packets that have not been handed over to the destination's inbox.
    batch: PacketBatch,
}

/// Packets for one port, sent by one partition and not yet delivered to another. Sender and receiver swap their buffers,
/// so that an exchange neither copies packets nor allocates memory.
#[derive(Default)]
pub struct PacketBatch {
    /// Packets in the order of sending.
    packets: Vec<WirePacket>,
    /// Telemetry of the packets that carry telemetry, in the order of sending.
    telemetry: Vec<Telemetry>,
}

impl Channel {
    pub(super) fn new(to_dc: u32, port: u32) -> Self {
        Self {
            to_dc,
            port,
            batch: PacketBatch::default(),
        }
    }

    /// Hands the sent packets over to `inbox`, which must be empty.
    pub fn hand_over(&mut self, inbox: &mut PacketBatch) {
        std::mem::swap(&mut self.batch, inbox);
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Puts a packet on the wire that `channel` represents.
    #[inline]
    pub(super) fn send_to_channel(&mut self, channel: u32, packet: WirePacket) {
        let telemetry = self.take_telemetry(&packet.packet);
        let batch = &mut self.channels[channel as usize].batch;
        batch.telemetry.extend(telemetry);
        batch.packets.push(packet);
    }

    /// Returns the channels with packets that have not been handed over.
    pub fn full_channels(&mut self) -> impl Iterator<Item = &mut Channel> {
        self.channels
            .iter_mut()
            .filter(|channel| !channel.batch.packets.is_empty())
    }

    /// Puts the packets in `batch`, from another partition, on the wire that ends at `port`.
    pub fn deliver(&mut self, port: u32, batch: &mut PacketBatch) {
        let mut telemetry = batch.telemetry.drain(..);
        for mut packet in batch.packets.drain(..) {
            if Self::carries_telemetry(packet.packet.kind())
                && let Some(telemetry) = telemetry.next()
            {
                packet.packet.stamp = self.telemetry.insert(telemetry).into();
            }
            self.put_on_wire(port, packet);
        }
    }

    /// Returns true if packets of `kind` carry telemetry, on the way to the receiver or back.
    pub(super) const fn carries_telemetry(kind: Kind) -> bool {
        C::HAS_INT && matches!(kind, Kind::Data | Kind::Ack | Kind::Nack)
    }
}
