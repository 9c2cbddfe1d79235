//! Decision of a policy for one flow, from the state of the candidates at the DCI switch.

use lab_policy::{
    Decision, LcmpConfig, OwnPolicy, Preset, Rule, ecmp, lcmp,
    own::{self, NextHop},
};
use lab_units::{Bytes, Nanos};

use super::Partition;
use crate::{
    cc::CongestionControl,
    packet::Packet,
    semantics::SemanticsRules,
    world::{PortCandidate, RunPolicy},
};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Makes the policy's decision for a flow; returns it with the ports of the candidates.
    pub(super) fn decide(
        &mut self,
        node: u32,
        to_dc: u32,
        candidates: &[PortCandidate],
        key: u64,
        packet: &Packet,
    ) -> Option<(Decision, Vec<u32>)> {
        let hash = self.hash(node, packet);
        let ports = || candidates.iter().map(|candidate| candidate.port).collect();
        let mut inputs: Vec<lab_policy::Candidate> = candidates
            .iter()
            .enumerate()
            .map(|(index, candidate)| lab_policy::Candidate {
                path: candidate.c_path,
                congestion: 0,
                is_alive: self.is_up(candidate.port),
                buckets: self.buckets_of(key, to_dc, index, candidate),
            })
            .collect();
        let is_stale = self.tables_are_stale();
        match &self.world.policy {
            RunPolicy::Buckets | RunPolicy::FlowAgeing(_) if is_stale => {
                Some((lcmp::decide_stale(&inputs, hash)?, ports()))
            }
            RunPolicy::Buckets | RunPolicy::FlowAgeing(_) => {
                Some((ecmp::decide(&inputs, hash)?, ports()))
            }
            RunPolicy::Own(policy) => {
                let decision = self.decide_own(*policy, candidates, &inputs, hash)?;
                Some((decision, ports()))
            }
            RunPolicy::Lcmp(config) => {
                self.set_congestion(node, candidates, &mut inputs, config);
                if is_stale {
                    return Some((lcmp::decide_stale(&inputs, hash)?, ports()));
                }
                let decision = lcmp::decide(&inputs, hash, config)?;
                match (config.preset, decision.rule) {
                    // In the artifact, a fallback uses all candidates in the order of its table, while a scored
                    // decision breaks ties of cost by port.
                    (Preset::Artifact, Rule::Scored) => by_port(candidates, &inputs, hash, config),
                    _ => Some((decision, ports())),
                }
            }
        }
    }

    /// Returns a candidate's number of hash buckets: from flow ageing or TE where active, else the provisioned number.
    fn buckets_of(&self, key: u64, to_dc: u32, index: usize, candidate: &PortCandidate) -> u16 {
        let dci = &self.dci;
        match (&dci.flow_ageing, &dci.te_weights) {
            (Some(ageing), _) if to_dc != self.dc => ageing.buckets_of(key, to_dc, index),
            (_, Some(te_weights)) => te_weights.buckets_of(to_dc, candidate),
            _ => candidate.buckets,
        }
    }

    fn decide_own(
        &self,
        policy: &dyn OwnPolicy,
        candidates: &[PortCandidate],
        inputs: &[lab_policy::Candidate],
        hash: u32,
    ) -> Option<Decision> {
        let world = self.world;
        let next_hop = |candidate: &PortCandidate| {
            let port = &self.ports[(candidate.port - self.first_port) as usize];
            NextHop {
                delay: candidate.path.delay,
                capacity: candidate.path.capacity,
                link_rate: world.paper.rate(port.rate),
                queue: world.paper.size(Bytes::new(port.total_bytes)),
            }
        };
        let next_hops: Vec<NextHop> = candidates.iter().map(next_hop).collect();
        own::decide(policy, inputs, &next_hops, hash)
    }

    /// Returns the age of LCMP's latest queue sample; 0 in the artifact, which samples at each decision.
    pub(super) fn signal_age(&self) -> Nanos {
        let now = self.now.nanos_trunc();
        let sampled = self.dci.monitored.first();
        sampled.map_or(Nanos::ZERO, |port| {
            now.saturating_sub(port.state.last_sample())
        })
    }

    /// Sets each candidate's C_cong, from the last sample (`paper`) or from the artifact's monitor, which samples all
    /// ports of the switch once per candidate. While the agent is down, both keep the values of before.
    fn set_congestion(
        &mut self,
        node: u32,
        candidates: &[PortCandidate],
        inputs: &mut [lab_policy::Candidate],
        config: &LcmpConfig,
    ) {
        let first = self.world.network.nodes[node as usize].ports.start;
        let now = self.now.nanos_trunc();
        let base = (first - self.first_port) as usize;
        for (candidate, input) in candidates.iter().zip(inputs) {
            let index = (candidate.port - first) as usize;
            if config.preset == Preset::Artifact && !self.is_agent_down() {
                for (monitored, port) in self.dci.monitored.iter_mut().zip(&self.ports[base..]) {
                    let queue = Bytes::new(port.total_bytes);
                    let thresholds = &monitored.thresholds;
                    monitored.state.observe(now, queue, thresholds, config);
                }
                let monitored = &mut self.dci.monitored[index];
                monitored.levels = monitored.state.judge(&monitored.thresholds, config);
            }
            input.congestion = self.dci.monitored[index].levels.congestion;
        }
    }
}

/// Returns the decision with the candidates in the order of their ports.
fn by_port(
    candidates: &[PortCandidate],
    inputs: &[lab_policy::Candidate],
    hash: u32,
    config: &LcmpConfig,
) -> Option<(Decision, Vec<u32>)> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&index| candidates[index].port);
    let sorted: Vec<_> = order.iter().map(|&index| inputs[index]).collect();
    let decision = lcmp::decide(&sorted, hash, config)?;
    let ports = order.iter().map(|&index| candidates[index].port);
    Some((decision, ports.collect()))
}
