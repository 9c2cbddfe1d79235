//! Semantics of the artifact, the authors' NS-3 code: integer wrap-around, flows that share a key, header sizes and
//! clock.
//!
//! - `wraps`: integer arithmetic that wraps around
//!
//! The artifact's flow keys and node ids are in [`lab_artifact::ids`].

use lab_artifact::{NodeIds, ids, routing_table};
use lab_plan::{Flow, Plan, standalone::Standalone};
use lab_units::BitsPerSec;

use super::{FlowIdentity, Identities, NextHopOrder, SemanticsRules};
use crate::{packet::STRICT, time::SimTime};

pub mod wraps;

/// Rules of the artifact's simulated network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Artifact;

impl SemanticsRules for Artifact {
    /// Header bytes: PPP 14, IPv4 20, UDP 8, sequence number and time 6. Congestion controls add their own headers.
    const DATA_HEADER_BYTES: u32 = 48;
    const PAYLOAD_ALIGN: u32 = 1;
    /// ACK size: a header of 12 bytes after PPP, IPv4 and priority group, padded to the minimum Ethernet frame.
    const ACK_BYTES: u32 = 60;
    /// Unused, because marks return in ACKs instead of CNPs.
    const CNP_BYTES: u32 = 60;
    const PFC_BYTES: u32 = 43;
    const PFC_CLASS: u8 = STRICT;
    const RESERVE_BYTES: u64 = 4_096;
    const RESUME_OFFSET_BYTES: u64 = 3_072;
    /// Limit of the NS-3 device's own queue, which drops packets silently.
    const PORT_LIMIT_BYTES: Option<u64> = Some(lab_artifact::ecn::PORT_LIMIT.get());
    const COUNTS_REJECTED: bool = true;
    const PINS_EVERYTHING: bool = true;
    const RATE_MOVES_NEXT: bool = false;
    const NIC_OVERSLEEPS: bool = true;
    const SCHEDULER_KEEPS_QPS: bool = true;

    /// Returns the largest whole number of nanoseconds below `exact`.
    ///
    /// NS-3 converts floating-point seconds to a truncated fraction of 2^64, then to whole nanoseconds. So even an
    /// exact number of nanoseconds is first truncated to just below it, and loses one nanosecond.
    fn clock(exact: SimTime) -> SimTime {
        SimTime::from_picos(exact.picos().saturating_sub(1)).cut_to_nanos()
    }

    fn bdp(round_trip: SimTime, rate: BitsPerSec) -> u64 {
        u64::from(wraps::bdp(round_trip.nanos_trunc().get(), rate.get()))
    }

    fn window(largest: u64, rate: BitsPerSec, line_rate: BitsPerSec) -> u64 {
        let largest = u32::try_from(largest).unwrap_or(u32::MAX);
        wraps::window(largest, rate.get(), line_rate.get())
    }

    fn headroom(rate: BitsPerSec, delay: SimTime, _: u32) -> u64 {
        u64::from(wraps::headroom(rate.get(), delay.nanos_trunc().get()))
    }

    /// Subtracts the reserve of only one class per port, as the artifact does, although every class uses its own
    /// reserve.
    fn shared_bytes(buffer: u64, headrooms: &[u64], _: u64) -> Option<u64> {
        Some(u64::from(wraps::shared(buffer, headrooms, RESERVE)))
    }

    fn free_bytes(shared: u64, used: u64) -> u64 {
        u64::from(wraps::free(shared, used))
    }

    fn identities(plan: &Plan, flows: &[&Flow]) -> Identities {
        let ids = NodeIds::of(plan);
        let tuples = ids.flow_tuples(flows.iter().map(|flow| (flow.src, flow.dst)));
        let identity = |data| {
            let ack = ids::ack_tuple(data);
            FlowIdentity {
                data,
                ack,
                data_key: u64::from(ids::flow_key(data)),
                ack_key: u64::from(ids::flow_key(ack)),
            }
        };
        let pairs = Standalone::of_all_pairs(plan);
        let product = |pair: &Standalone| Self::bdp(pair.base_rtt.into(), pair.bottleneck);
        let longest = pairs.iter().map(|pair| pair.base_rtt).max();
        let nodes = (0u32..).map(lab_units::NodeId).take(plan.nodes.len());
        Identities {
            flows: tuples.into_iter().map(identity).collect(),
            hash_seeds: nodes.map(|node| ids.theirs(node)).collect(),
            largest_window: pairs.iter().map(product).max().unwrap_or(0),
            common_base_rtt: longest.map(SimTime::from),
            next_hop_order: Some(NextHopOrder {
                neighbours: routing_table::port_order(plan),
            }),
        }
    }
}

