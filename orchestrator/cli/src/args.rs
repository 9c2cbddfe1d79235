//! Command line, parsed by clap. The doc comments of fields and variants are the help texts.

use std::{
    env, fmt, mem,
    num::{NonZeroU16, NonZeroUsize},
    ops::RangeInclusive,
    path::PathBuf,
    str::FromStr,
    thread,
};

use clap::{
    Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, RangedI64ValueParser, TypedValueParser},
};
use lab_kernel::run::tune::ParameterChange;
use lab_plan::{Capacity, Engine, ParseCapacityError};
use lab_records::{Location, ReasonCode, RunRequest, SimRecords, SimRequest};
use lab_reports::{compare::Aspect, fidelity::PolicyBound};
use lab_reproduce::Figure;
use lab_scenario::{Axis, SweepRecords, limits};
use lab_units::{Bytes, Clock, FlowId, Nanos, Ratio, Trainer};
use serde::{Deserialize, Serialize};

/// Compare inter-datacenter RDMA routing policies on one Linux host
///
/// From one YAML scenario lcmp-lab builds an inter-datacenter network out of namespaces, veth,
/// tc/netem and SoftRoCE, runs a switch agent in every DCI switch, drives RDMA flows, and writes a
/// plotted report. Times and rates in scenarios and reports are the paper's; the lab runs a scaled
/// copy of them.
#[derive(Debug, Parser)]
#[command(name = "lcmp-lab", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// Verb to run, such as `up` or `report`
    #[command(subcommand)]
    pub verb: Verb,
    /// Flags of every verb
    #[command(flatten)]
    pub global: Global,
}

