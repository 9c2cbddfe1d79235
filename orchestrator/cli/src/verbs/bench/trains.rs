//! `lcmp-lab bench trains`: error and cost of trains beside packets, from simulations of the same flows without records.

use std::time::Duration;

use lab_plan::{Engine, Plan};
use lab_reports::{Change, Slowdowns, Statistic, change, slowdowns};
use lab_sim::{
    Job, Observer, Progress, RunOptions,
    simulate::simulate_with,
    trace::{FlowEnd, TraceEvent},
};
use lab_units::show::{commas, counted, sides, table};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};
use serde::Serialize;

use crate::{
    args::{ScenarioArgs, TrainsArg},
    failure::{Failure, Outcome, with_causes},
    load,
    terminal::{note, show},
    verbs::{sim::train_length, train},
};

/// Runs `lcmp-lab bench trains`.
pub fn bench(arguments: &ScenarioArgs, trains: TrainsArg, json: bool) -> Outcome {
    let path = &arguments.scenario;
    let loaded = train::load_trained(path, &arguments.overrides.policies)?;
    load::each_run(&loaded, &arguments.overrides, |loaded, overrides| {
        let plan = load::resolve(&loaded, path, &load::options(&overrides, Engine::Sim)?)?;
        let length = train_length::of(trains, &plan)?;
        let mut policies = Vec::new();
        for policy in 0..plan.policies.len() {
            note(&format!(
                "{:>12}  packets, then trains",
                plan.policies[policy].label
            ));
            policies.push(Trial::of(&plan, policy, length)?);
        }
        let trials = Trials {
            scenario: &plan.name,
            trains: length,
            repetitions: plan.repetitions,
            reordered: reordered(&policies),
            policies,
        };
        show(json, &trials, text)
    })
}

/// Results of all policies of a scenario.
#[derive(Serialize)]
struct Trials<'a> {
    scenario: &'a str,
    /// Maximum number of packets in a train.
    trains: u32,
    repetitions: u32,
    policies: Vec<Trial>,
    /// Pairs of policies that trains rank otherwise than packets, although the policies differ by more than the error.
    reordered: Vec<Reordered>,
}

/// Results of one policy, by packets and by trains.
#[derive(Serialize)]
struct Trial {
    policy: String,
    packets: Slowdowns,
    trains: Slowdowns,
    /// Change of the slowdowns caused by trains.
    change: Change,
    events: [u64; 2],
    /// CPU time of the simulations in seconds.
    cpu_s: [f64; 2],
}

/// Two policies whose order by a percentile trains change.
#[derive(Serialize)]
struct Reordered {
    policies: [String; 2],
    percentile: u32,
}

impl Trial {
    /// Simulates the policy with index `policy` in packets, then in trains of at most `length` packets.
    fn of(plan: &Plan, policy: usize, length: u32) -> Result<Self, Failure> {
        let by_packets = Simulated::of(plan, policy, 1)?;
        let by_trains = Simulated::of(plan, policy, length)?;
        Ok(Self {
            policy: plan.policies[policy].label.clone(),
            packets: by_packets.slowdowns()?,
            trains: by_trains.slowdowns()?,
            change: change(&by_packets.finished, &by_trains.finished),
            events: [by_packets.events, by_trains.events],
            cpu_s: [by_packets.cpu, by_trains.cpu].map(|time| time.as_secs_f64()),
        })
    }
}

/// Simulation of a policy in all repetitions, on one thread.
#[derive(Default)]
struct Simulated {
    /// Sorted slowdowns of the finished flows, by repetition.
    finished: Vec<Vec<f64>>,
    /// Lower bounds of the slowdowns of flows that did not finish.
    unfinished: Vec<f64>,
    events: u64,
    cpu: Duration,
}

impl Simulated {
    fn of(plan: &Plan, policy: usize, train: u32) -> Result<Self, Failure> {
        let mut simulated = Self::default();
        for repetition in 0..plan.repetitions {
            let job = Job {
                train,
                ..Job::new(plan, policy, repetition)
            };
            simulated.add(job)?;
        }
        Ok(simulated)
    }

    fn add(&mut self, job: Job<'_>) -> Result<(), Failure> {
        let options = RunOptions {
            threads: 1,
            ..RunOptions::default()
        };
        let added = simulate_with(job, &options, |context, run| {
            let mut ends = Ends(Vec::with_capacity(context.flows.len()));
            let since = cpu_time();
            let outcome = run(&mut ends);
            self.cpu += cpu_time().saturating_sub(since);
            self.events += outcome.work.events;
            let slowdown = |flow: u32, at: lab_sim::SimTime| {
                let simulated = &context.flows[flow as usize];
                let ideal = job.plan.flows[simulated.plan.index()].ideal_fct_ns.get();
                let took = at.saturating_sub(simulated.start).nanos_trunc().get();
                took as f64 / ideal.max(1) as f64
            };
            let unfinished = outcome.unfinished.iter();
            self.unfinished
                .extend(unfinished.map(|flow| slowdown(*flow, outcome.end)));
            let mut finished: Vec<f64> = ends
                .0
                .iter()
                .map(|end| slowdown(end.flow, end.at))
                .collect();
            finished.sort_by(f64::total_cmp);
            self.finished.push(finished);
        });
        added.map_err(|error| Failure::usage(with_causes(&error)))
    }

    fn slowdowns(&self) -> Result<Slowdowns, Failure> {
        slowdowns(&self.finished, &self.unfinished)
            .ok_or_else(|| Failure::usage("no flow finished, so there is no slowdown to compare"))
    }
}

