//! Trained weights that turn the switch's own measurements into hash buckets, once per interval.

use lab_abi::wire::{ActorConfig, AgentConfig, BucketRow, LinkReports};
use lab_redte::{Actor, AgentLayout, Head, Observation, Weights, WeightsError, buckets};
use lab_units::{BitsPerSec, Bytes, Nanos, PortId};

/// Actor of the switch, and what it needs from one decision to the next.
#[derive(Clone, Debug)]
pub(super) struct SwitchActor {
    actor: Actor,
    config: ActorConfig,
    interval: Nanos,
    /// Bytes that each port of [`ActorConfig::links`] had sent at the previous decision.
    sent: Vec<u64>,
}

impl SwitchActor {
    /// Returns the actor of `config`, which decides every `interval`.
    ///
    /// # Errors
    /// If the weights are damaged, or do not fit the switch's links and destinations.
    pub(super) fn new(config: &AgentConfig, actor: &ActorConfig) -> Result<Self, WeightsError> {
        let weights = Weights::decode(&actor.weights)?;
        let candidates = |head: &lab_abi::wire::HeadConfig| head.provisioned.len();
        let layout = AgentLayout {
            switch: 0,
            links: (0..actor.links.len()).collect(),
            rows: config.destinations.len(),
            heads: actor
                .heads
                .iter()
                .map(|head| Head {
                    row: head.destination,
                    candidates: candidates(head),
                })
                .collect(),
        };
        let divisors = weights.header.divisors;
        let network = weights.networks.into_iter().next();
        let network = network.filter(|it| *it.shape() == layout.shape());
        Ok(Self {
            actor: Actor {
                network: network.ok_or(WeightsError::OtherTopology)?,
                layout,
                divisors,
            },
            interval: config.demand_interval_ns.unwrap_or(Nanos::ZERO),
            sent: vec![0; actor.links.len()],
            config: actor.clone(),
        })
    }

    /// Returns the interval between two decisions.
    pub(super) const fn interval(&self) -> Nanos {
        self.interval
    }

    /// Returns the buckets for new flows, from the counters of the ports and the `demands` of the interval that ends, by
    /// destination.
    pub(super) fn decide(
        &mut self,
        config: &AgentConfig,
        counters: &LinkReports,
        demands: &[u64],
        is_live: impl Fn(PortId) -> bool,
    ) -> Vec<BucketRow> {
        let sent_by = |port: &PortId| {
            let report = counters.ports.iter().find(|report| report.port == *port);
            report.map_or(0, |report| report.tx_bytes)
        };
        let sent: Vec<u64> = self.config.links.iter().map(sent_by).collect();
        let since = sent
            .iter()
            .zip(&self.sent)
            .map(|(now, before)| Bytes::new(now.saturating_sub(*before)));
        let rate_of = |port: &PortId| {
            let found = config.ports.iter().find(|row| row.id == *port);
            found.map_or(self.config.largest_rate_bps, |row| row.rate_bps)
        };
        let links: Vec<(Bytes, BitsPerSec)> =
            since.zip(self.config.links.iter().map(rate_of)).collect();
        self.sent = sent;
        let demands: Vec<Bytes> = demands.iter().copied().map(Bytes::new).collect();
        let decision = self.actor.decide(&Observation {
            interval: self.interval,
            largest_rate: self.config.largest_rate_bps,
            links: &links,
            demands: &demands,
        });
        let heads = self.config.heads.iter().zip(&decision.ratios);
        let row = |(head, ratios): (&lab_abi::wire::HeadConfig, &Vec<f32>)| {
            let destination = &config.destinations[head.destination];
            let candidates = destination.candidates.iter();
            let live: Vec<bool> = candidates.map(|it| is_live(it.port)).collect();
            BucketRow {
                addr: destination.addr,
                prefix_len: destination.prefix_len,
                buckets: buckets(ratios, &live, &head.provisioned, self.config.buckets),
            }
        };
        heads.map(row).collect()
    }
}
