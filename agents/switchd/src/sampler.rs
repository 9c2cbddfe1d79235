//! Samples of the egress queues, and what the policy makes of them.

use std::collections::BTreeMap;

use lab_abi::{
    LcmpConfig,
    wire::{AgentConfig, PolicyConfig, PortConfig, QueueReport, Queues},
};
use lab_policy::lcmp::{Levels, PortProvision, PortState, PortThresholds};
use lab_units::{Bytes, Nanos, PortId};

use crate::qdisc::QueueSample;

/// The ports of the switch, and what is known of each.
pub(crate) struct Sampler {
    lcmp: Option<LcmpConfig>,
    ports: Vec<SampledPort>,
    /// When the queues were last sampled.
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
    /// A sampler of the configuration's sampled ports; `ifindexes` are in the order of its ports.
    pub(crate) fn new(config: &AgentConfig, ifindexes: &[u32], now: Nanos) -> Self {
        let lcmp = match &config.policy {
            PolicyConfig::Ecmp => None,
            PolicyConfig::Lcmp(lcmp) => Some(lcmp.clone()),
        };
        let thresholds = |port: &PortConfig| {
            let lcmp = lcmp.as_ref()?;
            let provision = PortProvision::emulated(
                port.rate_bps,
                port.buffer_bytes,
                config.time_scale,
                config.size_scale,
            );
            Some(PortThresholds::new(&provision, lcmp))
        };
        let ports = config
            .ports
            .iter()
            .zip(ifindexes)
            .enumerate()
            .filter(|(_, (port, _))| port.is_queue_sampled)
            .map(|(slot, (port, &ifindex))| SampledPort {
                slot,
                id: port.id,
                ifindex,
                thresholds: thresholds(port),
                state: PortState::new(now),
                levels: Levels::default(),
                sample: QueueSample::default(),
                max_backlog_bytes: 0,
            })
            .collect();
        Self {
            lcmp,
            ports,
            sampled_at: now,
        }
    }

    /// Takes in one dump of the root qdiscs by interface index.
    ///
    /// An interface without one has vanished: its port keeps its counters and has an empty queue.
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

    /// The levels of each sampled port by slot.
    pub(crate) fn levels(&self) -> impl Iterator<Item = (usize, Levels)> {
        self.ports.iter().map(|port| (port.slot, port.levels))
    }

    /// The levels of the port in `slot`; those of an empty queue if it is not sampled.
    pub(crate) fn levels_of(&self, slot: usize) -> Levels {
        self.levels()
            .find(|&(sampled, _)| sampled == slot)
            .map_or_else(Levels::default, |(_, levels)| levels)
    }

    /// What the last sample saw; begins a new period for the largest backlog.
    pub(crate) fn report(&mut self) -> Queues {
        let report = |port: &mut SampledPort| {
            let max_backlog_bytes =
                std::mem::replace(&mut port.max_backlog_bytes, port.sample.backlog_bytes);
            QueueReport {
                port: port.id,
                backlog_bytes: port.sample.backlog_bytes,
                max_backlog_bytes,
                drops: port.sample.drops,
                tx_bytes: port.sample.tx_bytes,
                tx_packets: port.sample.tx_packets,
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
}
