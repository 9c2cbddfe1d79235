//! The lcmp-lab command: flags, progress, exit codes, choice of place. What it does is in the
//! crates below it.

mod args;
mod facts;
mod failure;
mod interrupt;
mod load;
mod objects;
mod output;
mod progress;
mod summary;
mod verbs;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::{
    args::{Cli, Verb},
    failure::{Exit, Outcome},
    output::note,
};

fn main() -> ExitCode {
    // The guest's init runs before there is anything to parse arguments for.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == lab_guest::INIT_VERB)
    {
        lab_guest::inside::main();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Asking for help is no usage error.
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
    let exit = run(cli).unwrap_or_else(|failure| {
        // Errors of a scenario come with their heading, source line and caret.
        let heading = if failure.message.starts_with("error:") {
            ""
        } else {
            "error: "
        };
        note(&format!("{heading}{}", failure.message));
        failure.exit
    });
    ExitCode::from(exit.code())
}

fn run(cli: Cli) -> Outcome {
    let global = &cli.global;
    match cli.verb {
        Verb::Check(arguments) => verbs::inspect::check(&arguments, global.json),
        Verb::Plan(arguments) => verbs::inspect::plan(&arguments, global.json),
        Verb::Graph(arguments) => verbs::inspect::graph(&arguments),
        Verb::Account(arguments) => verbs::account::run(&arguments, global.json),
        Verb::Explain(arguments) => verbs::explain::run(&arguments, global.json),
        Verb::Schema => verbs::inspect::schema(),
        Verb::Doctor => verbs::doctor::doctor(global),
        Verb::Provision(arguments) => verbs::provision::provision(&arguments),
        Verb::Up(arguments) => verbs::up::up(&arguments, global),
        Verb::Sim(arguments) => verbs::sim::sim(&arguments, global),
        Verb::Import(arguments) => verbs::artifact::import(&arguments),
        Verb::Validate(arguments) => verbs::validate::validate(&arguments, global.json),
        Verb::Status => verbs::labs::status(global.json),
        Verb::Exec(arguments) => verbs::labs::exec(&arguments, global),
        Verb::Tune(arguments) => verbs::labs::tune(&arguments, global),
        Verb::Down(arguments) => verbs::labs::down(&arguments, global),
        Verb::Report(arguments) => verbs::report::report(&arguments, global),
        Verb::Flow(arguments) => verbs::flow::flow(&arguments, global),
        Verb::Bench(arguments) => verbs::bench::bench(&arguments, global.json),
        Verb::Switchd => verbs::switchd::switchd(),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            let mut offered = args::without_hidden(&Cli::command());
            clap_complete::generate(shell, &mut offered, "lcmp-lab", &mut script);
            output::print(&String::from_utf8_lossy(&script));
            Ok(Exit::Pass)
        }
    }
}
