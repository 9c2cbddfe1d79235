//! Tests of a comparison of two runs: its laws, the page's text, and facts about the flows that differ most.

use std::{fs, path::PathBuf};

use lab_records::{EngineInfo, FlowRow, LinkRow, RateRow, Semantics, SimInfo};
use lab_reports::{
    check::{Check, Judgement, PageAnswer},
    fidelity::{self, Bounds, Fidelity, FidelityComparison, FidelityError},
};
use lab_sample as sample;
use lab_units::{Bytes, FlowId, Nanos};

use crate::{html, readme, synthetic::Synthetic};

/// Kernel's run with 60 flows under each of two policies, and the simulator's run with the same plan.
struct Twins {
    kernel: Synthetic,
    sim: Synthetic,
}

impl Twins {
    /// Returns runs in which all flows are equal and none started late.
    fn new() -> Self {
        let mut kernel = Synthetic::testbed(60);
        for flow in &mut kernel.flows {
            flow.start_ns = scheduled(flow);
            flow.launch_lateness_ns = Some(Nanos::ZERO);
        }
        let mut sim = kernel.clone();
        sim.info.plan_hash = "2b".repeat(32);
        sim.info.engine = EngineInfo::Sim(SimInfo {
            semantics: Semantics::Paper,
            cc: vec!["none".into(); 2],
            threads: 2,
            trains: None,
        });
        Self { kernel, sim }
    }

    /// Returns runs that differ as engines do: most FCTs a little and one much, three paths, and some late starts.
    fn different() -> Self {
        let mut twins = Self::new();
        for (index, flow) in (0u64..).zip(&mut twins.sim.flows) {
            let fct = flow.fct_ns.expect("a finished flow").get();
            set_fct(flow, fct + fct / 2_000 * (index % 5));
        }
        for flow in &mut twins.kernel.flows {
            let late = Nanos::new(1_000 * (1 + u64::from(flow.flow_id.0 % 3)));
            flow.start_ns = flow.start_ns.saturating_add(late);
            // In the lab, times are ten times longer than in the paper.
            flow.launch_lateness_ns = Some(Nanos::new(late.get() * 10));
        }
        let slow = twins.sim.flow_mut("lcmp", 7);
        let fct = slow.fct_ns.expect("a finished flow").get();
        set_fct(slow, fct * 3 / 2);
        for flow in [3, 4, 7] {
            let paths = twins.sim.flow_mut("lcmp", flow - 1).path.clone();
            let row = twins.sim.flow_mut("lcmp", flow);
            row.path = paths;
        }
        twins
    }

    fn write(&self, name: &str) -> [PathBuf; 2] {
        let write = |run: &Synthetic, engine: &str| run.write(&format!("fidelity-{name}-{engine}"));
        [write(&self.kernel, "kernel"), write(&self.sim, "sim")]
    }

    fn compare(&self, name: &str) -> Result<FidelityComparison, FidelityError> {
        let [kernel, sim] = self.write(name);
        fidelity::compare(&kernel, &sim)
    }

    fn fidelity(&self, name: &str) -> Fidelity {
        self.compare(name).expect("runs of one plan").fidelity
    }
}

/// Returns the checks of the bounds that fail.
fn failed(bounds: &Bounds, fidelity: &Fidelity) -> Vec<Check> {
    let mut checks = bounds.checks(fidelity).expect("known policies");
    checks.retain(|it| it.grade == Judgement::Fail);
    checks
}

fn scheduled(flow: &FlowRow) -> Nanos {
    let late = flow.launch_lateness_ns.map_or(0, Nanos::get) / 10;
    flow.start_ns.saturating_sub(Nanos::new(late))
}

fn set_fct(flow: &mut FlowRow, fct: u64) {
    flow.fct_ns = Some(Nanos::new(fct));
    flow.slowdown = FlowRow::slowdown_of(Nanos::new(fct), flow.ideal_fct_ns);
}

/// Returns a rate sample of the first flow under `ecmp`, taken after `tenths` tenths of a second, with `cnps` CNPs so
/// far.
fn rate(tenths: u64, cnps: u64) -> RateRow {
    let link = sample::link("dc1", "dc2", 40, 5);
    RateRow {
        policy: "ecmp".into(),
        repetition: 0,
        time_ns: Nanos::from_millis(100 * tenths),
        flow_id: FlowId(0),
        rate_bps: link.rate_bps,
        emu_rate_bps: link.rate_bps,
        target_bps: link.rate_bps,
        alpha: 0.5,
        cnps,
    }
}

fn near_one(value: Option<f64>) -> bool {
    value.is_some_and(|value| (value - 1.0).abs() < 1e-9)
}

