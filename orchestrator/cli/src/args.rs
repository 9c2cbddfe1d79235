//! The command line, as clap reads it. The doc comments are the help texts.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{
    Args, Command, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use lab_kernel::run::tune::Change;
use lab_units::{Clock, Nanos};

use crate::verbs::{artifact::PUBLISHED_MAX_DELAY, sim::StoryArg};

/// Compare inter-datacenter RDMA routing policies on one Linux host
///
/// From one YAML scenario lcmp-lab builds an inter-datacenter network out of namespaces, veth,
/// tc/netem and SoftRoCE, runs a switch agent in every DCI switch, drives RDMA flows, and writes a
/// plotted report. Times and rates in scenarios and reports are the paper's; the lab runs a scaled
/// copy of them.
#[derive(Debug, Parser)]
#[command(name = "lcmp-lab", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
    /// Flags every verb takes
    #[command(flatten)]
    pub global: Global,
}

const EXIT_CODES: &str = "\
Start with:
  lcmp-lab check scenarios/8dc.yaml    is the scenario sound, and what will it cost?
  lcmp-lab up scenarios/8dc.yaml       build it, run it, read the report

Exit codes:
  0  pass
  1  an assertion failed: `validate` found a difference out of bounds
  2  usage, or an error in the scenario
  3  environment: something is missing or went wrong here (`lcmp-lab doctor` says what to do)
  4  inconclusive: the run ended, but its results cannot be trusted (unfinished or late flows,
     or a run in a guest that was interrupted)";

const EXEC_EXAMPLES: &str = "\
See the RoCEv2 packets of a run, from another terminal while it runs:
  lcmp-lab exec dc1 -- ip -brief link
  lcmp-lab exec dc1 -- tcpdump -ni any -c 5 udp port 4791
  lcmp-lab exec dc1 -- tcpdump -ni any -w - udp port 4791 > dc1.pcap

Standard input, output and error are the command's, Ctrl-C reaches it, and its exit code is
passed on; 2 and 3 are also this tool's own, with an `error:` line.

In a guest the command finds this machine's files, but what it writes to files is thrown away with
the guest: write to standard output. While flows run it takes time of the guest's CPU from them; the
run then has a warning not to compare its times. On a virtual clock a kept guest's time passes only
while a command runs, and jumps over idle: `sleep 100` takes a moment.";

const EXPLAIN_EXAMPLES: &str = "\
An idle network, then 600 MB waiting for dc2 that grow by 20 MB a sample and have been too many for
40 samples, then the link to dc2 down:
  lcmp-lab explain scenarios/8dc.yaml --from dc1 --to dc8
  lcmp-lab explain scenarios/8dc.yaml --from dc1 --to dc8 --queues dc2=600MB:20MB:40
  lcmp-lab explain scenarios/8dc.yaml --from dc1 --to dc8 --dead dc2

All quantities are the paper's. scenarios/explain-8dc.md does the same by hand.";

const TUNE_EXAMPLES: &str = "\
From another terminal while flows run:
  lcmp-lab tune dc1                   what the weights and thresholds are
  lcmp-lab tune dc1 alpha=1 beta=3    the next flow is decided by these
  lcmp-lab tune dc1 w_dl=0            its paths cost by their capacity alone

What is tuned lasts until the policy's flows have ended; every repetition begins with the scenario's.
max_delay and max_capacity, where scores end, are the scenario's for all switches and cannot be tuned.";

const SIM_EXAMPLES: &str = "\
A short look at a long experiment, then all of it:
  lcmp-lab sim scenarios/8dc.yaml --policies lcmp --until '100 ms'
  lcmp-lab sim scenarios/8dc.yaml

What became of flow 7:
  lcmp-lab sim scenarios/8dc.yaml --story 7
  lcmp-lab flow results/latest 7

