//! Longest round trips in the lab, over all paths that the candidates allow rather than only the best one.

use lab_units::{Bytes, DcId, Nanos};

use crate::{
    error::PlanError,
    frame,
    model::{Dc, Flow, WirePlan},
    network::Network,
    paths::{self, Paths},
};

/// Longest emulated round trips over all pairs of hosts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RoundTrips {
    /// Longest round trip with empty queues, for one full packet and its ACK.
    pub base: Nanos,
    /// Longest round trip with full egress queues in both directions; a queue contains at most the data of all flows.
    pub queued: Nanos,
}

impl RoundTrips {
    /// Returns the longest round trips for a packet of `path_mtu` bytes and its ACK. A queue contains at most `sent`
    /// bytes, the data of all flows.
    pub fn longest(
        network: &Network,
        paths: &Paths,
        path_mtu: u32,
        sent: Bytes,
    ) -> Result<Self, PlanError> {
        let base = |wire: &WirePlan| {
            let frames = Bytes::new(frame::HEADERS + u64::from(path_mtu) + frame::ACK);
            let sent = wire.rate_bps.serialize(frames).unwrap_or(NEVER);
            wire.delay_ns
                .saturating_add(wire.delay_ns)
                .saturating_add(sent)
        };
        let queued = |wire: &WirePlan| {
            let full = wire.buffer_bytes.min(sent);
            let drain = wire.rate_bps.serialize(full).unwrap_or(NEVER);
            base(wire).saturating_add(drain).saturating_add(drain)
        };
        Ok(Self {
            base: longest(network, paths, base)?,
            queued: longest(network, paths, queued)?,
        })
    }
}

impl RoundTrips {
    /// Returns the longer round trips of two networks.
    pub fn max(self, other: Self) -> Self {
        Self {
            base: self.base.max(other.base),
            queued: self.queued.max(other.queued),
        }
    }
}

/// Returns an upper bound for the wire bytes of one repetition's data packets, the maximum over the repetitions.
pub(crate) fn max_wire_bytes(flows: &[Flow]) -> Bytes {
    let repetitions = flows.chunk_by(|a, b| a.repetition == b.repetition);
    let sums = repetitions.map(|flows| flows.iter().map(Flow::max_wire_bytes).sum());
    sums.max().unwrap_or(Bytes::ZERO)
}

/// Returns the time from a repetition's start to the ideal end of its last flow, the maximum over the repetitions.
pub(crate) fn ideal_end(flows: &[Flow]) -> Nanos {
    let ends = flows
        .iter()
        .map(|flow| flow.start_ns.saturating_add(flow.ideal_fct_ns));
    ends.max().unwrap_or(Nanos::ZERO)
}

/// Returns the maximum cost over all paths between two hosts; a path's cost is the sum of its links' costs.
fn longest(
    network: &Network,
    paths: &Paths,
    cost: impl Fn(&WirePlan) -> Nanos,
) -> Result<Nanos, PlanError> {
    // A host's links to its DCI switch cost the same for all hosts of a datacenter.
    let inside = |dc: &Dc| -> Option<Nanos> {
        let links = paths::climb(network, *dc.hosts.first()?).into_iter();
        Some(links.map(|port| cost(&network.link(port.link()).emu)).sum())
    };
    let inside: Vec<Option<Nanos>> = network.dcs.iter().map(inside).collect();
    let all = || {
        let dcs = (0u32..).map(DcId).zip(&inside);
        dcs.filter_map(|(dc, cost)| cost.map(|cost| (dc, cost)))
    };
    let mut max = Nanos::ZERO;
    for (to, end) in all() {
        paths.check_all_reach(network, to)?;
        let worst = paths.max_costs(network, to, |ahead: Nanos, port| {
            ahead.saturating_add(cost(&network.link(port.link()).emu))
        });
        for (from, start) in all() {
            let between = worst[from.index()].unwrap_or_default();
            let whole = between.saturating_add(start).saturating_add(end);
            max = max.max(whole);
        }
    }
    Ok(max)
}

const NEVER: Nanos = Nanos::new(u64::MAX);
