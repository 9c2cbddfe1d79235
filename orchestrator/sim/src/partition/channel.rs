//! Inter-partition channels, which carry packets between the partitions of two datacenters.

use super::{Partition, Telemetry};
use crate::{cc::CongestionControl, fifo::WirePacket, packet::Kind, semantics::SemanticsRules};

/// Packets sent in one direction of an inter-DC link and not yet delivered to the other partition.
pub struct Channel {
    pub to_dc: u32,
    /// Port at the destination's end of the link.
    port: u32,
    /// Packets in the order of sending.
    batches: Vec<PacketBatch>,
    /// Telemetry of the packets that carry telemetry, in the order of sending.
    telemetry: Vec<Telemetry>,
}

/// Batch of up to [`BATCH_PACKETS`] packets. About a hundred batches are sent per window of the parallel simulation;
/// the receiving partition reuses the emptied ones.
pub(super) type PacketBatch = Vec<WirePacket>;

/// Maximum number of packets in a batch, 32 kB.
const BATCH_PACKETS: usize = 1_024;

/// Maximum number of empty batches that a partition keeps for reuse.
const MAX_SPARE_BATCHES: usize = 256;

impl Channel {
    pub(super) const fn new(to_dc: u32, port: u32) -> Self {
        Self {
            to_dc,
            port,
            batches: Vec::new(),
            telemetry: Vec::new(),
        }
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Puts a packet on the wire that `channel` represents.
    #[inline]
    pub(super) fn send_to_channel(&mut self, channel: u32, packet: WirePacket) {
        let telemetry = self.take_telemetry(&packet.packet);
        let channel = &mut self.channels[channel as usize];
        channel.telemetry.extend(telemetry);
        match channel
            .batches
            .last_mut()
            .filter(|last| last.len() < BATCH_PACKETS)
        {
            Some(last) => last.push(packet),
            None => {
                let mut batch = self
                    .spare_batches
                    .pop()
                    .unwrap_or_else(|| Vec::with_capacity(BATCH_PACKETS));
                batch.push(packet);
                channel.batches.push(batch);
            }
        }
    }

    /// Removes and returns the packets sent to other partitions since the last call, by channel; channels without
    /// packets are left out.
    pub fn take_channels(&mut self) -> impl Iterator<Item = Channel> {
        let full = |channel: &&mut Channel| !channel.batches.is_empty();
        self.channels
            .iter_mut()
            .filter(full)
            .map(|channel| Channel {
                batches: std::mem::take(&mut channel.batches),
                telemetry: std::mem::take(&mut channel.telemetry),
                ..*channel
            })
    }

    /// Puts packets from another partition on the wire that ends in this partition.
    pub fn deliver(&mut self, channel: Channel) {
        let mut telemetry = channel.telemetry.into_iter();
        for mut batch in channel.batches {
            for mut packet in batch.drain(..) {
                if Self::carries_telemetry(packet.packet.kind)
                    && let Some(telemetry) = telemetry.next()
                {
                    packet.packet.stamp = self.telemetry.insert(telemetry).into();
                }
                self.put_on_wire(channel.port, packet);
            }
            if self.spare_batches.len() < MAX_SPARE_BATCHES {
                self.spare_batches.push(batch);
            }
        }
    }

    /// Returns true if packets of `kind` carry telemetry, on the way to the receiver or back.
    pub(super) const fn carries_telemetry(kind: Kind) -> bool {
        C::HAS_INT && matches!(kind, Kind::Data | Kind::Ack | Kind::Nack)
    }
}
