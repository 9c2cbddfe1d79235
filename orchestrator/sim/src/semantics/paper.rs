//! Semantics of the paper: exact integers, RoCEv2 headers, time in picoseconds.

use lab_plan::{Flow, HostProfile, Plan, frame, pfc};
use lab_units::BitsPerSec;

use super::{Identities, SemanticsRules, identity};
use crate::{network::line_rate, packet::CONTROL, time::SimTime, world::Detours};

/// Rules of the paper's simulated network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Paper;

impl SemanticsRules for Paper {
    const DATA_HEADER_BYTES: u32 = small(frame::HEADERS);
    /// RoCEv2 pads payloads to a multiple of four bytes.
    const PAYLOAD_ALIGN: u32 = 4;
    const ACK_BYTES: u32 = small(frame::ACK);
    /// RoCEv2 headers and 16 reserved bytes (annex A17.9.3).
    const CNP_BYTES: u32 = small(frame::HEADERS) + 16;
    const PFC_BYTES: u32 = small(pfc::FRAME);
    const PFC_CLASS: u8 = CONTROL;
    const RESERVE_BYTES: u64 = pfc::RESERVE_BYTES;
    const RESUME_OFFSET_BYTES: u64 = pfc::RESUME_OFFSET_BYTES;
    const PORT_LIMIT_BYTES: Option<u64> = None;
    const COUNTS_REJECTED: bool = false;
    const PINS_EVERYTHING: bool = false;
    const RATE_MOVES_NEXT: bool = true;
    const NIC_OVERSLEEPS: bool = false;
    const SCHEDULER_KEEPS_QPS: bool = false;

    fn clock(exact: SimTime) -> SimTime {
        exact
    }

    fn bdp(round_trip: SimTime, rate: BitsPerSec) -> u64 {
        let bits = u128::from(round_trip.picos()) * u128::from(rate.get()) / PICOS;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }

    fn window(largest: u64, rate: BitsPerSec, line_rate: BitsPerSec) -> u64 {
        let window = u128::from(largest) * u128::from(rate.get()) / u128::from(line_rate.get());
        u64::try_from(window).unwrap_or(u64::MAX)
    }

    fn headroom(rate: BitsPerSec, delay: SimTime, largest_packet: u32) -> u64 {
        let in_flight = Self::bdp(round_trip(delay), rate);
        pfc::headroom(in_flight, largest_packet, HostProfile::Rnic)
    }

    fn shared_bytes(buffer: u64, headrooms: &[u64], reserves: u64) -> Option<u64> {
        let kept = headrooms
            .iter()
            .fold(reserves, |sum, &headroom| sum.saturating_add(headroom));
        buffer.checked_sub(kept).filter(|&shared| shared > 0)
    }

    fn free_bytes(shared: u64, used: u64) -> u64 {
        shared.saturating_sub(used)
    }

    fn identities(plan: &Plan, flows: &[&Flow]) -> Identities {
        let mut hash_seeds: Vec<u32> = (0u32..).take(plan.nodes.len()).collect();
        for switch in &plan.switches {
            hash_seeds[switch.node.index()] = switch.hash_seed;
        }
        // A QP's window is constant during a run, so it must suffice for the longest path under any fault.
        let detours = Detours::under_faults(plan);
        let products = flows.iter().map(|flow| {
            let round_trip = detours.longest_round_trip(flow);
            Self::bdp(round_trip.into(), line_rate(plan, flow))
        });
        Identities {
            flows: identity::of_connections(plan, flows),
            hash_seeds,
            largest_window: products.max().unwrap_or(0),
            common_base_rtt: None,
            next_hop_order: None,
        }
    }
}

/// Returns the propagation time in both directions of a link with one-way delay `delay`.
pub(super) const fn round_trip(delay: SimTime) -> SimTime {
    SimTime::from_picos(delay.picos().saturating_mul(2))
}

/// Picoseconds in a second.
const PICOS: u128 = 1_000_000_000_000;

#[expect(
    clippy::cast_possible_truncation,
    reason = "headers are under a hundred bytes"
)]
const fn small(bytes: u64) -> u32 {
    bytes as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gbit;

    #[test]
    fn a_long_haul_product_does_not_wrap() {
        // 100 Gbit/s · 700 ms; the authors' code computes 2,263,469,481 B instead.
        assert_eq!(
            Paper::bdp(SimTime::from_micros(700_000), gbit(100)),
            8_750_000_000
        );
        assert_eq!(
            Paper::window(8_750_000_000, gbit(50), gbit(100)),
            4_375_000_000
        );
    }

    #[test]
    fn headroom_holds_a_round_trip_begun_packets_and_the_one_that_causes_the_pause() {
        // 100 Gbit/s with a delay of 1 µs each way has 25,000 B in flight.
        let headroom = Paper::headroom(gbit(100), SimTime::from_micros(1), 4_154);
        assert_eq!(headroom, 25_000 + 3 * 4_154 + 64);
    }

    #[test]
    fn headrooms_larger_than_the_buffer_leave_nothing() {
        assert_eq!(Paper::shared_bytes(1_000, &[300, 300], 100), Some(300));
        assert_eq!(Paper::shared_bytes(1_000, &[500, 500], 100), None);
    }
}
