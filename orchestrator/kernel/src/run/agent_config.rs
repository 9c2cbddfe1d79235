//! Configuration of a DCI switch's agent, which follows from the plan.

use lab_abi::wire::{
    ActorConfig, AgentConfig, AttachMode, CandidateConfig, DestinationConfig, EcnConfig,
    HeadConfig, IngressConfig, LocalPrefix, OwnPolicy, PolicyConfig, PortConfig,
    SharedBufferConfig,
};
use lab_plan::{
    model::{Candidate, Link, LinkKind, Plan, PolicyPlan, PolicyRun, Switch, WirePlan},
    pfc::{self, SharedBuffer},
    size_thresholds,
};
use lab_units::{BitsPerSec, Bytes, Nanos, PortId};

/// Returns the configuration for the agent on the switch at `switch_index`. The launcher later adds the lab's name, the
/// controller's socket, the directory of pinned maps and the transit rows.
pub(super) fn agent_config(plan: &Plan, run: &PolicyRun, switch_index: usize) -> AgentConfig {
    let switch = &plan.switches[switch_index];
    let dc = plan.nodes[switch.node.index()].dc;
    let table = plan.flow_table(&run.policy);
    let buffer = shared_buffer(plan, switch);
    let dc = &plan.dcs[dc.index()];
    AgentConfig {
        lab: String::new(),
        dc: dc.name.clone(),
        switch_id: switch.hash_seed,
        policy: match &run.policy {
            PolicyPlan::Buckets(_)
            | PolicyPlan::Ucmp(_)
            | PolicyPlan::Te(_)
            | PolicyPlan::Trained(_)
            | PolicyPlan::Own(_) => PolicyConfig::Buckets,
            PolicyPlan::Lcmp(lcmp) => PolicyConfig::Lcmp(lcmp.clone()),
            PolicyPlan::Ebpf(own) => PolicyConfig::Own(OwnPolicy {
                object: own.object.clone(),
                parameters: own.parameters.clone(),
            }),
        },
        time_scale: plan.scale.time,
        size_scale: plan.scale.size,
        ports: ports(plan, switch, buffer.as_ref()),
        destinations: destinations(plan, run, switch_index),
        transits: None,
        local: LocalPrefix {
            addr: dc.prefix.addr,
            prefix_len: dc.prefix.len,
        },
        shared_buffer: buffer.zip(lowest_rate(plan, switch)).map(|(buffer, rate)| {
            SharedBufferConfig {
                bytes: buffer.bytes,
                shared_bytes: buffer.shared,
                lowest_rate_bps: rate,
            }
        }),
        start_ns: Nanos::ZERO,
        sample_interval_ns: table.sample_interval,
        record_interval_ns: plan.measure.queues_ns,
        link_interval_ns: plan.measure.links_ns,
        stats_interval_ns: plan.measure.switches_ns,
        demand_interval_ns: match run.policy {
            PolicyPlan::Te(te) => Some(te.interval_ns),
            PolicyPlan::Trained(ref trained) => Some(trained.interval_ns),
            _ => None,
        },
        actor: actor(plan, run, switch_index),
        gc_interval_ns: table.gc_interval,
        idle_timeout_ns: table.idle_timeout,
        // Only decisions that depend on C_cong use queue samples, which become stale.
        stale_after_ns: run.policy.lcmp().map(|_| plan.max_table_age_ns),
        max_table_age_ns: Some(plan.max_table_age_ns),
        flow_table_entries: table.entries,
        controller_socket: String::new(),
        pin_dir: None,
        attach: AttachMode::Auto,
    }
}

/// Returns the trained weights of a switch; `None` if the policy has none, or the switch has no choice.
fn actor(plan: &Plan, run: &PolicyRun, switch_index: usize) -> Option<ActorConfig> {
    let PolicyPlan::Trained(trained) = &run.policy else {
        return None;
    };
    let (layout, weights) = trained.weights_of(&plan.te_topology(), switch_index)?;
    let head = |head: &lab_redte::Head| HeadConfig {
        destination: head.row,
        provisioned: (0..head.candidates)
            .map(|index| run.buckets_of(switch_index, head.row, index))
            .collect(),
    };
    Some(ActorConfig {
        weights,
        links: layout
            .links
            .iter()
            .filter_map(|link| PortId::from_index(*link))
            .collect(),
        heads: layout.heads.iter().map(head).collect(),
        largest_rate_bps: plan.largest_te_rate()?,
        buckets: trained.buckets,
    })
}

/// Returns the configuration of a destination, given its candidates and their next hops. `hops` is the minimum number of
/// inter-DC links over the candidates' best paths.
pub(super) fn destination(
    plan: &Plan,
    policy: &PolicyPlan,
    (switch_index, row): (usize, usize),
    hops: u32,
    candidates: impl Iterator<Item = (CandidateConfig, Candidate)>,
) -> DestinationConfig {
    let row = &plan.switches[switch_index].destinations[row];
    let prefix = plan.dcs[row.dc.index()].prefix;
    let (candidates, paths): (_, Vec<_>) = candidates.unzip();
    DestinationConfig {
        addr: prefix.addr,
        prefix_len: prefix.len,
        candidates,
        size_thresholds: size_thresholds(policy, &paths, hops, plan.scale.size),
    }
}

