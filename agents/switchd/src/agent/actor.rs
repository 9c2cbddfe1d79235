//! Trained weights that turn the switch's own measurements into hash buckets, once per interval.

use lab_abi::wire::{ActorConfig, AgentConfig, BucketRow, LinkReports};
use lab_redte::{Actor, AgentLayout, Head, Observation, Weights, WeightsError, buckets};
use lab_units::{BitsPerSec, Bytes, Nanos, PortId};

/// Actor of the switch, with the state that it keeps between decisions.
#[derive(Clone, Debug)]
pub(super) struct SwitchActor {
    actor: Actor,
    config: ActorConfig,
    interval: Nanos,
    /// Bytes that each port of [`ActorConfig::links`] had sent at the end of the previous interval.
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
        let mut networks = weights.networks.into_iter();
        let network = networks.next().filter(|it| *it.shape() == layout.shape());
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

    /// Returns the bytes that each port of [`ActorConfig::links`] has sent since the previous call; 0 for a port
    /// without a counter.
    pub(super) fn take_sent(&mut self, counters: &LinkReports) -> Vec<Bytes> {
        let of_port = |port: &PortId| {
            let report = counters.ports.iter().find(|report| report.port == *port);
            report.map_or(0, |report| report.tx_bytes)
        };
        let sent: Vec<u64> = self.config.links.iter().map(of_port).collect();
        let before = std::mem::replace(&mut self.sent, sent);
        let both = self.sent.iter().zip(before);
        both.map(|(sent, before)| Bytes::new(sent.saturating_sub(before)))
            .collect()
    }

    /// Ends an interval at `now`, and begins the next. Returns the buckets for new flows, computed from the counters of
    /// the ports and the interval's `demands` by destination; `None` if the interval began before the run's start.
    pub(super) fn end_interval(
        &mut self,
        now: Nanos,
        config: &AgentConfig,
        counters: &LinkReports,
        demands: &[u64],
        is_live: impl Fn(PortId) -> bool,
    ) -> Option<Vec<BucketRow>> {
        let sent = self.take_sent(counters);
        // The first interval begins with the tick at the run's start, before which no traffic is sent.
        let half = Nanos::new(self.interval.get() / 2);
        if now < config.start_ns.saturating_add(half) {
            return None;
        }
        let rate_of = |port: &PortId| {
            let found = config.ports.iter().find(|row| row.id == *port);
            found.map_or(self.config.largest_rate_bps, |row| row.rate_bps)
        };
        let rates = self.config.links.iter().map(rate_of);
        let links: Vec<(Bytes, BitsPerSec)> = sent.into_iter().zip(rates).collect();
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
        Some(heads.map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lab_abi::wire::{HeadConfig, LinkReport, PolicyConfig};
    use lab_redte::{Divisors, Header, Mlp, Shape, weights};
    use lab_units::Trainer;

    use super::*;
    use crate::example;

    /// Returns weights whose shares, for the ports 4 and 2, have the logits ln 3 · (u₄ + d) and ln 3 · u₂. The hidden
    /// layers copy their inputs: u₂ and u₄, each divided by 1/2, and the demand d, divided by 1/4.
    fn weights() -> Weights {
        let shape = Shape {
            inputs: 3,
            heads: vec![2],
        };
        let [first, second, last] = shape.layers();
        let mut parameters = vec![0.0; shape.parameters()];
        let mut start = 0;
        let ln_3 = 3_f32.ln();
        for (layer, weights) in [
            (first, [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0)]),
            (second, [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0)]),
            (last, [(0, 1, ln_3), (1, 0, ln_3), (2, 0, ln_3)]),
        ] {
            for (input, output, weight) in weights {
                parameters[start + (1 + input) * layer.outputs + output] = weight;
            }
            start += layer.parameters();
        }
        Weights {
            header: Header {
                format: weights::FORMAT,
                scenario: "example".to_owned(),
                topology: String::new(),
                divisors: Divisors {
                    utilisation: 0.5,
                    demand: 0.25,
                },
                shapes: vec![shape.clone()],
                paper_interval_ns: Nanos::from_millis(100),
                lag: weights::LAG,
                trainer: Trainer::Direct,
                options: BTreeMap::new(),
                seed: 1,
                steps: 1,
                version: String::new(),
                scores: BTreeMap::new(),
            },
            networks: vec![Mlp::new(shape, parameters)],
        }
    }

    /// Returns the example's configuration with an actor. At 8 Mbit/s a port sends 100 kB in an interval, and the
    /// largest link of the network 200 kB. So 50 kB at a port, or of demand, are 1 at the network's input.
    fn config() -> AgentConfig {
        AgentConfig {
            demand_interval_ns: Some(Nanos::from_millis(100)),
            actor: Some(ActorConfig {
                weights: weights().encode(),
                links: vec![PortId(2), PortId(4)],
                heads: vec![HeadConfig {
                    destination: 0,
                    provisioned: vec![2, 6],
                }],
                largest_rate_bps: example::rate(16_000_000),
                buckets: 100,
            }),
            ..example::config(PolicyConfig::Buckets)
        }
    }

    fn actor(config: &AgentConfig) -> Result<SwitchActor, WeightsError> {
        SwitchActor::new(config, config.actor.as_ref().unwrap())
    }

    /// Returns the counters of the ports 2 and 4 that have sent `tx_bytes`.
    fn counters(tx_bytes: [u64; 2]) -> LinkReports {
        let report = |(port, tx_bytes)| LinkReport {
            port: PortId(port),
            tx_bytes,
            tx_packets: 0,
            drops: 0,
            marks: None,
        };
        LinkReports {
            time_ns: 0,
            ports: [2, 4].into_iter().zip(tx_bytes).map(report).collect(),
        }
    }