impl Cli {
    /// Reads the command line of this process.
    ///
    /// # Errors
    /// If the command line is wrong, or asks for help or the version.
    pub fn of_process() -> Result<Self, clap::Error> {
        let mut command = command();
        let matches = command.try_get_matches_from_mut(env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Returns the command-line parser, whose help lists the shared flags only once, next to the list of verbs.
pub fn command() -> Command {
    let mut command = Cli::command();
    let global: Vec<Arg> = command
        .get_arguments()
        .filter(|flag| flag.is_global_set())
        .map(|flag| flag.clone().hide(true))
        .collect();
    refer_to_help(&mut command, &global);
    command
}

/// Hides the flags `global` in the help of each verb of `command`; a note in each help names the command that lists
/// them.
fn refer_to_help(command: &mut Command, global: &[Arg]) {
    for verb in command.get_subcommands_mut() {
        let note = match verb.get_after_help() {
            Some(text) => format!("{text}\n\n{FLAGS_OF_EVERY_VERB}"),
            None => FLAGS_OF_EVERY_VERB.to_owned(),
        };
        // An argument of a verb replaces the global one with the same name and keeps its value.
        *verb = mem::take(verb).args(global).after_help(note);
        refer_to_help(verb, global);
    }
}

const FLAGS_OF_EVERY_VERB: &str =
    "Flags of every verb, such as --json, --results and --lab: lcmp-lab help";

const EXIT_CODES: &str = "\
Start with:
  lcmp-lab check scenarios/8dc.yaml    check the scenario and estimate its cost
  lcmp-lab up scenarios/8dc.yaml       build the lab, run the flows, write the report
  lcmp-lab scenarios                   list the built-in scenarios, for which no file is needed

Root is needed by:
  up, exec, tune, down, provision, doctor --measure, and by regress and reproduce with
  --engine kernel; under sudo, the files that they write belong to the user who called it

Exit codes:
  0  pass
  1  a check failed: an assertion of `regress`, a bound of `validate`, `fidelity` or `coverage`, a
     difference that `verify` found, or a warning under `check --strict`
  2  usage or wrong input: a scenario, run, bundle or file that cannot be read as what it should be,
     by any verb that reads it; `runs` lists, tags and deletes runs without reading their rows
  3  environment: this machine lacks something, or a system call failed (see `lcmp-lab doctor`)
  4  inconclusive: the run was interrupted, or its results are doubtful (a figure is out of its
     bound); for verbs that compare or analyse runs, a run is not valid or has lost rows
  5  invalid: the run's results are not those of the scenario, or there was no space for its rows
  128 + N  ended by signal N; of `exec`, the command's own exit code";

const EXEC_EXAMPLES: &str = "\
See the RoCEv2 packets of a run, from another terminal while it runs:
  lcmp-lab exec dc1 -- ip -brief link
  lcmp-lab exec dc1 -- tcpdump -ni any -c 5 udp port 4791
  lcmp-lab exec dc1 -- tcpdump -ni any -w - udp port 4791 > dc1.pcap

Reach a host of another datacenter; `ping` takes names of nodes and leaves by the host's interface:
  lcmp-lab exec dc1/h1 -- ping -c 3 dc3/h1

Standard streams, signals and the exit code are passed between this process and the command; 2 and 3
are also this tool's own exit codes. A program that is missing gives 127, one that cannot be started
126, each with an `error:` line.

In a guest the command reads this machine's files, but files it writes are discarded with the guest:
write to standard output. While flows run, the command takes CPU time from them, and the run gets a
warning that its times are not comparable. On a virtual clock, the time of a kept guest passes only
while a command runs and jumps over idle time: `sleep 100` ends at once.";

const EXPLAIN_EXAMPLES: &str = "\
An idle network; then a queue of 600 MB to dc2 that grows by 20 MB per sample and has been over its
threshold for 40 samples; then the link to dc2 down:
  lcmp-lab explain scenarios/8dc.yaml --from dc1 --to dc8
  lcmp-lab explain scenarios/8dc.yaml --from dc1 --to dc8 --queues dc2=600MB:20MB:40
  lcmp-lab explain scenarios/8dc.yaml --from dc1 --to dc8 --dead dc2

All quantities are at the paper's scale. scenarios/explain-8dc.md calculates the same by hand.";

const TUNE_EXAMPLES: &str = "\
From another terminal while flows run:
  lcmp-lab tune dc1                   show the weights and thresholds
  lcmp-lab tune dc1 alpha=1 beta=3    use these weights from the next decision on
  lcmp-lab tune dc1 w_dl=0            leave delay out of the path cost

Tuned values hold until the policy's flows have ended; every repetition starts with the scenario's.
max_delay and max_capacity, the bounds of the scores, are the same at all switches and cannot be
tuned.";

const SIM_EXAMPLES: &str = "\
The start of a long experiment, then all of it:
  lcmp-lab sim scenarios/8dc.yaml --policies lcmp --until '100 ms'
  lcmp-lab sim scenarios/8dc.yaml

The events of flow 7:
  lcmp-lab sim scenarios/8dc.yaml --story 7
  lcmp-lab flow results/latest 7

The same scenario and seed give the same records, byte for byte, on any number of threads and any
machine. Ctrl-C keeps the flows that have finished; the run is then marked as interrupted, exit code
4. A plan is refused before it starts if it needs more memory than is free (exit code 3), or more
than an estimated day for all policies and repetitions (exit code 2).";

const TRAIN_EXAMPLES: &str = "\
By the gradient of the fluid model (seconds), and as published (minutes):
  lcmp-lab train scenarios/13dc.yaml -o 13dc.redte
  lcmp-lab train scenarios/13dc.yaml --trainer maddpg -o 13dc-maddpg.redte

Scores are the largest link utilisation ÷ that of the optimum, which knows each interval's demands
in advance, on at least 300 intervals per load that no training saw. The same scenario, trainer,
seed and steps give the same weights, to the bit, on any number of threads and any machine. The
folder FILE.training has the learning curve and, until the training ends, its state: the same
command goes on where a killed training stopped.";

const FIDELITY_EXAMPLES: &str = "\
A run of the lab beside a simulation of the same scaled network, first to look at, then as a gate:
  lcmp-lab up scenarios/8dc.yaml && kernel=$(realpath results/latest)
  lcmp-lab sim --scaled scenarios/8dc.yaml
  lcmp-lab fidelity $kernel results/latest
  lcmp-lab fidelity $kernel results/latest --min-paths 98%,ecmp=100% --max-p50 1% --max-p99 10% \
    --min-pearson 0.99

A bound without a policy applies to all policies; a bound with a policy overrides it. Differences
are relative to the FCTs of the first run. Both runs need the same scale: if the scenario's scale is
`auto`, `sim --scaled --scale $kernel` copies the scale of the kernel's run. With any bound, all
flows of the plan must have finished in both runs, or the share that `--min-compared` gives. If a
run is not clean and no bound is broken, the exit code is 4. Two runs of one engine can be compared,
too, to check that they repeat.";

const COMPARE_EXAMPLES: &str = "\
Does a change of LCMP's weights matter, beyond the choice of flows? Each flow is compared with
itself:
  lcmp-lab sim scenarios/8dc.yaml && a=$(realpath results/latest)
  lcmp-lab sim changed.yaml
  lcmp-lab compare $a results/latest --differs policies

How much does another seed change?
  lcmp-lab compare $a results/latest --differs seed

Runs whose plans differ otherwise are refused (2), with a list of the differences. A run that is not
clean makes the comparison inconclusive (4).";

const COVERAGE_EXAMPLE: &str = "\
Are 8 repetitions enough for this scenario?
  lcmp-lab sim scenarios/8dc.yaml --policies ecmp,lcmp --repetitions 100
  lcmp-lab coverage results/latest --group 8

Exit code 1 if fewer than `--min` of a row's intervals contain the true value, 4 if the run is not
valid.";

const REGRESS_EXAMPLES: &str = "\
Gate every night against the last one, repetition by repetition:
  lcmp-lab --results tonight regress scenarios/suites/nightly.yaml --baseline last-night \
    --junit regress.xml --markdown regress.md

A suite is a list of scenarios with assertions, such as `unfinished == 0`,
`lcmp.p99 <= 0.6 * ecmp.p99` or `path(dc1,dc8) uses dc4`; a scenario may have its own, as `expect:`.
The exit code is 0 if all hold, 1 if one does not, 4 if a run is inconclusive.";

const SWEEP_EXAMPLES: &str = "\
Two loads and ten seeds at each of three values of LCMP's max_delay, 60 cells:
  lcmp-lab sweep scenarios/8dc.yaml --set load=0.3,0.8 --set seed=1..10 \\
    --set 'policies[lcmp].max_delay=131072 us,262144 us,524288 us' --set repetitions=1
A sweep file: all graphs of the Topology Zoo, two sets of candidates, two loads, three seeds:
  lcmp-lab sweep scenarios/sweeps/zoo.yaml

A cell is a scenario with one value of each axis; all its policies have the same flows, and cells
that differ in the seed alone are draws of one point. The same command goes on where a sweep was
interrupted: cells with results are not run again. After a change it runs the cells whose values
changed; after a change of the program, all of them. The exit code is 4 if a cell failed, has not
ended, or its run is not valid; the page lists these cells.";

const SURVEY_EXAMPLES: &str = "\
The survey of the Topology Zoo, with the error of trains from cells that were simulated by packets:
  lcmp-lab sweep scenarios/sweeps/zoo.yaml -o zoo
  lcmp-lab sweep scenarios/sweeps/zoo-sample.yaml -o zoo-sample
  lcmp-lab sweep survey zoo --sample zoo-sample --markdown SURVEY.md

A change of a policy's p99 that is not larger than the error of trains is counted neither as better
nor as worse.";

const BUNDLE_EXAMPLES: &str = "\
A run for others, who check it without trusting its files:
  lcmp-lab bundle results/latest -o run.tar.zst
  lcmp-lab verify run.tar.zst --rerun

`verify` recomputes the numbers of every figure and of the closing table from the rows, and names
those that differ from the stored ones. `--rerun` runs the scenario again: rows of a simulation must
be the same; of the kernel engine, |ΔFCT| / FCT may be 1 % for half of the flows and 10 % for 99 of
100, and 98 % of the flows must take the same paths. The exit code is 0 if all is the same, 1 if
something differs, 2 for a bundle that is damaged, has another format or contains unexpected files.
A manifest shows damage, not forgery; `--rerun` shows both.";

const REPRODUCE_EXAMPLES: &str = "\
All figures by the simulator, with the authors' published flows where their artifact is at hand:
  lcmp-lab reproduce all --artifact artifact
A first look in a tenth of the time, and figures 5 and 6 on a lab of this machine:
  lcmp-lab reproduce fig5 --quick
  lcmp-lab reproduce fig5 --quick --trains
  lcmp-lab reproduce fig5 fig6 --engine kernel

Runs that are in the results directory and have the same plan are not made again. The exit code is 0
once the claims are judged, whatever the verdicts, and 4 if a run that a verdict needs is missing.
With `--trains`, only the column `trains` decides, which some cases of figures 7, 8 and 10 lack:
trains cannot simulate their congestion control.";

const INIT_EXAMPLES: &str = "\
Examples:
  lcmp-lab init -o example.yaml                        four datacenters, written out
  lcmp-lab init --topology zoo:Abilene -o abilene.yaml
  lcmp-lab init --topology net.graphml --load 0.3 --engine kernel -o net.yaml

All datacenters with hosts send WebSearch flows to each other. A run takes about a minute in the
simulator, or a few minutes in a lab. Options that a graph needs are written with what they assume,
and candidates are by delay where fewest hops would leave most flows without a choice.";

const TOPOLOGIES_EXAMPLES: &str = "\
Columns: nodes; pairs of nodes with links; the largest great-circle distance of two nodes; with
--choice, pairs with several paths of fewest hops, of all pairs in the largest connected part. Only
there can policies differ.

A scenario uses a graph by name, with options for what it lacks:
  topology: { zoo: Geant2012, largest_component: true, missing_coordinates: neighbours }

The graphs are those of the Internet Topology Zoo (Knight et al., IEEE JSAC 29(9), 2011), CC BY 4.0.";

const RUNS_EXAMPLES: &str = "\
Examples:
  lcmp-lab runs                                     list all runs, oldest first
  lcmp-lab runs --scenario 8dc --verdict doubtful   list some
  lcmp-lab runs --reason late-flows,late-samples    list those whose verdict has both reasons
  lcmp-lab runs tag latest keep nightly             tag a run
  lcmp-lab runs delete 20261122T0649                delete a run by the beginning of its name
  lcmp-lab runs delete --before 2026-11-01T00:00:00.000Z --yes

`delete` with filters deletes only with `--yes`, and otherwise shows what it would delete.";

const VALIDATE_BOUNDS: &str = "\
Compares ECMP, UCMP and LCMP with their published outputs. Bounds, outside of which the exit code is
1: every flow finishes and has the published standalone FCT; |ΔFCT| / FCT is at most 1e-3 for half
of the flows and 3 % for 99 of 100; a link's average utilisation is within 1 % of the published one
(which counts 2^30 bit as 1 Gbit, and the two links of 25 Gbit/s as the paper's 40).";

/// Returns `command` without its hidden verbs and flags, which completions would otherwise offer.
///
/// Leaks the names of verbs, because clap takes names as `&'static str`.
pub fn without_hidden(command: &Command) -> Command {
    let flags = command.get_arguments().filter(|flag| !flag.is_hide_set());
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let name: &'static str = command.get_name().to_owned().leak();
    let mut offered = Command::new(name)
        .args(flags.cloned())
        .groups(command.get_groups().cloned())
        .subcommands(verbs.map(without_hidden));
    if command.get_version().is_some() {
        offered = offered.version(env!("CARGO_PKG_VERSION"));
    }
    if let Some(about) = command.get_about() {
        offered = offered.about(about.clone());
    }
    offered
}

/// Flags of every verb
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Print results as JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Directory for run directories
    #[arg(long, global = true, value_name = "DIR", default_value = "results")]
    #[arg(env = "LCMP_LAB_RESULTS")]
    pub results: PathBuf,
    /// Name of the lab [default: the scenario's name for `up`; the only lab of this machine for `exec`, `tune` and
    /// `down`]
    #[arg(long, global = true, value_name = "NAME", env = "LCMP_LAB_LAB")]
    pub lab: Option<String>,
    /// Do not ask for confirmation: `./lcmp-lab` in a clone installs missing packages, `runs delete` deletes all runs
    /// that its filters match
    #[arg(long, short, global = true)]
    pub yes: bool,
    /// Log filter for standard error, in the syntax of tracing
    #[arg(long, global = true, value_name = "FILTER", default_value = "warn")]
    #[arg(env = "LCMP_LAB_LOG", hide_short_help = true)]
    pub log: String,
}

/// Verbs in the order of a user's work.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a scenario to start from, for an example, a published network or a graph file of yours
    #[command(after_help = INIT_EXAMPLES)]
    Init(InitArgs),
    /// Check a scenario: errors with file, line and column, warnings, what a run cannot show, its cost
    Check(CheckArgs),
    /// Show the plan of a scenario: everything decided before the run
    Plan(PlanArgs),
    /// Draw the inter-DC map of a scenario as SVG
    Graph(GraphArgs),
    /// Explain a routing decision: all candidates with their scores, the kept ones and the chosen one
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Count the bytes and operations of each switch's decisions, beside the paper's counts
    Account(ScenarioArgs),
    /// Check where labs can run on this machine, and list what is missing with the commands to fix it
    Doctor(DoctorArgs),
    /// Install the programs and kernels that labs need, on Debian and Ubuntu
    Provision(ProvisionArgs),
    /// Build the lab, run every policy's flows, write the report, take the lab down
    Up(UpArgs),
    /// Simulate the plan in virtual time, packet by packet, unscaled, without root
    #[command(after_help = SIM_EXAMPLES)]
    Sim(SimArgs),
    /// Train a policy that learns on a fluid model of the scenario's network, and score it beside the others
    #[command(after_help = TRAIN_EXAMPLES)]
    Train(TrainArgs),
    /// Convert a topology and a flow file of the paper's NS-3 artifact to a scenario
    Import(ImportArgs),
    /// Simulate the paper's Figure 1 and compare every flow with the published outputs
    #[command(after_help = VALIDATE_BOUNDS)]
    Validate(ValidateArgs),
    /// List the labs of this machine
    Status,
    /// Run a command on a node of a running lab, on this kernel or in a guest
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArgs),
    /// Change LCMP's weights and thresholds at a DCI switch while flows run
    #[command(after_help = TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// Take a lab down: remove every object it created, and nothing else
    Down(DownArgs),
    /// Rewrite the report of a run
    Report(ReportArgs),
    /// Show one flow of a run: its path, its FCT, and every switch's decision with all candidates
    Flow(FlowArgs),
    /// List the runs in the results directory, tag them, delete them
    #[command(after_help = RUNS_EXAMPLES, args_conflicts_with_subcommands = true)]
    Runs(RunsArgs),
    /// Compare runs that differ in a stated way: percentiles per policy and size, with intervals
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Check how often 95 % intervals over a few repetitions contain the value over all repetitions
    #[command(after_help = COVERAGE_EXAMPLE)]
    Coverage(CoverageArgs),
    /// Compare two runs of one plan flow by flow: paths, FCTs and slowdowns, with figures
    #[command(after_help = FIDELITY_EXAMPLES)]
    Fidelity(FidelityArgs),
    /// Run a suite of scenarios, check its assertions, gate it against a baseline
    #[command(after_help = REGRESS_EXAMPLES, args_conflicts_with_subcommands = true)]
    #[command(subcommand_negates_reqs = true)]
    Regress(RegressArgs),
    /// Simulate scenarios with every combination of values for their keys, and compare the policies at each point
    #[command(after_help = SWEEP_EXAMPLES, args_conflicts_with_subcommands = true)]
    #[command(subcommand_negates_reqs = true)]
    Sweep(SweepArgs),
    /// Pack a run into one file: scenario, plan, rows, figures, logs, with a manifest
    #[command(after_help = BUNDLE_EXAMPLES)]
    Bundle(BundleArgs),
    /// Check a bundle, recompute its numbers from its rows, and run its scenario again
    #[command(after_help = BUNDLE_EXAMPLES)]
    Verify(VerifyArgs),
    /// Reproduce figures of the paper: published and reproduced values, and verdicts on the claims
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArgs),
    /// List the built-in scenarios, or copy them for editing
    Scenarios(ScenariosArgs),
    /// List the built-in graphs of the Internet Topology Zoo, for `topology: zoo:NAME`
    #[command(after_help = TOPOLOGIES_EXAMPLES)]
    Topologies(TopologiesArgs),
    /// Print the JSON Schema of scenarios
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// Shell that the script is for
        shell: clap_complete::Shell,
    },
    /// Write the man pages of all verbs into a folder, for packages
    #[command(hide = true)]
    Man {
        /// Folder for the man pages
        folder: PathBuf,
    },
    /// Measure this tool: lab creation, decisions, forwarding, failover, traffic generator, trains
    #[command(hide = true, subcommand)]
    Bench(BenchSubject),
    /// Run the agent of one DCI switch, configured on standard input
    #[command(hide = true)]
    Switchd,
    /// Run one cell of a sweep
    #[command(hide = true)]
    SweepCell {
        /// Directory of the sweep
        dir: PathBuf,
        /// Number of the cell, from 0
        number: usize,
        /// ID of the process that starts the cell
        caller: i32,
    },
    /// Run the cells of one Slurm task of a sweep
    #[command(hide = true)]
    SweepTask {
        /// Directory of the sweep
        dir: PathBuf,
        /// Name of the array
        array: String,
        /// Index of the task
        index: usize,
    },
    /// Run the guest's part of `up`, with plan and task from the host's run directory
    #[command(hide = true)]
    UpInGuest {
        /// The run directory
        dir: PathBuf,
    },
    /// Own the guest of `up --keep` as a background process; the request is on standard input
    #[command(hide = true)]
    UpAsOwner {
        /// ID of the process that started this one
        caller: i32,
    },
    /// Measure the generator and the data path of the kernel that this process runs on
    #[command(hide = true)]
    MeasureHere(MeasureArgs),
}

