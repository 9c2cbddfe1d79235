//! The ways that DCI switches decide among.

use lab_plan::{Plan, PolicyRun};
use lab_units::{BitsPerSec, Nanos};

use super::order::order_ways;
use crate::{
    network::{Network, count},
    semantics::NextHopOrder,
    time::SimTime,
};

/// What a datacenter's DCI switch decides with.
#[derive(Clone, Debug)]
pub struct SwitchFacts {
    /// The node.
    pub node: u32,
    /// No agent: kernel ECMP.
    pub is_legacy: bool,
    /// Ways to each datacenter, by its number.
    pub ways: Vec<Vec<Way>>,
}

/// The ways of a DCI switch to a datacenter, from a fault on.
#[derive(Clone, Debug)]
pub struct Rescored {
    /// When.
    pub at: SimTime,
    /// The switch's datacenter.
    pub dc: u32,
    /// The other one.
    pub to_dc: u32,
    /// The ways.
    pub ways: Vec<Way>,
}

/// One candidate.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The egress port.
    pub port: u32,
    /// C_path.
    pub c_path: u8,
    /// Its hash buckets.
    pub buckets: u16,
    /// One-way delay of the path behind it, in paper time.
    pub delay: Nanos,
    /// Least capacity on that path, in paper units.
    pub capacity: BitsPerSec,
    /// Links between DCI switches on it.
    pub hops: u32,
}

/// What every datacenter's switch decides with.
pub(super) fn switches(
    plan: &Plan,
    network: &Network,
    run: &PolicyRun,
    order: Option<&NextHopOrder>,
) -> Vec<SwitchFacts> {
    let dcs = plan.dcs.iter().zip(&plan.switches).enumerate();
    dcs.map(|(at, (dc, switch))| {
        let mut ways = vec![Vec::new(); plan.dcs.len()];
        for (row, destination) in switch.destinations.iter().enumerate() {
            let way = |(place, candidate): (usize, &lab_plan::Candidate)| Way {
                port: network.port(candidate.port),
                c_path: path_score(run, at, row, place),
                buckets: run.buckets_of(at, row, place),
                delay: candidate.paper_delay_ns,
                capacity: candidate.paper_bottleneck_bps,
                hops: destination.hops,
            };
            let candidates = destination.candidates.iter().enumerate();
            ways[destination.dc.index()] = candidates.map(way).collect();
        }
        if let Some(order) = order {
            order_ways(plan, network, switch.node, &mut ways, order);
        }
        SwitchFacts {
            node: network.node(switch.node),
            is_legacy: dc.legacy,
            ways,
        }
    })
    .collect()
}

/// What faults change of it.
pub(super) fn rescored(plan: &Plan, network: &Network, policy: usize) -> Vec<Rescored> {
    let mut all = Vec::new();
    for fault in &plan.faults {
        for row in fault
            .path_cost_updates
            .iter()
            .filter(|row| row.policy == policy)
        {
            let destination = &plan.switches[row.switch].destinations[row.destination];
            let way = |scored: &lab_plan::ScoredCandidate| Way {
                port: network.port(scored.candidate.port),
                c_path: scored.c_path,
                buckets: scored.buckets,
                delay: scored.candidate.paper_delay_ns,
                capacity: scored.candidate.paper_bottleneck_bps,
                hops: destination.hops,
            };
            all.push(Rescored {
                at: fault.at_ns.into(),
                dc: count(row.switch),
                to_dc: destination.dc.0,
                ways: row.candidates.iter().map(way).collect(),
            });
        }
    }
    all
}

/// C_path of a candidate; 0 where the policy has no path scores.
fn path_score(run: &PolicyRun, at: usize, row: usize, place: usize) -> u8 {
    run.path_scores.get(at).map_or(0, |rows| rows[row][place])
}
