//! What leaves a datacenter for another one.

use super::{Shard, Telemetry};
use crate::{cc::CongestionControl, fifo::Queued, packet::Kind, semantics::Semantics};

/// Packets on their way by one link to another datacenter.
pub struct Mail {
    /// The datacenter.
    pub to_dc: u32,
    /// The port they will come in by.
    port: u32,
    /// The packets and when they will, in order.
    packets: Vec<Bundle>,
    /// What switches wrote into those of them that carry it.
    telemetry: Vec<Telemetry>,
}

/// Packets by the thousand: a window's are a hundred times as many, and what one datacenter has taken
/// out is put into again by it.
pub(super) type Bundle = Vec<Queued>;

/// 28 kB.
const BUNDLE: usize = 1_024;

/// Bundles that are kept.
const SPARE: usize = 256;

impl Mail {
    pub(super) const fn to(to_dc: u32, port: u32) -> Self {
        Self {
            to_dc,
            port,
            packets: Vec::new(),
            telemetry: Vec::new(),
        }
    }
}

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// Puts a packet on the wire to another datacenter that `outbox` is for.
    #[inline]
    pub(super) fn post(&mut self, outbox: u32, queued: Queued) {
        let telemetry = self.take_telemetry(&queued.packet);
        let mail = &mut self.outboxes[outbox as usize];
        mail.telemetry.extend(telemetry);
        match mail.packets.last_mut().filter(|last| last.len() < BUNDLE) {
            Some(last) => last.push(queued),
            None => {
                let spare = self.spare.pop();
                let mut bundle = spare.unwrap_or_else(|| Vec::with_capacity(BUNDLE));
                bundle.push(queued);
                mail.packets.push(bundle);
            }
        }
    }

    /// What has left since the last time.
    pub fn take_mail(&mut self) -> impl Iterator<Item = Mail> {
        let full = |mail: &&mut Mail| !mail.packets.is_empty();
        self.outboxes.iter_mut().filter(full).map(|mail| Mail {
            packets: std::mem::take(&mut mail.packets),
            telemetry: std::mem::take(&mut mail.telemetry),
            ..*mail
        })
    }

    /// Takes packets from another datacenter.
    pub fn deliver(&mut self, mail: Mail) {
        let mut telemetry = mail.telemetry.into_iter();
        for mut bundle in mail.packets {
            for mut queued in bundle.drain(..) {
                if Self::carries_telemetry(queued.packet.kind)
                    && let Some(telemetry) = telemetry.next()
                {
                    queued.packet.stamp = self.telemetry.insert(telemetry);
                }
                self.put_on_wire(mail.port, queued);
            }
            self.keep(bundle);
        }
    }

    /// Keeps an empty bundle, as many as are likely to be used.
    fn keep(&mut self, bundle: Bundle) {
        if self.spare.len() < SPARE {
            self.spare.push(bundle);
        }
    }

    /// Whether switches write into packets of `kind`, or receivers send what they wrote back.
    pub(super) const fn carries_telemetry(kind: Kind) -> bool {
        C::HAS_INT && matches!(kind, Kind::Data | Kind::Ack | Kind::Nack)
    }
}