impl Verb {
    /// Returns the name of a verb that prints no JSON; `None` for all others.
    pub const fn without_json(&self) -> Option<&'static str> {
        match self {
            Self::Init(_) => Some("init"),
            Self::Graph(_) => Some("graph"),
            Self::Provision(_) => Some("provision"),
            Self::Import(_) => Some("import"),
            Self::Exec(_) => Some("exec"),
            Self::Down(_) => Some("down"),
            Self::Completions { .. } => Some("completions"),
            Self::Man { .. } => Some("man"),
            Self::Switchd => Some("switchd"),
            Self::SweepCell { .. } => Some("sweep-cell"),
            Self::SweepTask { .. } => Some("sweep-task"),
            Self::UpInGuest { .. } => Some("up-in-guest"),
            Self::UpAsOwner { .. } => Some("up-as-owner"),
            Self::Check(_)
            | Self::Plan(_)
            | Self::Explain(_)
            | Self::Account(_)
            | Self::Doctor(_)
            | Self::Up(_)
            | Self::Sim(_)
            | Self::Train(_)
            | Self::Validate(_)
            | Self::Status
            | Self::Tune(_)
            | Self::Report(_)
            | Self::Flow(_)
            | Self::Runs(_)
            | Self::Compare(_)
            | Self::Coverage(_)
            | Self::Fidelity(_)
            | Self::Regress(_)
            | Self::Sweep(_)
            | Self::Bundle(_)
            | Self::Verify(_)
            | Self::Reproduce(_)
            | Self::Bench(_)
            | Self::MeasureHere(_)
            | Self::Scenarios(_)
            | Self::Topologies(_)
            | Self::Schema => None,
        }
    }
}

/// A scenario file and overrides of it.
#[derive(Args, Clone, Debug)]
pub struct ScenarioArgs {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Overrides of the scenario
    #[command(flatten)]
    pub overrides: Overrides,
}

