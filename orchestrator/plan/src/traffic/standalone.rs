//! Standalone FCT: the FCT of a flow alone, which the authors' code uses as the denominator of slowdowns.
//!
//! Slowdowns are comparable with the published ones only if they use this reference. It is computed for the path with
//! the least delay among those that the candidates allow between two hosts, or, among equal delays, the most capacity:
//!
//! ```text
//! base RTT   = 2 · Σ delay + Σ ⌊payload · 8 / rate⌋
//! standalone = base RTT + ⌊(size + ⌈size / payload⌉ · 48) · 8 / bottleneck⌋
//! ```
//!
//! in nanoseconds. A full payload, without headers, is serialised once on each link in one direction, and an ACK has no
//! serialisation time. A packet's headers are 48 bytes: PPP 14, IPv4 20, UDP 8, and 6 of the artifact's own format. A
//! large flow may be faster than the reference: if a path with more delay has more capacity, a slowdown can be below 1.

use lab_units::{BitsPerSec, Bytes, Nanos, NodeId};

use crate::{
    ideal::{self, Hop},
    model::Plan,
    network::Network,
    paths::{self, Paths},
};

/// Bytes of headers in the artifact's packets.
pub const HEADERS: u64 = 48;

/// Base RTT and bottleneck of a host pair, from which the artifact computes standalone FCTs (of a flow alone in the
/// network).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Standalone {
    /// Round trip of a full packet and its ACK, with empty queues.
    pub base_rtt: Nanos,
    /// Rate of the slowest link on the path.
    pub bottleneck: BitsPerSec,
    payload: u64,
}

impl Standalone {
    /// Computes base RTT and bottleneck of `path`, which leads from one host to another, for packets with `payload`
    /// bytes.
    ///
    /// # Panics
    /// Panics on a path without links.
    #[must_use]
    pub fn of(path: &[Hop], payload: u32) -> Self {
        let payload = u64::from(payload);
        let delay: Nanos = path.iter().map(|hop| hop.delay).sum();
        let sent = path.iter().map(|hop| wire_time(payload, hop.rate));
        let bottleneck = path.iter().map(|hop| hop.rate).min();
        Self {
            base_rtt: delay.saturating_add(delay).saturating_add(sent.sum()),
            bottleneck: bottleneck.expect("two hosts have a link between them"),
            payload,
        }
    }

    /// Returns the standalone FCT of a flow with `size` bytes.
    #[must_use]
    pub fn completion(&self, size: Bytes) -> Nanos {
        let packets = size.get().div_ceil(self.payload);
        let wire = size.get().saturating_add(packets.saturating_mul(HEADERS));
        self.base_rtt
            .saturating_add(wire_time(wire, self.bottleneck))
    }

    /// Returns base RTT and bottleneck for host pairs in `plan`. The first and the last host of each datacenter, which
    /// are at different leaves, represent its other hosts.
    #[must_use]
    pub fn of_all_pairs(plan: &Plan) -> Vec<Self> {
        let network = Network::of(plan);
        let paths = Paths::find(&network, plan.candidate_set);
        let ends: Vec<NodeId> = plan
            .dcs
            .iter()
            .flat_map(|dc| {
                let ends = [dc.hosts.first(), dc.hosts.last()];
                ends.into_iter().flatten().copied()
            })
            .collect();
        let pairs = ends
            .iter()
            .flat_map(|src| ends.iter().map(move |dst| (src, dst)))
            .filter(|(src, dst)| src != dst);
        let standalone = |(src, dst): (&NodeId, &NodeId)| {
            let ports = paths::host_path(&network, &paths, *src, *dst);
            Self::of(&ideal::hops(&network, &ports), plan.transport.payload_bytes)
        };
        pairs.map(standalone).collect()
    }
}

fn wire_time(bytes: u64, rate: BitsPerSec) -> Nanos {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate.get());
    Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the links from a host in DC1 to a host in DC8 in the artifact's network.
    fn path() -> Vec<Hop> {
        let hop = |rate: &str, delay: &str| Hop {
            rate: rate.parse().unwrap(),
            delay: delay.parse().unwrap(),
        };
        let fabric = hop("100 Gbit", "1 us");
        let up = hop("400 Gbit", "1 us");
        let inter = hop("25 Gbit", "5 ms");
        vec![fabric, fabric, up, inter, inter, up, fabric, fabric]
    }

    #[test]
    fn the_base_round_trip_has_one_payload_one_way() {
        let standalone = Standalone::of(&path(), 1_000);
        assert_eq!(standalone.base_rtt, Nanos::new(20_013_000));
        assert_eq!(standalone.bottleneck.to_string(), "25 Gbit");
    }

    /// The expected rows are from the output that the authors published for Figure 1.
    #[test]
    fn published_flows_alone() {
        let standalone = Standalone::of(&path(), 1_000);
        for (size, fct) in [
            (9_909, 20_016_324),
            (53_785, 20_031_040),
            (268_787, 20_103_143),
        ] {
            assert_eq!(standalone.completion(Bytes::new(size)), Nanos::new(fct));
        }
    }
}