/// [`SemanticsRules::RESERVE_BYTES`] in the artifact's integer type.
const RESERVE: u32 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_rounds_to_the_nanosecond_below() {
        let clock = |picos| Artifact::clock(SimTime::from_picos(picos)).picos();
        assert_eq!(clock(83_840), 83_000);
        // 60 B at 40 Gbit/s take exactly 12 ns.
        assert_eq!(clock(12_000), 11_000);
        assert_eq!(clock(12_001), 12_000);
        assert_eq!(clock(0), 0);
    }

    /// Returns a plan for eight datacenters whose paths have 200 Gbit/s via DC2 and DC3, 100 Gbit/s via DC4 and DC5,
    /// and `slow` via DC6 and DC7.
    fn eight_datacenters(slow: &str, millis: [u64; 6]) -> Plan {
        use std::fmt::Write as _;
        let mut text = "name: eight\ntopology:\n  dcs:\n".to_owned();
        for dc in 1..=8 {
            let fabric = "{ spines: 2, leaves: 4, hosts_per_leaf: 4 }";
            writeln!(text, "    - {{ name: dc{dc}, fabric: {fabric} }}").expect("a text grows");
        }
        text.push_str("  links:\n");
        for (via, delay) in (2..).zip(millis) {
            let rate = ["200 Gbit", "100 Gbit", slow][(via - 2) / 2];
            for ends in [format!("dc1, dc{via}"), format!("dc{via}, dc8")] {
                let link = format!("between: [{ends}], rate: {rate}, delay: {delay} ms");
                writeln!(text, "    - {{ {link} }}").expect("a text grows");
            }
        }
        text.push_str(
            "traffic:\n  - flows: [{ from: dc1/h1, to: dc8/h1, size: 1 MB }]\npolicies: [ecmp]\n\
             transport: { semantics: artifact }\n",
        );
        crate::testing::plan(&text)
    }

    fn largest(slow: &str, millis: [u64; 6]) -> (u64, u64) {
        let identities = Artifact::identities(&eight_datacenters(slow, millis), &[]);
        let longest = identities
            .common_base_rtt
            .expect("the longest of all pairs");
        (
            identities.largest_window,
            longest.nanos_trunc().whole_micros_trunc(),
        )
    }

    /// The bandwidth-delay products are those of the published topology and of the topologies in Figures 5 and 9.
    #[test]
    fn the_largest_products_equal_the_artifacts() {
        assert_eq!(
            largest("25 Gbit", [25, 250, 10, 100, 5, 50]),
            (2_263_469_481, 700_012)
        );
        assert_eq!(
            largest("40 Gbit", [25, 100, 10, 40, 5, 20]),
            (1_625_156_000, 280_012)
        );
        assert_eq!(
            largest("40 Gbit", [15, 60, 10, 40, 5, 20]),
            (1_875_155_500, 200_012)
        );
    }

    #[test]
    fn identities_equal_the_artifacts() {
        let plan = eight_datacenters("25 Gbit", [25, 250, 10, 100, 5, 50]);
        let flows: Vec<&Flow> = plan.flows.iter().collect();
        let identities = Artifact::identities(&plan, &flows);
        let [flow] = identities.flows[..] else {
            panic!("one flow")
        };
        assert_eq!(flow.data.src.to_bits(), 0x0b00_0001);
        assert_eq!(flow.data.dst.to_bits(), 0x0b00_7001);
        assert_eq!((flow.ack.sport, flow.ack.dport), (100, 10_000));
        let seeds = [0, 7].map(|dc: usize| identities.hash_seeds[plan.dcs[dc].dci.index()]);
        assert_eq!(seeds, [176, 183]);
        let order = identities.next_hop_order.expect("by port").neighbours;
        let hops = &order[&(plan.dcs[0].dci, plan.dcs[7].hosts[0])];
        let expected: Vec<_> = (1..=6).map(|dc: usize| plan.dcs[dc].dci).collect();
        assert_eq!(*hops, expected);
    }
}