/// Arguments of `check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// The scenario
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Make warnings errors: exit code 1 if there is any
    #[arg(long)]
    pub strict: bool,
}

/// Overrides of a scenario.
#[derive(Args, Clone, Debug, Default)]
pub struct Overrides {
    /// Seed instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of repetitions instead of the scenario's; each draws its own flows
    #[arg(long, value_name = "N", value_parser = repetitions())]
    pub repetitions: Option<u32>,
    /// Only these policies of the scenario, by label
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// Load, such as `0.3` or `30%`, of the workloads that list loads or, if none does, of all workloads
    #[arg(long, value_name = "SHARE", value_parser = load_share)]
    pub load: Option<Ratio>,
    /// Scale instead of the scenario's: factors for the paper's rates and times, such as `1/100,10`, or a run whose
    /// scale is copied
    #[arg(long, value_name = "RATE,TIME|RUN")]
    pub scale: Option<ScaleArg>,
    /// Packet capacity for which `scale: auto` chooses the scale, wherever the lab runs: the default of a place to run,
    /// or the measured one that `doctor --measure` prints [default: guest-virtual]
    ///
    /// Places: guest-virtual (guest, emulated, on the virtual clock), guest-tcg (guest, emulated, on the real clock),
    /// guest-kvm (guest under KVM), here (this machine's own kernel). TIMES are the busy times per packet on a link and
    /// per flow, as `doctor --measure` prints them: HOP,FLOW or, on the virtual clock, HOP,FLOW,HOP_WALL,FLOW_WALL,
    /// where WALL is wall time.
    #[arg(long, value_name = "PLACE[:TIMES]")]
    pub scale_for: Option<Capacity>,
}

impl ScenarioArgs {
    /// Returns the scenario and the overrides of a stored request for a run.
    ///
    /// # Errors
    /// If the request names a capacity that does not exist.
    pub fn of(request: &RunRequest) -> Result<Self, String> {
        let wanted = request.overrides.clone();
        let capacity = wanted.scale_for.map(|text| text.parse()).transpose();
        Ok(Self {
            scenario: request.scenario.clone(),
            overrides: Overrides {
                seed: wanted.seed,
                repetitions: wanted.repetitions,
                policies: wanted.policies,
                load: wanted.load,
                scale: wanted
                    .scale
                    .map(|(rate, time)| ScaleArg::Factors(rate, time)),
                scale_for: capacity.map_err(|error: ParseCapacityError| error.to_string())?,
            },
        })
    }
}

fn repetitions() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::MAX_REPETITIONS))
}

/// Parses a load above 0, given as a decimal, a fraction or a percentage.
fn load_share(text: &str) -> Result<Ratio, String> {
    let load: Ratio = text.parse().map_err(|error| format!("{error}"))?;
    match limits::beyond_load(load, text) {
        Some(bounds) => Err(format!("a load must be {bounds}")),
        None => Ok(load),
    }
}

/// Parses an integer from 0 to 100, with or without a percent sign.
fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    number
        .parse()
        .ok()
        .filter(|percent| *percent <= 100)
        .ok_or_else(|| "a share must be a whole number from 0 to 100 %".to_owned())
}

/// Value of `--scale`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ScaleArg {
    /// Factors for the paper's rates and times.
    Factors(Ratio, Ratio),
    /// Run directory whose factors are copied.
    Run(PathBuf),
}

impl FromStr for ScaleArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((rate, time)) = text.split_once(',') else {
            return Ok(Self::Run(text.into()));
        };
        let rate = factor("rates", rate, &limits::rate_factors())?;
        let time = factor("times", time, &limits::time_factors())?;
        Ok(Self::Factors(rate, time))
    }
}

/// Parses a scale factor and checks the bounds that also apply to a scenario; `of` is `rates` or `times`.
fn factor(of: &str, text: &str, bounds: &RangeInclusive<Ratio>) -> Result<Ratio, String> {
    let factor: Ratio = text.trim().parse().map_err(|error| format!("{error}"))?;
    if bounds.contains(&factor) {
        return Ok(factor);
    }
    // A common mistake is to give a divisor instead of a factor.
    let inverse = factor.inverse().filter(|inverse| bounds.contains(inverse));
    let hint = inverse.map_or_else(String::new, |inverse| {
        format!(" (hint: the paper's {of} are multiplied by the factor; did you mean `{inverse}`?)")
    });
    let min = bounds.start();
    let max = bounds.end();
    Err(format!(
        "the factor of {of} is {factor}; it must be {min} to {max}{hint}"
    ))
}

/// Arguments of `scenarios`.
#[derive(Args, Debug)]
pub struct ScenariosArgs {
    /// New folder to copy the scenarios into, with the suites, workloads and published values
    #[arg(long, value_name = "DIR")]
    pub copy: Option<PathBuf>,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Network: `zoo:NAME`, a graph file, or a `.yaml` file with a topology [default: an example]
    #[arg(long, value_name = "zoo:NAME|FILE")]
    pub topology: Option<String>,
    /// Utilisation of the busiest link if flows are spread evenly, such as `0.3` or `30%`
    #[arg(long, value_name = "SHARE", value_parser = load_share, default_value = "50%")]
    pub load: Ratio,
    /// Engine for which the scenario's duration is chosen
    #[arg(long, value_name = "ENGINE", default_value = "sim")]
    pub engine: EngineArg,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// Arguments of `topologies`.
#[derive(Args, Debug)]
pub struct TopologiesArgs {
    /// Only the graph of this name, with its nodes
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Add the share of pairs (source, destination) that have several paths of fewest hops
    #[arg(long)]
    pub choice: bool,
}

/// Arguments of `plan`.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Scenario and its overrides
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Show the steps that build the lab, in the syntax of ip, tc and rdma
    #[arg(long)]
    pub steps: bool,
}

/// Arguments of `graph`.
#[derive(Args, Debug)]
pub struct GraphArgs {
    /// Scenario and its overrides
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Datacenter of the DCI switch that decides
    #[arg(long, value_name = "DC")]
    pub from: String,
    /// Destination datacenter of the flow
    #[arg(long, value_name = "DC")]
    pub to: String,
    /// Egress queues to neighbours: bytes, trend per sample, samples over threshold [default: empty]
    #[arg(
        long,
        value_name = "DC=BYTES[:TREND[:SAMPLES]],…",
        value_delimiter = ','
    )]
    pub queues: Vec<String>,
    /// Next hops whose link is down: dc2, or dc2_2 for the second of several parallel links to dc2
    #[arg(long, value_name = "DC,…", value_delimiter = ',')]
    pub dead: Vec<String>,
    /// Utilisations of links to neighbours in the last interval, for trained weights [default: 0]
    #[arg(long, value_name = "DC=SHARE,…", value_delimiter = ',')]
    pub utilisations: Vec<String>,
    /// Demands of the deciding switch's datacenter in the last interval, for trained weights [default: none]
    #[arg(long, value_name = "DC=RATE,…", value_delimiter = ',')]
    pub demands: Vec<String>,
    /// Only these policies of the scenario, by label
    #[arg(long, alias = "policy", value_name = "LABEL,…", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// Sending host [default: the first of its datacenter]
    #[arg(long, value_name = "HOST")]
    pub src: Option<String>,
    /// Receiving host [default: the first of its datacenter]
    #[arg(long, value_name = "HOST")]
    pub dst: Option<String>,
    /// UDP source port of the flow
    #[arg(long, value_name = "PORT", default_value_t = 49_152)]
    pub sport: u16,
}

/// Arguments of `provision`.
#[derive(Args, Debug)]
pub struct ProvisionArgs {
    /// List what is missing and install nothing
    #[arg(long)]
    pub check: bool,
    /// Install what a guest needs even if this kernel has all modules of a lab
    #[arg(long, conflicts_with = "no_guest")]
    pub guest: bool,
    /// Install nothing for a guest
    #[arg(long)]
    pub no_guest: bool,
    /// Also install this kernel for guests: a package that apt knows, or the path or URL of a .deb
    ///
    /// Guests still boot the distribution's kernel by default; `up --kernel` boots this one instead.
    /// May be repeated: for several kernels, or for one whose image and modules are separate packages. Packages
    /// that these depend on are installed too, if apt knows them.
    #[arg(long, value_name = "PACKAGE", conflicts_with_all = ["no_guest", "check"])]
    pub kernel: Vec<String>,
}

