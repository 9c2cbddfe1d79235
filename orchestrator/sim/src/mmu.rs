//! A switch's shared buffer, and when it asks upstream neighbours to wait (PFC).
//!
//! As HPCC's NS-3 switch does, which the paper's simulations run on: bytes are counted at the port
//! they came in by. First the class's reserve fills, then a share of what is free in the switch,
//! and what comes after a pause was sent goes to the port's headroom. A packet that fits into
//! neither headroom nor share is dropped.

use std::marker::PhantomData;

use crate::{packet::CLASSES, semantics::Semantics};

/// The buffer of one switch.
#[derive(Clone, Debug)]
pub struct Mmu<P> {
    ports: Vec<Ingress>,
    /// What ports share, and what of it is used.
    shared: u64,
    used: u64,
    semantics: PhantomData<P>,
}

/// What came in by one port.
#[derive(Clone, Debug)]
struct Ingress {
    headroom: u64,
    threshold_shift: u32,
    /// In reserve and share, by class.
    bytes: [u64; CLASSES],
    /// In the headroom, by class.
    late_bytes: [u64; CLASSES],
    /// Bit n: the peer was asked to stop class n.
    stopped: u8,
}

/// What a port of the buffer is like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IngressFacts {
    /// Bytes kept for what is under way when it asks for a pause; none for a port that may drop.
    pub headroom: u64,
    /// Its share of what is free is 2^-this.
    pub threshold_shift: u32,
}

impl<P: Semantics> Mmu<P> {
    /// A buffer of `buffer` bytes for `ports`.
    ///
    /// Where headrooms leave nothing to share, the largest are given up, one after the other: their
    /// ports never ask for a pause and drop instead. That is the lot of long-haul links, whose
    /// headroom is a bandwidth-delay product.
    #[must_use]
    pub fn new(buffer: u64, ports: &[IngressFacts]) -> Self {
        let mut headrooms: Vec<u64> = ports.iter().map(|port| port.headroom).collect();
        let reserves = ports.len() as u64 * CLASSES as u64 * P::RESERVE_BYTES;
        let shared = loop {
            let shared = P::shared_bytes(buffer, &headrooms, reserves);
            let largest = headrooms.iter_mut().max().filter(|most| **most > 0);
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
            late_bytes: [0; CLASSES],
            stopped: 0,
        };
        Self {
            ports: ports.iter().zip(&headrooms).map(ingress).collect(),
            shared,
            used: 0,
            semantics: PhantomData,
        }
    }

    /// Ports without headroom, which drop instead of asking for a pause.
    pub fn lossy_ports(&self) -> impl Iterator<Item = usize> {
        let ports = self.ports.iter().enumerate();
        ports
            .filter(|(_, port)| port.headroom == 0)
            .map(|(at, _)| at)
    }

    #[inline]
    fn threshold(&self, port: usize) -> u64 {
        P::free_bytes(self.shared, self.used) >> self.ports[port].threshold_shift
    }

    /// Whether `bytes` that come in by `port` and leave at once change nothing: neither does the
    /// peer have to stop, nor does it wait to go on. So it is while the class fills no more than its
    /// reserve.
    #[inline]
    pub fn passes(&self, port: usize, class: u8, bytes: u64) -> bool {
        let ingress = &self.ports[port];
        let class = usize::from(class) % CLASSES;
        ingress.stopped == 0
            && ingress.late_bytes[class] == 0
            && ingress.bytes[class] + bytes <= P::RESERVE_BYTES
            && bytes <= self.threshold(port)
    }

    /// Takes `bytes` that came in by `port`, unless they do not fit.
    #[inline]
    pub fn admit(&mut self, port: usize, class: u8, bytes: u64) -> bool {
        let threshold = self.threshold(port);
        let class = usize::from(class);
        let ingress = &mut self.ports[port];
        let shared = ingress.bytes[class].saturating_sub(P::RESERVE_BYTES);
        let fits_headroom = bytes + ingress.late_bytes[class] <= ingress.headroom;
        if !fits_headroom && bytes + shared > threshold {
            return false;
        }
        let after = ingress.bytes[class] + bytes;
        if after <= P::RESERVE_BYTES {
            ingress.bytes[class] = after;
        } else if after - P::RESERVE_BYTES > threshold {
            ingress.late_bytes[class] += bytes;
        } else {
            ingress.bytes[class] = after;
            self.used += bytes.min(after - P::RESERVE_BYTES);
        }
        true
    }

    /// Gives back `bytes` that came in by `port`.
    #[inline]
    pub fn release(&mut self, port: usize, class: u8, bytes: u64) {
        let class = usize::from(class);
        let ingress = &mut self.ports[port];
        let late = ingress.late_bytes[class].min(bytes);
        let early = bytes - late;
        let shared = early.min(ingress.bytes[class].saturating_sub(P::RESERVE_BYTES));
        ingress.late_bytes[class] -= late;
        ingress.bytes[class] -= early;
        self.used -= shared;
    }

