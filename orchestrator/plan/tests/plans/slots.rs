//! Plans of one scenario for all slots of a machine: the addresses differ, the paths do not.

use std::{collections::BTreeSet, iter::zip, sync::LazyLock};

use lab_plan::{Flow, Plan, PlanOptions, Question, address::SLOTS, connections, explain};
use lab_policy::{FlowTuple, flow_hash};
use lab_units::DcId;

use crate::common;

/// Plans of the testbed, by slot.
static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
    let text = common::scenario_text("8dc.yaml");
    let plan = |slot| {
        let options = PlanOptions {
            slot,
            ..PlanOptions::default()
        };
        common::try_plan(&text, &options).unwrap()
    };
    (0..SLOTS).map(plan).collect()
});

/// Returns the datacenters and the five-tuple of each flow's data, then those of its ACKs.
fn tuples(plan: &Plan) -> Vec<(DcId, DcId, FlowTuple)> {
    let flows: Vec<&Flow> = plan.flows.iter().collect();
    let mut tuples = Vec::new();
    for (flow, connection) in zip(&flows, connections(plan.rdma.tool, &flows)) {
        let (src, dst) = (&plan.nodes[flow.src.index()], &plan.nodes[flow.dst.index()]);
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

/// Returns the next hop of a first packet at the switch of its own datacenter, while all queues are empty.
fn first_hop(plan: &Plan, policy: usize, packet: (DcId, DcId, FlowTuple)) -> String {
    let (from, to, flow) = packet;
    let question = Question {
        policy,
        from,
        to,
        flow,
        queues: &[],
        dead: &[],
    };
    let candidates = explain(plan, &question).unwrap().candidates;
    let mut chosen = candidates.into_iter().filter(|it| it.is_chosen);
    chosen.next().unwrap().via
}

/// A plan for the slot of a lab is the plan of slot 0 with other labels.
#[test]
fn the_plan_of_any_slot_is_that_of_slot_0_relabelled() {
    for (name, text) in common::every_scenario() {
        let in_slot = |slot| {
            let options = PlanOptions {
                slot,
                ..PlanOptions::default()
            };
            common::try_plan(&text, &options).unwrap()
        };
        let first = in_slot(0);
        for slot in 0..SLOTS {
            assert!(
                in_slot(slot) == first.clone().in_slot(slot),
                "{name} in slot {slot}"
            );
        }
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
        assert_eq!(other.switches, first.switches, "slot {slot}");
        assert_eq!(other.policies, first.policies, "slot {slot}");
        assert!(zip(tuples(other), tuples(first)).all(|(other, first)| other != first));
        assert!(hashes(other) == expected, "slot {slot}");
    }
}

/// Every flow is compared between slot 0 and one other slot; the flows take the other slots in turn.
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