    /// Returns the buckets of the ports 4 and 2 after the run's first interval.
    fn decide(
        actor: &mut SwitchActor,
        config: &AgentConfig,
        sent: [u64; 2],
        demand: u64,
    ) -> Vec<u16> {
        let now = config.start_ns.saturating_add(Nanos::from_millis(100));
        let counters = counters(sent);
        let rows = actor.end_interval(now, config, &counters, &[demand], |_| true);
        let [row] = rows.unwrap().try_into().unwrap();
        let destination = &config.destinations[0];
        assert_eq!(
            (row.addr, row.prefix_len),
            (destination.addr, destination.prefix_len)
        );
        row.buckets
    }

    #[test]
    fn counters_and_demands_become_buckets() {
        let config = config();
        for (sent, demand, expected) in [
            ([0, 0], 0, [50, 50]),
            // A logit of ln 3 means 3 : 1, and of 2 · ln 3 means 9 : 1.
            ([50_000, 0], 0, [25, 75]),
            ([0, 50_000], 0, [75, 25]),
            ([0, 0], 50_000, [75, 25]),
            ([0, 50_000], 50_000, [90, 10]),
            ([100_000, 0], 0, [10, 90]),
            ([50_000, 50_000], 0, [50, 50]),
        ] {
            let mut actor = actor(&config).unwrap();
            let buckets = decide(&mut actor, &config, sent, demand);
            assert_eq!(buckets, expected, "{sent:?} {demand}");
        }
    }

    #[test]
    fn an_interval_has_only_its_own_bytes() {
        let config = config();
        let mut actor = actor(&config).unwrap();
        // Counters of an earlier repetition, or of the agent that this one replaces.
        actor.take_sent(&counters([7_000_000, 9_000_000]));
        let mut decide = |sent| decide(&mut actor, &config, sent, 0);
        assert_eq!(decide([7_050_000, 9_000_000]), [25, 75]);
        assert_eq!(decide([7_050_000, 9_000_000]), [50, 50]);
        assert_eq!(decide([7_050_000, 9_050_000]), [75, 25]);
        // A qdisc that was replaced counts from 0 again.
        assert_eq!(decide([0, 0]), [50, 50]);
        assert_eq!(decide([50_000, 0]), [25, 75]);
    }

    #[test]
    fn no_interval_ends_before_the_run_has_lasted_half_of_one() {
        let config = AgentConfig {
            start_ns: Nanos::from_millis(1_000),
            ..config()
        };
        let mut actor = actor(&config).unwrap();
        let mut at = |millis, sent| {
            let now = Nanos::from_millis(millis);
            actor.end_interval(now, &config, &counters([sent, 0]), &[0], |_| true)
        };
        assert_eq!(at(900, 10_000_000), None);
        assert_eq!(at(1_000, 20_000_000), None);
        assert_eq!(at(1_049, 20_000_000), None);
        // Bytes that were sent before the start do not count in the first interval.
        let rows = at(1_100, 20_050_000).unwrap();
        assert_eq!(rows[0].buckets, [25, 75]);
    }

    #[test]
    fn a_dead_candidate_has_no_buckets_and_all_dead_ones_have_wcmps() {
        let config = config();
        for (live, expected) in [
            (&[2, 4][..], [25, 75]),
            (&[2], [0, 100]),
            (&[4], [100, 0]),
            (&[], [2, 6]),
        ] {
            let mut actor = actor(&config).unwrap();
            let counters = counters([50_000, 0]);
            let is_live = |port: PortId| live.contains(&port.0);
            let now = Nanos::from_millis(100);
            let rows = actor.end_interval(now, &config, &counters, &[0], is_live);
            assert_eq!(rows.unwrap()[0].buckets, expected, "{live:?}");
        }
    }

    #[test]
    fn utilisations_are_of_the_ports_present_rates() {
        let mut config = config();
        let mut actor = actor(&config).unwrap();
        // A fault halves the rate of port 2, so 25 kB use as much of it as 50 kB did.
        config.ports[1].rate_bps = example::rate(4_000_000);
        assert_eq!(decide(&mut actor, &config, [25_000, 0], 0), [25, 75]);
    }

    #[test]
    fn a_port_without_a_counter_is_idle() {
        let config = config();
        let mut actor = actor(&config).unwrap();
        let mut counters = counters([50_000, 50_000]);
        counters.ports.pop();
        let now = Nanos::from_millis(100);
        let rows = actor.end_interval(now, &config, &counters, &[0], |_| true);
        assert_eq!(rows.unwrap()[0].buckets, [25, 75]);
    }

    #[test]
    fn weights_that_do_not_fit_the_switch_are_refused() {
        const OTHER: &str = "another network";
        type Change = fn(&mut AgentConfig, &mut ActorConfig);
        let cases: [(Change, &str); 5] = [
            (|_, actor| actor.links.truncate(1), OTHER),
            (
                |config, _| config.destinations.push(config.destinations[0].clone()),
                OTHER,
            ),
            (|_, actor| actor.heads[0].provisioned.push(1), OTHER),
            (|_, actor| actor.heads.clear(), OTHER),
            (
                |_, actor| actor.weights.truncate(1_000),
                "truncated or damaged",
            ),
        ];
        for (at, (change, expected)) in cases.into_iter().enumerate() {
            let mut config = config();
            let mut changed = config.actor.take().unwrap();
            change(&mut config, &mut changed);
            let error = SwitchActor::new(&config, &changed).unwrap_err().to_string();
            assert!(error.contains(expected), "case {at}: {error}");
        }
    }
}
