//! Shared buffer of a switch and its PFC thresholds.
//!
//! The rules are those of HPCC's NS-3 switch, which the paper's simulations use. Bytes are counted against their
//! ingress port and class: first in the class's reserve, then in the port's share of the free buffer, then in its
//! headroom. The first packet in the headroom is the one that exceeds the share; it triggers a pause, and the packets
//! in flight until the peer stops follow it into the headroom. A packet that fits into neither share nor headroom is
//! dropped.

use std::marker::PhantomData;

use crate::{packet::CLASSES, semantics::SemanticsRules};

/// Shared buffer of one switch, with its occupancy by ingress port and traffic class.
#[derive(Clone, Debug)]
pub struct Mmu<S> {
    ports: Vec<Ingress>,
    /// Bytes that the ports share dynamically.
    shared: u64,
    /// Bytes of `shared` that are in use.
    used: u64,
    semantics: PhantomData<S>,
}

/// Buffer occupancy of one ingress port.
#[derive(Clone, Debug)]
struct Ingress {
    headroom: u64,
    threshold_shift: u32,
    /// Bytes in the reserve and in the shared part of the buffer, by class.
    bytes: [u64; CLASSES],
    /// Bytes in the headroom, by class.
    headroom_bytes: [u64; CLASSES],
    /// Classes for which the peer is paused, as a bit set: bit n stands for class n.
    paused: u8,
}

/// Buffer parameters of an ingress port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IngressFacts {
    /// Bytes reserved for the packet that triggers a pause and for those that follow it; 0 for a port that drops
    /// packets instead of pausing its peer.
    pub headroom: u64,
    /// Shift of the dynamic threshold: a class of the port may use the free shared bytes divided by
    /// 2^`threshold_shift`.
    pub threshold_shift: u32,
}

impl<S: SemanticsRules> Mmu<S> {
    /// Creates a shared buffer of `buffer` bytes for the ingress ports `ports`.
    ///
    /// If the headrooms leave nothing to share, the largest ones are set to 0, one by one. These ports drop packets
    /// instead of sending pauses. This usually happens for long-haul links, whose headroom is a bandwidth-delay
    /// product.
    #[must_use]
    pub fn new(buffer: u64, ports: &[IngressFacts]) -> Self {
        let mut headrooms: Vec<u64> = ports.iter().map(|port| port.headroom).collect();
        let reserves = ports.len() as u64 * CLASSES as u64 * S::RESERVE_BYTES;
        let shared = loop {
            let shared = S::shared_bytes(buffer, &headrooms, reserves);
            let largest = headrooms.iter_mut().max().filter(|max| **max > 0);
            match (shared, largest) {
                (Some(shared), _) => break shared,
                (None, Some(largest)) => *largest = 0,
                (None, None) => break 0,
            }
        };
        let ingress = |(facts, &headroom): (&IngressFacts, &u64)| Ingress {
            headroom,
            threshold_shift: facts.threshold_shift,
            bytes: [0; CLASSES],
            headroom_bytes: [0; CLASSES],
            paused: 0,
        };
        Self {
            ports: ports.iter().zip(&headrooms).map(ingress).collect(),
            shared,
            used: 0,
            semantics: PhantomData,
        }
    }

    /// Returns the ports without headroom, which drop packets instead of pausing their peers.
    pub fn lossy_ports(&self) -> impl Iterator<Item = usize> {
        self.ports
            .iter()
            .enumerate()
            .filter(|(_, port)| port.headroom == 0)
            .map(|(at, _)| at)
    }

    #[inline]
    fn threshold(&self, port: usize) -> u64 {
        S::free_bytes(self.shared, self.used) >> self.ports[port].threshold_shift
    }