The same scenario and seed give the same records, byte for byte, on any number of threads and any
machine. Ctrl-C keeps the flows that have finished; the run is then marked as interrupted, exit
code 4. A plan that this machine has no memory for (3), or that would take more than a day (2), is
refused before it starts.";

const VALIDATE_BOUNDS: &str = "\
ECMP, UCMP and LCMP, each beside its published output. Bounds, out of which the exit code is 1:
every flow finishes and has the published standalone FCT; |ΔFCT| / FCT is at most 1e-3 for half of
the flows and 3 % for 99 of 100; a link's average utilisation is within 1 % of the published one
(whose Gbit is 2^30 bit, and which relates the two links of 25 Gbit/s to the paper's 40).";

/// `command` without its hidden verbs and flags, which completions would offer.
///
/// clap keeps names for as long as the program runs, so those that are made here are never freed.
pub fn without_hidden(command: &Command) -> Command {
    let flags = command.get_arguments().filter(|flag| !flag.is_hide_set());
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let name: &'static str = command.get_name().to_owned().leak();
    let mut offered = Command::new(name)
        .args(flags.cloned())
        .subcommands(verbs.map(without_hidden));
    if command.get_version().is_some() {
        offered = offered.version(env!("CARGO_PKG_VERSION"));
    }
    if let Some(about) = command.get_about() {
        offered = offered.about(about.clone());
    }
    offered
}

/// Flags every verb takes.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Print results as JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Directory that run directories are made in
    #[arg(long, global = true, value_name = "DIR", default_value = "results")]
    #[arg(env = "LCMP_LAB_RESULTS")]
    pub results: PathBuf,
    /// Name of the lab [default: the scenario's name]
    #[arg(long, global = true, value_name = "NAME", env = "LCMP_LAB_LAB")]
    pub lab: Option<String>,
    /// Install what is missing without asking (read by the launcher of a clone)
    #[arg(long, short, global = true)]
    pub yes: bool,
    /// What to log on standard error, as tracing filters
    #[arg(long, global = true, value_name = "FILTER", default_value = "warn")]
    #[arg(env = "LCMP_LAB_LOG", hide_short_help = true)]
    pub log: String,
}

/// The verbs, in the order a person works.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Check a scenario: errors with their place, warnings, and what it will cost
    Check(ScenarioArgs),
    /// Show the plan of a scenario: everything decided before time starts
    Plan(PlanArgs),
    /// Draw the inter-DC map of a scenario as SVG
    Graph(GraphArgs),
    /// Explain a decision: a switch's candidates with every score, and which it keeps and chooses
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Account for what deciding takes of a switch, beside what the paper counts: bytes, operations
    Account(ScenarioArgs),
    /// Say where labs run on this machine, what they lack, and the commands that mend it
    Doctor,
    /// Install what running labs takes, on Debian and Ubuntu
    Provision(ProvisionArgs),
    /// Build the lab, run every policy's flows, write the report, take the lab down
    Up(UpArgs),
    /// Play the plan in virtual time, packet by packet, unscaled, without root
    #[command(after_help = SIM_EXAMPLES)]
    Sim(SimArgs),
    /// Make a scenario of a topology and flows of the paper's NS-3 artifact
    Import(ImportArgs),
    /// Simulate the paper's Figure 1 and compare it flow by flow with the published outputs
    #[command(after_help = VALIDATE_BOUNDS)]
    Validate(ValidateArgs),
    /// List the labs of this machine
    Status,
    /// Run a command on a node of a lab that is up, here or in a guest
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArgs),
    /// Change LCMP's weights and thresholds at a DCI switch while flows run, here or in a guest
    #[command(after_help = TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// Take a lab down: everything it made goes, nothing else is touched
    Down(DownArgs),
    /// Write the report of a run again
    Report(ReportArgs),
    /// Tell what became of one flow of a run: what each DCI switch chose and from what, and its FCT
    Flow(FlowArgs),
    /// Measure this tool: lab creation, decisions, forwarding, failover
    Bench(BenchArgs),
    /// Print the JSON Schema of scenarios
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The agent of one DCI switch; reads its configuration from standard input
    #[command(hide = true)]
    Switchd,
}

