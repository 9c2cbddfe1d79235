//! What agents are told when a link changes, and when weights of what paths cost do.

use lab_abi::{
    LcmpConfig,
    wire::{AgentCommand, CandidateConfig, DestinationConfig},
};
use lab_plan::model::{Candidate, FaultChange, FaultPlan, PathCostUpdate, Plan, ScoredCandidate};
use lab_units::DcId;

use super::agent_config;

/// What a fault makes the control plane tell the switches, under the policy at `policy`.
///
/// A link's new rate or buffer changes what its queue means at both its ends; its new rate or delay
/// changes what paths cost, wherever they cross it. That it is cut or back the switches at its ends
/// see themselves, and no path cost changes with it. A switch that has `parameters` by now, which may
/// have been tuned, has its path costs by those.
pub(super) fn commands<'a>(
    plan: &Plan,
    policy: usize,
    fault: &FaultPlan,
    parameters: impl Fn(DcId) -> Option<&'a LcmpConfig>,
) -> Vec<(DcId, AgentCommand)> {
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
    let rescored = fault.path_cost_updates.iter();
    for change in rescored.filter(|change| change.policy == policy) {
        let switch = &plan.switches[change.switch];
        let dc = plan.nodes[switch.node.index()].dc;
        let parameters = parameters(dc);
        let candidate = |scored: &ScoredCandidate| {
            let way = &scored.candidate;
            let config = CandidateConfig {
                port: way.port,
                c_path: parameters.map_or(scored.c_path, |by| way.path_score(by)),
                buckets: scored.buckets,
            };
            (config, *way)
        };
        let candidates = change.candidates.iter().map(candidate);
        let policy = &plan.policies[policy].policy;
        let (switch_index, row) = (change.switch, change.destination);
        let row = agent_config::destination(plan, policy, switch_index, row, candidates);
        commands.push((dc, AgentCommand::SetDestination(row)));
    }
    commands
}

/// The rows of a switch, which was `told` these, whose paths cost otherwise by `parameters`, after the
/// link changes `struck`.
pub(super) fn repriced(
    plan: &Plan,
    (policy, switch): (usize, usize),
    struck: &[FaultPlan],
    told: &[DestinationConfig],
    parameters: &LcmpConfig,
) -> Vec<DestinationConfig> {
    let reprice = |(row, told): (usize, &DestinationConfig)| {
        let mut priced = told.clone();
        for path in candidates(plan, (policy, switch, row), struck) {
            let mut hops = priced.candidates.iter_mut();
            if let Some(hop) = hops.find(|hop| hop.port == path.port) {
                hop.c_path = path.path_score(parameters);
            }
        }
        (priced != *told).then_some(priced)
    };
    told.iter().enumerate().filter_map(reprice).collect()
}

/// The paths behind a row's next hops after the link changes `struck`.
fn candidates(
    plan: &Plan,
    (policy, switch, row): (usize, usize, usize),
    struck: &[FaultPlan],
) -> Vec<Candidate> {
    let is_meant = |change: &&PathCostUpdate| {
        (change.policy, change.switch, change.destination) == (policy, switch, row)
    };
    let mut changes = struck
        .iter()
        .rev()
        .flat_map(|fault| &fault.path_cost_updates);
    match changes.find(is_meant) {
        Some(change) => change.candidates.iter().map(|row| row.candidate).collect(),
        None => plan.switches[switch].destinations[row].candidates.clone(),
    }
}

#[cfg(test)]
mod tests {
    use lab_plan::model::PathCostUpdate;
    use lab_units::{LinkId, Nanos, PortId};

    use super::*;
    use crate::testing;

    fn fault(change: FaultChange, path_cost_updates: Vec<PathCostUpdate>) -> FaultPlan {
        FaultPlan {
            at_ns: Nanos::ZERO,
            paper_at_ns: Nanos::ZERO,
            link: LinkId(0),
            change,
            path_cost_updates,
        }
    }