/// Options that choose where a lab runs: on this kernel or in a guest.
#[derive(Args, Clone, Debug, Deserialize, Serialize)]
pub struct PlaceArgs {
    /// Run on this kernel, or fail if it lacks a module
    #[arg(long, conflicts_with = "guest")]
    pub here: bool,
    /// Run in a QEMU guest even if this kernel has the modules
    #[arg(long)]
    pub guest: bool,
    /// Clock of the guest [default: virtual under software emulation, else real]
    ///
    /// A virtual clock counts instructions and jumps over idle time: results repeat exactly under
    /// any load of this machine.
    #[arg(long, value_parser = clock(), value_name = "CLOCK", conflicts_with = "here")]
    pub clock: Option<Clock>,
    /// Run in a guest with this kernel, installed by `provision --kernel`: `6.12`, or a full release
    /// [default: the distribution's]
    #[arg(long, value_name = "RELEASE", conflicts_with = "here")]
    pub kernel: Option<String>,
    /// Memory of the guest, such as `6 GiB` [default: what the plan is estimated to need, at least
    /// 2 GiB]
    #[arg(long, value_name = "SIZE", value_parser = guest_memory, conflicts_with = "here")]
    pub guest_memory: Option<Bytes>,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Also list the requirements that are met
    #[arg(long, conflicts_with = "measure")]
    pub all: bool,
    /// Measure the capacity of the kernel or guest in which `up` would run, and print it as a `--scale-for` option
    ///
    /// Takes about a minute and stores nothing. Measure while the machine is as busy as it will be during runs.
    #[arg(long)]
    pub measure: bool,
    /// Kernel to measure: this machine's or a guest's
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Arguments of the hidden verb `measure-here`.
#[derive(Args, Debug)]
pub struct MeasureArgs {
    /// Number of one-packet flows
    #[arg(long, value_name = "N")]
    pub flows: u32,
}

/// Arguments of `up`.
#[derive(Args, Clone, Debug)]
pub struct UpArgs {
    /// Scenario and its overrides
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Kernel to run on: this machine's or a guest's
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Leave the lab up after its flows; `lcmp-lab down` takes it down
    ///
    /// A background process owns the guest of a kept lab. On a virtual clock the guest's time passes
    /// only while `lcmp-lab exec` runs a command.
    #[arg(long)]
    pub keep: bool,
    /// Run even if the link certificate, which compares measured rates, delays and buffers with the plan, finds a link
    /// out of bounds; the run is then doubtful at best
    #[arg(long)]
    pub uncertified: bool,
}

impl UpArgs {
    /// Returns the arguments for a stored request for a run by the kernel engine.
    ///
    /// # Errors
    /// If the request names a capacity that does not exist.
    pub fn of(request: &RunRequest) -> Result<Self, String> {
        Ok(Self {
            scenario: ScenarioArgs::of(request)?,
            place: PlaceArgs {
                here: request.location == Some(Location::Here),
                guest: request.location == Some(Location::Guest),
                clock: request.clock,
                kernel: None,
                guest_memory: None,
            },
            keep: false,
            uncertified: false,
        })
    }
}

/// Arguments of `sim`.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "SCENARIO", required_unless_present = "artifact")]
    pub scenario: Option<PathBuf>,
    /// Files of the paper's NS-3 artifact instead of a scenario; `import` shows them as a scenario
    #[arg(long, num_args = 2, value_names = ["TOPOLOGY", "FLOWS"], conflicts_with = "scenario")]
    pub artifact: Vec<PathBuf>,
    /// The artifact's routing table, which orders next hops of equal cost [default: by port]
    #[arg(
        long,
        value_name = "CSV",
        requires = "artifact",
        conflicts_with = "scenario"
    )]
    pub routes: Option<PathBuf>,
    /// Delay at which LCMP's delay score saturates under `--artifact` [default: 32 ms]
    #[arg(
        long,
        value_name = "TIME",
        requires = "artifact",
        conflicts_with = "scenario"
    )]
    pub max_delay: Option<Nanos>,
    /// Overrides of the scenario
    #[command(flatten)]
    pub overrides: Overrides,
    /// Virtual time at which to stop, at the paper's scale, such as `200 ms`
    #[arg(long, value_name = "TIME")]
    pub until: Option<Nanos>,
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Apply the scenario's `scale`, as in a lab [default: rates, delays and sizes of the paper]
    #[arg(long)]
    pub scaled: bool,
    /// Simulate up to N packets of a flow as one event, an approximation in a thirtieth of the CPU time or less
    ///
    /// By default N is what a NIC sends in a hundredth of the median one-way delay, less if queues are short. The run's
    /// records say so. Some congestion controls, random losses, `--scaled` and `--story` are refused.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    pub trains: Option<TrainsArg>,
    /// Write the records and the verdict, but no report; `lcmp-lab report` writes it later
    #[arg(long)]
    pub no_report: bool,
    /// Record the events of these flows, or of `all`: rates, marks, pauses, losses
    ///
    /// `lcmp-lab flow RUN ID` shows them.
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub story: Vec<StoryArg>,
    /// Records to keep
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    pub records: SimRecordsArg,
}

impl SimArgs {
    /// Returns the arguments for a run without a report, of no scenario yet.
    pub const fn without_report(overrides: Overrides) -> Self {
        Self {
            scenario: None,
            artifact: Vec::new(),
            routes: None,
            max_delay: None,
            overrides,
            until: None,
            threads: None,
            scaled: false,
            trains: None,
            no_report: true,
            story: Vec::new(),
            records: SimRecordsArg::Full,
        }
    }

    /// Returns the arguments for a stored request for a simulation with the options `sim`.
    ///
    /// # Errors
    /// If the request names a capacity that does not exist, or a flow that is neither a number nor `all`.
    pub fn of(request: &RunRequest, sim: &SimRequest) -> Result<Self, String> {
        let scenario = ScenarioArgs::of(request)?;
        let story: Result<_, String> = sim.story.iter().map(|word| word.parse()).collect();
        let length = |trains: u32| trains.to_string().parse();
        let trains: Result<_, String> = sim.trains.map(length).transpose();
        Ok(Self {
            scenario: Some(scenario.scenario),
            until: sim.until_ns,
            scaled: sim.is_scaled,
            trains: trains.map_err(|error| format!("`trains`: {error}"))?,
            story: story.map_err(|error| format!("`story`: {error}"))?,
            records: sim.records.into(),
            ..Self::without_report(scenario.overrides)
        })
    }
}

/// Arguments of `train`.
#[derive(Args, Debug)]
pub struct TrainArgs {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Policy to train
    #[arg(long, value_enum, default_value_t = TrainedPolicy::Redte)]
    pub policy: TrainedPolicy,
    /// Training method
    #[arg(long, value_name = "NAME", default_value = "direct", value_parser = trainer())]
    pub trainer: Trainer,
    /// Seed of the demands, the initial weights and the batches
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Maximum number of steps [default: 1000 for `direct`, 15000 for `maddpg`; `static` takes 450]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub steps: Option<u64>,
    /// Demands of consecutive intervals instead of the workloads': CSV with the columns `interval,from,to,bytes`
    #[arg(long, value_name = "CSV")]
    pub demands: Option<PathBuf>,
    /// File to write the weights to
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Policies that are trained.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TrainedPolicy {
    /// RedTE (SIGCOMM '24): an actor at every DCI switch
    Redte,
}

/// Returns the parser of a trainer's name, with help for each name.
fn trainer() -> impl TypedValueParser<Value = Trainer> {
    PossibleValuesParser::new([
        PossibleValue::new("direct").help("Gradient through the fluid model of the network"),
        PossibleValue::new("maddpg")
            .help("Multi-agent deep deterministic policy gradient, as published"),
        PossibleValue::new("static").help("Best split that does not depend on the state"),
    ])
    .try_map(|word| word.parse())
}

/// Records that `sim` keeps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum SimRecordsArg {
    /// The plan and all rows, which `bundle` needs
    #[default]
    Full,
    /// Flows, their paths, totals of links, and the evidence: for runs with millions of flows
    Flows,
}