/// Ends of a simulation's flows.
struct Ends(Vec<FlowEnd>);

impl Observer for Ends {
    fn on_event(&mut self, event: TraceEvent) {
        if let TraceEvent::FlowFinished(end) = event {
            self.0.push(end);
        }
    }

    fn on_progress(&mut self, _: Progress) -> bool {
        true
    }
}

/// Returns the CPU time of this process.
fn cpu_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return Duration::ZERO;
    };
    let duration = |time: TimeVal| {
        let micros = time.tv_sec().saturating_mul(1_000_000) + time.tv_usec();
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    duration(usage.user_time()) + duration(usage.system_time())
}

/// Percentiles that a trial compares.
const COMPARED: [u32; 2] = [50, 99];

/// Returns the value of a percentile by packets and by trains; `None` with too few flows.
fn values(trial: &Trial, percentile: u32) -> Option<[f64; 2]> {
    let of = |slowdowns: &Slowdowns| {
        let estimate = match Statistic::Percentile(percentile) {
            Statistic::P50 => slowdowns.p50,
            _ => slowdowns.p99,
        };
        estimate.map(|it| it.value)
    };
    Some([of(&trial.packets)?, of(&trial.trains)?])
}

/// Returns the pairs of policies in `trials` that trains rank otherwise than packets, although packets rank them farther
/// apart than the larger error of the two.
fn reordered(trials: &[Trial]) -> Vec<Reordered> {
    let mut pairs = Vec::new();
    for (index, first) in trials.iter().enumerate() {
        for second in &trials[index + 1..] {
            for percentile in COMPARED {
                if is_reordered(values(first, percentile), values(second, percentile)) {
                    pairs.push(Reordered {
                        policies: [first, second].map(|trial| trial.policy.clone()),
                        percentile,
                    });
                }
            }
        }
    }
    pairs
}

/// Returns true if trains rank two policies otherwise than packets, given each one's value by packets and by trains.
fn is_reordered(first: Option<[f64; 2]>, second: Option<[f64; 2]>) -> bool {
    let (Some(first), Some(second)) = (first, second) else {
        return false;
    };
    let [by_packets, by_trains] = [0, 1].map(|engine| first[engine] / second[engine]);
    let error = |[packets, trains]: [f64; 2]| (trains / packets - 1.0).abs();
    let error = error(first).max(error(second));
    let is_apart = (by_packets - 1.0).abs() > error;
    is_apart && (by_packets > 1.0) != (by_trains > 1.0)
}

fn text(trials: &Trials<'_>) -> String {
    let flows = trials.policies.first().map_or(0, |it| it.packets.flows);
    let head = [
        "policy", "p50", "trains", "change", "p99", "trains", "change", "events", "CPU time",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(trials.policies.iter().map(row));
    rows.push(all(&trials.policies));
    let order = match trials.reordered.as_slice() {
        [] => "the order of the policies is that of packets wherever they differ by more than the error".to_owned(),
        pairs => {
            let named = pairs.iter().map(|pair| {
                format!("`{}` and `{}` by p{}", pair.policies[0], pair.policies[1], pair.percentile)
            });
            format!("trains rank otherwise: {}", named.collect::<Vec<_>>().join(", "))
        }
    };
    format!(
        "{}: FCT slowdowns of {} under each policy, in {}; by packets, and by trains of up to {}\n{}{order}",
        trials.scenario,
        counted(u64::try_from(flows).unwrap_or(u64::MAX), "flow"),
        counted(trials.repetitions.into(), "repetition"),
        commas(trials.trains.into()),
        table(2, sides::<9>(1), &rows),
    )
}

fn row(trial: &Trial) -> [String; 9] {
    let [p50, p99] = COMPARED.map(|percentile| values(trial, percentile));
    let value = |values: Option<[f64; 2]>, engine: usize| {
        values.map_or_else(|| "–".to_owned(), |it| format!("{:.3}", it[engine]))
    };
    let change = |values: Option<[f64; 2]>| {
        values.map_or_else(
            || "–".to_owned(),
            |[packets, trains]| percent(trains / packets - 1.0),
        )
    };
    let [events, time] = savings(std::slice::from_ref(trial));
    [
        trial.policy.clone(),
        value(p50, 0),
        value(p50, 1),
        change(p50),
        value(p99, 0),
        value(p99, 1),
        change(p99),
        events,
        time,
    ]
}

/// Returns the last row, with what trains save in all policies together.
fn all(trials: &[Trial]) -> [String; 9] {
    let [events, time] = savings(trials);
    let mut cells = [const { String::new() }; 9];
    cells[0] = "all".to_owned();
    cells[7] = events;
    cells[8] = time;
    cells
}

/// Returns the factors by which trains need fewer events and less CPU time than packets in all of `trials`.
fn savings(trials: &[Trial]) -> [String; 2] {
    let fewer = |of: fn(&Trial) -> [f64; 2]| {
        let sum = |engine: usize| trials.iter().map(|trial| of(trial)[engine]).sum::<f64>();
        format!("÷ {:.1}", sum(0) / sum(1))
    };
    [
        fewer(|trial| trial.events.map(|events| events as f64)),
        fewer(|trial| trial.cpu_s),
    ]
}

/// Formats a change in percent with its sign; a change that rounds to zero has none.
fn percent(change: f64) -> String {
    let shown = format!("{:+.1}", change * 100.0);
    match shown.as_str() {
        "+0.0" | "-0.0" => "0.0 %".to_owned(),
        _ => format!("{} %", shown.replace('-', "−")),
    }
}
