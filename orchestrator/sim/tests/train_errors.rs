//! The README's table of errors, made again for one of its scenarios.

use std::{collections::BTreeMap, fs, path::Path};

use lab_plan::{Engine, Plan, PlanOptions};
use lab_sim::{Job, Observer, Progress, RunOptions, simulate, trace::TraceEvent, trains};

/// Ends of a run's flows in picoseconds.
#[derive(Default)]
struct Ends(BTreeMap<u32, u64>);

impl Observer for Ends {
    fn on_event(&mut self, event: TraceEvent) {
        if let TraceEvent::FlowFinished(end) = event {
            self.0.insert(end.flow, end.at.picos());
        }
    }

    fn on_progress(&mut self, _: Progress) -> bool {
        true
    }
}

fn plan(root: &Path, name: &str) -> Plan {
    let text = fs::read_to_string(root.join("scenarios").join(name)).expect("a scenario");
    let scenario = lab_scenario::parse(name, text.as_bytes()).expect("it is valid");
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let sizes = "workloads/websearch.csv";
    let found = fs::read_to_string(root.join("scenarios").join(sizes)).expect("a distribution");
    let files = [(sizes.to_owned(), found)];
    lab_plan::resolve(&scenario, &text, &files.into(), &options).expect("a plan")
}

/// Returns the sorted slowdowns under the policy with index `policy`, in trains of at most `train` packets.
fn slowdowns(plan: &Plan, policy: usize, train: u32) -> Vec<f64> {
    let mut flows: Vec<_> = plan.flows.iter().collect();
    flows.sort_by_key(|flow| (flow.start_ns, flow.id));
    let mut ends = Ends::default();
    let job = Job {
        train,
        ..Job::new(plan, policy, 0)
    };
    let options = RunOptions {
        threads: 2,
        ..RunOptions::default()
    };
    simulate(job, &options, &mut ends).expect("a simulation");
    let slowdown = |(flow, end): (&u32, &u64)| {
        let planned = flows[*flow as usize];
        let took = end / 1_000 - planned.start_ns.get();
        took as f64 / planned.ideal_fct_ns.get() as f64
    };
    let mut slowdowns: Vec<f64> = ends.0.iter().map(slowdown).collect();
    slowdowns.sort_by(f64::total_cmp);
    slowdowns
}

/// Returns the smallest of the values in `sorted` that at least `percent` of them do not exceed, as in reports.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

/// On 13dc.yaml, p50 and p99 change by trains as the table says.
#[test]
fn the_table_has_the_errors_of_trains() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("orchestrator/sim/README.md")).expect("the README");
    let row = readme.lines().find(|line| line.starts_with("| `13dc` |"));
    let cells: Vec<&str> = row.expect("a row").split('|').map(str::trim).collect();
    let plan = plan(&root, "13dc.yaml");
    let length = trains::default_length(&plan);
    assert_eq!(cells[2], length.to_string(), "the default length");
    let header = readme
        .lines()
        .find(|line| line.starts_with("| scenario | trains |"));
    let columns: Vec<&str> = header
        .expect("a header")
        .split('|')
        .map(str::trim)
        .collect();
    let mut compared = 0;
    for (policy, run) in plan.policies.iter().enumerate() {
        let column = columns
            .iter()
            .position(|name| *name == format!("`{}`", run.label));
        let Some(column) = column else { continue };
        let [packets, trains] = [1, length].map(|train| slowdowns(&plan, policy, train));
        let change = |percent: usize| {
            let change = percentile(&trains, percent) / percentile(&packets, percent) - 1.0;
            format!("{:+.1}", change * 100.0)
                .replace("-0.0", "0.0")
                .replace("+0.0", "0.0")
                .replace('-', "−")
        };
        let expected = format!("{} / {}", change(50), change(99));
        assert_eq!(cells[column], expected, "{}", run.label);
        compared += 1;
    }
    assert!(compared >= 3, "{compared} policies are compared");
}
