//! Commands that agents get after a fault or a change of parameters.

use lab_abi::{
    LcmpConfig,
    wire::{AgentCommand, AgentConfig, CandidateConfig, DestinationConfig},
};
use lab_plan::model::{
    Candidate, FaultChange, FaultPlan, PathCostUpdate, Plan, Reconvergence, ScoredCandidate,
};
use lab_units::DcId;

use super::{
    agent_config,
    tune::{ParameterChange, Tuned, changed, tunable},
};

/// Returns the commands that the control plane sends after `fault`, under the policy at index `policy`.
///
/// A link's new rate or buffer scales the queue levels at both its ends; its new rate or delay changes the costs of all
/// paths over it. A cut or restored link needs no command and changes no path cost, because the switches at both ends
/// detect it. `parameters` returns a switch's current parameters, including tuned ones, which determine its path costs.
pub(super) fn of_fault<'a>(
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
                ecn: agent_config::ecn(plan.links[fault.link.index()].kind, &wire),
            };
            commands.push((dc, command));
        }
    }
    let all = fault.path_cost_updates.iter();
    let updates = all.filter(|update| update.policy == policy);
    commands.extend(updates.map(|update| new_row(plan, update, &parameters)));
    commands
}

/// Returns the commands with which the agents install the new candidates of `change` under the policy at index `policy`.
/// `parameters` returns a switch's current parameters, including tuned ones, which determine its path costs.
pub(super) fn of_reconvergence<'a>(
    plan: &Plan,
    policy: usize,
    change: &Reconvergence,
    parameters: impl Fn(DcId) -> Option<&'a LcmpConfig>,
) -> Vec<(DcId, AgentCommand)> {
    let rows = plan.new_rows(change, policy);
    let commands = rows.iter().map(|row| new_row(plan, row, &parameters));
    commands.collect()
}

/// Returns the command that replaces a row, with the datacenter of its agent.
fn new_row<'a>(
    plan: &Plan,
    update: &PathCostUpdate,
    parameters: impl Fn(DcId) -> Option<&'a LcmpConfig>,
) -> (DcId, AgentCommand) {
    let switch = &plan.switches[update.switch];
    let dc = plan.nodes[switch.node.index()].dc;
    let parameters = parameters(dc);
    let candidate = |scored: &ScoredCandidate| {
        let path = &scored.candidate;
        let config = CandidateConfig {
            port: path.port,
            c_path: parameters.map_or(scored.c_path, |by| path.path_score(by)),
            buckets: scored.buckets,
        };
        (config, *path)
    };
    let candidates = update.candidates.iter().map(candidate);
    let policy = &plan.policies[update.policy].policy;
    let planned = &switch.destinations[update.destination];
    let hops = update.hops.unwrap_or(planned.hops);
    let at = (update.switch, update.destination);
    let row = agent_config::destination(plan, policy, at, hops, candidates);
    (dc, AgentCommand::SetDestination(row))
}

/// Changes of a plan that have taken effect so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past<'a> {
    pub faults: &'a [FaultPlan],
    pub reconvergences: &'a [Reconvergence],
}

/// Returns the commands that make `changes` at the switch with index `switch`, whose current configuration is `config`,
/// and the resulting values of all tunable parameters.
///
/// # Errors
/// If the policy has no parameters, a parameter is unknown, or a value is invalid.
pub(super) fn of_changes(
    plan: &Plan,
    (policy, switch): (usize, usize),
    past: Past<'_>,
    config: &AgentConfig,
    changes: &[ParameterChange],
) -> Result<(Vec<AgentCommand>, Tuned), String> {
    let parameters = config.policy.congestion().ok_or_else(|| {
        format!(
            "the policy of the switch in `{}` has no parameters to tune",
            config.dc
        )
    })?;
    let parameters = changed(parameters, changes)?;
    let tuned = tunable(&parameters);
    if changes.is_empty() {
        return Ok((Vec::new(), tuned));
    }
    let at = (policy, switch);
    let rows = updated_path_costs(plan, at, past, &config.destinations, &parameters)
        .into_iter()
        .map(AgentCommand::SetDestination);
    let commands = [AgentCommand::SetLcmp(parameters)].into_iter().chain(rows);
    Ok((commands.collect(), tuned))
}

