//! `lcmp-lab sim`: simulates a scenario's plan in virtual time.
//!
//! - `budget`: estimated cost of a simulation, and the refusal of too large ones
//! - `meter`: progress of a simulation
//! - `train_length`: the length of trains that `--trains` asks for

mod budget;
mod meter;
pub mod train_length;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use lab_kernel::doctor::peak_memory;
use lab_plan::{Engine, Plan, PlanOptions};
use lab_recorder::{RowBatch, RunSetting, Witness};
use lab_records::{
    Asked, Conduct, Phase, ReasonCode, Retransmissions, RunEnd, SimRecords, SimRequest, SimWork,
    UtcTime,
};
use lab_sim::{
    EndReason, Job, Outcome as SimOutcome, RecordError, RunOptions, Samples, SimTime, Sink,
    TraceFilter, semantics::NextHopOrder,
};
use lab_units::{Nanos, show::counted};
use tokio_util::sync::CancellationToken;

pub use self::budget::Budget;
use self::meter::Meter;
use crate::{
    args::{self, Global, Overrides, PUBLISHED_MAX_DELAY, SimArgs, StoryArg},
    caller::Handover,
    failure::{During, Failure, Outcome, with_causes},
    load::{self, Loaded},
    progress::nanos,
    provenance::provenance,
    run_dir, terminal,
    verbs::{artifact, inspect, train},
};

/// Runs `lcmp-lab sim`.
pub fn sim(arguments: &SimArgs, global: &Global) -> Outcome {
    let (path, loaded) = loaded(arguments)?;
    load::each_run(&loaded, &arguments.overrides, |loaded, overrides| {
        let dir = simulate(arguments, &overrides, global, &path, loaded)?;
        if arguments.no_report {
            return run_dir::conclude_without_report(&dir, global.json);
        }
        run_dir::conclude(&dir, global, String::new)
    })
}

/// Simulates a scenario, or the first run of its sweep, and returns the run directory, which has no report yet.
pub fn run(arguments: &SimArgs, global: &Global) -> Result<PathBuf, Failure> {
    let (path, loaded) = loaded(arguments)?;
    run_loaded(arguments, global, &path, loaded)
}

/// Simulates the scenario `loaded`, or the first run of its sweep, with the options `arguments`, and returns the run
/// directory, which has no report yet. Messages call the scenario `path`.
pub fn run_loaded(
    arguments: &SimArgs,
    global: &Global,
    path: &Path,
    loaded: Loaded,
) -> Result<PathBuf, Failure> {
    first(arguments, path, loaded)?.run(global)
}

/// Prepares the simulation of a scenario; of several loads, the first one.
pub fn first(arguments: &SimArgs, path: &Path, loaded: Loaded) -> Result<Simulation, Failure> {
    let overrides = &arguments.overrides;
    let loaded = loaded.first_run(overrides);
    prepare(arguments, overrides, path, loaded)
}

/// Simulates a scenario that has no sweep, and returns the run directory, which has no report yet. `path` is the
/// scenario's name in messages.
pub fn simulate(
    arguments: &SimArgs,
    overrides: &Overrides,
    global: &Global,
    path: &Path,
    loaded: Loaded,
) -> Result<PathBuf, Failure> {
    prepare(arguments, overrides, path, loaded)?.run(global)
}

fn prepare(
    arguments: &SimArgs,
    overrides: &Overrides,
    path: &Path,
    loaded: Loaded,
) -> Result<Simulation, Failure> {
    let records = SimRecords::from(arguments.records);
    if !records.is_full() && !arguments.story.is_empty() {
        return Err(Failure::usage(
            "`--records flows`: `--story` needs all records (hint: leave out one of the two)",
        ));
    }
    let options = PlanOptions {
        is_scaled: arguments.scaled,
        ..load::options(overrides, Engine::Sim)?
    };
    let plan = load::resolve(&loaded, path, &options)?;
    inspect::warn(&plan);
    inspect::show_auto_scale(&plan);
    let options = RunOptions {
        threads: args::threads(arguments.threads),
        until: arguments.until.map(|until| emulated(&plan, until)),
        trace_filter: traced_flows(&arguments.story, &plan)?,
        samples: match records {
            SimRecords::Full => Samples::Series,
            SimRecords::Flows => Samples::Totals,
        },
    };
    let packets = |asked| train_length::or_packets(asked, &plan);
    let train = arguments.trains.map_or(Ok(1), packets)?;
    if train > 1 && !arguments.story.is_empty() {
        return Err(Failure::usage(
            "`--trains`: `--story` records the events of single packets (hint: leave out one of the two)",
        ));
    }
    if let Some(asked) = arguments.trains {
        train_length::announce(asked, train);
    }
    let budget = Budget::of(&plan, options.until, train)?;
    budget.check()?;
    let asked = Asked {
        load: overrides.load,
        options: SimRequest {
            is_scaled: arguments.scaled,
            until_ns: arguments.until,
            story: arguments.story.iter().map(ToString::to_string).collect(),
            trains: (train > 1).then_some(train),
            records,
        },
    };
    Ok(Simulation {
        order: artifact::order(&loaded, &plan)?,
        loaded,
        plan,
        options,
        train,
        budget,
        asked,
    })
}