    #[test]
    fn both_ends_are_told_of_a_new_rate_and_everyone_concerned_of_new_path_costs() {
        let plan = testing::routed(0);
        let wire = testing::wire("10 Mbit", "40 ms", "310 kB");
        let rescored = |policy, switch, c_path| PathCostUpdate {
            policy,
            switch,
            destination: 0,
            candidates: vec![ScoredCandidate {
                candidate: plan.switches[switch].destinations[0].candidates[0],
                c_path,
                buckets: 3,
            }],
        };
        let fault = fault(
            FaultChange::Wire(wire),
            vec![rescored(1, 0, 77), rescored(1, 2, 78), rescored(2, 0, 79)],
        );
        let told = commands(&plan, 1, &fault, |_| None);
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
            AgentCommand::SetDestination(DestinationConfig {
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
        assert_eq!(commands(&plan, 0, &fault, |_| None), expected[..2]);
    }

    #[test]
    fn cuts_are_seen_and_not_told() {
        let plan = testing::routed(0);
        for change in [FaultChange::Down, FaultChange::Up] {
            let told = commands(&plan, 1, &fault(change, Vec::new()), |_| None);
            assert_eq!(told, []);
        }
    }

    /// LCMP by the delay of paths alone, or by their capacity alone.
    fn weights(w_dl: u8, w_lc: u8) -> LcmpConfig {
        LcmpConfig {
            w_dl,
            w_lc,
            s_path: 0,
            ..LcmpConfig::paper("100 Mbit".parse().unwrap())
        }
    }

    fn scores(rows: &[DestinationConfig]) -> Vec<u8> {
        let candidates = rows.iter().flat_map(|row| &row.candidates);
        candidates.map(|candidate| candidate.c_path).collect()
    }

    #[test]
    fn other_weights_are_other_path_costs_of_the_paths_as_they_are_by_now() {
        let plan = testing::routed(0);
        let told = agent_config::agent_config(&plan, &plan.policies[1], 0).destinations;
        assert_eq!(scores(&told), [10, 30]);
        let of = |candidate: &Candidate| candidate.path_score(&weights(1, 0));
        let row = &plan.switches[0].destinations[0];
        let repriced = |struck: &[FaultPlan], told: &[DestinationConfig]| {
            repriced(&plan, (1, 0), struck, told, &weights(1, 0))
        };
        let first = repriced(&[], &told);
        assert_eq!(
            scores(&first),
            [of(&row.candidates[0]), of(&row.candidates[1])]
        );
        assert_eq!(repriced(&[], &first), [], "nothing changes any more");

        // The way by the second port is slower since, and the first of the two.
        let slower = Candidate {
            paper_delay_ns: Nanos::from_millis(30),
            ..row.candidates[1]
        };
        let scored = [slower, row.candidates[0]].map(|candidate| ScoredCandidate {
            candidate,
            c_path: 7,
            buckets: 1,
        });
        let rescored = |candidates: &[ScoredCandidate]| PathCostUpdate {
            policy: 1,
            switch: 0,
            destination: 0,
            candidates: candidates.to_vec(),
        };
        let struck = [fault(
            FaultChange::Wire(testing::wire("10 Mbit", "40 ms", "310 kB")),
            vec![rescored(&scored)],
        )];
        let then = repriced(&struck, &told);
        assert_eq!(scores(&then), [of(&row.candidates[0]), of(&slower)]);
        assert!(of(&slower) > of(&row.candidates[1]));
        // And a change is told by the weights of whoever is told.
        let tuned = weights(1, 0);
        let commands = commands(&plan, 1, &struck[0], |dc| (dc == DcId(0)).then_some(&tuned));
        let Some((_, AgentCommand::SetDestination(row))) = commands.last() else {
            panic!("{commands:?}")
        };
        assert_eq!(
            scores(std::slice::from_ref(row)),
            scored.map(|row| of(&row.candidate))
        );
    }
}