    /// Whether the peer of `port` is to stop `class` now; it counts as asked.
    #[inline]
    pub fn stops(&mut self, port: usize, class: u8) -> bool {
        let threshold = self.threshold(port);
        let ingress = &mut self.ports[port];
        let bit = 1 << class;
        let class = usize::from(class);
        let shared = ingress.bytes[class].saturating_sub(P::RESERVE_BYTES);
        let is_full = ingress.late_bytes[class] > 0 || shared >= threshold;
        if ingress.headroom == 0 || ingress.stopped & bit != 0 || !is_full {
            return false;
        }
        ingress.stopped |= bit;
        true
    }

    /// The link of `port` was cut, and with it what its peer was asked.
    pub fn forget_stops(&mut self, port: usize) {
        self.ports[port].stopped = 0;
    }

    /// Whether the peer of `port`, which was asked to stop `class`, may go on; it counts as told.
    #[inline]
    pub fn resumes(&mut self, port: usize, class: u8) -> bool {
        let bit = 1 << class;
        if self.ports[port].stopped & bit == 0 {
            return false;
        }
        let threshold = self.threshold(port);
        let ingress = &mut self.ports[port];
        let class = usize::from(class);
        let shared = ingress.bytes[class].saturating_sub(P::RESERVE_BYTES);
        let is_low = shared == 0 || shared + P::RESUME_OFFSET_BYTES <= threshold;
        if ingress.late_bytes[class] > 0 || !is_low {
            return false;
        }
        ingress.stopped &= !bit;
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

    /// Two headrooms and sixteen reserves, and 40,000 B to share.
    const TWO_PORTS: u64 = 2 * 10_000 + 16 * 4_096 + 40_000;

    proptest! {
        #[test]
        fn what_passes_leaves_no_trace(
            buffer in TWO_PORTS - 45_000..TWO_PORTS,
            held in prop::collection::vec((0..2usize, 1..1_500u64), 0..4),
            port in 0..2usize,
            bytes in 60..3_000u64,
        ) {
            let mut mmu = mmu(buffer, 2);
            for (port, bytes) in held {
                if mmu.admit(port, DATA_CLASS, bytes) {
                    mmu.stops(port, DATA_CLASS);
                }
            }
            prop_assume!(mmu.passes(port, DATA_CLASS, bytes));
            let before = mmu.clone();
            prop_assert!(mmu.admit(port, DATA_CLASS, bytes));
            prop_assert!(!mmu.stops(port, DATA_CLASS));
            mmu.release(port, DATA_CLASS, bytes);
            prop_assert!(!mmu.resumes(port, DATA_CLASS));
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
            if mmu.stops(0, DATA_CLASS) {
                stopped_at = Some(taken);
            }
        }
        // Share: x ≤ (40,000 − x) / 2, so 13,333 B beyond the reserve, in whole packets.
        let stopped_at = stopped_at.expect("it fills");
        assert!(
            (13_333..=4_096 + 14_333).contains(&stopped_at),
            "{stopped_at}"
        );
        assert!(
            taken >= stopped_at + 9_000,
            "the headroom was there: {taken}"
        );
        assert!(
            mmu.admit(1, DATA_CLASS, 1_000),
            "the other port has its own"
        );
    }

    #[test]
    fn it_resumes_a_little_below_and_says_so_once() {
        let mut mmu = mmu(TWO_PORTS, 2);
        let mut taken = 0;
        while !mmu.stops(0, DATA_CLASS) {
            assert!(mmu.admit(0, DATA_CLASS, 1_000));
            taken += 1;
        }
        assert!(!mmu.stops(0, DATA_CLASS), "asked once");
        let mut left = taken;
        while !mmu.resumes(0, DATA_CLASS) {
            mmu.release(0, DATA_CLASS, 1_000);
            left -= 1;
        }
        assert!(left < taken && left > 0);
        assert!(!mmu.resumes(0, DATA_CLASS), "told once");
    }

    #[test]
    fn headrooms_that_do_not_fit_are_given_up_from_the_largest() {
        let long_haul = IngressFacts {
            headroom: 12_500_000_000,
            ..PORT
        };
        let mmu = Mmu::<Paper>::new(6_000_000_000, &[PORT, long_haul, PORT]);
        assert_eq!(mmu.lossy_ports().collect::<Vec<_>>(), [1]);
    }

    proptest! {
        #[test]
        fn what_came_in_and_went_out_leaves_nothing(
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
                prop_assert_eq!(port.late_bytes, [0; CLASSES]);
            }
        }
    }
}
