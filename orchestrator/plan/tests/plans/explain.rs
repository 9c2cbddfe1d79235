//! Tests that explanations agree with the hand calculation in `scenarios/explain-8dc.md`.

use std::{collections::BTreeMap, fs, net::Ipv4Addr};

use lab_plan::{
    Engine, Explanation, InputQuantity, Plan, PlanOptions, PolicyPlan, PolicyRun, Question,
    QueueState, TrainedPlan, explain, render_explanation,
};
use lab_policy::FlowTuple;
use lab_redte::{
    AgentLayout, Divisors, Header, Mlp, TeamLayout, Weights, fingerprint, weights::FORMAT,
};
use lab_units::{BitsPerSec, DcId, Nanos, PortId, Ratio, Trainer};

use crate::common;

fn plan() -> Plan {
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    common::try_plan(&common::scenario_text("ablation.yaml"), &options).unwrap()
}

/// Explains a flow from DC1's first host to DC8's first host, the default of the `explain` command.
fn explained(
    plan: &Plan,
    label: &str,
    queues: &[(PortId, QueueState)],
    dead: &[PortId],
) -> Explanation {
    let address = |dc: usize| -> Ipv4Addr { plan.nodes[plan.dcs[dc].hosts[0].index()].addr };
    let question = Question {
        policy: plan
            .policies
            .iter()
            .position(|run| run.label == label)
            .unwrap(),
        flow: FlowTuple {
            src: address(0),
            dst: address(7),
            sport: 49_152,
            dport: 4791,
        },
        queues,
        dead,
        ..question(DcId(0), DcId(7))
    };
    explain(plan, &question).unwrap()
}

/// Returns a question about the first policy, for a flow without addresses in an idle network.
fn question(from: DcId, to: DcId) -> Question<'static> {
    Question {
        policy: 0,
        from,
        to,
        flow: FlowTuple {
            src: Ipv4Addr::LOCALHOST,
            dst: Ipv4Addr::LOCALHOST,
            sport: 0,
            dport: 0,
        },
        queues: &[],
        dead: &[],
        utilisations: &[],
        demands: &[],
    }
}

/// Returns a queue of 600 MB towards DC2 that grows by 20 MB per sample and has been full for 40 samples.
fn busy(plan: &Plan) -> [(PortId, QueueState); 1] {
    [(port(plan, "dc2"), "600MB:20MB:40".parse().unwrap())]
}

/// Returns the port of DC1 to the next hop called `next` towards DC8.
fn port(plan: &Plan, next: &str) -> PortId {
    let row = plan.switches[0].towards(DcId(7)).unwrap();
    let mut ports = row.candidates.iter().map(|candidate| candidate.port);
    ports.find(|port| plan.next_hop(*port) == next).unwrap()
}

#[test]
fn the_documents_tables_are_those_of_the_code() {
    let plan = plan();
    let text = fs::read_to_string(common::scenarios().join("explain-8dc.md")).unwrap();
    let lcmp = "lcmp";
    let artifact = "artifact";
    let cases = [
        explained(&plan, lcmp, &[], &[]),
        explained(&plan, artifact, &[], &[]),
        explained(&plan, lcmp, &busy(&plan), &[]),
        explained(&plan, lcmp, &[], &[port(&plan, "dc2")]),
    ];
    for case in cases {
        let table = render_explanation(&case);
        assert!(text.contains(&table), "the document lacks\n{table}");
    }
}

/// The document `explain-8dc.md` calculates these scores by hand; rows are in the order DC6, DC4, DC2, DC7, DC5, DC3.
#[test]
fn every_score_by_hand() {
    let plan = plan();
    let of = |label: &str, queues: &[(PortId, QueueState)]| explained(&plan, label, queues, &[]);
    let rows = |explanation: &Explanation| -> Vec<_> {
        explanation
            .candidates
            .iter()
            .map(|row| (row.delay_score, row.capacity_score, row.c_path, row.cost))
            .collect()
    };
    let paper = of("lcmp", &[]);
    let expected = [
        (4, 204, 54, 162),
        (9, 128, 38, 114),
        (24, 0, 18, 54),
        (48, 204, 87, 261),
        (97, 128, 104, 312),
        (243, 0, 182, 546),
    ];
    assert_eq!(rows(&paper), expected);
    let artifact = of("artifact", &[]);
    let expected = [
        (2, 230, 59, 44),
        (4, 204, 54, 40),
        (12, 128, 41, 30),
        (24, 230, 75, 56),
        (49, 204, 87, 65),
        (124, 128, 125, 93),
    ];
    assert_eq!(rows(&artifact), expected);
    for explanation in [&paper, &artifact] {
        let kept: Vec<_> = explanation
            .candidates
            .iter()
            .filter(|row| row.is_kept)
            .map(|row| row.via.as_str())
            .collect();
        assert_eq!(kept, ["dc6", "dc4", "dc2"]);
        assert_eq!(explanation.rule, Some("scored"));
    }
    let busy = of("lcmp", &busy(&plan));
    let dc2 = &busy.candidates[2];
    assert_eq!(
        (dc2.q, dc2.t, dc2.d, dc2.c_cong, dc2.cost),
        (51, 204, 10, 79, 133)
    );
}