impl From<SimRecordsArg> for SimRecords {
    fn from(kind: SimRecordsArg) -> Self {
        match kind {
            SimRecordsArg::Full => Self::Full,
            SimRecordsArg::Flows => Self::Flows,
        }
    }
}

impl From<SimRecords> for SimRecordsArg {
    fn from(kind: SimRecords) -> Self {
        match kind {
            SimRecords::Full => Self::Full,
            SimRecords::Flows => Self::Flows,
        }
    }
}

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The topology file
    #[arg(value_name = "TOPOLOGY")]
    pub topology: PathBuf,
    /// The flow file
    #[arg(value_name = "FLOWS")]
    pub flows: PathBuf,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Delay at which LCMP's delay score saturates; give 512 ms to repeat Figure 1
    #[arg(long, value_name = "TIME", default_value_t = PUBLISHED_MAX_DELAY)]
    pub max_delay: Nanos,
    /// The artifact's routing table, which orders next hops of equal cost [default: by port]
    #[arg(long, value_name = "CSV")]
    pub routes: Option<PathBuf>,
}

/// Arguments of `validate`.
#[derive(Args, Debug)]
pub struct ValidateArgs {
    /// Directory of the artifact, with `topology`, `traffic`, `fct/fig1` and `published`
    #[arg(long, value_name = "DIR")]
    pub artifact: PathBuf,
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Parses the memory of a guest, which has a minimum.
fn guest_memory(text: &str) -> Result<Bytes, String> {
    let memory = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    if memory < lab_guest::MIN_MEMORY {
        return Err(format!(
            "a guest needs at least {} MiB (hint: leave out --guest-memory, and the guest gets what its plan needs)",
            lab_guest::MIN_MEMORY.get() >> 20
        ));
    }
    Ok(memory)
}

/// Returns the parser of `--clock`, with a help text for each name.
fn clock() -> impl TypedValueParser<Value = Clock> {
    PossibleValuesParser::new([
        PossibleValue::new(Clock::Virtual.name()).help("Instructions executed"),
        PossibleValue::new(Clock::Real.name()).help("Time of this machine"),
    ])
    .try_map(|word| word.parse::<Clock>())
}

/// Arguments of `exec`.
#[derive(Args, Debug)]
pub struct ExecArgs {
    /// Node: `dc1` for a DCI switch; `dc1/h1`, `dc1/l1`, `dc1/s1` for a host, leaf or spine of its DC
    pub node: String,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<std::ffi::OsString>,
}

/// Arguments of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Datacenter of the DCI switch
    pub dc: String,
    /// New values of parameters, such as `alpha=1` [default: show the values]
    #[arg(value_name = "NAME=VALUE")]
    pub changes: Vec<ParameterChange>,
}

/// Arguments of `down`.
#[derive(Args, Debug)]
pub struct DownArgs {
    /// Name of the lab [default: the only one on this machine]
    #[arg(value_name = "LAB")]
    pub name: Option<String>,
    /// Take down every lab of this machine
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// If the lab's journal, its list of created objects, cannot be read, rename it and leave the objects in place
    #[arg(long, requires = "name")]
    pub forget: bool,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The run directory [default: the newest]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
}

/// Arguments of `flow`.
#[derive(Args, Debug)]
pub struct FlowArgs {
    /// The run directory, such as `results/latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Number of the flow, as in `flows.csv`
    #[arg(value_name = "ID")]
    pub id: u32,
    /// Only under this policy, by label
    #[arg(long, value_name = "LABEL")]
    pub policy: Option<String>,
}

/// Arguments of `runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// Verb of `runs`; `None` lists the runs
    #[command(subcommand)]
    pub verb: Option<RunsVerb>,
    /// Runs to list
    #[command(flatten)]
    pub filter: RunFilter,
}

/// Verbs of `runs`.
#[derive(Debug, Subcommand)]
pub enum RunsVerb {
    /// Add tags to a run
    Tag {
        /// The run directory, its name, or the beginning of its name
        run: PathBuf,
        /// Tags: letters, digits and `-_.:/=+`
        #[arg(required = true)]
        tags: Vec<String>,
    },
    /// Remove tags from a run
    Untag {
        /// The run directory, its name, or the beginning of its name
        run: PathBuf,
        /// Tags to remove
        #[arg(required = true)]
        tags: Vec<String>,
    },
    /// Delete runs
    Delete {
        /// Run directories, their names, or the beginnings of their names
        #[arg(conflicts_with_all = ["all", "RunFilter"])]
        runs: Vec<PathBuf>,
        /// Runs to delete
        #[command(flatten)]
        filter: RunFilter,
        /// Delete all runs
        #[arg(long)]
        all: bool,
    },
}

/// Filter of runs; a run matches if it meets every given condition.
#[derive(Args, Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs with this tag; given several, with all of them
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    pub tag: Vec<String>,
    /// Only runs of the scenario with this name
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// Only runs with this policy; given several, with all of them
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Only runs with this verdict
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub verdict: Option<RunVerdict>,
    /// Only runs whose verdict gives this reason code; given several, all of them
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = reason())]
    pub reason: Vec<ReasonCode>,
    /// Only runs that began before this time: `2026-11-21T09:30:00.000Z`
    #[arg(long, value_name = "TIME")]
    pub before: Option<lab_records::UtcTime>,
}

impl RunFilter {
    /// Returns true if there is no condition, so that every run matches.
    pub const fn is_empty(&self) -> bool {
        self.tag.is_empty()
            && self.reason.is_empty()
            && self.scenario.is_none()
            && self.policy.is_empty()
            && self.verdict.is_none()
            && self.before.is_none()
    }
}

/// Returns the parser of `--reason`, which accepts the codes of the reasons for verdicts.
fn reason() -> impl TypedValueParser<Value = ReasonCode> {
    let names = ReasonCode::ALL.iter().map(|code| code.name());
    PossibleValuesParser::new(names).map(|name| {
        let mut codes = ReasonCode::ALL.iter().copied();
        codes
            .find(|code| code.name() == name)
            .expect("a name of a code")
    })
}

/// Verdict on a run, or `open` if it has none yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// Every checked value of the run is within its bound
    Valid,
    /// A checked value is out of its bound
    Doubtful,
    /// The results do not represent the scenario
    Invalid,
    /// The run did not end, or is still running
    Open,
}

impl RunVerdict {
    /// Returns the verdict as the command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Doubtful => "doubtful",
            Self::Invalid => "invalid",
            Self::Open => "open",
        }
    }
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The run directories; the first is the base
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// Aspects in which the plans may differ: scenario, network, candidates, faults, traffic,
    /// policies, seed, repetitions, scale, until, engine, settings
    #[arg(long, value_name = "ASPECT,…", value_delimiter = ',')]
    pub differs: Vec<Aspect>,
    /// Directory for the page and the figure [default: `compare` in the first run]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Arguments of `coverage`.
#[derive(Args, Debug)]
pub struct CoverageArgs {
    /// Directory of a run with many repetitions
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Number of repetitions per group; each group gives one interval per table row
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u16).range(2..=500))]
    pub group: u16,
    /// Number of groups
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub groups: u16,
    /// Smallest share, in percent, of each table row's intervals that must contain the value over all repetitions
    #[arg(long, value_name = "PERCENT", default_value_t = 92, value_parser = percent)]
    pub min: u8,
}

