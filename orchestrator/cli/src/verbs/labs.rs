//! Verbs for existing labs: `status`, `exec`, `tune`, `down`, and the agent of their switches.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Read},
};

use lab_guest::{
    exec::{self as guest, ExecError},
    inside,
};
use lab_kernel::{
    LabName,
    exec::UndoError,
    journal::{LabState, Location, Status},
    lab::{self, DownError, EnterError, Live},
    run::tune::{self, TuneError, TuneRequest},
};

use crate::{
    args::{DownArgs, ExecArgs, Global, TuneArgs},
    exec_log,
    failure::{During, Exit, Failure, Outcome, with_causes},
    terminal::{note, print, print_json, show},
};

/// Runs `lcmp-lab status`.
pub fn status(json: bool) -> Outcome {
    let labs = lab::status().during("list the labs")?;
    show(json, &labs, |labs| match labs.as_slice() {
        [] => "no labs".to_owned(),
        labs => labs.iter().map(line).collect::<Vec<_>>().join("\n"),
    })
}

/// Runs `lcmp-lab exec`.
pub fn exec(arguments: &ExecArgs, global: &Global) -> Outcome {
    let (lab, status) = find(global)?;
    match status {
        // The journal of a lab whose owner was killed at its first step has no nodes.
        Some(status) if status.state == LabState::Dead && status.switches == 0 => {
            Err(Failure::environment(format_args!(
                "lab `{lab}` is dead (hint: `lcmp-lab down {lab}`)"
            )))
        }
        Some(status) if status.location == Location::Guest => exec_in_guest(&status, arguments),
        _ => exec_here(&lab, arguments),
    }
}

/// Executes the command in place of this process.
fn exec_here(lab: &LabName, arguments: &ExecArgs) -> Outcome {
    let ready = lab::node_command(lab, &arguments.node, &arguments.command);
    let ready = ready.map_err(enter_failure)?;
    if ready.runs_in_root() {
        note(&format!(
            "`{}` is an RDMA host in the root namespace: the command runs there",
            arguments.node
        ));
    }
    if !inside::is_inside() {
        exec_log::append(lab, &arguments.node, &arguments.command);
    }
    let error = ready.exec();
    if let EnterError::Start { error: cause, .. } = &error {
        note(&format!("error: {}", with_causes(&error)));
        std::process::exit(not_started(cause));
    }
    Err(enter_failure(error))
}

/// Returns the exit code of shells for a command that cannot be started.
fn not_started(cause: &io::Error) -> i32 {
    match cause.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    }
}

/// Runs the same verb in the lab's guest, and ends this process with the command's exit code.
fn exec_in_guest(lab: &Status, arguments: &ExecArgs) -> Outcome {
    let name = &lab.lab;
    if lab.state == LabState::Dead {
        return Err(Failure::environment(format_args!(
            "lab `{name}` is dead: its guest ended with its owner process (hint: `lcmp-lab down {name}`)"
        )));
    }
    let mut words = vec![arguments.node.clone().into(), "--".into()];
    words.extend(arguments.command.iter().cloned());
    let code = guest::run(&super::up::exec_socket(name), words).map_err(|error| {
        let failure = match &error {
            ExecError::TooLong { .. } => Failure::usage,
            _ => Failure::environment,
        };
        let hint = match &error {
            ExecError::Unreachable { source, .. } => unreachable_hint(source),
            ExecError::GuestEnded => " (hint: `lcmp-lab status` shows if the lab still exists)",
            _ => "",
        };
        failure(format!("lab `{name}`: {}{hint}", with_causes(&error)))
    })?;
    std::process::exit(i32::from(code))
}

fn unreachable_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            " (hint: the lab belongs to another user; run as that user or as root)"
        }
        io::ErrorKind::NotFound => " (hint: its guest has not started yet; try again)",
        _ => "",
    }
}

/// Returns a usage failure for wrong arguments, and an environment failure for a failed system call.
fn enter_failure(error: EnterError) -> Failure {
    let failure: fn(String) -> Failure = match &error {
        EnterError::NoLab { .. } if inside::is_inside() => {
            return Failure::environment(
                "the lab in the guest is not up yet (hint: try again in a few seconds)",
            );
        }
        EnterError::NoLab { .. }
        | EnterError::NoNode { .. }
        | EnterError::NoCommand
        | EnterError::Start { .. } => Failure::usage,
        EnterError::InGuest { .. } | EnterError::Enter { .. } | EnterError::Journal { .. } => {
            Failure::environment
        }
    };
    failure(with_causes(&error))
}

/// Runs `lcmp-lab tune`.
pub fn tune(arguments: &TuneArgs, global: &Global) -> Outcome {
    let (lab, status) = find(global)?;
    if let Some(status) = status.filter(|status| status.location == Location::Guest) {
        return tune_in_guest(&status, arguments, global);
    }
    let request = TuneRequest {
        dc: arguments.dc.clone(),
        changes: arguments.changes.clone(),
    };
    let tuned = tune::tune(&lab, &request).map_err(|error| match error {
        TuneError::Refused { .. } => Failure::usage(error),
        TuneError::Unreachable { .. } | TuneError::NoAnswer { .. } => Failure::environment(error),
    })?;
    if global.json {
        let tuned: BTreeMap<String, u8> = tuned.into_iter().collect();
        print_json(&tuned);
        return Ok(Exit::Pass);
    }
    for (name, value) in tuned {
        print(&format!("{name:<20} {value:>3}"));
    }
    Ok(Exit::Pass)
}