#[test]
fn bucket_policies_are_explained_by_their_buckets() {
    let plan = plan();
    let ecmp = explained(&plan, "ecmp", &[], &[port(&plan, "dc6")]);
    assert!(!ecmp.is_scored);
    assert!(
        ecmp.candidates
            .iter()
            .all(|row| row.buckets == 1 && row.cost == 0)
    );
    let dead = &ecmp.candidates[0];
    assert_eq!(
        (dead.via.as_str(), dead.is_alive, dead.is_kept),
        ("dc6", false, false)
    );
    assert_eq!(
        ecmp.candidates.iter().filter(|row| row.is_chosen).count(),
        1
    );
    let all = ["dc2", "dc3", "dc4", "dc5", "dc6", "dc7"].map(|next| port(&plan, next));
    let none = explained(&plan, "ecmp", &[], &all);
    assert_eq!(none.rule, None);
    assert!(render_explanation(&none).contains("no link is up"));
}

/// Adds a policy whose trained weights ignore their inputs: the first candidate gets twice the share of each other.
fn with_weights(mut plan: Plan) -> Plan {
    let topology = plan.te_topology();
    let network = |agent: AgentLayout| {
        let shape = agent.shape();
        let mut parameters = vec![0.0; shape.parameters()];
        // The last layer's biases precede its weights.
        let first = parameters.len() - shape.layers()[2].parameters();
        parameters[first] = std::f32::consts::LN_2;
        Mlp::new(shape, parameters)
    };
    let agents = TeamLayout::new(&topology).agents.into_iter();
    let networks: Vec<Mlp> = agents.map(network).collect();
    let interval = Nanos::from_millis(100);
    let header = Header {
        format: FORMAT,
        scenario: "hand".to_owned(),
        topology: fingerprint(&topology, &plan.paper_te_capacities()),
        divisors: Divisors {
            utilisation: 2.0,
            demand: 0.25,
        },
        shapes: networks.iter().map(|it| it.shape().clone()).collect(),
        paper_interval_ns: interval,
        lag: 1,
        trainer: Trainer::Direct,
        options: BTreeMap::new(),
        seed: 1,
        steps: 1,
        version: String::new(),
        scores: BTreeMap::new(),
    };
    plan.policies.push(PolicyRun {
        label: "weights".to_owned(),
        policy: PolicyPlan::Trained(TrainedPlan {
            trainer: Trainer::Direct,
            interval_ns: interval,
            buckets: 100,
            weights: Weights { header, networks }.encode(),
        }),
        path_scores: Vec::new(),
        buckets: Vec::new(),
    });
    plan
}

fn buckets(explanation: &Explanation) -> Vec<u16> {
    explanation.candidates.iter().map(|it| it.buckets).collect()
}

/// The network of DC1 has the shares 2/7 and five times 1/7. Of 100 buckets, 98 are whole; the largest remainder is
/// that of 2/7, and of the equal others the first gets the last bucket.
#[test]
fn trained_weights_are_explained_by_inputs_ratios_and_buckets() {
    let plan = with_weights(plan());
    let idle = explained(&plan, "weights", &[], &[]);
    assert_eq!(buckets(&idle), [29, 15, 14, 14, 14, 14]);
    let ratio = idle.candidates[0].ratio.unwrap();
    assert!((ratio - 2.0 / 7.0).abs() < 1e-6, "{ratio}");
    let inputs = idle.inputs.as_ref().unwrap();
    assert_eq!(inputs.len(), 7);
    assert!(inputs.iter().all(|it| it.input == 0.0));
    let chosen = |explanation: &Explanation| {
        let place = explanation.candidates.iter().position(|it| it.is_chosen);
        explanation.candidates[place.unwrap()].buckets
    };
    assert!(chosen(&idle) > 0);

    let dead = explained(&plan, "weights", &[], &[port(&plan, "dc6")]);
    assert_eq!(buckets(&dead), [0, 20, 20, 20, 20, 20]);
    assert_eq!(chosen(&dead), 20);
}

/// A share of 40 % over the divisor 2, and 100 of 200 Gbit/s over the divisor 1/4.
#[test]
fn inputs_of_trained_weights_are_what_the_question_gives() {
    let plan = with_weights(plan());
    let question = Question {
        policy: plan.policies.len() - 1,
        utilisations: &[(port(&plan, "dc6"), Ratio::new(2, 5).unwrap())],
        demands: &[(DcId(7), BitsPerSec::new(100_000_000_000).unwrap())],
        ..question(DcId(0), DcId(7))
    };
    let explanation = explain(&plan, &question).unwrap();
    let inputs = explanation.inputs.as_ref().unwrap().iter();
    let used: Vec<_> = inputs
        .filter(|it| it.share > 0.0)
        .map(|it| (it.quantity, it.to.as_str(), it.share, it.input))
        .collect();
    let expected = [
        (InputQuantity::Utilisation, "dc6", 0.4, 0.2),
        (InputQuantity::Demand, "dc8", 0.5, 2.0),
    ];
    assert_eq!(used, expected);
    let text = render_explanation(&explanation);
    for line in [
        "  utilisation    dc6  0.400  0.200\n",
        "  demand         dc8  0.500  2.000\n",
        "  dc6   10 ms   40 Gbit  0.2857       29  ",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn trained_weights_do_not_decide_where_there_is_no_choice() {
    let plan = with_weights(plan());
    let question = Question {
        policy: plan.policies.len() - 1,
        ..question(DcId(1), DcId(7))
    };
    let explanation = explain(&plan, &question).unwrap();
    assert_eq!(explanation.inputs, None);
    assert_eq!(explanation.candidates[0].ratio, None);
}

#[test]
fn a_datacenter_decides_nothing_for_itself_or_for_one_without_hosts() {
    let plan = plan();
    assert_eq!(explain(&plan, &question(DcId(0), DcId(0))), None);
    assert_eq!(explain(&plan, &question(DcId(0), DcId(3))), None);
}
