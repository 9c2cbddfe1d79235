//! The `lcmp-lab` command: arguments, progress, exit codes, and the choice between this kernel and a guest. All other
//! logic is in libraries.
//!
//! - `args`: the command line; uses no other module
//! - `batch`: wanted runs, found among ended ones or made
//! - `builtin`: scenarios inside the program
//! - `failure`, `terminal`, `descriptors`: exit codes, standard streams and signals, open files
//! - `temporary`: folders that are removed however the process ends
//! - `parent`: the process that this one must not outlive
//! - `caller`: the user who called sudo, who gets the files
//! - `provenance`: origin of a run, for its records
//! - `exec_log`: commands that `exec` ran in a lab of this kernel
//! - `load`, `run_dir`: from a scenario to a plan, and to the directory of a run
//! - `place`: the place of a lab, and its capacity
//! - `programs`: switch programs of the user's own, for the records
//! - `progress`: phases of a run on standard error
//! - `verbs`: one module per group of verbs

mod args;
mod batch;
mod builtin;
mod caller;
mod departures;
mod descriptors;
mod exec_log;
mod failure;
mod load;
mod parent;
mod place;
mod programs;
mod progress;
mod provenance;
mod run_dir;
mod temporary;
mod terminal;
mod verbs;

use std::process::ExitCode;

use crate::{
    args::{Cli, Verb},
    failure::{During, Exit, Failure, Outcome},
    terminal::note,
};

fn main() -> ExitCode {
    // The guest's init has no arguments to parse.
    let verb = std::env::args_os().nth(1);
    if verb.is_some_and(|verb| verb == lab_guest::INIT_VERB) {
        lab_guest::inside::main();
    }
    let cli = match Cli::of_process() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Help and version are printed to standard output.
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Pass
            };
            return ExitCode::from(exit.code());
        }
    };
    let filter = match tracing_subscriber::EnvFilter::try_new(&cli.global.log) {
        Ok(filter) => filter,
        Err(error) => {
            note(&format!("error: `--log {}`: {error}", cli.global.log));
            return ExitCode::from(Exit::Usage.code());
        }
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .init();
    let is_json = cli.global.json;
    let exit = run(cli).unwrap_or_else(|failure| {
        if is_json {
            terminal::print_json(&failure.to_json());
        }
        // Errors of a scenario already have a heading, source line and caret.
        if failure.message.starts_with("error:") {
            note(&failure.message);
        } else {
            note(&format!("error: {}", failure.message));
        }
        failure.exit
    });
    ExitCode::from(exit.code())
}

fn run(cli: Cli) -> Outcome {
    descriptors::require()?;
    descriptors::outlive_size_limit().during("ignore a signal")?;
    let global = &cli.global;
    if let Some(verb) = cli.verb.without_json().filter(|_| global.json) {
        return Err(Failure::usage(format_args!(
            "`{verb}` has no JSON output (hint: leave out `--json`)"
        )));
    }
    match cli.verb {
        Verb::Check(arguments) => verbs::check::check(&arguments, global.json),
        Verb::Plan(arguments) => verbs::inspect::plan(&arguments, global.json),
        Verb::Graph(arguments) => verbs::inspect::graph(&arguments),
        Verb::Account(arguments) => verbs::account::run(&arguments, global.json),
        Verb::Explain(arguments) => verbs::explain::run(&arguments, global.json),
        Verb::Init(arguments) => verbs::init::init(&arguments),
        Verb::Topologies(arguments) => verbs::topologies::topologies(&arguments, global),
        Verb::Scenarios(arguments) => verbs::scenarios::scenarios(&arguments, global),
        Verb::Schema => verbs::inspect::schema(),
        Verb::Doctor(arguments) => verbs::doctor::doctor(&arguments, global),
        Verb::Provision(arguments) => verbs::doctor::provision(&arguments),
        Verb::Up(arguments) => verbs::up::up(&arguments, global),
        Verb::Sim(arguments) => verbs::sim::sim(&arguments, global),
        Verb::Train(arguments) => verbs::train::train(&arguments, global),
        Verb::Import(arguments) => verbs::artifact::import(&arguments),
        Verb::Validate(arguments) => verbs::validate::validate(&arguments, global.json),
        Verb::Status => verbs::labs::status(global),
        Verb::Exec(arguments) => verbs::labs::exec(&arguments, global),
        Verb::Tune(arguments) => verbs::labs::tune(&arguments, global),
        Verb::Down(arguments) => verbs::labs::down(&arguments, global),
        Verb::Report(arguments) => verbs::runs::report(&arguments, global),
        Verb::Flow(arguments) => verbs::runs::flow(&arguments, global),
        Verb::Runs(arguments) => verbs::store::runs(&arguments, global),
        Verb::Compare(arguments) => verbs::compare::compare(&arguments, global),
        Verb::Coverage(arguments) => verbs::coverage::coverage(&arguments, global),
        Verb::Regress(arguments) => verbs::regress::regress(&arguments, global),
        Verb::Sweep(arguments) => verbs::sweep::sweep(&arguments, global),
        Verb::Reproduce(arguments) => verbs::reproduce::reproduce(&arguments, global),
        Verb::Fidelity(arguments) => verbs::fidelity::fidelity(&arguments, global),
        Verb::Bundle(arguments) => verbs::bundle::bundle(&arguments, global),
        Verb::Verify(arguments) => verbs::verify::verify(&arguments, global),
        Verb::Bench(subject) => verbs::bench::bench(&subject, global),
        Verb::SweepCell {
            dir,
            number,
            caller,
        } => verbs::sweep::cell(&dir, number, caller, global),
        Verb::SweepTask { dir, array, index } => verbs::sweep::task(&dir, &array, index),
        Verb::Switchd => verbs::labs::switchd(),
        Verb::UpInGuest { dir } => verbs::up::in_guest(&dir),
        Verb::UpAsOwner { caller } => verbs::up::as_owner(caller, global),
        Verb::MeasureHere(arguments) => verbs::measure::here(&arguments, global),
        Verb::Completions { shell } => verbs::pages::completions(shell),
        Verb::Man { folder } => verbs::pages::man(&folder),
    }
}
