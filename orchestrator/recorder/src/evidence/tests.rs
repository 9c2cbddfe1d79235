//! Tests of evidence from handmade rows, for a diamond of datacenters.

use lab_plan::PlanOptions;
use lab_records::{DcPath, FlowStatus, List, PfcEvent, RunWriter};
use lab_sample as sample;
use lab_units::{DcId, FlowId, PortId};

use super::*;
use crate::{
    hops::PathRange,
    rows::{FlowGenerator, RowBatch, RowMaker, Split},
};

/// Returns the plan of a diamond of datacenters, whose link from dc1 to dc3 goes down at 50 ms. dc1 reaches dc4 via dc2
/// (10 ms) or dc3 (20 ms), and dc5 only via dc4. Flow 0 goes from dc1 to dc4, flow 1 from dc4 to dc1, flow 2 from dc5
/// to dc4. `agent` is the agent of dc1's switch.
pub(super) fn diamond(agent: &str) -> Plan {
    with_policies(agent, "ucmp, min-delay, ecmp, lcmp, rm-beta")
}

/// Returns the plan of [`diamond`] with the policies `policies`.
fn with_policies(agent: &str, policies: &str) -> Plan {
    with_routing(agent, policies, "")
}

/// Returns the plan of [`with_policies`], to whose scenario the line `routing` is added.
fn with_routing(agent: &str, policies: &str, routing: &str) -> Plan {
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
policies: [{policies}]
faults: [{{ at: 50 ms, link: [dc1, dc3], down: true }}]
scale: {{ rate: 1/2000, time: 10 }}
{routing}
"
    );
    let scenario = lab_scenario::parse("diamond.yaml", text.as_bytes()).expect("a scenario");
    let files = lab_scenario::Files::new();
    lab_plan::resolve(&scenario, &text, &files, &PlanOptions::default()).expect("a plan")
}

/// Data from dc1 to dc4 and back passes a switch with two next hops, that from dc5 to dc4 none. A kernel without an agent
/// at dc1 hashes under every policy, which leaves a choice from dc4 to dc1 alone.
#[test]
fn facts_of_a_run_name_the_pairs_with_a_choice_and_are_silent_if_there_are_no_others() {
    let facts = |plan: &Plan| {
        let setting = crate::RunSetting::simulated(plan, 1, None, String::new());
        crate::run_info(plan, "", &setting).with_choice
    };
    let found = facts(&diamond("policy")).expect("one pair has no choice");
    let sinks = |source: &str| -> Vec<&str> {
        let sinks = found.pairs.get(source).into_iter().flatten();
        sinks.map(String::as_str).collect()
    };
    assert_eq!(found.flows, 2);
    assert_eq!((sinks("dc1"), sinks("dc4")), (vec!["dc4"], vec!["dc1"]));
    let legacy = facts(&diamond("legacy")).expect("two pairs have no choice");
    assert_eq!((legacy.flows, legacy.pairs.len()), (1, 1));
    let mut all = diamond("policy");
    all.flows.pop();
    assert_eq!(facts(&all), None);
}

fn maker(plan: &Plan) -> RowMaker<'_> {
    let generator = FlowGenerator {
        program: "lab-flows",
        congestion_control: "none",
        semantics: None,
    };
    RowMaker::new(plan, "ucmp", 0, generator)
}

/// Returns the row of a decision for flow 0 at dc1's switch.
fn decision(plan: &Plan, candidates: &[&str], chosen: &str, reason: &str) -> DecisionRow {
    let flow = &plan.flows[0];
    let address =
        |node: lab_units::NodeId| plan.nodes[node.index()].addrs().next().expect("a host");
    DecisionRow {
        policy: "ucmp".to_owned(),
        repetition: 0,
        time_ns: Nanos::ZERO,
        switch: "dc1".to_owned(),
        flow_id: Some(FlowId(0)),
        src: address(flow.src),
        dst: address(flow.dst),
        sport: 1,
        reason: reason.to_owned(),
        signal_age_ns: None,
        stale_signals: None,
        candidates: candidates.iter().map(ToString::to_string).collect(),
        c_path: candidates.iter().map(|_| 18).collect(),
        c_cong: candidates.iter().map(|_| 7).collect(),
        cost: candidates.iter().map(|_| 61).collect(),
        kept: candidates.iter().map(|_| 1).collect(),
        chosen: Some(chosen.to_owned()),
    }
}

