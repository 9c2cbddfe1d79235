//! Sampler of the egress queues, and their congestion levels (section 3.3).

use std::collections::BTreeMap;

use lab_abi::{
    LcmpConfig,
    wire::{AgentConfig, LinkReport, LinkReports, QueueReport, Queues},
};
use lab_policy::lcmp::{Levels, PortProvision, PortState, PortThresholds};
use lab_units::{BitsPerSec, Bytes, Nanos, PortId, Ratio};

use crate::{qdisc::QueueSample, shared::SharedTable};

/// Sampler of the switch's ports, with their latest counters and congestion levels.
pub(crate) struct Sampler {
    lcmp: Option<LcmpConfig>,
    time_scale: Ratio,
    size_scale: Ratio,
    ports: Vec<SampledPort>,
    /// Time of the latest sample.
    sampled_at: Nanos,
}

struct SampledPort {
    slot: usize,
    id: PortId,
    ifindex: u32,
    thresholds: Option<PortThresholds>,
    state: PortState,
    levels: Levels,
    sample: QueueSample,
    max_backlog_bytes: u64,
}

impl Sampler {
    /// Returns a sampler for the sampled ports of the configuration, with `roots` as its first sample; `ifindexes` are
    /// in the order of the ports.
    ///
    /// Queues in the first sample, such as those that a killed agent left, do not count as growth.
    pub(crate) fn new(
        config: &AgentConfig,
        ifindexes: &[u32],
        now: Nanos,
        roots: &BTreeMap<u32, QueueSample>,
    ) -> Self {
        let found = |ifindex| Bytes::new(roots.get(ifindex).map_or(0, |it| it.backlog_bytes));
        let mut sampler = Self {
            lcmp: config.policy.congestion().cloned(),
            time_scale: config.time_scale,
            size_scale: config.size_scale,
            ports: Vec::new(),
            sampled_at: now,
        };
        sampler.ports = config
            .ports
            .iter()
            .zip(ifindexes)
            .enumerate()
            .filter(|(_, (port, _))| port.is_queue_sampled)
            .map(|(slot, (port, ifindex))| SampledPort {
                slot,
                id: port.id,
                ifindex: *ifindex,
                thresholds: sampler.thresholds(port.rate_bps, port.buffer_bytes),
                state: PortState::holding(now, found(ifindex)),
                levels: Levels::default(),
                sample: QueueSample::default(),
                max_backlog_bytes: 0,
            })
            .collect();
        sampler.take_in(now, roots);
        sampler
    }

    /// Applies changed rates, queue limits or LCMP parameters; the history of the queues is kept.
    pub(crate) fn provision(&mut self, config: &AgentConfig) {
        self.lcmp = config.policy.congestion().cloned();
        for index in 0..self.ports.len() {
            let port = &config.ports[self.ports[index].slot];
            self.ports[index].thresholds = self.thresholds(port.rate_bps, port.buffer_bytes);
        }
    }

    fn thresholds(&self, rate: BitsPerSec, buffer: Bytes) -> Option<PortThresholds> {
        let lcmp = self.lcmp.as_ref()?;
        let port = PortProvision::emulated(rate, buffer, self.time_scale, self.size_scale);
        Some(PortThresholds::new(&port, lcmp))
    }

    /// Updates the ports from one dump of the root qdiscs, which are keyed by interface index.
    ///
    /// The port of a vanished interface keeps its counters and has an empty queue.
    pub(crate) fn take_in(&mut self, now: Nanos, roots: &BTreeMap<u32, QueueSample>) {
        self.sampled_at = now;
        for port in &mut self.ports {
            port.sample = match roots.get(&port.ifindex) {
                Some(&sample) => sample,
                None => QueueSample {
                    backlog_bytes: 0,
                    ..port.sample
                },
            };
            let backlog = port.sample.backlog_bytes;
            port.max_backlog_bytes = port.max_backlog_bytes.max(backlog);
            if let (Some(thresholds), Some(lcmp)) = (&port.thresholds, &self.lcmp) {
                port.levels = port
                    .state
                    .sample(now, Bytes::new(backlog), thresholds, lcmp);
            }
        }
    }

    /// Publishes the levels of the latest sample to the program. The sample's time is written last, so that no level
    /// seems fresher than it is.
    pub(crate) fn publish(&self, table: &SharedTable) {
        for (slot, levels) in self.levels() {
            table.set_levels(slot, levels);
        }
        table.set_sampled_at(self.sampled_at.get());
    }

    /// Returns the slot and levels of each sampled port.
    fn levels(&self) -> impl Iterator<Item = (usize, Levels)> {
        self.ports.iter().map(|port| (port.slot, port.levels))
    }

    /// Returns the queues of the latest sample, each with its maximum backlog since the previous call.
    pub(crate) fn queues(&mut self) -> Queues {
        let report = |port: &mut SampledPort| {
            let max_backlog_bytes =
                std::mem::replace(&mut port.max_backlog_bytes, port.sample.backlog_bytes);
            QueueReport {
                port: port.id,
                backlog_bytes: port.sample.backlog_bytes,
                max_backlog_bytes,
                q: port.levels.queue,
                t: port.levels.trend,
                d: port.levels.duration,
                c_cong: port.levels.congestion,
            }
        };
        Queues {
            time_ns: self.sampled_at.get(),
            ports: self.ports.iter_mut().map(report).collect(),
        }
    }

