//! What agents are told when a link changes.

use lab_abi::wire::{AgentCommand, CandidateConfig};
use lab_plan::model::{FaultChange, FaultPlan, Plan, ScoredCandidate};
use lab_units::DcId;

use super::agent_config;

/// What a fault makes the control plane tell the switches, under the policy at `policy`.
///
/// A link's new rate or buffer changes what its queue means at both its ends; its new rate or delay
/// changes what paths cost, wherever they cross it. That it is cut or back the switches at its ends
/// see themselves, and no path cost changes with it.
pub(super) fn commands(plan: &Plan, policy: usize, fault: &FaultPlan) -> Vec<(DcId, AgentCommand)> {
    let mut commands = Vec::new();
    if let FaultChange::Wire(wire) = fault.change {
        for port in [fault.link.port_a(), fault.link.port_b()] {
            let dc = plan.nodes[plan.ports[port.index()].node.index()].dc;
            let command = AgentCommand::SetLink {
                port,
                rate_bps: wire.rate_bps,
                buffer_bytes: wire.buffer_bytes,
            };
            commands.push((dc, command));
        }
    }
    let rescored = fault.rescored.iter();
    for change in rescored.filter(|change| change.policy == policy) {
        let switch = &plan.switches[change.switch];
        let candidate = |scored: &ScoredCandidate| {
            let config = CandidateConfig {
                port: scored.port,
                c_path: scored.c_path,
                buckets: scored.buckets,
            };
            (config, (scored.paper_delay_ns, scored.paper_bottleneck_bps))
        };
        let candidates = change.candidates.iter().map(candidate);
        let policy = &plan.policies[policy].policy;
        let (switch_index, row) = (change.switch, change.destination);
        let row = agent_config::destination(plan, policy, switch_index, row, candidates);
        let dc = plan.nodes[switch.node.index()].dc;
        commands.push((dc, AgentCommand::SetDestination(row)));
    }
    commands
}

#[cfg(test)]
mod tests {
    use lab_plan::model::Rescored;
    use lab_units::{LinkId, Nanos, PortId};

    use super::*;
    use crate::testing;

    fn fault(change: FaultChange, rescored: Vec<Rescored>) -> FaultPlan {
        FaultPlan {
            at_ns: Nanos::ZERO,
            paper_at_ns: Nanos::ZERO,
            link: LinkId(0),
            change,
            rescored,
        }
    }

    #[test]
    fn both_ends_are_told_of_a_new_rate_and_everyone_concerned_of_new_path_costs() {
        let plan = testing::routed(0);
        let wire = testing::wire("10 Mbit", "40 ms", "310 kB");
        let rescored = |policy, switch, c_path| Rescored {
            policy,
            switch,
            destination: 0,
            candidates: vec![ScoredCandidate {
                port: plan.switches[switch].destinations[0].candidates[0].port,
                c_path,
                buckets: 3,
                paper_delay_ns: Nanos::ZERO,
                paper_bottleneck_bps: wire.rate_bps,
            }],
        };
        let fault = fault(
            FaultChange::Wire(wire),
            vec![rescored(1, 0, 77), rescored(1, 2, 78), rescored(2, 0, 79)],
        );
        let told = commands(&plan, 1, &fault);
        let link = |port| AgentCommand::SetLink {
            port: PortId(port),
            rate_bps: wire.rate_bps,
            buffer_bytes: wire.buffer_bytes,
        };
        let row = |switch: usize, dc: usize, c_path| {
            let port = plan.switches[switch].destinations[0].candidates[0].port;
            let buckets = 3;
            let candidates = vec![CandidateConfig {
                port,
                c_path,
                buckets,
            }];
            AgentCommand::SetDestination(lab_abi::wire::DestinationConfig {
                addr: plan.dcs[dc].prefix.addr,
                prefix_len: plan.dcs[dc].prefix.len,
                candidates,
                ages: Vec::new(),
            })
        };
        let expected = [
            (DcId(0), link(0)),
            (DcId(1), link(1)),
            (DcId(0), row(0, 3, 77)),
            (DcId(2), row(2, 0, 78)),
        ];
        assert_eq!(told, expected);
        // ECMP scores nothing.
        assert_eq!(commands(&plan, 0, &fault), expected[..2]);
    }

    #[test]
    fn cuts_are_seen_and_not_told() {
        let plan = testing::routed(0);
        for change in [FaultChange::Down, FaultChange::Up] {
            assert_eq!(commands(&plan, 1, &fault(change, Vec::new())), []);
        }
    }
}
