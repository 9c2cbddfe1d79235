//! Memory and operations that a DCI switch needs for LCMP, counted as in the paper (Sec. 4), and for trained weights.
//!
//! ```text
//! a port: 4 queueCur + 4 queuePrev + 4 trend + 4 durCnt + 8 lastSample = 24 B
//! a flow: 8 flowId + 4 portIdx + 8 lastSeen = 20 B, and 24 B as it is stored
//! a path: 1 B of C_path
//! a decision at m candidates: 15 m primitives, and m log₂ m comparisons to sort them
//! ```
//!
//! Trained weights are evaluated once per interval, not per flow: a multiply-add for every weight that is not a bias,
//! and an exponential for every output.

use lab_policy::lcmp::LEVELS;
use lab_redte::Shape;
use lab_units::Nanos;
use serde::Serialize;

use crate::model::{LinkKind, Plan, PolicyPlan, PolicyRun};

/// Bytes of queue state per port.
pub const PORT_BYTES: u64 = 24;

/// Bytes of a flow's row, with alignment.
pub const FLOW_BYTES: u64 = 24;

/// Bytes of a path's cost C_path.
pub const PATH_BYTES: u64 = 1;

/// Integer operations per candidate in a decision: lookups, delay score, weights, sort key.
pub const PRIMITIVES_PER_CANDIDATE: u32 = 15;

/// The paper's example: a switch with 48 ports, 50,000 flows, 10,000 paths and six candidates.
pub const EXAMPLE: Counted = Counted::new(48, 50_000, 10_000, 6);

/// Memory and operations of one switch.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Counted {
    /// Number of ports with sampled queues.
    pub ports: u64,
    /// Number of rows in the flow table when it is full.
    pub flows: u64,
    /// Number of scored paths, that is, candidates of all destinations.
    pub paths: u64,
    /// Maximum number of candidates for one destination.
    pub candidates: u32,
    /// Bytes of queue state for all ports.
    pub port_bytes: u64,
    /// Bytes of the flow table when it is full.
    pub flow_bytes: u64,
    /// Bytes of the path costs of all paths.
    pub path_bytes: u64,
    /// Bytes of the thresholds that define level scores and capacity classes, eight bytes each.
    pub table_bytes: u64,
    /// Integer operations per decision with the maximum number of candidates.
    pub operations: u32,
}

/// Memory and operations of one of a plan's DCI switches.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SwitchAccount {
    /// Name of the switch's datacenter.
    pub dc: String,
    /// True if the switch runs no agent and so uses none of the counted memory and operations.
    pub is_legacy: bool,
    pub counted: Counted,
}

/// Memory and operations for the trained weights of a policy.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct TrainedAccount {
    /// Label of the policy.
    pub policy: String,
    /// Interval between two evaluations, emulated.
    pub interval_ns: Nanos,
    /// Networks of the switches that have a choice.
    pub networks: Vec<NetworkAccount>,
}

/// Memory and operations for the network of one switch.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct NetworkAccount {
    /// Name of the switch's datacenter.
    pub dc: String,
    /// Number of inputs: outgoing links and destinations.
    pub inputs: usize,
    /// Number of outputs: candidates of all destinations with a choice.
    pub outputs: usize,
    /// Number of weights and biases.
    pub parameters: usize,
    /// Bytes of the parameters, in the agent.
    pub parameter_bytes: usize,
    /// Multiply-adds of one evaluation.
    pub multiply_adds: usize,
    /// Exponentials of one evaluation.
    pub exponentials: usize,
}

impl Counted {
    /// Counts memory and operations for a switch with the given numbers of ports, flows, paths and candidates.
    #[must_use]
    pub const fn new(ports: u64, flows: u64, paths: u64, candidates: u32) -> Self {
        Self {
            ports,
            flows,
            paths,
            candidates,
            port_bytes: ports * PORT_BYTES,
            flow_bytes: flows * FLOW_BYTES,
            path_bytes: paths * PATH_BYTES,
            table_bytes: (LEVELS + 8 * LEVELS) as u64,
            operations: operations(candidates),
        }
    }
}

