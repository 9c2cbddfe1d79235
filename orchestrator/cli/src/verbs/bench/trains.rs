//! `lcmp-lab bench trains`: error and cost of trains beside packets, from simulations of the same flows without records.

use std::{ops::Range, time::Duration};

use lab_plan::{Engine, Plan};
use lab_reports::{Slowdowns, slowdowns};
use lab_sim::{
    Job, Observer, Progress, RunOptions, SimTime,
    semantics::NextHopOrder,
    simulate::simulate_with,
    trace::{FlowEnd, TraceEvent},
};
use lab_units::{
    FlowId,
    show::{commas, counted, sides, table},
};
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
    verbs::{
        artifact, inspect,
        sim::{Budget, train_length},
        train,
    },
};

/// Runs `lcmp-lab bench trains`.
pub fn bench(arguments: &ScenarioArgs, trains: TrainsArg, json: bool) -> Outcome {
    let path = &arguments.scenario;
    let loaded = train::load_trained(path, &arguments.overrides.policies)?;
    load::each_run(&loaded, &arguments.overrides, |loaded, overrides| {
        let plan = load::resolve(&loaded, path, &load::options(&overrides, Engine::Sim)?)?;
        inspect::warn(&plan);
        let length = train_length::of(trains, &plan)?;
        Budget::of(&plan, None, 1)?.check()?;
        let order = artifact::order(&loaded, &plan)?;
        let subject = Subject::new(&plan, order.as_ref());
        let mut policies = Vec::new();
        for policy in 0..plan.policies.len() {
            note(&format!(
                "{:>12}  packets, then trains",
                plan.policies[policy].label
            ));
            policies.push(Trial::of(&subject, policy, length)?);
        }
        let trials = Trials {
            scenario: &plan.name,
            trains: length,
            repetitions: plan.repetitions,
            ranking: Ranking::of(&policies),
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
    ranking: Ranking,
}

/// Results of one policy, by packets and by trains.
#[derive(Serialize)]
struct Trial {
    policy: String,
    packets: Slowdowns,
    trains: Slowdowns,
    change: Change,
    /// Numbers of events, by packets and by trains.
    events: [u64; 2],
    /// CPU times in seconds, by packets and by trains, without the preparation of the simulations.
    cpu_s: [f64; 2],
}

/// Relative changes of slowdown percentiles caused by trains; `None` if there are too few flows.
#[derive(Serialize)]
struct Change {
    p50: Option<f64>,
    p99: Option<f64>,
}

/// Comparison of the order of policies by packets and by trains.
#[derive(Default, Serialize)]
struct Ranking {
    /// Number of compared pairs of policies, by both percentiles.
    compared: usize,
    /// Pairs that trains rank otherwise than packets, although packets rank them farther apart than the larger of the two
    /// policies' errors.
    reordered: Vec<Reordered>,
}

/// Two policies whose order by a percentile trains change.
#[derive(Serialize)]
struct Reordered {
    policies: [String; 2],
    percentile: u32,
}

impl Trial {
    /// Simulates the policy with index `policy` in packets, then in trains of at most `length` packets.
    fn of(subject: &Subject<'_>, policy: usize, length: u32) -> Result<Self, Failure> {
        let by_packets = Simulated::of(subject, policy, 1)?;
        let by_trains = Simulated::of(subject, policy, length)?;
        let packets = by_packets.slowdowns()?;
        let trains = by_trains.slowdowns()?;
        let change = |percentile| {
            let [before, after] = [&packets, &trains].map(|it| value(it, percentile));
            Some(after? / before? - 1.0)
        };
        Ok(Self {
            policy: subject.plan.policies[policy].label.clone(),
            change: Change {
                p50: change(50),
                p99: change(99),
            },
            packets,
            trains,
            events: [by_packets.events, by_trains.events],
            cpu_s: [by_packets.cpu, by_trains.cpu].map(|time| time.as_secs_f64()),
        })
    }
}

/// Plan to simulate.
struct Subject<'p> {
    plan: &'p Plan,
    order: Option<&'p NextHopOrder>,
    /// Ids of the measured flows; `None` if all are.
    measured: Option<Vec<Range<u32>>>,
}

impl<'p> Subject<'p> {
    fn new(plan: &'p Plan, order: Option<&'p NextHopOrder>) -> Self {
        Self {
            plan,
            order,
            measured: plan.measure.measured.map(|window| window.ids(&plan.flows)),
        }
    }

    fn is_measured(&self, flow: FlowId) -> bool {
        let ranges = self.measured.as_ref();
        ranges.is_none_or(|ranges| ranges.iter().any(|range| range.contains(&flow.0)))
    }
}

/// Simulation of a policy in all repetitions, on one thread.
#[derive(Default)]
struct Simulated {
    /// Sorted slowdowns of the measured flows that finished, by repetition.
    finished: Vec<Vec<f64>>,
    /// Lower bounds of the slowdowns of measured flows that did not finish.
    unfinished: Vec<f64>,
    events: u64,
    cpu: Duration,
}

impl Simulated {
    fn of(subject: &Subject<'_>, policy: usize, train: u32) -> Result<Self, Failure> {
        let mut simulated = Self::default();
        for repetition in 0..subject.plan.repetitions {
            let job = Job {
                train,
                order: subject.order,
                ..Job::new(subject.plan, policy, repetition)
            };
            simulated.add(job, subject)?;
        }
        Ok(simulated)
    }

    fn add(&mut self, job: Job<'_>, subject: &Subject<'_>) -> Result<(), Failure> {
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
            let slowdown = |flow: u32, at: SimTime| {
                let simulated = &context.flows[flow as usize];
                let ideal = job.plan.flows[simulated.plan.index()].ideal_fct_ns.get();
                let took = at.saturating_sub(simulated.start).nanos_trunc().get();
                let is_measured = subject.is_measured(simulated.plan);
                is_measured.then(|| took as f64 / ideal.max(1) as f64)
            };
            let unfinished = outcome.unfinished.iter();
            self.unfinished
                .extend(unfinished.filter_map(|flow| slowdown(*flow, outcome.end)));
            let ends = ends.0.iter();
            let mut finished: Vec<f64> =
                ends.filter_map(|end| slowdown(end.flow, end.at)).collect();
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

/// Returns a percentile, 50 or 99; `None` with too few flows.
fn value(slowdowns: &Slowdowns, percentile: u32) -> Option<f64> {
    let estimate = if percentile == 50 {
        slowdowns.p50
    } else {
        slowdowns.p99
    };
    estimate.map(|it| it.value)
}

/// Returns a percentile by packets and by trains; `None` with too few flows.
fn values(trial: &Trial, percentile: u32) -> Option<[f64; 2]> {
    Some([
        value(&trial.packets, percentile)?,
        value(&trial.trains, percentile)?,
    ])
}

impl Ranking {
    fn of(trials: &[Trial]) -> Self {
        let mut ranking = Self::default();
        for (index, first) in trials.iter().enumerate() {
            for second in &trials[index + 1..] {
                for percentile in COMPARED {
                    let both = values(first, percentile).zip(values(second, percentile));
                    let Some((values, others)) = both else {
                        continue;
                    };
                    ranking.compared += 1;
                    if is_reordered(values, others) {
                        ranking.reordered.push(Reordered {
                            policies: [first, second].map(|trial| trial.policy.clone()),
                            percentile,
                        });
                    }
                }
            }
        }
        ranking
    }
}

/// Returns true if trains rank two policies otherwise than packets, given each one's value by packets and by trains, and
/// the values by packets are farther apart than the larger error.
fn is_reordered(first: [f64; 2], second: [f64; 2]) -> bool {
    let [by_packets, by_trains] = [0, 1].map(|engine| (first[engine] / second[engine]).ln());
    let error = |[packets, trains]: [f64; 2]| (trains / packets).ln().abs();
    let is_apart = by_packets.abs() > error(first).max(error(second));
    is_apart && by_packets * by_trains < 0.0
}

fn text(trials: &Trials<'_>) -> String {
    let flows = trials.policies.first().map_or(0, |it| it.packets.flows);
    let head = [
        "policy", "p50", "trains", "change", "p99", "trains", "change", "events", "CPU time",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(trials.policies.iter().map(row));
    rows.push(all(&trials.policies));
    let cut_short = trials
        .policies
        .iter()
        .filter(|it| it.packets.at_least || it.trains.at_least);
    let bounds: Vec<String> = cut_short.map(|it| format!("`{}`", it.policy)).collect();
    let unfinished = if bounds.is_empty() {
        String::new()
    } else {
        format!(
            "not all flows finished, so that the values of {} are lower bounds\n",
            bounds.join(", ")
        )
    };
    format!(
        "{}: FCT slowdowns of {} under each policy, in {}; by packets, and by trains of up to {}\n{}{unfinished}{}",
        trials.scenario,
        counted(u64::try_from(flows).unwrap_or(u64::MAX), "flow"),
        counted(trials.repetitions.into(), "repetition"),
        commas(trials.trains.into()),
        table(2, sides::<9>(1), &rows),
        order(&trials.ranking),
    )
}

/// Describes whether trains rank the policies as packets do.
fn order(ranking: &Ranking) -> String {
    if ranking.compared == 0 {
        return "no two policies have enough flows to be ranked".to_owned();
    }
    if ranking.reordered.is_empty() {
        return "trains rank the policies as packets do, wherever two differ by more than the larger of their errors"
            .to_owned();
    }
    let named = ranking.reordered.iter().map(|pair| {
        let [first, second] = &pair.policies;
        format!("`{first}` and `{second}` by p{}", pair.percentile)
    });
    format!(
        "trains rank otherwise than packets: {}",
        named.collect::<Vec<_>>().join(", ")
    )
}

fn row(trial: &Trial) -> [String; 9] {
    let [p50, p99] = COMPARED.map(|percentile| values(trial, percentile));
    let shown = |values: Option<[f64; 2]>, engine: usize| {
        values.map_or_else(|| NONE.to_owned(), |it| format!("{:.3}", it[engine]))
    };
    let change = |change: Option<f64>| change.map_or_else(|| NONE.to_owned(), percent);
    let [events, time] = savings(std::slice::from_ref(trial));
    [
        trial.policy.clone(),
        shown(p50, 0),
        shown(p50, 1),
        change(trial.change.p50),
        shown(p99, 0),
        shown(p99, 1),
        change(trial.change.p99),
        events,
        time,
    ]
}

const NONE: &str = "–";

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
    let sum = |of: fn(&Trial) -> [f64; 2]| {
        let values = trials.iter().map(of);
        values.fold([0.0; 2], |[a, b], [x, y]| [a + x, b + y])
    };
    [
        factor(sum(|trial| trial.events.map(|events| events as f64))),
        factor(sum(|trial| trial.cpu_s)),
    ]
}

/// Formats the factor by which the second number is smaller than the first.
fn factor([before, after]: [f64; 2]) -> String {
    if after > 0.0 {
        format!("÷ {:.1}", before / after)
    } else {
        NONE.to_owned()
    }
}

/// Formats a change in percent with its sign; a change that rounds to zero has none.
fn percent(change: f64) -> String {
    let shown = format!("{:+.1}", change * 100.0);
    match shown.as_str() {
        "+0.0" | "-0.0" => "0.0 %".to_owned(),
        _ => format!("{} %", shown.replace('-', "−")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_reordered_if_packets_rank_them_farther_apart_than_the_larger_error() {
        // By packets 10 % apart; by trains in the other order, after errors of 8 % and 4 %.
        assert!(is_reordered([100.0, 108.0], [110.0, 105.6]));
        assert!(is_reordered([110.0, 105.6], [100.0, 108.0]));
        // In the same order, equal by trains, or no farther apart than an error of 12 %.
        assert!(!is_reordered([100.0, 103.0], [110.0, 105.6]));
        assert!(!is_reordered([100.0, 105.0], [110.0, 105.0]));
        assert!(!is_reordered([100.0, 112.0], [110.0, 105.6]));
        assert!(!is_reordered([110.0, 105.6], [100.0, 112.0]));
    }

    #[test]
    fn numbers_have_signs_and_factors_need_a_divisor() {
        assert_eq!(
            [0.0004, -0.0004, 0.0123, -0.036].map(percent),
            ["0.0 %", "0.0 %", "+1.2 %", "−3.6 %"]
        );
        assert_eq!([[10.0, 4.0], [10.0, 0.0]].map(factor), ["÷ 2.5", "–"]);
    }
}