#[test]
fn decisions_and_paths_have_the_plans_numbers() {
    let plan = diamond("policy");
    let numbers = PlanNumbers::new(&plan);
    let port = |from: u32, name: &str| {
        let ports = (0..plan.ports.len()).filter_map(PortId::from_index);
        let is_it = |port: &PortId| {
            let node = plan.ports[port.index()].node;
            plan.nodes[node.index()].dc == DcId(from) && plan.next_hop(*port) == name
        };
        ports.filter(is_it).collect::<Vec<_>>()
    };
    let row = decision(&plan, &["dc2", "dc3"], "dc3", "failover");
    let found = numbers.decision(&row).expect("names of the plan");
    let ports: Vec<_> = found.candidates.iter().map(|it| it.port).collect();
    assert_eq!(ports, [port(0, "dc2"), port(0, "dc3")].concat());
    assert_eq!((found.policy, found.dc), (0, DcId(0)));
    assert_eq!((found.chosen, found.reason), (Some(ports[1]), "failover"));
    assert_eq!(maker(&plan).decision(&found), row);
    let others = [
        DecisionRow {
            policy: "wcmp".to_owned(),
            ..row.clone()
        },
        DecisionRow {
            switch: "dc9".to_owned(),
            ..row.clone()
        },
        DecisionRow {
            reason: "unknown".to_owned(),
            ..row.clone()
        },
        DecisionRow {
            chosen: Some("dc4".to_owned()),
            ..row.clone()
        },
        DecisionRow {
            kept: List(vec![1]),
            ..row
        },
    ];
    for other in others {
        assert_eq!(numbers.decision(&other), None, "{other:?}");
    }
    let path = |dcs: &[&str]| numbers.path(&DcPath::new(dcs)).map(Vec::from);
    let expected = [port(0, "dc3"), port(2, "dc4")].concat();
    assert_eq!(path(&["dc1", "dc3", "dc4"]), Some(expected));
    assert_eq!(path(&["dc1"]), Some(Vec::new()));
    for unknown in [["dc1", "dc4"], ["dc9", "dc1"], ["dc1", "dc2_2"]] {
        assert_eq!(path(&unknown), None, "{unknown:?}");
    }
}

#[test]
fn first_decisions_for_data_among_several_next_hops_are_evidence() {
    let plan = diamond("policy");
    let info = sample::info();
    let mut witness = Witness::new(&plan, &info.engine);
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
    let policies = witness.evidence(&info).policies;
    let [aged, unaged, ..] = &policies[..] else {
        panic!("not five policies: {policies:?}")
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
        let mut witness = Witness::new(&plan, &info.engine);
        for id in 0..3 {
            let row = FlowRow {
                flow_id: FlowId(id),
                status: FlowStatus::Finished,
                ..sample::flow("ucmp")
            };
            witness.flow(&row);
        }
        assert_eq!(
            witness.evidence(&info).policies[0].undecided,
            undecided,
            "{agent}"
        );
    }
}

/// While a run goes on, a flow's decision comes before its row.
#[test]
fn a_decision_may_come_before_its_flow() {
    let plan = diamond("policy");
    let info = sample::info();
    let mut witness = Witness::new(&plan, &info.engine);
    let reason = Trigger::NewFlow.reason(Rule::Hash);
    witness.decision(&decision(&plan, &["dc2", "dc3"], "dc2", reason));
    for (id, undecided) in [(0, 0), (1, 1)] {
        witness.flow(&FlowRow {
            flow_id: FlowId(id),
            status: FlowStatus::Finished,
            ..sample::flow("ucmp")
        });
        let found = witness.evidence(&info).policies[0].undecided;
        assert_eq!(found, undecided, "flow {id}");
    }
}

/// After the cut of dc1-dc3, dc1 and dc4 have one next hop for each other, so that a flow may have had no decision.
#[test]
fn flows_that_may_start_after_a_reconvergence_to_one_next_hop_need_no_decision() {
    for (routing, undecided) in [("", 2), ("routing: { reconverge: { after: 10 ms } }", 0)] {
        let plan = with_routing("policy", "ecmp", routing);
        let info = sample::info();
        let mut witness = Witness::new(&plan, &info.engine);
        for id in 0..3 {
            witness.flow(&FlowRow {
                flow_id: FlowId(id),
                status: FlowStatus::Finished,
                ..sample::flow("ecmp")
            });
        }
        let found = witness.evidence(&info).policies[0].undecided;
        assert_eq!(found, undecided, "{routing}");
    }
}