#[test]
fn identical_runs_agree_in_everything() {
    let fidelity = Twins::new().fidelity("identical");
    for one in fidelity.policies.iter().chain([&fidelity.all]) {
        assert_eq!(
            (one.compared, one.same_paths),
            (one.scheduled, one.scheduled)
        );
        let fct = one.fct_difference.expect("compared flows");
        assert_eq!([fct.p50, fct.p95, fct.p99, fct.max], [0.0; 4]);
        for coefficient in [
            one.pearson,
            one.spearman,
            one.pearson_of_p50,
            one.pearson_of_p99,
        ] {
            assert!(near_one(coefficient), "{one:?}");
        }
    }
    assert_eq!(fidelity.all.scheduled, 120);
    let bounds = Bounds {
        max_difference: vec!["0%".parse().expect("a bound")],
        min_paths: vec!["100%".parse().expect("a bound")],
        ..Bounds::default()
    };
    assert_eq!(failed(&bounds, &fidelity), []);
}

#[test]
fn swapped_paths_are_counted_for_data_and_acknowledgements() {
    let mut twins = Twins::new();
    for flow in [1, 2, 5] {
        let row = twins.sim.flow_mut("ecmp", flow);
        std::mem::swap(&mut row.path, &mut row.ack_path);
    }
    let row = twins.sim.flow_mut("ecmp", 9);
    row.ack_path = row.path.clone();
    twins.sim.flow_mut("ecmp", 11).path = None;
    let ecmp = &twins.fidelity("swapped").policies[0];
    let counts = [
        ecmp.same_data_path,
        ecmp.same_ack_path,
        ecmp.same_paths,
        ecmp.unknown_paths,
    ];
    assert_eq!(counts, [56, 56, 55, 1]);
}

#[test]
fn the_order_of_rows_changes_nothing() {
    let twins = Twins::different();
    let expected = twins.fidelity("ordered");
    let mut shuffled = twins;
    for run in [&mut shuffled.kernel, &mut shuffled.sim] {
        run.flows.reverse();
        run.flows.rotate_left(17);
        run.links.reverse();
        run.queues.rotate_right(5);
    }
    assert_eq!(shuffled.fidelity("ordered"), expected);
}