    /// Returns true if `bytes` that arrive at `port` and leave at once need not be counted, because they cannot pause
    /// or resume the peer: they fit into the class's reserve, and nothing is paused.
    #[inline]
    pub fn bypasses(&self, port: usize, class: u8, bytes: u64) -> bool {
        let ingress = &self.ports[port];
        let class = usize::from(class) % CLASSES;
        ingress.paused == 0
            && ingress.headroom_bytes[class] == 0
            && ingress.bytes[class] + bytes <= S::RESERVE_BYTES
            && bytes <= self.threshold(port)
    }

    /// Counts `bytes` that arrive at `port`; returns false, without counting, if they do not fit.
    #[inline]
    pub fn admit(&mut self, port: usize, class: u8, bytes: u64) -> bool {
        let threshold = self.threshold(port);
        let class = usize::from(class);
        let ingress = &mut self.ports[port];
        let shared = ingress.bytes[class].saturating_sub(S::RESERVE_BYTES);
        let fits_headroom = bytes + ingress.headroom_bytes[class] <= ingress.headroom;
        if !fits_headroom && bytes + shared > threshold {
            return false;
        }
        let after = ingress.bytes[class] + bytes;
        if after <= S::RESERVE_BYTES {
            ingress.bytes[class] = after;
        } else if after - S::RESERVE_BYTES > threshold {
            ingress.headroom_bytes[class] += bytes;
        } else {
            ingress.bytes[class] = after;
            self.used += bytes.min(after - S::RESERVE_BYTES);
        }
        true
    }

    /// Releases `bytes` that had arrived at `port` and have left the switch.
    #[inline]
    pub fn release(&mut self, port: usize, class: u8, bytes: u64) {
        let class = usize::from(class);
        let ingress = &mut self.ports[port];
        let late = ingress.headroom_bytes[class].min(bytes);
        let early = bytes - late;
        let shared = early.min(ingress.bytes[class].saturating_sub(S::RESERVE_BYTES));
        ingress.headroom_bytes[class] -= late;
        ingress.bytes[class] -= early;
        self.used -= shared;
    }

    /// Returns true if the peer of `port` must now be paused for `class`; records it as paused.
    #[inline]
    pub fn must_pause(&mut self, port: usize, class: u8) -> bool {
        let threshold = self.threshold(port);
        let ingress = &mut self.ports[port];
        let bit = 1 << class;
        let class = usize::from(class);
        let shared = ingress.bytes[class].saturating_sub(S::RESERVE_BYTES);
        let is_full = ingress.headroom_bytes[class] > 0 || shared >= threshold;
        if ingress.headroom == 0 || ingress.paused & bit != 0 || !is_full {
            return false;
        }
        ingress.paused |= bit;
        true
    }

    /// Clears the pauses at `port`, whose link has gone down.
    pub fn forget_pauses(&mut self, port: usize) {
        self.ports[port].paused = 0;
    }

