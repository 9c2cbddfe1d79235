//! Tests that explanations agree with the hand calculation in `scenarios/explain-8dc.md`.

use std::{fs, net::Ipv4Addr};

use lab_plan::{
    Engine, Explanation, Plan, PlanOptions, Question, QueueState, explain, render_explanation,
};
use lab_policy::FlowTuple;
use lab_units::DcId;

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
    queues: &[(DcId, QueueState)],
    dead: &[DcId],
) -> Explanation {
    let address = |dc: usize| -> Ipv4Addr { plan.nodes[plan.dcs[dc].hosts[0].index()].addr };
    let question = Question {
        policy: plan
            .policies
            .iter()
            .position(|run| run.label == label)
            .unwrap(),
        from: DcId(0),
        to: DcId(7),
        flow: FlowTuple {
            src: address(0),
            dst: address(7),
            sport: 49_152,
            dport: 4791,
        },
        queues,
        dead,
        utilisations: &[],
        demands: &[],
    };
    explain(plan, &question).unwrap()
}

/// Returns a queue of 600 MB towards DC2 that grows by 20 MB per sample and has been full for 40 samples.
fn busy() -> [(DcId, QueueState); 1] {
    [(DcId(1), "600MB:20MB:40".parse().unwrap())]
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
        explained(&plan, lcmp, &busy(), &[]),
        explained(&plan, lcmp, &[], &[DcId(1)]),
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
    let of = |label: &str, queues: &[(DcId, QueueState)]| explained(&plan, label, queues, &[]);
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
    let busy = of("lcmp", &busy());
    let dc2 = &busy.candidates[2];
    assert_eq!(
        (dc2.q, dc2.t, dc2.d, dc2.c_cong, dc2.cost),
        (51, 204, 10, 79, 133)
    );
}

#[test]
fn bucket_policies_are_explained_by_their_buckets() {
    let plan = plan();
    let ecmp = explained(&plan, "ecmp", &[], &[DcId(5)]);
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
    let all: Vec<_> = (1..7).map(DcId).collect();
    let none = explained(&plan, "ecmp", &[], &all);
    assert_eq!(none.rule, None);
    assert!(render_explanation(&none).contains("no link is up"));
}

#[test]
fn a_datacenter_decides_nothing_for_itself_or_for_one_without_hosts() {
    let plan = plan();
    let question = |to| Question {
        policy: 0,
        from: DcId(0),
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
    };
    assert_eq!(explain(&plan, &question(DcId(0))), None);
    assert_eq!(explain(&plan, &question(DcId(3))), None);
}