/// Reads the scenario, or makes it from the artifact's files, and returns it with its path for messages.
fn loaded(arguments: &SimArgs) -> Result<(PathBuf, Loaded), Failure> {
    if let [topology, flows] = arguments.artifact.as_slice() {
        let named = |path: &PathBuf| path.display().to_string();
        let loaded = artifact::loaded(
            topology,
            (flows, &named(flows)),
            arguments.routes.as_ref().map(|path| (path, named(path))),
            arguments.max_delay.unwrap_or(PUBLISHED_MAX_DELAY),
        )?;
        return Ok((topology.clone(), loaded));
    }
    let path = arguments.scenario.clone().unwrap_or_default();
    let loaded = train::load_trained(&path, &arguments.overrides.policies)?;
    Ok((path, loaded))
}

/// Returns the filter for the flows that `--story` names.
fn traced_flows(words: &[StoryArg], plan: &Plan) -> Result<TraceFilter, Failure> {
    let mut flows = BTreeSet::new();
    for word in words {
        match *word {
            StoryArg::All => return Ok(TraceFilter::All),
            StoryArg::Flow(id) if id.index() < plan.flows.len() => {
                flows.insert(id);
            }
            StoryArg::Flow(id) => {
                return Err(Failure::usage(format_args!(
                    "`--story {id}`: the plan has {}, numbered from 0",
                    counted(plan.flows.len() as u64, "flow")
                )));
            }
        }
    }
    if flows.is_empty() {
        return Ok(TraceFilter::None);
    }
    Ok(TraceFilter::Flows(flows))
}

/// Inputs of a simulation that do not change while it runs.
pub struct Simulation {
    /// Order of equal-cost next hops; `None` if the scenario names no routing table.
    order: Option<NextHopOrder>,
    loaded: Loaded,
    pub plan: Plan,
    options: RunOptions,
    /// Maximum number of packets in a train; 1 without trains.
    train: u32,
    budget: Budget,
    /// Options of the command line, as the records store them.
    asked: Asked,
}

/// Sums over the jobs that have ended.
#[derive(Default)]
struct Done {
    phases: Vec<Phase>,
    events: u64,
    packet_hops: u64,
    virtual_time: Nanos,
    wall: Duration,
    retransmissions: BTreeMap<String, Retransmissions>,
    /// Deviations of switches, such as losses despite PFC, and recovery work of hosts.
    conduct: Conduct,
    /// Names of the jobs that were not started if the simulation was interrupted; `None` if it was not.
    interrupted: Option<Vec<String>>,
}

impl Simulation {
    /// Runs all jobs in a new run directory, and returns it; it has no report yet.
    pub fn run(&self, global: &Global) -> Result<PathBuf, Failure> {
        let now = SystemTime::now();
        let (dir, plan_hash) = run_dir::create(&global.results, &self.plan, now)?;
        let _handover = Handover::of(&dir);
        self.run_in(&dir, &plan_hash, now).map_err(|failure| {
            let kept = if failure.no_room {
                format!(
                    "\n(the rows written so far are kept: `lcmp-lab report {}`)",
                    dir.display()
                )
            } else {
                String::new()
            };
            Failure {
                message: format!("{}{kept}", failure.message),
                ..failure.of_run()
            }
        })?;
        Ok(dir)
    }

    /// Runs all jobs and writes the results into the run directory `dir`.
    fn run_in(&self, dir: &Path, plan_hash: &str, now: SystemTime) -> Result<(), Failure> {
        let stop = CancellationToken::new();
        terminal::on_signal(
            &stop,
            "interrupted: keeping the rows written so far",
            "writing",
        )
        .during("listen to signals")?;
        let since = Instant::now();
        let threads = self.options.threads;
        let setting = RunSetting::simulated(
            &self.plan,
            threads,
            self.asked.options.trains,
            run_dir::kernel_release(),
        );
        let scenario = &self.loaded.scenario;
        let plan = &self.plan;
        let provenance = provenance(scenario, plan, self.asked.clone());
        let mut records =
            run_dir::start_records(dir, (plan, plan_hash), (&setting, &provenance), now)?;
        run_dir::write_scenario(dir, &self.loaded.text, &self.loaded.files)?;
        if self.asked.options.records.is_full() {
            run_dir::write_plan(dir, plan)?;
        }
        run_dir::make_latest(dir)?;
        let mut done = Done::default();
        let mut witness = Witness::new(plan, &setting.engine);
        let mut sink = |rows: &RowBatch| {
            match self.asked.options.records {
                SimRecords::Full => rows.write(&mut records)?,
                SimRecords::Flows => rows.write_flows(&mut records)?,
            }
            witness.add(rows);
            Ok(())
        };
        let failure = self.run_all(&mut sink, &stop, &mut done).err();
        let mut problems: Vec<String> = failure.iter().map(|f| f.message.clone()).collect();
        problems.extend(done.interrupted.as_deref().map(interruption));
        let end = RunEnd {
            ended_at: UtcTime::new(now + since.elapsed()),
            lab: None,
            sim: Some(done.work()),
            retransmissions: done.retransmissions,
            phases: done.phases,
            guest_cpu: None,
            late_launches: 0,
            conduct: done.conduct,
            warnings: Vec::new(),
            problems,
            is_interrupted: done.interrupted.is_some(),
            evidence: witness.evidence(records.info()),
            changes: Vec::new(),
        };
        let finished = records.finish(end).during("finish the records");
        // If there was no space for rows, there is none for the outcome either.
        if let Some(failure) = failure {
            return Err(failure);
        }
        finished.map(drop)
    }