/// Returns the ECN configuration for a link with the parameters `wire`; `None` if agents do not mark packets on the
/// link.
pub(super) fn ecn(kind: LinkKind, wire: &WirePlan) -> Option<EcnConfig> {
    let ecn = wire.ecn.filter(|_| kind == LinkKind::InterDc)?;
    Some(EcnConfig {
        k_min: ecn.k_min,
        k_max: ecn.k_max,
        p_max: ecn.p_max,
    })
}

/// Returns the configuration of a switch's shared buffer; `None` if the lab has no PFC.
fn shared_buffer(plan: &Plan, switch: &Switch) -> Option<SharedBuffer> {
    if !plan.transport.has_pfc_in_lab() {
        return None;
    }
    let node = &plan.nodes[switch.node.index()];
    pfc::shared_buffer(node, plan.wires(), &plan.transport)
}

/// Returns the lowest rate that any of a switch's ports towards other datacenters has before or after any fault; `None`
/// if the switch has no such port.
fn lowest_rate(plan: &Plan, switch: &Switch) -> Option<BitsPerSec> {
    let links = plan.nodes[switch.node.index()]
        .ports
        .iter()
        .map(|id| id.link())
        .filter(|link| plan.links[link.index()].kind == LinkKind::InterDc);
    let wires = links.flat_map(|link| plan.wires().of(link));
    wires.map(|wire| wire.rate_bps).min()
}

fn ports(plan: &Plan, switch: &Switch, buffer: Option<&SharedBuffer>) -> Vec<PortConfig> {
    let nic_rate = pfc::nic_rate(&plan.nodes, &plan.links);
    let ingress = |place: usize, link: &Link| {
        Some(IngressConfig {
            headroom_bytes: Bytes::new(*buffer?.headrooms.get(place)?),
            threshold_shift: pfc::threshold_shift(link.emu.rate_bps, nic_rate?),
            is_from_host: link.kind == LinkKind::Host,
        })
    };
    let of_port = |(place, id): (usize, PortId)| {
        let link = &plan.links[id.link().index()];
        PortConfig {
            id,
            interface: plan.ports[id.index()].interface.clone(),
            src_mac: plan.ports[id.index()].mac,
            dst_mac: plan.ports[id.peer().index()].mac,
            is_queue_sampled: link.kind == LinkKind::InterDc,
            is_enabled: true,
            rate_bps: link.emu.rate_bps,
            buffer_bytes: link.emu.buffer_bytes,
            ecn: ecn(link.kind, &link.emu),
            ingress: ingress(place, link),
        }
    };
    plan.nodes[switch.node.index()]
        .ports
        .iter()
        .copied()
        .enumerate()
        .map(of_port)
        .collect()
}