/// Arguments of `regress`.
#[derive(Args, Debug)]
pub struct RegressArgs {
    /// The suite file, or the name of a built-in suite
    #[arg(value_name = "SUITE")]
    pub suite: PathBuf,
    /// Results from an earlier run of the suite; this run is gated against their p50 and p99
    #[arg(long, value_name = "DIR")]
    pub baseline: Option<PathBuf>,
    /// Engine of the runs
    #[arg(long, value_enum, default_value_t = EngineArg::Sim)]
    pub engine: EngineArg,
    /// Simulate up to N packets of a flow as one event, as in `sim`; the baseline's trains must have the same maximum length
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    pub trains: Option<TrainsArg>,
    /// File for the outcome as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// File for the outcome as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Directory of the history and its page [default: in the results, `history-SUITE`, and with `--trains`
    /// `history-SUITE-trains` or `history-SUITE-trains-N`]
    #[arg(long, value_name = "DIR")]
    pub history: Option<PathBuf>,
}

/// Arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// Verb of `sweep`; `None` runs the cells that have no results
    #[command(subcommand)]
    pub verb: Option<SweepVerb>,
    /// The sweep file, or a scenario whose keys `--set` varies
    #[arg(value_name = "FILE", required = true)]
    pub file: Option<PathBuf>,
    /// Axis: a key by its YAML path, and its values, as in `load=0.3,0.8` or `seed=1..10`
    #[arg(long, value_name = "PATH=VALUES")]
    pub set: Vec<Axis>,
    /// Only these policies, by label
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// Label of the policy that the others are compared with [default: the first]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
    /// Simulate up to N packets of a flow as one event, as in `sim`
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    pub trains: Option<TrainsArg>,
    /// Keep beside each cell's results: nothing (`summary`, the default), its flows and totals of links (`flows`), or
    /// its run directory with a report (`full`)
    #[arg(long, value_enum, value_name = "KIND")]
    pub records: Option<RecordsArg>,
    /// Maximum number of cells at a time [default: one per core]; on Slurm, of each array's tasks
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Run the cells on Slurm; all nodes must see the program and the sweep's directory
    #[arg(long, value_enum, value_name = "PLACE")]
    pub on: Option<SweepPlace>,
    #[command(flatten)]
    pub slurm: SlurmArgs,
    /// Directory of the sweep [default: in the results, `sweep-NAME`]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl SweepArgs {
    /// Returns the arguments for the sweep file `file`, with the flows of each cell; `trains` replaces the file's.
    pub fn with_flows(file: PathBuf, trains: Option<TrainsArg>) -> Self {
        Self {
            verb: None,
            file: Some(file),
            set: Vec::new(),
            policies: Vec::new(),
            baseline: None,
            trains,
            records: Some(RecordsArg::Flows),
            jobs: None,
            on: None,
            slurm: SlurmArgs::default(),
            output: None,
        }
    }
}

/// What a sweep keeps of each cell beside its results.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum RecordsArg {
    Summary,
    Flows,
    Full,
}

impl From<RecordsArg> for SweepRecords {
    fn from(kind: RecordsArg) -> Self {
        match kind {
            RecordsArg::Summary => Self::Summary,
            RecordsArg::Flows => Self::Flows,
            RecordsArg::Full => Self::Full,
        }
    }
}

/// Place other than this machine where the cells of a sweep run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum SweepPlace {
    Slurm,
}

/// Arguments for tasks of Slurm.
#[derive(Args, Debug, Default)]
pub struct SlurmArgs {
    /// Slurm partition of the tasks [default: Slurm's]
    #[arg(long, value_name = "NAME", requires = "on")]
    pub partition: Option<String>,
    /// Further argument for `sbatch`, as in `--sbatch-arg=--account=net`
    #[arg(long, value_name = "ARG", requires = "on", allow_hyphen_values = true)]
    pub sbatch_arg: Vec<String>,
    /// Memory of a task [default: 1.5 times the estimate, rounded up to a power of two]
    #[arg(long, value_name = "SIZE", requires = "on")]
    pub task_memory: Option<Bytes>,
    /// Time limit of a task, in minutes [default: four times the estimate, rounded up alike]
    #[arg(long, value_name = "N", requires = "on", value_parser = clap::value_parser!(u64).range(1..=525_600))]
    pub task_minutes: Option<u64>,
}

/// Verbs of `sweep`.
#[derive(Debug, Subcommand)]
pub enum SweepVerb {
    /// Show the results so far of a sweep's directory, whose cells may still be running
    Status {
        /// The directory of the sweep
        dir: PathBuf,
    },
    /// Say in how many networks of a sweep each policy is better, what explains it, and how far trains can be believed
    #[command(after_help = SURVEY_EXAMPLES)]
    Survey(SurveyArgs),
    /// End the Slurm tasks of a sweep; cells with results keep them
    Cancel {
        /// The directory of the sweep
        dir: PathBuf,
    },
}

/// Arguments of `sweep survey`.
#[derive(Args, Debug)]
pub struct SurveyArgs {
    /// The directory of a sweep over networks: with an axis `topology` or below it, or of several scenarios
    pub dir: PathBuf,
    /// Sweep by packets with some of the cells, which gives the error of trains
    #[arg(long, value_name = "DIR")]
    pub sample: Option<PathBuf>,
    /// Markdown file for the survey
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// The figures: fig1, fig5, fig6, fig7, fig8, fig9, fig10, fig11, or `all`
    #[arg(value_name = "FIGURE", required = true)]
    pub figures: Vec<FigureArg>,
    /// Engine that makes missing runs; existing runs of the other engine are shown, too
    #[arg(long, value_enum, default_value_t = EngineArg::Sim)]
    pub engine: EngineArg,
    /// Make missing runs with a tenth of the duration; verdicts from short runs are weak
    #[arg(long)]
    pub quick: bool,
    /// Make missing simulations in trains of up to N packets, as in `sim`, and show them in the column `trains`
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    pub trains: Option<TrainsArg>,
    /// Directory of the authors' artifact, whose published flows are used [default: random flows]
    #[arg(long, value_name = "DIR")]
    pub artifact: Option<PathBuf>,
    /// Directory of the paper's scenarios and published values
    #[arg(long, value_name = "DIR", default_value = "scenarios/paper")]
    pub scenarios: PathBuf,
    /// Number of threads of a simulation; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Directory for REPRODUCTION.md and its figure [default: `reproduction` in the results]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Argument of `reproduce`: a figure, or `all`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FigureArg {
    /// All figures of the paper.
    All,
    /// One figure, such as `fig5`.
    One(Figure),
}

impl FromStr for FigureArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let names = || Figure::ALL.map(Figure::name).join(", ");
        text.parse()
            .map(Self::One)
            .map_err(|()| format!("neither `all` nor one of {}", names()))
    }
}

/// Value of `--engine`: the engine that performs runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum EngineArg {
    /// The simulator
    Sim,
    /// The Linux kernel, here or in a guest; needs root
    #[value(alias = "lab")]
    Kernel,
}

impl From<EngineArg> for Engine {
    fn from(engine: EngineArg) -> Self {
        match engine {
            EngineArg::Sim => Self::Sim,
            EngineArg::Kernel => Self::Kernel,
        }
    }
}

/// Arguments of `fidelity`.
#[derive(Args, Debug)]
pub struct FidelityArgs {
    /// The run directory of the kernel's run
    #[arg(value_name = "RUN_KERNEL")]
    pub first: PathBuf,
    /// The run directory of the simulator's run
    #[arg(value_name = "RUN_SIM")]
    pub second: PathBuf,
    /// Directory for the page and the figures [default: `fidelity` in RUN_KERNEL]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Largest allowed p50 of |ΔFCT| / FCT
    #[arg(long, value_name = "[LABEL=]PERCENT,…", value_delimiter = ',')]
    pub max_p50: Vec<PolicyBound>,
    /// Largest allowed p95 of |ΔFCT| / FCT
    #[arg(long, value_name = "[LABEL=]PERCENT,…", value_delimiter = ',')]
    pub max_p95: Vec<PolicyBound>,
    /// Largest allowed p99 of |ΔFCT| / FCT
    #[arg(long, value_name = "[LABEL=]PERCENT,…", value_delimiter = ',')]
    pub max_p99: Vec<PolicyBound>,
    /// Largest allowed |ΔFCT| / FCT of any flow
    #[arg(long, value_name = "[LABEL=]PERCENT,…", value_delimiter = ',')]
    pub max_difference: Vec<PolicyBound>,
    /// Smallest allowed share of flows whose data and acknowledgements took the same paths
    #[arg(long, value_name = "[LABEL=]PERCENT,…", value_delimiter = ',')]
    pub min_paths: Vec<PolicyBound>,
    /// Smallest allowed Pearson coefficient of the flows' slowdowns
    #[arg(long, value_name = "[LABEL=]NUMBER,…", value_delimiter = ',')]
    pub min_pearson: Vec<PolicyBound>,
    /// Smallest allowed share of the plan's flows that finished in both runs [default with a bound: 100 %]
    #[arg(long, value_name = "[LABEL=]PERCENT,…", value_delimiter = ',')]
    pub min_compared: Vec<PolicyBound>,
}

