//! Small networks whose results can be worked out by hand.

use lab_plan::{Plan, PlanOptions};
use lab_sim::{
    EndReason, Observer, Outcome, Progress, RunOptions, SimTime, World, cc::NoControl, note::Note,
    physics::Paper, run,
};

#[derive(Default)]
struct Log(Vec<Note>);

impl Observer for Log {
    fn note(&mut self, note: Note) {
        self.0.push(note);
    }

    fn progress(&mut self, _: Progress) -> bool {
        true
    }
}

impl Log {
    fn ends(&self) -> Vec<(u32, SimTime)> {
        let ends = self.0.iter().filter_map(|note| match note {
            Note::Finished(end) => Some((end.flow, end.at)),
            _ => None,
        });
        ends.collect()
    }
}

fn plan(text: &str) -> Plan {
    let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).expect("a scenario");
    let files = lab_scenario::Files::new();
    lab_plan::resolve(&scenario, text, &files, &PlanOptions::default()).expect("a plan")
}

fn simulate(plan: &Plan, threads: usize) -> (Log, Outcome) {
    let world: World<'_, Paper, NoControl> =
        World::new(plan, 0, 0, Default::default()).expect("a world");
    let mut log = Log::default();
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let outcome = run::run(&world, &options, &mut log);
    (log, outcome)
}

const PAIR: &str = "
name: pair
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 20 MB }]
policies: [ecmp]
scale: { rate: 1, time: 1 }
";

#[test]
fn one_flow_takes_its_ideal_time_to_the_nanosecond() {
    let plan = plan(PAIR);
    let (log, outcome) = simulate(&plan, 1);
    assert_eq!(outcome.reason, EndReason::Finished);
    let [(0, end)] = log.ends()[..] else {
        panic!("one flow, {:?}", log.ends());
    };
    println!("{outcome:?}");
    assert_eq!(end.nanos_trunc(), plan.flows[0].ideal_fct_ns);
}