#[test]
fn paths_are_compared_where_both_policies_know_them() {
    let flows = |paths: &[(u32, Option<u32>)]| {
        let mut flows = Flows::default();
        for &(id, port) in paths {
            let row = FlowRow {
                flow_id: FlowId(id),
                ..sample::flow("ucmp")
            };
            let path = port.map(|port| vec![PortId(0), PortId(port)]);
            flows.add(&row, path.map(Vec::into_boxed_slice));
        }
        flows
    };
    let one = flows(&[(0, Some(3)), (1, Some(2)), (2, Some(2)), (3, None)]);
    let other = flows(&[(0, Some(2)), (1, Some(2)), (2, None), (3, Some(2))]);
    assert_eq!(one.paths_unlike(&other), (2, 1));
}

#[test]
fn the_bytes_of_a_path_are_those_of_all_its_ranges() {
    let plan = diamond("policy");
    let maker = maker(&plan);
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
    let flow = FlowRow {
        path: Some(ranges[0].path.clone()),
        ..sample::flow("policy")
    };
    let rows = maker.paths(&flow, &ranges);
    let bytes = rows.iter().map(|row| {
        (
            row.path.as_str(),
            row.sent_bytes.get(),
            row.emu_sent_bytes.get(),
        )
    });
    // An emulated byte stands for 2,000 / 10 = 200 paper bytes, because rates are divided by 2,000 and times multiplied
    // by 10.
    assert_eq!(
        bytes.collect::<Vec<_>>(),
        [
            ("dc1-dc2-dc4", 260_000, 1_300),
            ("dc1-dc3-dc4", 140_000, 700)
        ]
    );
    assert_eq!(maker.paths(&flow, &ranges[..1]), [], "one path");
}

/// A flow is re-routed before its first acknowledgement, and go-back-N sends all its bytes again: none counts on the
/// flow's first path.
#[test]
fn bytes_that_are_all_sent_again_count_on_the_later_path() {
    let plan = diamond("policy");
    let flow = FlowRow {
        path: Some(DcPath::new(["dc1", "dc2", "dc4"])),
        ..sample::flow("policy")
    };
    let again = PathRange {
        path: DcPath::new(["dc1", "dc3", "dc4"]),
        start: 0,
        end: 1_000,
    };
    let ranges = [again.clone()];
    let rows = maker(&plan).paths(&flow, &ranges);
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    let unknown = FlowRow {
        path: None,
        ..flow.clone()
    };
    assert_eq!(maker(&plan).paths(&unknown, &ranges), []);
    assert_eq!(
        (row.flow_id, &row.path, row.emu_sent_bytes.get()),
        (flow.flow_id, &again.path, 1_000)
    );
}

/// On two paths, a flow can take 0.6 of its ideal FCT; a batch must write the paths first, so that they count.
#[test]
fn a_batch_counts_the_paths_of_its_flows() {
    let plan = diamond("policy");
    let paths = maker(&plan).paths(
        &sample::flow("policy"),
        &["dc2", "dc3"].map(|by| PathRange {
            path: DcPath::new(["dc1", by, "dc4"]),
            start: u64::from(by == "dc3") * 1_000,
            end: 1_000 + u64::from(by == "dc3") * 1_000,
        }),
    );
    let flow = FlowRow {
        slowdown: Some(0.6),
        ..sample::flow(&paths[0].policy)
    };
    for (paths, expected) in [(paths, 0), (Vec::new(), 1)] {
        let results = tempfile::tempdir().unwrap();
        let info = sample::info();
        let mut writer = RunWriter::create(results.path(), sample::now(), &info).unwrap();
        let batch = RowBatch {
            flows: vec![flow.clone()],
            paths,
            ..RowBatch::default()
        };
        batch.write(&mut writer).unwrap();
        let (_, outcome) = writer.finish(sample::end()).unwrap();
        assert_eq!(outcome.counts.below_one, expected);
    }
}

#[test]
fn a_hash_is_judged_by_its_decisions_before_the_first_fault() {
    let plan = diamond("policy");
    let info = sample::info();
    let mut witness = Witness::new(&plan, &info.engine);
    for time in [0, 49, 50, 51] {
        witness.decision(&DecisionRow {
            policy: "ecmp".to_owned(),
            time_ns: Nanos::from_millis(time),
            ..decision(&plan, &["dc2", "dc3"], "dc2", Rule::Hash.word())
        });
    }
    let Mechanism::Hash(counts) = &witness.evidence(&info).policies[2].mechanism else {
        panic!("ECMP hashes")
    };
    assert_eq!(
        (counts.decisions, counts.used, counts.has_fault),
        (2, 1, true)
    );
}