/// Arguments of `bundle`.
#[derive(Args, Debug)]
pub struct BundleArgs {
    /// The run directory, such as `results/latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// File to write, which must not exist [default: the run's name with `.tar.zst`]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Path of the bundle
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// Run the scenario again with the bundle's engine and compare the rows
    #[arg(long)]
    pub rerun: bool,
    /// Directory in which to keep the unpacked run and the repeated run of `--rerun`; must not exist [default: neither
    /// is kept]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Subject of `bench`.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchSubject {
    /// Time to create and remove the namespaces and links of a lab
    Lab {
        /// The scenario file, or the name of a built-in scenario
        #[arg(
            long,
            value_name = "SCENARIO",
            default_value = "scenarios/8dc-fabric.yaml"
        )]
        scenario: PathBuf,
        /// Number of repetitions
        #[command(flatten)]
        rounds: Rounds,
    },
    /// Time of the switch program's decision on a flow's first packet, by policy
    Decision,
    /// Packets per second through one switch, against the kernel's own forwarding
    Forwarding(Rounds),
    /// Time that a flow is interrupted when its link dies, with few and many flows pinned to the link
    Failover(Rounds),
    /// Flows, packets and bits per second of the RDMA verbs generator and of the emulated path
    Generator {
        /// Number of flows [default: 2000 under emulation, else 10000]
        #[arg(long, value_name = "N")]
        flows: Option<u32>,
        /// Kernel to measure: this machine's or a guest's
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Error of `sim --trains` and the CPU time that it saves, compared with a simulation of single packets
    Trains {
        /// Scenario and its overrides
        #[command(flatten)]
        scenario: ScenarioArgs,
        /// Maximum number of packets in a train, as in `sim`
        #[arg(
            long,
            value_name = "N",
            default_value = "default",
            hide_default_value = true
        )]
        trains: TrainsArg,
    },
}

/// Number of repetitions of a measurement.
#[derive(Args, Clone, Copy, Debug)]
pub struct Rounds {
    /// Number of repetitions
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeat: u32,
}

/// Value of `--trains`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TrainsArg {
    /// Length that follows from the plan
    Default,
    /// Maximum number of packets in a train
    Length(NonZeroU16),
}

impl TrainsArg {
    /// One packet a train, which is a simulation without trains.
    pub const PACKETS: Self = Self::Length(NonZeroU16::MIN);
}

impl FromStr for TrainsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self::Default);
        }
        let length = text.parse();
        length
            .map(Self::Length)
            .map_err(|_| format!("a train has 1 to {} packets", u16::MAX))
    }
}

/// Value of `--story`: flows whose events are recorded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoryArg {
    /// All flows
    All,
    /// One flow
    Flow(FlowId),
}

impl fmt::Display for StoryArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Flow(id) => write!(f, "{id}"),
        }
    }
}

impl FromStr for StoryArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        text.parse()
            .map(FlowId)
            .map(Self::Flow)
            .map_err(|_| "neither `all` nor the number of a flow".to_owned())
    }
}

/// Returns the number of threads for a simulation: the requested number, or one per core.
pub fn threads(requested: Option<NonZeroUsize>) -> usize {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    requested.map_or_else(cores, NonZeroUsize::get)
}

/// Delay at which LCMP's delay score saturates in the artifact's published code.
pub const PUBLISHED_MAX_DELAY: Nanos = Nanos::from_millis(32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_two_factors_or_a_run() {
        let factor = |text: &str| text.parse::<Ratio>().unwrap();
        let factors = ScaleArg::Factors(factor("1/6000"), factor("100"));
        assert_eq!("1/6000, 100".parse(), Ok(factors));
        let run = ScaleArg::Run("results/latest".into());
        assert_eq!("results/latest".parse(), Ok(run));
        for (text, expected) in [
            (
                "0,100",
                "the factor of rates is 0; it must be 1/1000000 to 1",
            ),
            (
                "2000,10",
                "(hint: the paper's rates are multiplied by the factor; did you mean `1/2000`?)",
            ),
            (
                "1/10,1000001",
                "the factor of times is 1000001; it must be 1/1000000 to 1000000",
            ),
        ] {
            let error = text.parse::<ScaleArg>().unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(
            "50%,10".parse(),
            Ok(ScaleArg::Factors(factor("1/2"), factor("10")))
        );
        assert!("1/6000,fast".parse::<ScaleArg>().is_err());
    }

    #[test]
    fn a_guests_memory_has_a_unit_and_a_minimum() {
        assert_eq!(guest_memory("6 GiB"), Ok(Bytes::new(6 << 30)));
        assert_eq!(guest_memory("3000MB"), Ok(Bytes::new(3_000_000_000)));
        let error = guest_memory("2").unwrap_err();
        assert!(error.contains("unit"), "{error}");
        let error = guest_memory("100 MiB").unwrap_err();
        assert!(
            error.starts_with("a guest needs at least 512 MiB"),
            "{error}"
        );
        let refused = command()
            .try_get_matches_from("lcmp-lab up x.yaml --here --guest-memory 4GiB".split(' '));
        assert_eq!(
            refused.unwrap_err().kind(),
            clap::error::ErrorKind::ArgumentConflict
        );
    }

    #[test]
    fn shares_may_be_percentages() {
        assert_eq!(load_share("50%"), Ok("1/2".parse().unwrap()));
        let error = load_share("50").unwrap_err();
        assert_eq!(
            error,
            "a load must be above 0 and at most 4, which is 400 % (hint: did you mean `50%`?)"
        );
        assert_eq!(
            load_share("500%").unwrap_err(),
            "a load must be above 0 and at most 4, which is 400 %"
        );
        assert_eq!([percent("92"), percent("92 %")], [Ok(92), Ok(92)]);
        assert!(percent("101").is_err() && percent("0.92").is_err());
    }

    #[test]
    fn the_flags_of_every_verb_hold_before_and_behind_it() {
        let read = |words: &[&str]| {
            let matches = command().try_get_matches_from(words).unwrap();
            Cli::from_arg_matches(&matches).unwrap().global
        };
        for words in [
            ["lcmp-lab", "--json", "--lab", "mine", "status"],
            ["lcmp-lab", "status", "--json", "--lab", "mine"],
            ["lcmp-lab", "--lab", "mine", "status", "--json"],
        ] {
            let global = read(&words);
            assert!(global.json, "{words:?}");
            assert_eq!(global.lab.as_deref(), Some("mine"), "{words:?}");
        }
        let global = read(&[
            "lcmp-lab",
            "runs",
            "tag",
            "latest",
            "a",
            "--results",
            "there",
        ]);
        assert_eq!(global.results, PathBuf::from("there"));
    }

    #[test]
    fn a_story_names_all_flows_or_one() {
        assert_eq!("all".parse(), Ok(StoryArg::All));
        assert_eq!("17".parse(), Ok(StoryArg::Flow(FlowId(17))));
        for text in ["all", "17"] {
            assert_eq!(text.parse::<StoryArg>().unwrap().to_string(), text);
        }
        assert!("dc1".parse::<StoryArg>().is_err());
    }
}