    /// Runs the jobs of all repetitions and policies until `stop` is cancelled.
    fn run_all(
        &self,
        sink: Sink<'_>,
        stop: &CancellationToken,
        done: &mut Done,
    ) -> Result<(), Failure> {
        let mut meter = Meter::new(&self.plan.scale);
        let mut jobs = self.jobs();
        while let Some(job) = jobs.next() {
            let name = self.name(job);
            let expected = self.budget.of_repetition(job.repetition);
            meter.begin(&name, expected, &self.options);
            let since = Instant::now();
            let outcome = lab_sim::record(job, &self.options, sink, &mut |progress| {
                meter.show(progress);
                !stop.is_cancelled()
            })
            .map_err(|error| failure(&error))?;
            meter.end(&outcome, since.elapsed());
            let policy = &self.plan.policies[job.policy].label;
            if self.plan.transport.is_lossless() {
                done.add_losses(&name, &outcome);
            }
            if self.train > 1 {
                done.add_dropped(&name, &outcome);
            }
            done.add(name, policy, &outcome, since.elapsed());
            if outcome.reason == EndReason::Stopped {
                done.interrupted = Some(jobs.map(|job| self.name(job)).collect());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the jobs: one for each policy in each repetition.
    fn jobs(&self) -> impl Iterator<Item = Job<'_>> {
        let policies = 0..self.plan.policies.len();
        policies.flat_map(move |policy| {
            (0..self.plan.repetitions).map(move |repetition| Job {
                order: self.order.as_ref(),
                train: self.train,
                ..Job::new(&self.plan, policy, repetition)
            })
        })
    }

    fn name(&self, job: Job<'_>) -> String {
        let label = &self.plan.policies[job.policy].label;
        match self.plan.repetitions {
            1 => label.clone(),
            _ => format!("{label} #{}", job.repetition + 1),
        }
    }
}

impl Done {
    fn add(&mut self, name: String, policy: &str, outcome: &SimOutcome, wall: Duration) {
        let work = outcome.work;
        self.conduct
            .add_deviations(&name, &[(ReasonCode::UnpinnedDecisions, work.not_pinned)]);
        self.events += work.events;
        self.packet_hops += work.packet_hops;
        let retransmissions = self.retransmissions.entry(policy.to_owned()).or_default();
        *retransmissions += Retransmissions {
            go_backs: work.go_backs,
            timeouts: work.timeouts,
        };
        self.virtual_time = self.virtual_time + outcome.end.nanos_trunc();
        self.wall += wall;
        self.phases.push(Phase {
            name,
            took_ns: nanos(wall),
            virtual_ns: None,
        });
    }

    /// Adds the losses in a job under PFC, where switches must not drop packets, as reasons to distrust the run.
    fn add_losses(&mut self, name: &str, outcome: &SimOutcome) {
        let work = outcome.work;
        let drops = (ReasonCode::DroppedDespitePfc, work.buffer_drops);
        self.conduct.add_deviations(name, &[drops]);
        let recovery = self.conduct.recovery.get_or_insert_default();
        recovery.retries += work.go_backs;
        recovery.emulated_drops += work.drops;
        recovery.reroutes += work.reroutes;
    }

    /// Adds the packets that queues dropped in a job by trains, as a reason to distrust the run.
    fn add_dropped(&mut self, name: &str, outcome: &SimOutcome) {
        let drops = (ReasonCode::DroppedFromTrains, outcome.work.queue_drops);
        self.conduct.add_deviations(name, &[drops]);
    }

    fn work(&self) -> SimWork {
        SimWork {
            events: self.events,
            packet_hops: self.packet_hops,
            virtual_ns: self.virtual_time,
            wall_ns: nanos(self.wall),
            peak_memory_bytes: peak_memory(),
        }
    }
}

/// Describes an interruption; `not_begun` are the names of jobs that were not started and have no rows.
fn interruption(not_begun: &[String]) -> String {
    match not_begun {
        [] => "the run was interrupted".to_owned(),
        runs => format!(
            "the run was interrupted; jobs not started: {}",
            runs.join(", ")
        ),
    }
}

fn failure(error: &RecordError) -> Failure {
    match error {
        RecordError::Sim(error) => Failure::usage(with_causes(error)),
        RecordError::Records(error) => Failure::of(error),
    }
}

/// Converts a time at the paper's scale to the simulator's emulated time (after scaling).
fn emulated(plan: &Plan, paper: Nanos) -> SimTime {
    Nanos::new(plan.scale.time.scale_nearest(paper.get())).into()
}