/// A scenario and what may be said differently from it.
#[derive(Args, Clone, Debug)]
pub struct ScenarioArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Seed instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Only these policies of the scenario, by label
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub policies: Vec<String>,
}

/// What `plan` takes.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// The scenario
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Show the steps that build the lab, in the words of ip, tc and rdma
    #[arg(long)]
    pub steps: bool,
}

/// What `graph` takes.
#[derive(Args, Debug)]
pub struct GraphArgs {
    /// The scenario
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `explain` takes.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// The datacenter whose DCI switch decides
    #[arg(long, value_name = "DC")]
    pub from: String,
    /// The datacenter the flow goes to
    #[arg(long, value_name = "DC")]
    pub to: String,
    /// Egress queues towards neighbours: bytes, their trend, samples they were full [default: empty]
    #[arg(
        long,
        value_name = "DC=BYTES[:TREND[:SAMPLES]],…",
        value_delimiter = ','
    )]
    pub queues: Vec<String>,
    /// Neighbours whose link is down
    #[arg(long, value_name = "DC,…", value_delimiter = ',')]
    pub dead: Vec<String>,
    /// Only these policies of the scenario, by label
    #[arg(long, alias = "policy", value_name = "LABEL,…", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// The sending host [default: the first of its datacenter]
    #[arg(long, value_name = "HOST")]
    pub src: Option<String>,
    /// The receiving host [default: the first of its datacenter]
    #[arg(long, value_name = "HOST")]
    pub dst: Option<String>,
    /// The flow's UDP source port
    #[arg(long, value_name = "PORT", default_value_t = 49_152)]
    pub sport: u16,
}

/// What `provision` takes.
#[derive(Args, Debug)]
pub struct ProvisionArgs {
    /// List what is missing and install nothing
    #[arg(long)]
    pub check: bool,
    /// Bring what a guest takes even if this kernel has what a lab is made of
    #[arg(long, conflicts_with = "no_guest")]
    pub guest: bool,
    /// Bring nothing for a guest
    #[arg(long)]
    pub no_guest: bool,
}

/// What `up` takes.
#[derive(Args, Clone, Debug)]
pub struct UpArgs {
    /// The scenario
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Run in this kernel, or fail if it lacks a module
    #[arg(long, conflicts_with = "guest")]
    pub here: bool,
    /// Run in a QEMU guest even if this kernel has the modules
    #[arg(long)]
    pub guest: bool,
    /// The guest's clock [default: virtual under software emulation, else real]
    ///
    /// A virtual clock counts instructions and jumps over idle time: results are exact and repeat,
    /// whatever else this machine does.
    #[arg(long, value_parser = clock(), value_name = "CLOCK", conflicts_with = "here")]
    pub clock: Option<Clock>,
    /// Leave the lab up after its flows; `lcmp-lab down` takes it down
    ///
    /// A lab in a guest stays with its guest, which a background process keeps. On a virtual clock
    /// the guest's time passes only while `lcmp-lab exec` runs something.
    #[arg(long)]
    pub keep: bool,
    /// Write records into this existing run directory and no report (the guest's part of `up`)
    #[arg(long, hide = true, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// Be the process that keeps a guest, for the process of this number
    #[arg(long, hide = true, value_name = "PID", requires = "keep")]
    pub keeper_for: Option<i32>,
    /// When the run started by the host's clock
    #[arg(long, hide = true, value_name = "TIME")]
    pub started_at: Option<lab_records::UtcTime>,
}