#[test]
fn runs_of_other_plans_are_refused_with_what_differs() {
    type Change = fn(&mut Synthetic);
    let cases: [(&str, Change); 6] = [
        ("the scenario's SHA-256 is", |run| {
            run.info.scenario_hash = "77".repeat(32);
        }),
        ("the seed is `1` in the first run and `2`", |run| {
            run.info.seed = 2;
        }),
        ("scheduled flows is `60` in the first run and `61`", |run| {
            run.info.scheduled_flows = 61;
        }),
        ("the size of flow 7 under `lcmp` is", |run| {
            let size = &mut run.flow_mut("lcmp", 7).size_bytes;
            *size = Bytes::new(size.get() + 1_000_000);
        }),
        ("the scheduled start of flow 8 under `ecmp` is", |run| {
            let start = &mut run.flow_mut("ecmp", 8).start_ns;
            *start = start.saturating_add(Nanos::new(1_000));
        }),
        ("the pair of hosts of flow 0 under `ecmp` is", |run| {
            run.flow_mut("ecmp", 0).dst_host = "dc3/h1".into();
        }),
    ];
    for (expected, change) in cases {
        let mut twins = Twins::new();
        change(&mut twins.sim);
        let error = twins.compare("other-plan").expect_err(expected);
        assert!(matches!(error, FidelityError::OtherPlan { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let [kernel, sim] = Twins::new().write("other-order");
    let swapped = fidelity::compare(&sim, &kernel);
    assert!(
        matches!(swapped, Err(FidelityError::Swapped)),
        "{swapped:?}"
    );
}

#[test]
fn rounding_to_messages_and_nanoseconds_is_the_same_plan() {
    let mut twins = Twins::new();
    let row = twins.sim.flow_mut("lcmp", 7);
    // Five emulated bytes are 200 times as many in paper units.
    row.size_bytes = Bytes::new(row.size_bytes.get() + 1_000);
    row.start_ns = row.start_ns.saturating_add(Nanos::new(1));
    twins.fidelity("rounded");
}

#[test]
fn flows_and_policies_of_one_run_are_not_compared_and_break_any_bound() {
    let mut twins = Twins::new();
    twins.sim.give_up("ecmp", 3);
    twins
        .kernel
        .flows
        .retain(|flow| (flow.policy.as_str(), flow.flow_id.0) != ("ecmp", 4));
    twins.sim.info.policies = vec!["ecmp".into()];
    twins.sim.flows.retain(|flow| flow.policy == "ecmp");
    twins.sim.links.retain(|row| row.policy == "ecmp");
    twins.sim.queues.retain(|row| row.policy == "ecmp");
    twins.sim.decisions.retain(|row| row.policy == "ecmp");
    let fidelity = twins.fidelity("partial");
    let [ecmp] = fidelity.policies.as_slice() else {
        panic!("{fidelity:?}");
    };
    assert_eq!((ecmp.scheduled, ecmp.recorded, ecmp.compared), (60, 59, 58));
    assert_eq!(
        fidelity.in_one_run,
        [("lcmp".to_owned(), "kernel".to_owned())]
    );
    let bounds = |min_compared: &[&str]| Bounds {
        max_p50: vec!["1%".parse().expect("a bound")],
        min_compared: min_compared
            .iter()
            .map(|it| it.parse().expect("a bound"))
            .collect(),
        ..Bounds::default()
    };
    let texts = |bounds: Bounds| {
        let failed = failed(&bounds, &fidelity).into_iter();
        failed.map(|it| it.reason).collect::<Vec<_>>()
    };
    let alone = "lcmp: the policy is only in the kernel";
    assert_eq!(
        texts(bounds(&[])),
        [
            "ecmp: share of flows that finished in both runs is 96.67 %; it must be at least 100 % \
             (--min-compared)",
            alone
        ]
    );
    assert_eq!(texts(bounds(&["95%"])), [alone]);
    assert_eq!(texts(Bounds::default()), Vec::<String>::new());
}

#[test]
fn a_bound_that_names_a_policy_stands_in_place_of_the_others() {
    let fidelity = Twins::different().fidelity("bounds");
    let parsed = |texts: &[&str]| {
        texts
            .iter()
            .map(|it| it.parse().expect("a bound"))
            .collect()
    };
    let bounds = Bounds {
        min_paths: parsed(&["98%", "lcmp=90%"]),
        max_p99: parsed(&["ecmp=0.1%", "60%"]),
        min_pearson: parsed(&["0.99"]),
        ..Bounds::default()
    };
    insta::assert_json_snapshot!("fidelity_broken", failed(&bounds, &fidelity));
    let unknown = Bounds {
        min_paths: parsed(&["wcmp=98%"]),
        ..Bounds::default()
    };
    let error = unknown.checks(&fidelity).expect_err("no such policy");
    assert_eq!(
        error.to_string(),
        "a bound names policy `wcmp`, but the compared policies are ecmp, lcmp"
    );
}

#[test]
fn a_bound_is_a_share_in_percent_or_a_number_up_to_one() {
    use lab_reports::fidelity::PolicyBound;
    for text in [
        "98%", "98 %", "0.98", "1", "-0.5", "ecmp=98%", "a=b=1", "150%",
    ] {
        let is_bound = text.parse::<PolicyBound>().is_ok();
        assert_eq!(is_bound, text != "a=b=1", "{text}");
    }
    for text in ["", "98", "%", "ecmp", "=98%", "-1%", "nan", "inf%", "1.5"] {
        let error = text.parse::<PolicyBound>().expect_err(text);
        assert!(
            error.to_string().contains("hint: write it like `98%`"),
            "{error}"
        );
    }
}

#[test]
fn the_comparison_is_written_as_page_and_figures() {
    let mut twins = Twins::different();
    let lossy = |row: &LinkRow| row.time_ns > Nanos::from_millis(500);
    for row in twins.kernel.links.iter_mut().filter(|row| lossy(row)) {
        row.drops = 3;
    }
    for (run, cnps) in [(&mut twins.kernel, 3), (&mut twins.sim, 2)] {
        run.rates = [1, 2].map(|tenths| rate(tenths, cnps)).into();
    }
    let bounds = Bounds {
        min_paths: vec!["0%".parse().expect("a bound")],
        ..Bounds::default()
    };
    let [kernel, sim] = twins.write("written");
    let mut comparison = fidelity::compare(&kernel, &sim)
        .and_then(|it| it.bounded(&bounds))
        .expect("runs of one plan");
    let written = comparison.write(&kernel.join("fidelity")).expect("a page");
    let page = fs::read_to_string(&written.html).expect("a page");
    html::assert_well_formed(&page);
    insta::assert_snapshot!("fidelity_page", html::text(&page));
    comparison.fidelity.links.truncate(2);
    insta::assert_json_snapshot!("fidelity_summary", comparison.fidelity);
    let names = written
        .figures
        .iter()
        .filter_map(|path| path.file_stem()?.to_str());
    let explained = readme::first_cells("## Fidelity");
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    assert_eq!(names, explained);
    assert!(written.figures.iter().all(|file| file.exists()));
}