    /// Returns the link counters of the latest sample; `marks` returns the number of marked packets for a slot.
    pub(crate) fn links(&self, marks: impl Fn(usize) -> Option<u64>) -> LinkReports {
        let report = |port: &SampledPort| LinkReport {
            port: port.id,
            tx_bytes: port.sample.tx_bytes,
            tx_packets: port.sample.tx_packets,
            drops: port.sample.drops,
            marks: marks(port.slot),
        };
        LinkReports {
            time_ns: self.sampled_at.get(),
            ports: self.ports.iter().map(report).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::PolicyConfig;

    use super::*;
    use crate::example;

    fn lcmp() -> PolicyConfig {
        PolicyConfig::Lcmp(LcmpConfig::paper(example::rate(8_000_000)))
    }

    /// Returns a sampler for the example configuration, with the interface indices 7, 8 and 9.
    fn sampler(policy: PolicyConfig) -> Sampler {
        let config = example::config(policy);
        Sampler::new(&config, &[7, 8, 9], Nanos::ZERO, &BTreeMap::new())
    }

    /// Returns the levels of the port in `slot`.
    fn levels_of(sampler: &Sampler, slot: usize) -> Levels {
        let mut levels = sampler.levels();
        levels
            .find(|&(sampled, _)| sampled == slot)
            .expect("it is sampled")
            .1
    }

    fn backlog(bytes: u64) -> BTreeMap<u32, QueueSample> {
        let sample = QueueSample {
            backlog_bytes: bytes,
            drops: 3,
            tx_bytes: 1_000,
            tx_packets: 2,
        };
        let empty = QueueSample::default();
        BTreeMap::from([(7, sample), (8, sample), (9, empty)])
    }

    #[test]
    fn a_queue_has_levels_in_its_ports_slot() {
        let mut sampler = sampler(lcmp());
        sampler.take_in(Nanos::from_millis(1), &backlog(75_000));
        let levels: Vec<_> = sampler.levels().collect();
        let [(1, full), (2, empty)] = levels[..] else {
            panic!("the port towards the hosts is not sampled: {levels:?}")
        };
        // The queue holds 75 of 100 kB; the trend is an eighth of that, 9,375 B, in a millisecond that carries 1,000 B.
        assert_eq!((full.queue, full.trend, full.duration), (204, 255, 0));
        assert_eq!(full.congestion, 165);
        assert_eq!(empty, Levels::default());
    }

    /// A queue of 75 kB in a 100 kB buffer has level 204, which has a weight of 2/4 in C_cong; the trend is still 0.
    #[test]
    fn a_queue_that_a_new_agent_finds_has_not_grown() {
        let config = example::config(lcmp());
        let found = Sampler::new(&config, &[7, 8, 9], Nanos::ZERO, &backlog(75_000));
        let levels = levels_of(&found, 1);
        assert_eq!((levels.queue, levels.trend, levels.duration), (204, 0, 0));
        assert_eq!(levels.congestion, 102);
    }

    #[test]
    fn reports_hold_the_largest_backlog_of_their_period() {
        let mut sampler = sampler(lcmp());
        for (at, bytes) in [(1, 20_000), (2, 90_000), (3, 10_000)] {
            sampler.take_in(Nanos::from_millis(at), &backlog(bytes));
        }
        let largest = |report: &Queues| {
            let queue = report.ports[0];
            (queue.port, queue.backlog_bytes, queue.max_backlog_bytes)
        };
        let report = sampler.queues();
        assert_eq!(largest(&report), (PortId(2), 10_000, 90_000));
        assert_eq!(report.time_ns, 3_000_000);
        assert_eq!(report.ports.len(), 2);
        assert_eq!(report.ports[0].q, 51);
        assert_eq!(largest(&sampler.queues()), (PortId(2), 10_000, 10_000));
    }

    #[test]
    fn a_vanished_interface_has_an_empty_queue_and_keeps_its_counters() {
        let mut sampler = sampler(lcmp());
        sampler.take_in(Nanos::from_millis(1), &backlog(20_000));
        sampler.take_in(Nanos::from_millis(2), &BTreeMap::new());
        assert_eq!(sampler.queues().ports[0].backlog_bytes, 0);
        let sent = LinkReport {
            port: PortId(2),
            tx_bytes: 1_000,
            tx_packets: 2,
            drops: 3,
            marks: Some(4),
        };
        assert_eq!(
            sampler.links(|slot| (slot == 1).then_some(4)).ports[0],
            sent
        );
    }

    #[test]
    fn only_lcmp_has_levels() {
        let mut sampler = sampler(PolicyConfig::Buckets);
        sampler.take_in(Nanos::from_millis(1), &backlog(75_000));
        let queue = sampler.queues().ports[0];
        assert_eq!((queue.backlog_bytes, queue.q, queue.c_cong), (75_000, 0, 0));
    }

    #[test]
    fn another_rate_and_buffer_give_other_levels() {
        let mut sampler = sampler(lcmp());
        let mut config = example::config(lcmp());
        config.ports[1].rate_bps = example::rate(800_000_000);
        config.ports[1].buffer_bytes = Bytes::new(1_000_000);
        sampler.provision(&config);
        sampler.take_in(Nanos::from_millis(1), &backlog(75_000));
        assert_eq!(
            (levels_of(&sampler, 1).queue, levels_of(&sampler, 1).trend),
            (25, 0)
        );
    }

    #[test]
    fn other_weights_give_other_congestion() {
        let mut sampler = sampler(lcmp());
        let only_queue = LcmpConfig {
            w_ql: 4,
            w_tl: 0,
            w_dp: 0,
            ..LcmpConfig::paper(example::rate(8_000_000))
        };
        sampler.provision(&example::config(PolicyConfig::Lcmp(only_queue)));
        sampler.take_in(Nanos::from_millis(1), &backlog(75_000));
        assert_eq!(levels_of(&sampler, 1).congestion, 204);
    }
}
