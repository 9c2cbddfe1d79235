//! Shared buffer of a switch under PFC, computed from its configuration.

use lab_abi::{
    pfc::{CALENDAR_SLOTS, IngressPort, SharedBuffer, quantum_ns},
    wire::{AgentConfig, IngressConfig, PortConfig},
};
use lab_units::{BitsPerSec, Bytes, Nanos};

/// Returns the shared buffer in its empty state; `None` if the switch has no PFC.
pub(crate) fn shared_buffer(config: &AgentConfig, links: &[(u32, bool)]) -> Option<SharedBuffer> {
    let shared = config.shared_buffer?;
    let longest = wait(shared.lowest_rate_bps, shared.bytes);
    let mut buffer = SharedBuffer {
        shared: shared.shared_bytes.get(),
        // The smallest power of two for which the calendar spans the longest wait and one partly elapsed slot.
        slot_bits: (longest / u64::from(CALENDAR_SLOTS - 1) + 1)
            .next_power_of_two()
            .ilog2(),
        count: u32::try_from(config.ports.len()).unwrap_or(u32::MAX),
        ..SharedBuffer::default()
    };
    for ((row, port), &(ifindex, _)) in buffer.ports.iter_mut().zip(&config.ports).zip(links) {
        *row = port
            .ingress
            .map_or_else(IngressPort::default, |it| ingress(port, it));
        row.ifindex = ifindex;
    }
    Some(buffer)
}

/// Returns `buffer` with the packets that `before`, the buffer of a killed agent, still holds; if `before` is all
/// zeros, there was no such agent.
pub(crate) fn continued(buffer: &SharedBuffer, before: &SharedBuffer) -> SharedBuffer {
    if before.shared == 0 {
        return *buffer;
    }
    let mut continued = SharedBuffer {
        used: before.used,
        slot: before.slot,
        // The slots of the existing calendar have this length.
        slot_bits: before.slot_bits,
        ..*buffer
    };
    for (port, before) in continued.ports.iter_mut().zip(&before.ports) {
        *port = IngressPort {
            bytes: before.bytes,
            headroom_bytes: before.headroom_bytes,
            paused_until_ns: before.paused_until_ns,
            ..*port
        };
    }
    continued
}

fn ingress(port: &PortConfig, config: IngressConfig) -> IngressPort {
    IngressPort {
        headroom: config.headroom_bytes.get(),
        threshold_shift: config.threshold_shift,
        quantum_ns: if config.is_from_host {
            quantum_ns(port.rate_bps)
        } else {
            0
        },
        ..IngressPort::default()
    }
}

/// Returns the time that a port with the rate `rate` takes to send `queue` bytes, ns.
pub(crate) fn wait(rate: BitsPerSec, queue: Bytes) -> u64 {
    let time = rate.serialize(queue);
    time.map_or(u64::MAX, Nanos::get)
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::{PolicyConfig, SharedBufferConfig};

    use super::*;
    use crate::example;

    #[test]
    fn a_switch_without_pfc_has_no_shared_buffer() {
        let config = example::config(PolicyConfig::Buckets);
        assert_eq!(shared_buffer(&config, &[]), None);
    }

    #[test]
    fn a_successor_counts_on_with_its_own_settings() {
        let full = IngressPort {
            bytes: 17_000,
            headroom_bytes: 9_000,
            paused_until_ns: 77,
            headroom: 10_000,
            threshold_shift: 1,
            quantum_ns: 5,
            ifindex: 7,
        };
        let mut before = SharedBuffer {
            shared: 37_712,
            used: 12_904,
            slot: 3,
            slot_bits: 21,
            count: 1,
            ..SharedBuffer::default()
        };
        before.ports[0] = full;
        let mut new = SharedBuffer {
            shared: 50_000,
            slot_bits: 22,
            count: 1,
            ..SharedBuffer::default()
        };
        new.ports[0] = IngressPort {
            headroom: 20_000,
            threshold_shift: 3,
            quantum_ns: 10,
            ifindex: 7,
            ..IngressPort::default()
        };
        let found = continued(&new, &before);
        let mut expected = SharedBuffer {
            used: 12_904,
            slot: 3,
            slot_bits: 21,
            ..new
        };
        expected.ports[0] = IngressPort {
            bytes: 17_000,
            headroom_bytes: 9_000,
            paused_until_ns: 77,
            ..new.ports[0]
        };
        assert_eq!(found, expected);
        assert_eq!(continued(&before, &before), before, "nothing to write");
        assert_eq!(continued(&new, &SharedBuffer::default()), new);
    }

    #[test]
    fn hosts_are_paused_in_quanta_of_their_links_and_other_senders_never() {
        let mut config = example::config(PolicyConfig::Buckets);
        config.shared_buffer = Some(SharedBufferConfig {
            bytes: Bytes::new(100_000),
            shared_bytes: Bytes::new(60_000),
            lowest_rate_bps: example::rate(4_000_000),
        });
        for (port, is_from_host) in config.ports.iter_mut().zip([true, false, false]) {
            port.ingress = Some(IngressConfig {
                headroom_bytes: Bytes::new(9_000),
                threshold_shift: 3,
                is_from_host,
            });
        }
        let buffer = shared_buffer(&config, &[(7, true), (8, true), (9, false)]).expect("PFC");
        // 100 kB take 200 ms at 4 Mbit/s: 382 slots of 2^19 ns. It would be 763 slots of 2^18 ns, more than there are.
        let found = (buffer.shared, buffer.count, buffer.slot_bits);
        assert_eq!(found, (60_000, 3, 19));
        let host = IngressPort {
            headroom: 9_000,
            threshold_shift: 3,
            quantum_ns: 64_000,
            ifindex: 7,
            ..IngressPort::default()
        };
        let other = IngressPort {
            quantum_ns: 0,
            ifindex: 8,
            ..host
        };
        assert_eq!(buffer.ports[..2], [host, other]);
        assert_eq!(buffer.ports[3], IngressPort::default());
    }
}
