//! Tests with the plans of one scenario in all slots of a machine: addresses differ, paths do not.

use std::{collections::BTreeSet, iter::zip, net::Ipv4Addr, sync::LazyLock};

use lab_plan::{
    Flow, Plan, Question,
    address::{EVERYWHERE, SLOTS, slot_prefix},
    connections, explain,
};
use lab_policy::{FlowTuple, flow_hash};
use lab_units::{DcId, Mac};
use serde_json::Value;

use crate::common;

/// Plans of the testbed, indexed by lab slot (block of addresses and interface names).
static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
    let plan = common::plan(&common::scenario_text("8dc.yaml"));
    (0..SLOTS).map(|slot| plan.clone().in_slot(slot)).collect()
});

/// Returns source datacenter, destination datacenter and five-tuple of each flow's data, then of each flow's ACKs.
fn tuples(plan: &Plan) -> Vec<(DcId, DcId, FlowTuple)> {
    let flows: Vec<&Flow> = plan.flows.iter().collect();
    let mut tuples = Vec::new();
    for (flow, connection) in zip(&flows, connections(plan.rdma.tool, &flows)) {
        let src = &plan.nodes[flow.src.index()];
        let dst = &plan.nodes[flow.dst.index()];
        let data = FlowTuple {
            src: src.addrs().nth(connection.source_addr).unwrap(),
            dst: dst.addr,
            sport: connection.source_port,
            dport: 4791,
        };
        let ack = FlowTuple {
            src: data.dst,
            dst: data.src,
            ..data
        };
        tuples.extend([(src.dc, dst.dc, data), (dst.dc, src.dc, ack)]);
    }
    tuples
}

/// Returns the next hop of a flow's first packet at the switch of its source datacenter, with all queues empty.
fn first_hop(plan: &Plan, policy: usize, packet: (DcId, DcId, FlowTuple)) -> String {
    let (from, to, flow) = packet;
    let question = Question {
        policy,
        from,
        to,
        flow,
        queues: &[],
        dead: &[],
        utilisations: &[],
        demands: &[],
    };
    let mut chosen = explain(plan, &question)
        .unwrap()
        .candidates
        .into_iter()
        .filter(|it| it.is_chosen);
    chosen.next().unwrap().via
}

/// Datacenter 1's block follows the block of inter-DC link ends: 10.0.16.0/20 in slot 0, 10.48.16.0/20 in slot 3.
#[test]
fn a_plan_in_another_slot_has_its_addresses_and_interfaces() {
    let mut plan = common::plan(&common::scenario_text("smoke.yaml"));
    let host = plan.dcs[0].hosts[0].index();
    plan.nodes[host].further_addrs = vec![Ipv4Addr::new(10, 0, 16, 9)];
    let moved = plan.clone().in_slot(3);
    assert_eq!(moved.slot, 3);
    assert_eq!(moved.dcs[0].prefix.addr, Ipv4Addr::new(10, 48, 16, 0));
    assert_eq!(moved.dcs[0].prefix.len, 20);
    let node = &moved.nodes[host];
    assert_eq!(node.addr, Ipv4Addr::new(10, 48, 16, 1));
    assert_eq!(node.further_addrs, [Ipv4Addr::new(10, 48, 16, 9)]);
    assert_eq!(node.routes[0].to, EVERYWHERE);
    let port = &moved.ports[0];
    assert_eq!(plan.ports[0].interface, "l0d1-d2");
    assert_eq!(port.interface, "l3d1-d2");
    assert_eq!(port.mac, Mac([0x02, 0x43, 0, 0, 0, 0]));
    assert_eq!(port.addr, Ipv4Addr::new(10, 48, 0, 0));
    assert_eq!(moved.in_slot(0), plan);
}

#[test]
fn an_interface_with_a_name_of_its_own_keeps_it() {
    let mut plan = common::plan(&common::scenario_text("smoke.yaml"));
    "p7n0_0".clone_into(&mut plan.ports[0].interface);
    assert_eq!(plan.in_slot(3).ports[0].interface, "p7n0_0");
}

/// Every address in the JSON is checked, so that fields added to plans later are covered as well.
#[test]
fn every_scenarios_plan_moves_whole_from_slot_to_slot() {
    for (name, text) in common::every_scenario() {
        let mut plan = common::plan(&text);
        let first = plan.clone();
        for slot in (0..SLOTS).rev() {
            plan = plan.in_slot(slot);
            let mut seen = 0;
            for text in texts(&serde_json::to_value(&plan).unwrap()) {
                let addr = text.parse().ok();
                if let Some(addr) = addr.filter(|addr: &Ipv4Addr| addr.octets()[0] == 10) {
                    assert!(
                        slot_prefix(slot).contains(addr),
                        "{name}, slot {slot}: {addr}"
                    );
                    seen += 1;
                }
            }
            assert!(
                seen >= plan.nodes.len() + plan.ports.len(),
                "{name}: {seen}"
            );
            let start = format!("l{slot:x}d");
            assert!(
                plan.ports
                    .iter()
                    .all(|port| port.interface.starts_with(&start))
            );
        }
        assert!(plan == first, "{name}");
    }
}

/// Returns all strings in a JSON value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(items) => items.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[test]
fn every_switch_hashes_every_flow_alike_in_all_slots() {
    let (first, others) = PLANS.split_first().unwrap();
    let hashes = |plan: &Plan| -> Vec<u32> {
        let hash = |(from, _, flow): &(DcId, DcId, FlowTuple)| {
            flow_hash(*flow, plan.switches[from.index()].hash_seed)
        };
        tuples(plan).iter().map(hash).collect()
    };
    let expected = hashes(first);
    assert!(expected.len() > 10_000);
    for (other, slot) in zip(others, 1..) {
        assert_eq!(other.slot, slot);
        assert!(zip(tuples(other), tuples(first)).all(|(other, first)| other != first));
        assert!(hashes(other) == expected, "slot {slot}");
    }
}

/// Each flow is compared between slot 0 and one other slot; the other slots take turns.
#[test]
fn first_hops_are_the_same_in_all_slots_under_every_policy() {
    let (first, others) = PLANS.split_first().unwrap();
    let expected = tuples(first);
    let in_slots: Vec<_> = others.iter().map(tuples).collect();
    for (policy, run) in first.policies.iter().enumerate() {
        let mut hops = BTreeSet::new();
        for (at, &packet) in expected.iter().enumerate() {
            let turn = at % others.len();
            let hop = first_hop(first, policy, packet);
            let slot = others[turn].slot;
            let in_slot = first_hop(&others[turn], policy, in_slots[turn][at]);
            assert_eq!(in_slot, hop, "{} in slot {slot}", run.label);
            hops.insert(hop);
        }
        assert!(hops.len() == 6 || run.label != "ecmp", "{hops:?}");
    }
}