/// Runs the same verb in the lab's guest.
fn tune_in_guest(lab: &Status, arguments: &TuneArgs, global: &Global) -> Outcome {
    let program = std::env::current_exe().during("find this program")?;
    let mut command: Vec<OsString> = vec![program.into(), "tune".into()];
    command.extend(["--lab".into(), lab.lab.as_str().into()]);
    if global.json {
        command.push("--json".into());
    }
    command.push(arguments.dc.clone().into());
    let changes = arguments.changes.iter();
    command.extend(changes.map(|change| format!("{}={}", change.name, change.value).into()));
    let node = arguments.dc.clone();
    exec_in_guest(lab, &ExecArgs { node, command })
}

/// Runs `lcmp-lab down`.
pub fn down(arguments: &DownArgs, global: &Global) -> Outcome {
    if arguments.forget {
        return forget(&named_or_only(arguments.name.as_deref())?);
    }
    let results = if arguments.all {
        lab::down_all(Live::Stop).during("list the labs")?
    } else {
        let lab = named_or_only(arguments.name.as_deref().or(global.lab.as_deref()))?;
        match lab::down(&lab, Live::Stop) {
            Err(error @ DownError::NoLab { .. }) => return Err(Failure::usage(error)),
            result => vec![(lab.clone(), result)],
        }
    };
    if results.is_empty() {
        note("no labs");
    }
    let mut exit = Exit::Pass;
    for (lab, result) in results {
        let (text, failed) = down_text(&lab, result);
        note(&text);
        if failed {
            exit = Exit::Environment;
        }
    }
    Ok(exit)
}

fn forget(lab: &LabName) -> Outcome {
    let aside = lab::forget(lab).map_err(|error| match error {
        DownError::NoLab { .. } | DownError::Readable { .. } => Failure::usage(error),
        DownError::Live { .. } | DownError::Io { .. } => Failure::environment(error),
    })?;
    note(&format!(
        "lab `{lab}` is forgotten: what it made is left, its journal is in `{}`",
        aside.display()
    ));
    Ok(Exit::Pass)
}

/// Runs the agent of a DCI switch by the configuration on standard input, until a signal ends it.
pub fn switchd() -> Outcome {
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .during("read the agent's configuration")?;
    let config: lab_abi::wire::AgentConfig = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format_args!("the agent's configuration: {error}")))?;
    lab_switchd::run(&config).during("run the agent")?;
    Ok(Exit::Pass)
}

fn down_text(lab: &LabName, result: Result<Vec<UndoError>, DownError>) -> (String, bool) {
    match result {
        Ok(left) if left.is_empty() => (format!("lab `{lab}` is down"), false),
        Ok(left) => {
            let left: Vec<String> = left.iter().map(ToString::to_string).collect();
            let left = left.join("\n  ");
            (format!("lab `{lab}` is down except for:\n  {left}"), true)
        }
        Err(error) => (format!("error: {error}"), true),
    }
}

/// Returns the named lab, or the only one of this machine, with its status if it exists.
fn find(global: &Global) -> Result<(LabName, Option<Status>), Failure> {
    let name = named_or_only(global.lab.as_deref())?;
    let mut labs = lab::status().during("list the labs")?.into_iter();
    let status = labs.find(|status| status.lab == name);
    Ok((name, status))
}

/// Returns the named lab, or the only one of this machine.
fn named_or_only(name: Option<&str>) -> Result<LabName, Failure> {
    if let Some(name) = name {
        return name.parse().map_err(Failure::usage);
    }
    let labs = lab::status().during("list the labs")?;
    match labs.as_slice() {
        [only] => Ok(only.lab.clone()),
        [] => Err(Failure::usage(
            "there is no lab (hint: lcmp-lab up --keep SCENARIO)",
        )),
        several => {
            let names: Vec<&str> = several.iter().map(|lab| lab.lab.as_str()).collect();
            Err(Failure::usage(format_args!(
                "there are several labs: {} (hint: name one with --lab)",
                names.join(", ")
            )))
        }
    }
}

fn line(lab: &Status) -> String {
    if let Some(problem) = &lab.problem {
        return format!("{:<16} {:<5} {problem}", lab.lab.as_str(), lab.state);
    }
    let owner = match (lab.owner_pid, &lab.owner_command) {
        (Some(pid), Some(command)) => format!("process {pid}, `{command}`"),
        _ => "an unknown process".to_owned(),
    };
    let location = match lab.location {
        Location::Here => "",
        Location::Guest => "in a guest, ",
    };
    format!(
        "{:<16} {:<5} {location}{} switches, {} hosts, for {} s, by {owner}",
        lab.lab.as_str(),
        lab.state,
        lab.switches,
        lab.hosts,
        lab.age_seconds.unwrap_or_default(),
    )
}