/// What `sim` takes.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO", required_unless_present = "artifact")]
    pub scenario: Option<PathBuf>,
    /// Files of the paper's NS-3 artifact instead of a scenario; `import` shows what they become
    #[arg(long, num_args = 2, value_names = ["TOPOLOGY", "FLOWS"], conflicts_with = "scenario")]
    pub artifact: Vec<PathBuf>,
    /// The artifact's routing table, for the order of its equal next hops [default: by port]
    #[arg(
        long,
        value_name = "CSV",
        requires = "artifact",
        conflicts_with = "scenario"
    )]
    pub routes: Option<PathBuf>,
    /// Seed instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Only these policies of the scenario, by label
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// Stop at this time, finished or not: `200 ms`
    #[arg(long, value_name = "TIME")]
    pub until: Option<Nanos>,
    /// Threads that share the datacenters; results do not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Keep the scenario's `scale`, to compare with a lab of it like with like
    ///
    /// Without it nothing is scaled: rates, delays and sizes are the paper's.
    #[arg(long)]
    pub scaled: bool,
    /// Record what happens to these flows, or to `all`: rates, marks, pauses, losses
    ///
    /// `lcmp-lab flow RUN ID` tells it.
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub story: Vec<StoryArg>,
}

/// What `import` takes.
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
    /// Delay at which LCMP's delay score saturates; Figure 1 was made with 512 ms
    #[arg(long, value_name = "TIME", default_value_t = PUBLISHED_MAX_DELAY)]
    pub max_delay: Nanos,
}

/// What `validate` takes.
#[derive(Args, Debug)]
pub struct ValidateArgs {
    /// The artifact's directory: `topology`, `traffic`, `fct/fig1` and `published` in it
    #[arg(long, value_name = "DIR")]
    pub artifact: PathBuf,
    /// Threads that share the datacenters; results do not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Parser of a clock's word, with help for each word.
fn clock() -> impl TypedValueParser<Value = Clock> {
    PossibleValuesParser::new([
        PossibleValue::new(Clock::Virtual.name()).help("Instructions executed"),
        PossibleValue::new(Clock::Real.name()).help("The machine's own time"),
    ])
    .try_map(|word| word.parse::<Clock>())
}

/// What `exec` takes.
#[derive(Args, Debug)]
pub struct ExecArgs {
    /// The node: `dc1` for a DCI switch, `dc1/h1`, `dc1/l1`, `dc1/s1` behind it
    pub node: String,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<std::ffi::OsString>,
}

/// What `tune` takes.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// The datacenter whose DCI switch is meant
    pub dc: String,
    /// Parameters and their values from now on, such as `alpha=1` [default: only show them]
    #[arg(value_name = "NAME=VALUE")]
    pub changes: Vec<Change>,
}

/// What `down` takes.
#[derive(Args, Debug)]
pub struct DownArgs {
    /// The lab [default: the only one there is]
    #[arg(value_name = "LAB")]
    pub name: Option<String>,
    /// Take down every lab of this machine
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
}

/// What `report` takes.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The run directory [default: the newest]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
}

/// What `flow` takes.
#[derive(Args, Debug)]
pub struct FlowArgs {
    /// The run directory: `results/latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The flow's number, as in `flows.csv`
    #[arg(value_name = "ID")]
    pub id: u32,
    /// Only under this policy, by label
    #[arg(long, value_name = "LABEL")]
    pub policy: Option<String>,
}

/// What `bench` takes.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// What to measure
    #[arg(value_enum)]
    pub subject: BenchSubject,
    /// The scenario whose lab is created
    #[arg(
        long,
        value_name = "SCENARIO",
        default_value = "scenarios/8dc-fabric.yaml"
    )]
    pub scenario: PathBuf,
    /// How often
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeat: u32,
}

/// What `bench` measures.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum BenchSubject {
    /// Namespaces and links up and down
    Lab,
    /// The switch program's decision on a flow's first packet, by policy
    Decision,
    /// Packets per second through one switch, against the kernel's own forwarding
    Forwarding,
    /// How long a flow is cut off when its link dies, with few and many flows pinned to it
    Failover,
}
