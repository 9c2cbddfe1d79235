//! Properties of a scenario's flows and network that constrain an automatic scale, in paper units.

use std::collections::BTreeMap;

use lab_units::{Bytes, Nanos, NodeId, Ratio, Tool};

use super::inputs::Inputs;
use crate::{
    error::PlanError, frame, ideal, offer::Offer, paths, round_trip::RoundTrips, schedule,
};

/// Properties of a scenario's flows and network that constrain an automatic scale, at the paper's scale (before
/// scaling).
#[derive(Debug)]
pub(super) struct Demand {
    /// Size of the largest flow.
    largest: Bytes,
    /// Bits of a full packet on the wire, headers included.
    packet_bits: u64,
    /// Minimum over all host pairs with flows of the slowest link's rate (bit/s) times the round trip (ns). For the
    /// pair with this minimum, the ratio of a packet's serialisation time to the round trip is largest.
    least_product: u128,
    /// Shortest propagation round trip between two hosts with flows.
    pub round_trip: Nanos,
    /// Last flow start plus the longest round trip of any path.
    pub end: Nanos,
    /// Rate of the fastest link, between datacenters or inside one; the lab shapes both kinds.
    pub fastest_bps: u64,
    /// Rate of the slowest such link.
    pub slowest_bps: u64,
    /// Number of links between the hosts of each pair that has flows.
    lengths: BTreeMap<(NodeId, NodeId), usize>,
}

impl Demand {
    pub fn of(inputs: &Inputs<'_>) -> Result<Self, PlanError> {
        let mtu = inputs.scenario.generator.mtu;
        let links = inputs.paper.links.iter();
        let rates = links.map(|link| link.paper.rate_bps.get());
        let drafts = || inputs.drafts.iter().map(|(_, draft)| draft);
        let longest = RoundTrips::longest(inputs.paper, inputs.paths, mtu, Bytes::ZERO)?.base;
        let last = drafts().map(|draft| draft.start).max();
        let mut demand = Self {
            largest: drafts()
                .map(|draft| draft.size)
                .max()
                .unwrap_or(Bytes::ZERO),
            packet_bits: 8 * (frame::HEADERS + u64::from(mtu)),
            least_product: u128::MAX,
            round_trip: Nanos::new(u64::MAX),
            end: last.unwrap_or(Nanos::ZERO).saturating_add(longest),
            fastest_bps: rates.clone().max().unwrap_or(0),
            slowest_bps: rates.min().unwrap_or(0),
            lengths: BTreeMap::new(),
        };
        for draft in drafts() {
            demand.add_pair(inputs, (draft.src, draft.dst));
        }
        Ok(demand)
    }

    fn add_pair(&mut self, inputs: &Inputs<'_>, pair: (NodeId, NodeId)) {
        if self.lengths.contains_key(&pair) {
            return;
        }
        let ports = paths::host_path(inputs.paper, inputs.paths, pair.0, pair.1);
        let hops = ideal::hops(inputs.paper, &ports);
        let slowest = hops.iter().map(|hop| hop.rate.get()).min().unwrap_or(1);
        let one_way: Nanos = hops.iter().map(|hop| hop.delay).sum();
        let round_trip = one_way.saturating_add(one_way);
        let product = u128::from(slowest) * u128::from(round_trip.get());
        self.least_product = self.least_product.min(product);
        self.round_trip = self.round_trip.min(round_trip);
        self.lengths.insert(pair, hops.len());
    }

    /// Returns the number of packets that the largest flow has when sizes are scaled by `size`.
    pub fn packets_of_largest(&self, size: Ratio, tool: Tool, mtu: u32) -> u64 {
        let (messages, bytes) = schedule::messages(size, self.largest, tool);
        u64::from(messages) * frame::packets(bytes, mtu)
    }

    /// Returns the largest ratio of a full packet's serialisation time to the round trip over all host pairs, in
    /// ten-thousandths; every FCT exceeds a round trip. Only the scale of sizes matters: a factor of rates divides the
    /// serialisation time, a factor of times multiplies the round trip.
    pub fn packet_permyriad(&self, size: Ratio) -> u64 {
        let bits = u128::from(self.packet_bits) * u128::from(size.denominator());
        let product = self
            .least_product
            .saturating_mul(u128::from(size.numerator()));
        let share = bits
            .saturating_mul(10_000 * NANOS_PER_SECOND)
            .checked_div(product);
        u64::try_from(share.unwrap_or(u128::MAX)).unwrap_or(u64::MAX)
    }

    /// Returns the packets that each flow offers when sizes are scaled by `size`; flow starts are not scaled.
    pub fn offers(&self, inputs: &Inputs<'_>, size: Ratio) -> Vec<Offer> {
        let generator = &inputs.scenario.generator;
        let offers = inputs.drafts.iter().map(|(repetition, draft)| {
            let links = self.lengths.get(&(draft.src, draft.dst)).copied();
            let (messages, bytes) = schedule::messages(size, draft.size, generator.tool);
            let packets = frame::packets(bytes, generator.mtu);
            Offer::new(
                *repetition,
                draft.start,
                messages,
                packets,
                links.unwrap_or(0),
            )
        });
        offers.collect()
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;
