//! Evidence of a diamond of datacenters, from rows made by hand.

use lab_plan::PlanOptions;
use lab_records::{DcPath, FlowStatus, sample};
use lab_units::FlowId;

use super::*;

/// Plan of UCMP, with and without flow ageing, on a diamond: dc1 reaches dc4 by dc2 (10 ms) or dc3 (20 ms), and dc5
/// only by dc4. Flow 0 goes from dc1 to dc4, flow 1 back, flow 2 from dc5 to dc4. `agent` runs the switch of dc1.
fn diamond(agent: &str) -> Plan {
    let text = format!(
        "
name: diamond
topology:
  dcs:
    - {{ name: dc1, hosts: 1, agent: {agent} }}
    - {{ name: dc2 }}
    - {{ name: dc3 }}
    - {{ name: dc4, hosts: 1 }}
    - {{ name: dc5, hosts: 1 }}
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 10 ms }}
    - {{ between: [dc3, dc4], rate: 100 Gbit, delay: 10 ms }}
    - {{ between: [dc4, dc5], rate: 100 Gbit, delay: 5 ms }}
traffic:
  - flows:
      - {{ from: dc1/h1, to: dc4/h1, size: 20 MB, start: 0 ms }}
      - {{ from: dc4/h1, to: dc1/h1, size: 20 MB, start: 1 ms }}
      - {{ from: dc5/h1, to: dc4/h1, size: 20 MB, start: 2 ms }}
policies: [ucmp, min-delay]
scale: {{ rate: 1/2000, time: 10 }}
"
    );
    let scenario = lab_scenario::parse("diamond.yaml", text.as_bytes()).expect("a scenario");
    let files = lab_scenario::Files::new();
    lab_plan::resolve(&scenario, &text, &files, &PlanOptions::default()).expect("a plan")
}

/// Decision of dc1's switch for flow 0.
fn decision(plan: &Plan, candidates: &[&str], chosen: &str, reason: &str) -> DecisionRow {
    let flow = &plan.flows[0];
    let address =
        |node: lab_units::NodeId| plan.nodes[node.index()].addrs().next().expect("a host");
    DecisionRow {
        policy: "ucmp".to_owned(),
        flow_id: Some(FlowId(0)),
        switch: "dc1".to_owned(),
        src: address(flow.src),
        dst: address(flow.dst),
        candidates: candidates.iter().map(ToString::to_string).collect(),
        chosen: Some(chosen.to_owned()),
        reason: reason.to_owned(),
        ..lcmp::tests::decision()
    }
}

#[test]
fn first_decisions_for_data_among_several_next_hops_are_evidence() {
    let plan = diamond("policy");
    let info = sample::info();
    let mut witness = Witness::new(&plan, &info);
    let both = &["dc2", "dc3"];
    let new = |chosen| decision(&plan, both, chosen, Trigger::NewFlow.reason(Rule::Hash));
    let ack = DecisionRow {
        src: new("dc2").dst,
        dst: new("dc2").src,
        ..new("dc2")
    };
    let of_no_flow = DecisionRow {
        flow_id: None,
        ..new("dc2")
    };
    let counted = [new("dc2"), new("dc3"), new("dc2")];
    let others = [
        ack,
        of_no_flow,
        decision(&plan, &["dc2"], "dc2", Rule::Hash.word()),
        decision(&plan, both, "dc2", Trigger::Failover.reason(Rule::Hash)),
        decision(&plan, both, "dc2", Trigger::FlowAgeing.reason(Rule::Hash)),
    ];
    for row in counted.iter().chain(&others) {
        witness.decision(row);
        witness.decision(&DecisionRow {
            policy: "min-delay".to_owned(),
            ..row.clone()
        });
    }
    let policies = witness.evidence().policies;
    let [aged, unaged] = &policies[..] else {
        panic!("two policies: {policies:?}")
    };
    let expected = Mechanism::FlowAgeing {
        flows: 3,
        rerouted: 1,
    };
    assert_eq!(aged.mechanism, expected);
    let expected = Mechanism::MinDelay {
        decisions: 3,
        least_delay: 2,
    };
    assert_eq!(unaged.mechanism, expected);
}

#[test]
fn flows_of_a_switch_with_an_agent_and_a_choice_need_a_decision() {
    for (agent, undecided) in [("policy", 2), ("legacy", 1)] {
        let plan = diamond(agent);
        let info = sample::info();
        let mut witness = Witness::new(&plan, &info);
        for id in 0..3 {
            let row = FlowRow {
                flow_id: FlowId(id),
                status: FlowStatus::Finished,
                ..sample::flow("ucmp")
            };
            witness.flow(&row);
        }
        assert_eq!(
            witness.evidence().policies[0].undecided,
            undecided,
            "{agent}"
        );
    }
}

#[test]
fn paths_are_compared_where_both_policies_know_them() {
    let plan = diamond("policy");
    let flows = |paths: &[(u32, Option<&str>)]| {
        let mut flows = Flows::new(&plan);
        for &(id, by) in paths {
            flows.add(&FlowRow {
                flow_id: FlowId(id),
                path: by.map(|by| DcPath::new(["dc1", by, "dc4"])),
                ..sample::flow("ucmp")
            });
        }
        flows
    };
    let one = flows(&[
        (0, Some("dc3")),
        (1, Some("dc2")),
        (2, Some("dc2")),
        (3, None),
    ]);
    let other = flows(&[
        (0, Some("dc2")),
        (1, Some("dc2")),
        (2, None),
        (3, Some("dc2")),
    ]);
    assert_eq!(one.paths_unlike(&other), (2, 1));
}

#[test]
fn the_bytes_of_a_path_are_those_of_all_its_ranges() {
    use crate::{
        hops::PathRange,
        rows::{FlowGenerator, RowMaker},
    };
    let plan = diamond("policy");
    let generator = FlowGenerator {
        program: "lab-flows",
        congestion_control: "none",
        semantics: None,
    };
    let maker = RowMaker::new(&plan, "ucmp", 0, generator);
    let range = |by, start, end| PathRange {
        path: DcPath::new(["dc1", by, "dc4"]),
        start,
        end,
    };
    let ranges = [
        range("dc2", 0, 1_000),
        range("dc3", 1_000, 1_700),
        range("dc2", 1_700, 2_000),
    ];
    let rows = maker.paths(FlowId(0), &ranges);
    let bytes = rows.iter().map(|row| {
        (
            row.path.as_str(),
            row.sent_bytes.get(),
            row.emu_sent_bytes.get(),
        )
    });
    // A size of the lab stands for 200 times as many bytes: 2,000 = the rate's divisor, 10 = the time's factor.
    assert_eq!(
        bytes.collect::<Vec<_>>(),
        [
            ("dc1-dc2-dc4", 260_000, 1_300),
            ("dc1-dc3-dc4", 140_000, 700)
        ]
    );
    assert_eq!(maker.paths(FlowId(0), &ranges[..1]), [], "one path");
}