    /// Returns true if the paused peer of `port` may now resume `class`; records it as resumed.
    #[inline]
    pub fn may_resume(&mut self, port: usize, class: u8) -> bool {
        let bit = 1 << class;
        if self.ports[port].paused & bit == 0 {
            return false;
        }
        let threshold = self.threshold(port);
        let ingress = &mut self.ports[port];
        let class = usize::from(class);
        let shared = ingress.bytes[class].saturating_sub(S::RESERVE_BYTES);
        let is_low = shared == 0 || shared + S::RESUME_OFFSET_BYTES <= threshold;
        if ingress.headroom_bytes[class] > 0 || !is_low {
            return false;
        }
        ingress.paused &= !bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{packet::DATA_CLASS, semantics::Paper};

    const PORT: IngressFacts = IngressFacts {
        headroom: 10_000,
        threshold_shift: 1,
    };

    fn mmu(buffer: u64, ports: usize) -> Mmu<Paper> {
        Mmu::new(buffer, &vec![PORT; ports])
    }

    /// Buffer size for two ports: two headrooms, sixteen reserves, and 40,000 B to share.
    const TWO_PORTS: u64 = 2 * 10_000 + 16 * 4_096 + 40_000;

    proptest! {
        #[test]
        fn packets_that_bypass_the_buffer_change_nothing(
            buffer in TWO_PORTS - 45_000..TWO_PORTS,
            held in prop::collection::vec((0..2usize, 1..1_500u64), 0..4),
            port in 0..2usize,
            bytes in 60..3_000u64,
        ) {
            let mut mmu = mmu(buffer, 2);
            for (port, bytes) in held {
                if mmu.admit(port, DATA_CLASS, bytes) {
                    mmu.must_pause(port, DATA_CLASS);
                }
            }
            prop_assume!(mmu.bypasses(port, DATA_CLASS, bytes));
            let before = mmu.clone();
            prop_assert!(mmu.admit(port, DATA_CLASS, bytes));
            prop_assert!(!mmu.must_pause(port, DATA_CLASS));
            mmu.release(port, DATA_CLASS, bytes);
            prop_assert!(!mmu.may_resume(port, DATA_CLASS));
            prop_assert_eq!(format!("{mmu:?}"), format!("{before:?}"));
        }
    }

    #[test]
    fn a_port_takes_its_reserve_its_share_and_its_headroom_then_drops() {
        let mut mmu = mmu(TWO_PORTS, 2);
        let mut taken = 0;
        let mut stopped_at = None;
        while mmu.admit(0, DATA_CLASS, 1_000) {
            taken += 1_000;
            if mmu.must_pause(0, DATA_CLASS) {
                stopped_at = Some(taken);
            }
        }
        // The share x ≤ (40,000 − x) / 2 gives 13,333 B beyond the reserve, rounded up to whole packets.
        let stopped_at = stopped_at.expect("it fills");
        assert!(
            (13_333..=4_096 + 14_333).contains(&stopped_at),
            "{stopped_at}"
        );
        // 17,000 B are in reserve and share, and the rest is in the headroom, as in the lab's switches.
        assert_eq!(taken, 27_000);
        assert!(
            mmu.admit(1, DATA_CLASS, 1_000),
            "the other port has its own"
        );
    }

    #[test]
    fn the_peer_is_paused_once_and_resumed_once_below_the_threshold() {
        let mut mmu = mmu(TWO_PORTS, 2);
        let mut taken = 0;
        while !mmu.must_pause(0, DATA_CLASS) {
            assert!(mmu.admit(0, DATA_CLASS, 1_000));
            taken += 1;
        }
        assert!(!mmu.must_pause(0, DATA_CLASS), "paused once");
        let mut left = taken;
        while !mmu.may_resume(0, DATA_CLASS) {
            mmu.release(0, DATA_CLASS, 1_000);
            left -= 1;
        }
        assert!(left < taken && left > 0);
        assert!(!mmu.may_resume(0, DATA_CLASS), "resumed once");
    }

    #[test]
    fn headrooms_that_do_not_fit_are_dropped_from_the_largest_on() {
        let long_haul = IngressFacts {
            headroom: 12_500_000_000,
            ..PORT
        };
        let mmu = Mmu::<Paper>::new(6_000_000_000, &[PORT, long_haul, PORT]);
        assert_eq!(mmu.lossy_ports().collect::<Vec<_>>(), [1]);
    }

    proptest! {
        #[test]
        fn released_bytes_leave_the_buffer_empty(
            steps in prop::collection::vec((0..3usize, 1..5_000u64), 1..200),
        ) {
            let mut mmu = mmu(200_000, 3);
            let mut inside = Vec::new();
            for (port, bytes) in steps {
                if mmu.admit(port, DATA_CLASS, bytes) {
                    inside.push((port, bytes));
                }
            }
            for (port, bytes) in inside.into_iter().rev() {
                mmu.release(port, DATA_CLASS, bytes);
            }
            prop_assert_eq!(mmu.used, 0);
            for port in &mmu.ports {
                prop_assert_eq!(port.bytes, [0; CLASSES]);
                prop_assert_eq!(port.headroom_bytes, [0; CLASSES]);
            }
        }
    }
}
