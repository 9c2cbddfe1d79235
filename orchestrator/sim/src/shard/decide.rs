//! The policy at work: a decision for a flow, from what the DCI switch sees of its candidates.

use lab_policy::{
    Candidate, Decision, LcmpConfig, OwnPolicy, Preset, Rule, ecmp, lcmp,
    own::{self, NextHop},
};
use lab_units::{BitsPerSec, Bytes};

use super::Shard;
use crate::{
    cc::CongestionControl,
    packet::Packet,
    semantics::Semantics,
    world::{RunPolicy, Way},
};

impl<P: Semantics, C: CongestionControl> Shard<'_, P, C> {
    /// A decision, and the ports of its candidates.
    pub(super) fn decide(
        &mut self,
        node: u32,
        to_dc: u32,
        ways: &[Way],
        key: u64,
        packet: &Packet,
    ) -> Option<(Decision, Vec<u32>)> {
        let hash = self.hash(node, packet);
        let ports = || ways.iter().map(|way| way.port).collect();
        let mut candidates: Vec<Candidate> = ways
            .iter()
            .enumerate()
            .map(|(place, way)| Candidate {
                path: way.c_path,
                congestion: 0,
                is_alive: self.is_up(way.port),
                buckets: self.buckets_of(key, to_dc, place, way),
            })
            .collect();
        match &self.world.policy {
            RunPolicy::Buckets | RunPolicy::Ageing(_) => {
                Some((ecmp::decide(&candidates, hash)?, ports()))
            }
            RunPolicy::Own(policy) => {
                let decision = self.decide_own(*policy, ways, &candidates, hash)?;
                Some((decision, ports()))
            }
            RunPolicy::Lcmp(config) => {
                self.judge(node, ways, &mut candidates, config);
                let decision = lcmp::decide(&candidates, hash, config)?;
                match (config.preset, decision.rule) {
                    // It falls back to all candidates in its table's order, but breaks ties of
                    // cost by port.
                    (Preset::Artifact, Rule::Scored) => by_port(ways, &candidates, hash, config),
                    _ => Some((decision, ports())),
                }
            }
        }
    }

    /// Hash buckets of a way, as provisioned unless the policy has come to others.
    fn buckets_of(&self, key: u64, to_dc: u32, place: usize, way: &Way) -> u16 {
        let dci = &self.dci;
        match (&dci.ageing, &dci.engineered) {
            (Some(ageing), _) if to_dc != self.dc => ageing.buckets_of(key, to_dc, place),
            (_, Some(engineered)) => engineered.buckets_of(to_dc, way),
            _ => way.buckets,
        }
    }

    fn decide_own(
        &self,
        policy: &dyn OwnPolicy,
        ways: &[Way],
        candidates: &[Candidate],
        hash: u32,
    ) -> Option<Decision> {
        let world = self.world;
        let next_hop = |way: &Way| {
            let port = &self.ports[(way.port - self.first_port) as usize];
            let link_rate = BitsPerSec::new(world.paper_rate.scale_nearest(port.rate.get()));
            NextHop {
                delay: way.delay,
                capacity: way.capacity,
                link_rate: link_rate.unwrap_or(port.rate),
                queue: Bytes::new(world.paper_size.scale_nearest(port.total_bytes)),
            }
        };
        let next_hops: Vec<NextHop> = ways.iter().map(next_hop).collect();
        own::decide(policy, candidates, &next_hops, hash)
    }

    /// Puts each candidate's congestion in: of the last sample (`paper`), or by the artifact's
    /// monitor, which looks at every port of the switch once for each candidate.
    fn judge(
        &mut self,
        node: u32,
        ways: &[Way],
        candidates: &mut [Candidate],
        config: &LcmpConfig,
    ) {
        let first = self.world.network.nodes[node as usize].ports.start;
        let (now, base) = (self.now.nanos_trunc(), (first - self.first_port) as usize);
        for (way, candidate) in ways.iter().zip(candidates) {
            let place = (way.port - first) as usize;
            if config.preset == Preset::Artifact {
                for (watched, port) in self.dci.watched.iter_mut().zip(&self.ports[base..]) {
                    let queue = Bytes::new(port.total_bytes);
                    watched.state.observe(now, queue, config);
                }
                let watched = &mut self.dci.watched[place];
                watched.levels = watched.state.judge(&watched.thresholds, config);
            }
            candidate.congestion = self.dci.watched[place].levels.congestion;
        }
    }
}

/// The decision with the candidates in the order of their ports.
fn by_port(
    ways: &[Way],
    candidates: &[Candidate],
    hash: u32,
    config: &LcmpConfig,
) -> Option<(Decision, Vec<u32>)> {
    let mut order: Vec<usize> = (0..ways.len()).collect();
    order.sort_by_key(|&place| ways[place].port);
    let sorted: Vec<Candidate> = order.iter().map(|&place| candidates[place]).collect();
    let decision = lcmp::decide(&sorted, hash, config)?;
    Some((
        decision,
        order.iter().map(|&place| ways[place].port).collect(),
    ))
}