/// Returns the integer operations of a decision with `candidates` candidates. The logarithm is rounded down, as in the
/// paper's 6 · 2.6 ≈ 15.
#[must_use]
pub const fn operations(candidates: u32) -> u32 {
    let sort = match (candidates as u128).checked_pow(candidates) {
        Some(power) if power > 0 => power.ilog2(),
        _ => 0,
    };
    candidates * PRIMITIVES_PER_CANDIDATE + sort
}

/// Counts memory and operations for each of the plan's DCI switches, with `flows` rows per flow table.
#[must_use]
pub fn account(plan: &Plan, flows: u32) -> Vec<SwitchAccount> {
    let switches = plan.dcs.iter().zip(&plan.switches);
    switches
        .map(|(dc, switch)| {
            let ports = &plan.nodes[switch.node.index()].ports;
            let is_watched = |link: &&lab_units::PortId| {
                plan.links[link.link().index()].kind == LinkKind::InterDc
            };
            let candidates = switch.destinations.iter().map(|row| row.candidates.len());
            let max = candidates.clone().max().unwrap_or(0);
            SwitchAccount {
                dc: dc.name.clone(),
                is_legacy: dc.legacy,
                counted: Counted::new(
                    ports.iter().filter(is_watched).count() as u64,
                    u64::from(flows),
                    candidates.sum::<usize>() as u64,
                    u32::try_from(max).unwrap_or(u32::MAX),
                ),
            }
        })
        .collect()
}

/// Counts memory and operations for the plan's policies with trained weights.
#[must_use]
pub fn trained(plan: &Plan) -> Vec<TrainedAccount> {
    let account = |run: &PolicyRun| {
        let PolicyPlan::Trained(trained) = &run.policy else {
            return None;
        };
        let actors = trained.actors(&plan.te_topology(), &plan.paper_te_capacities());
        let networks = actors.ok()?.into_iter().map(|actor| {
            let dc = &plan.dcs[actor.layout.switch].name;
            NetworkAccount::of(dc, actor.network.shape())
        });
        Some(TrainedAccount {
            policy: run.label.clone(),
            interval_ns: trained.interval_ns,
            networks: networks.collect(),
        })
    };
    plan.policies.iter().filter_map(account).collect()
}

impl NetworkAccount {
    /// Counts memory and operations for a network of the given shape at the switch of `dc`.
    fn of(dc: &str, shape: &Shape) -> Self {
        let parameters = shape.parameters();
        Self {
            dc: dc.to_owned(),
            inputs: shape.inputs,
            outputs: shape.outputs(),
            parameters,
            parameter_bytes: parameters * size_of::<f32>(),
            multiply_adds: shape.multiply_adds(),
            exponentials: shape.outputs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_papers() {
        assert_eq!(EXAMPLE.port_bytes, 1_152);
        assert_eq!(EXAMPLE.flow_bytes, 1_200_000);
        assert_eq!(EXAMPLE.path_bytes, 10_000);
        assert_eq!(EXAMPLE.operations, 105);
        assert_eq!(EXAMPLE.table_bytes, 90);
    }

    #[test]
    fn operations_grow_with_the_candidates() {
        let counts: Vec<u32> = (0..=8).map(operations).collect();
        assert_eq!(counts, [0, 15, 32, 49, 68, 86, 105, 124, 144]);
    }

    /// Nine inputs and ten candidates at layers of 64 and 32: 9 · 64 + 64 · 32 + 32 · 10 weights, 106 biases.
    #[test]
    fn a_network_is_counted_from_its_shape() {
        let shape = Shape {
            inputs: 9,
            heads: vec![2; 5],
        };
        let expected = NetworkAccount {
            dc: "dc2".to_owned(),
            inputs: 9,
            outputs: 10,
            parameters: 3_050,
            parameter_bytes: 12_200,
            multiply_adds: 2_944,
            exponentials: 10,
        };
        assert_eq!(NetworkAccount::of("dc2", &shape), expected);
    }
}