fn destinations(plan: &Plan, run: &PolicyRun, switch_index: usize) -> Vec<DestinationConfig> {
    let scores = run.path_scores.get(switch_index);
    plan.switches[switch_index]
        .destinations
        .iter()
        .enumerate()
        .map(|(row, planned)| {
            let score = |column: usize| scores.map_or(0, |scores| scores[row][column]);
            let candidates = planned
                .candidates
                .iter()
                .enumerate()
                .map(|(column, candidate)| {
                    let config = CandidateConfig {
                        port: candidate.port,
                        c_path: score(column),
                        buckets: run.buckets_of(switch_index, row, column),
                    };
                    (config, *candidate)
                });
            let hops = planned.hops;
            destination(plan, &run.policy, (switch_index, row), hops, candidates)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::ValidAgentConfig;
    use lab_plan::{
        PlanOptions,
        model::{FaultChange, FaultPlan},
    };
    use lab_sim::{World, cc::NoControl, network::Network, semantics::Paper};
    use lab_units::LinkId;

    use super::*;
    use crate::testing;

    #[test]
    fn queues_and_links_are_reported_at_the_plans_two_intervals() {
        let plan = testing::routed(0);
        for run in &plan.policies {
            let config = agent_config(&plan, run, 0);
            assert_eq!(config.record_interval_ns, plan.measure.queues_ns);
            assert_eq!(config.link_interval_ns, plan.measure.links_ns);
            assert_ne!(config.record_interval_ns, config.link_interval_ns);
        }
    }

    #[test]
    fn a_switch_has_its_ports_and_the_costs_of_their_paths() {
        let plan = testing::routed(0);
        let config = agent_config(&plan, &plan.policies[1], 0);
        // The switch has two links to other datacenters, and one to its host.
        let sampled: Vec<bool> = config.ports.iter().map(|p| p.is_queue_sampled).collect();
        assert_eq!(sampled, [true, true, false]);
        // Only one other datacenter has hosts.
        assert_eq!(config.destinations.len(), 1);
        let far: Vec<_> = config.destinations[0]
            .candidates
            .iter()
            .map(|candidate| (candidate.port, candidate.c_path))
            .collect();
        assert_eq!(far, [(PortId(0), 10), (PortId(2), 30)]);
        ValidAgentConfig::try_from(config).expect("the configuration is valid");
    }

    /// Only faults on the switch's own links to other datacenters count (links 0 and 1); link 4 leads to the switch's
    /// host.
    #[test]
    fn the_lowest_rate_is_that_of_a_fault_on_a_link_to_another_datacenter() {
        let mut plan = testing::routed(0);
        let change = |link, rate| FaultPlan {
            at_ns: Nanos::ZERO,
            paper_at_ns: Nanos::ZERO,
            link: LinkId(link),
            change: FaultChange::Wire(testing::wire(rate, "25 ms", "620 kB")),
            path_cost_updates: Vec::new(),
        };
        let lowest = |plan: &Plan| lowest_rate(plan, &plan.switches[0]).map(BitsPerSec::get);
        plan.faults = vec![
            change(0, "200 Mbit"),
            change(2, "10 Mbit"),
            change(4, "10 Mbit"),
        ];
        assert_eq!(lowest(&plan), Some(100_000_000));
        plan.faults.push(change(1, "20 Mbit"));
        plan.faults.push(change(1, "50 Mbit"));
        assert_eq!(lowest(&plan), Some(20_000_000));
    }

    /// From dc1, the candidates for dc4 are dc2 (10 ms, two links), dc3 (11 ms, three links) and dc4 itself (12 ms, one
    /// link). Capacities differ, so that each policy gives each candidate numbers of its own.
    #[test]
    fn both_engines_have_the_same_candidates_by_delay() {
        let text = "name: engines
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 5 ms }
    - { between: [dc2, dc3], rate: 100 Gbit, delay: 1 ms }
    - { between: [dc1, dc4], rate: 200 Gbit, delay: 12 ms }
traffic: [{ flows: [{ from: dc1/h1, to: dc4/h1, size: 1 MB }] }]
policies: [ecmp, wcmp, ucmp, lcmp]
routing: { candidates: downhill-delay }
faults: [{ at: 1 ms, link: [dc1, dc2], delay: 9 ms }]
scale: { rate: 1/1000, time: 10 }
";
        let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).expect("a scenario");
        let files = lab_scenario::Files::new();
        let plan = lab_plan::resolve(&scenario, text, &files, &PlanOptions::default());
        let plan = plan.expect("a plan");
        let network = Network::new(&plan).expect("a network");
        let to = plan.dcs.len() - 1;
        for (policy, run) in plan.policies.iter().enumerate() {
            let config = agent_config(&plan, run, 0);
            let world: World<'_, Paper, NoControl> =
                World::new(&plan, policy, 0, ()).expect("a world");
            let lab: Vec<_> = config.destinations[0]
                .candidates
                .iter()
                .map(|row| (network.port(row.port), row.c_path, row.buckets))
                .collect();
            let simulated: Vec<_> = world.switches[0].candidates[to]
                .iter()
                .map(|row| (row.port, row.c_path, row.buckets))
                .collect();
            assert_eq!(lab, simulated, "{}", run.label);
            let links: Vec<u32> = world.switches[0].candidates[to]
                .iter()
                .map(|row| row.path.hops)
                .collect();
            assert_eq!(links, [2, 3, 1], "{}", run.label);
            let updated = world.path_cost_updates.iter().find(|it| it.dc == 0);
            let updated = updated.map(|it| {
                let hops = it.candidates.iter().map(|row| row.path.hops);
                hops.collect::<Vec<_>>()
            });
            // With 14 ms the path over dc2 is the longest; the order of next hops does not change their buckets.
            let expected = (run.label == "lcmp").then(|| vec![3, 1, 2]);
            assert_eq!(updated.filter(|_| run.label == "lcmp"), expected);
            ValidAgentConfig::try_from(config).expect("the configuration is valid");
        }
    }

    #[test]
    fn ecmp_has_no_scores_and_no_samples_that_expire() {
        let plan = testing::routed(0);
        let config = agent_config(&plan, &plan.policies[0], 0);
        let mut candidates = config.destinations.iter().flat_map(|row| &row.candidates);
        assert!(candidates.all(|candidate| candidate.c_path == 0));
        assert_eq!(config.stale_after_ns, None);
        assert_eq!(config.max_table_age_ns, Some(plan.max_table_age_ns));
        let lcmp = agent_config(&plan, &plan.policies[1], 0);
        assert_eq!(lcmp.stale_after_ns, Some(plan.max_table_age_ns));
        ValidAgentConfig::try_from(config).expect("the configuration is valid");
    }
}