/// Returns updated copies of those `rows` of a switch whose path costs change under `parameters`, given the changes so
/// far.
fn updated_path_costs(
    plan: &Plan,
    (policy, switch): (usize, usize),
    past: Past<'_>,
    rows: &[DestinationConfig],
    parameters: &LcmpConfig,
) -> Vec<DestinationConfig> {
    let update = |(index, row): (usize, &DestinationConfig)| {
        let mut updated = row.clone();
        for path in candidates(plan, (policy, switch, index), past) {
            let mut hops = updated.candidates.iter_mut();
            if let Some(hop) = hops.find(|hop| hop.port == path.port) {
                hop.c_path = path.path_score(parameters);
            }
        }
        (updated != *row).then_some(updated)
    };
    rows.iter().enumerate().filter_map(update).collect()
}

/// Returns the candidates of a row, with the path properties that result from the changes so far.
fn candidates(
    plan: &Plan,
    (policy, switch, row): (usize, usize, usize),
    past: Past<'_>,
) -> Vec<Candidate> {
    let is_of_row = |update: &&PathCostUpdate| {
        (update.policy, update.switch, update.destination) == (policy, switch, row)
    };
    let updated = past.faults.iter().rev().find_map(|fault| {
        let update = fault.path_cost_updates.iter().find(is_of_row)?;
        let candidates = update.candidates.iter().map(|row| row.candidate);
        Some((fault.at_ns, candidates.collect()))
    });
    let reconverged = past.reconvergences.iter().rev().find_map(|change| {
        let mut rows = change.rows.iter();
        let new = rows.find(|new| (new.switch, new.destination) == (switch, row))?;
        Some((change.at_ns, new.candidates.clone()))
    });
    // At one instant, the reconvergence comes after the fault.
    let latest = updated.into_iter().chain(reconverged);
    match latest.max_by_key(|(at, _)| *at) {
        Some((_, candidates)) => candidates,
        None => plan.switches[switch].destinations[row].candidates.clone(),
    }
}