#[test]
fn lcmp_is_compared_with_its_ablation_without_c_cong() {
    let plan = diamond("policy");
    let info = sample::info();
    let mut witness = Witness::new(&plan, &info.engine);
    for (policy, by) in [("lcmp", ["dc2", "dc3"]), ("rm-beta", ["dc2", "dc2"])] {
        for (id, by) in (0..).zip(by) {
            witness.flow(&FlowRow {
                flow_id: FlowId(id),
                path: Some(DcPath::new(["dc1", by, "dc4"])),
                ..sample::flow(policy)
            });
        }
    }
    let against = |at: usize| match &witness.evidence(&info).policies[at].mechanism {
        Mechanism::Lcmp(counts) => counts.against_rm_beta.clone(),
        other => panic!("LCMP: {other:?}"),
    };
    let expected = lab_records::PathDifference {
        policy: "rm-beta".to_owned(),
        flows: 2,
        differ: 1,
    };
    assert_eq!(against(3), Some(expected));
    assert_eq!(against(4), None, "it is the ablation itself");
}

/// 2.5 MB in a run of 20 ms are 1 Gbit/s. If the run ends after 5 ms, before all flows have started, they are 4 Gbit/s.
#[test]
fn offered_load_is_bytes_over_the_time_that_offers_them() {
    let mut plan = diamond("policy");
    plan.load.paper_duration_ns = Nanos::from_millis(20);
    plan.load.kept = 2;
    plan.load.senders = vec![lab_plan::model::SenderLoad {
        dc: plan.nodes[plan.flows[0].src.index()].dc,
        capacity_bps: 10_000_000_000,
        requested_bps: 3_000_000_000,
        offered_bps: 0,
    }];
    for flow in &mut plan.flows {
        flow.paper_size_bytes = lab_units::Bytes::new(2_500_000);
        flow.paper_start_ns = Nanos::from_millis(3);
    }
    plan.flows[0].is_listed = false;
    plan.flows[1].is_listed = false;
    let info = sample::info();
    for (is_cut, offered) in [(false, 0.1), (true, 0.4)] {
        let mut witness = Witness::new(&plan, &info.engine);
        let row = |id: u32, started: bool| FlowRow {
            flow_id: FlowId(id),
            start_ns: Nanos::from_millis(3),
            fct_ns: Some(Nanos::from_millis(2)).filter(|_| started),
            launch_lateness_ns: Some(Nanos::ZERO).filter(|_| started),
            ..sample::flow("ucmp")
        };
        witness.flow(&row(0, true));
        if is_cut {
            witness.flow(&row(1, false));
        }
        let evidence = witness.evidence(&info);
        let expected = lab_records::OfferedLoad {
            dc: "dc1".to_owned(),
            requested: 0.3,
            offered,
        };
        assert_eq!(evidence.load, [expected]);
        assert_eq!(evidence.covered, Some(0.15));
    }
}

#[test]
fn rows_name_the_datacenters_of_their_ports() {
    let plan = diamond("policy");
    let maker = maker(&plan);
    let towards = plan.switches[0].towards(DcId(3)).expect("dc4");
    let ports: Vec<_> = towards
        .candidates
        .iter()
        .map(|next| (next.port, 128))
        .collect();
    let split = Split {
        time: Nanos::ZERO,
        dc: DcId(0),
        to_dc: DcId(3),
    };
    let row = maker.split(split, &ports);
    assert_eq!((row.switch.as_str(), row.to_dc.as_str()), ("dc1", "dc4"));
    assert_eq!(*row.next_dcs, ["dc2", "dc3"]);
    assert_eq!(*row.buckets, [128, 128]);
    let pause = maker.pfc(Nanos::ZERO, ports[0].0, 3, PfcEvent::Pause);
    assert_eq!((pause.node.as_str(), pause.peer.as_str()), ("dc1", "dc2"));
}

/// Before the first split, the two links of 100 Gbit/s have equal shares of the hash buckets.
#[test]
fn a_first_split_is_compared_with_the_shares_that_the_switch_began_with() {
    let plan = with_policies("policy", "te-100ms");
    let changed = |buckets: [u16; 2]| {
        let info = sample::info();
        let mut witness = Witness::new(&plan, &info.engine);
        witness.split(&SplitRow {
            policy: "te-100ms".to_owned(),
            repetition: 0,
            time_ns: Nanos::from_millis(100),
            switch: "dc1".to_owned(),
            to_dc: "dc4".to_owned(),
            next_dcs: List(vec!["dc2".to_owned(), "dc3".to_owned()]),
            buckets: List(buckets.to_vec()),
        });
        match &witness.evidence(&info).policies[0].mechanism {
            Mechanism::Splits(counts) => (counts.installed, counts.changed),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(changed([50, 50]), (1, 0));
    assert_eq!(changed([60, 40]), (1, 1));
}