#[cfg(test)]
mod tests {
    use lab_plan::model::{NewRow, PathCostUpdate};
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
    fn a_new_rate_goes_to_both_ends_and_new_path_costs_to_all_their_switches() {
        let plan = testing::routed(0);
        let wire = testing::wire("10 Mbit", "40 ms", "310 kB");
        let update = |policy, switch, c_path| PathCostUpdate {
            policy,
            switch,
            destination: 0,
            hops: None,
            candidates: vec![ScoredCandidate {
                candidate: plan.switches[switch].destinations[0].candidates[0],
                c_path,
                buckets: 3,
            }],
        };
        let fault = fault(
            FaultChange::Wire(wire),
            vec![update(1, 0, 77), update(1, 2, 78), update(2, 0, 79)],
        );
        let sent = of_fault(&plan, 1, &fault, |_| None);
        let link = |port| AgentCommand::SetLink {
            port: PortId(port),
            rate_bps: wire.rate_bps,
            buffer_bytes: wire.buffer_bytes,
            ecn: None,
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
                size_thresholds: Vec::new(),
            })
        };
        let expected = [
            (DcId(0), link(0)),
            (DcId(1), link(1)),
            (DcId(0), row(0, 3, 77)),
            (DcId(2), row(2, 0, 78)),
        ];
        assert_eq!(sent, expected);
        // ECMP has no path costs, so no further command is sent.
        assert_eq!(of_fault(&plan, 0, &fault, |_| None), expected[..2]);
    }

    /// The row of the first switch loses its first candidate; with other weights, the cost is that of the one left.
    #[test]
    fn new_candidates_go_to_their_switch_and_are_tuned_from_then_on() {
        let plan = testing::routed(0);
        let row = &plan.switches[0].destinations[0];
        let left = row.candidates[1];
        let change = Reconvergence {
            at_ns: Nanos::from_millis(1),
            paper_at_ns: Nanos::from_millis(1),
            rows: vec![NewRow {
                tunnels: Vec::new(),
                switch: 0,
                destination: 0,
                hops: row.hops,
                candidates: vec![left],
            }],
        };
        let tuned = weights(1, 0);
        let commands = of_reconvergence(&plan, 1, &change, |_| Some(&tuned));
        let [(DcId(0), AgentCommand::SetDestination(sent))] = &commands[..] else {
            panic!("{commands:?}")
        };
        let [only] = sent.candidates[..] else {
            panic!("{sent:?}")
        };
        assert_eq!(
            (only.port, only.c_path),
            (left.port, left.path_score(&tuned))
        );
        let past = Past {
            faults: &[],
            reconvergences: &[change],
        };
        let again = updated_path_costs(
            &plan,
            (1, 0),
            past,
            std::slice::from_ref(sent),
            &weights(0, 1),
        );
        assert_eq!(scores(&again), [left.path_score(&weights(0, 1))]);
    }

    #[test]
    fn cuts_send_no_commands() {
        let plan = testing::routed(0);
        for change in [FaultChange::Down, FaultChange::Up] {
            let sent = of_fault(&plan, 1, &fault(change, Vec::new()), |_| None);
            assert_eq!(sent, []);
        }
    }

    /// Returns LCMP parameters that weight the path delay by `w_dl` and the path capacity by `w_lc`.
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
    fn new_weights_update_the_costs_of_the_paths_after_the_faults_so_far() {
        let plan = testing::routed(0);
        let rows = agent_config::agent_config(&plan, &plan.policies[1], 0).destinations;
        assert_eq!(scores(&rows), [10, 30]);
        let of = |candidate: &Candidate| candidate.path_score(&weights(1, 0));
        let row = &plan.switches[0].destinations[0];
        let updated = |faults: &[FaultPlan], rows: &[DestinationConfig]| {
            let past = Past {
                faults,
                reconvergences: &[],
            };
            updated_path_costs(&plan, (1, 0), past, rows, &weights(1, 0))
        };
        let first = updated(&[], &rows);
        assert_eq!(
            scores(&first),
            [of(&row.candidates[0]), of(&row.candidates[1])]
        );
        assert_eq!(updated(&[], &first), [], "nothing changes any more");

        // A fault has made the path through the second port slower than before; that path is now the first candidate.
        let slower = Candidate {
            paper_delay_ns: Nanos::from_millis(30),
            ..row.candidates[1]
        };
        let scored = [slower, row.candidates[0]].map(|candidate| ScoredCandidate {
            candidate,
            c_path: 7,
            buckets: 1,
        });
        let update = |candidates: &[ScoredCandidate]| PathCostUpdate {
            policy: 1,
            switch: 0,
            destination: 0,
            hops: None,
            candidates: candidates.to_vec(),
        };
        let injected = [fault(
            FaultChange::Wire(testing::wire("10 Mbit", "40 ms", "310 kB")),
            vec![update(&scored)],
        )];
        let then = updated(&injected, &rows);
        assert_eq!(scores(&then), [of(&row.candidates[0]), of(&slower)]);
        assert!(of(&slower) > of(&row.candidates[1]));
        // Commands after a fault use the switch's current weights.
        let tuned = weights(1, 0);
        let commands = of_fault(&plan, 1, &injected[0], |dc| {
            (dc == DcId(0)).then_some(&tuned)
        });
        let Some((_, AgentCommand::SetDestination(row))) = commands.last() else {
            panic!("{commands:?}")
        };
        assert_eq!(
            scores(std::slice::from_ref(row)),
            scored.map(|row| of(&row.candidate))
        );
    }
}
