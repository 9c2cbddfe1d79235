//! Verbs for existing labs: `status`, `exec`, `tune`, `down`; also `switchd`, the agent of a lab's switch.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    io::{self, Read},
    path::Path,
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
use lab_scenario::did_you_mean;
use lab_units::{
    Nanos,
    show::{self, about_time, sides},
};

use crate::{
    args::{DownArgs, ExecArgs, Global, TuneArgs},
    exec_log,
    failure::{During, Exit, Failure, Outcome, with_causes},
    terminal::{note, print, print_json, show},
};

/// Runs `lcmp-lab status`.
pub fn status(global: &Global) -> Outcome {
    let mut labs = lab::status().during("list the labs")?;
    if let Some(name) = &global.lab {
        let name: LabName = name.parse().map_err(Failure::usage)?;
        if !labs.iter().any(|lab| lab.lab == name) {
            return Err(no_lab(&name, &labs));
        }
        labs.retain(|lab| lab.lab == name);
    }
    show(global.json, &labs, |labs| table(labs))
}

/// Returns the failure for a lab name that is not in `labs`, with a hint.
fn no_lab(name: &LabName, labs: &[Status]) -> Failure {
    let names: Vec<&str> = labs.iter().map(|lab| lab.lab.as_str()).collect();
    let hint = match (
        did_you_mean(name.as_str(), names.iter().copied()),
        &names[..],
    ) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => {
            "there are no labs; `lcmp-lab up --keep SCENARIO` creates a lab and keeps it".to_owned()
        }
        (None, names) => format!("there are `{}`", names.join("`, `")),
    };
    Failure::usage(format_args!("there is no lab `{name}` (hint: {hint})"))
}

/// Runs `lcmp-lab exec`.
pub fn exec(arguments: &ExecArgs, global: &Global) -> Outcome {
    let (lab, status) = find(global)?;
    match status {
        // If the owner was killed at its first step, the journal has no nodes yet.
        Some(status) if status.state == LabState::Dead && status.switches == 0 => {
            Err(Failure::environment(format_args!(
                "lab `{lab}` is dead: its owner process has ended (hint: `lcmp-lab down {lab}`)"
            )))
        }
        Some(status) if status.location == Location::Guest => exec_in_guest(&status, arguments),
        _ => exec_here(&lab, arguments),
    }
}

/// Replaces this process by the command, run in the node's namespaces.
fn exec_here(lab: &LabName, arguments: &ExecArgs) -> Outcome {
    let ready =
        lab::node_command(lab, &arguments.node, &arguments.command).map_err(enter_failure)?;
    if ready.runs_in_root() {
        note(&format!(
            "`{}` is an RDMA host in the root namespace, so the command runs in the root namespace",
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

/// Returns the exit code that shells use for a command that cannot be started: 127 if it does not exist, else 126.
fn not_started(cause: &io::Error) -> i32 {
    match cause.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    }
}

/// Runs `exec` in the lab's guest, and ends this process with the command's exit code.
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
        io::ErrorKind::NotFound => " (hint: the lab's guest has not started yet; try again)",
        _ => "",
    }
}

/// Converts an error of entering a node: wrong arguments are a usage error, a failed system call is an error of this
/// machine.
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

/// Runs `tune` in the lab's guest.
fn tune_in_guest(lab: &Status, arguments: &TuneArgs, global: &Global) -> Outcome {
    let program = env::current_exe().during("find this program")?;
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
        "lab `{lab}` is forgotten: its objects were not removed, and its journal is in `{}`",
        aside.display()
    ));
    Ok(Exit::Pass)
}

/// Runs the agent of a DCI switch with the configuration on standard input, until a signal ends it.
pub fn switchd() -> Outcome {
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .during("read the agent's configuration")?;
    let config: lab_abi::wire::AgentConfig = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format_args!("the agent's configuration: {error}")))?;
    lab_switchd::run(config).during("run the agent")?;
    Ok(Exit::Pass)
}

fn down_text(lab: &LabName, result: Result<Vec<UndoError>, DownError>) -> (String, bool) {
    match result {
        Ok(left) if left.is_empty() => (format!("lab `{lab}` is down"), false),
        Ok(left) => {
            let left = left
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n  ");
            (format!("lab `{lab}` is down except for:\n  {left}"), true)
        }
        Err(error) => (format!("error: {error}"), true),
    }
}

/// Returns the lab that `--lab` names, or else the only one on this machine, with its status if it exists.
fn find(global: &Global) -> Result<(LabName, Option<Status>), Failure> {
    let name = named_or_only(global.lab.as_deref())?;
    let status = lab::status()
        .during("list the labs")?
        .into_iter()
        .find(|status| status.lab == name);
    Ok((name, status))
}

/// Returns `name`, or else the name of the only lab on this machine.
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

/// Returns the table that `status` prints. For a lab that needs the user's attention, the problem or a hint replaces
/// the run directory.
fn table(labs: &[Status]) -> String {
    if labs.is_empty() {
        return "no labs".to_owned();
    }
    let head = ["lab", "scenario", "state", "since", "run"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(labs.iter().map(row)).collect();
    show::table(0, sides(5), &rows).trim_end().to_owned()
}

fn row(lab: &Status) -> [String; 5] {
    let state = match lab.location {
        Location::Here => lab.state.to_string(),
        Location::Guest => format!("{}, in a guest", lab.state),
    };
    let age = lab.age_seconds.map(|seconds| {
        let age = Nanos::new(seconds.saturating_mul(1_000_000_000));
        format!("{} ago", about_time(age))
    });
    let run = match (&lab.problem, lab.state, &lab.run) {
        (Some(problem), ..) => problem.clone(),
        (None, LabState::Dead, _) => format!("(hint: lcmp-lab down {})", lab.lab),
        (None, _, Some(run)) => from_here(run).display().to_string(),
        (None, _, None) => String::new(),
    };
    [
        lab.lab.to_string(),
        lab.scenario.clone(),
        state,
        age.unwrap_or_default(),
        run,
    ]
}

/// Returns `path` relative to the working directory if it lies in that directory, else unchanged.
fn from_here(path: &Path) -> &Path {
    let here = env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(name: &str, state: LabState) -> Status {
        Status {
            lab: name.parse().unwrap(),
            state,
            location: Location::Guest,
            scenario: "8dc".to_owned(),
            run: Some("/data/results/20261125T033212Z-8dc-9b674b5f".into()),
            slot: Some(0),
            owner_pid: Some(4_711),
            owner_command: Some("/usr/bin/lcmp-lab up-as-owner 4710".to_owned()),
            age_seconds: Some(372),
            switches: 8,
            hosts: 8,
            problem: None,
        }
    }

    #[test]
    fn status_names_labs_scenarios_and_runs() {
        let damaged = Status {
            problem: Some("line 3 is damaged".to_owned()),
            location: Location::Here,
            age_seconds: None,
            scenario: String::new(),
            ..lab("third", LabState::Unreadable)
        };
        let labs = [
            lab("mine", LabState::Live),
            lab("old", LabState::Dead),
            damaged,
        ];
        insta::assert_snapshot!(table(&labs), @r"
        lab    scenario  state             since           run
        mine   8dc       live, in a guest  6 min 12 s ago  /data/results/20261125T033212Z-8dc-9b674b5f
        old    8dc       dead, in a guest  6 min 12 s ago  (hint: lcmp-lab down old)
        third            unreadable                        line 3 is damaged
        ");
        assert_eq!(table(&[]), "no labs");
    }

    #[test]
    fn an_unknown_lab_is_refused_with_those_that_there_are() {
        let labs = [lab("mine", LabState::Live)];
        let refused = |name: &str, labs: &[Status]| no_lab(&name.parse().unwrap(), labs).message;
        assert_eq!(
            refused("mien", &labs),
            "there is no lab `mien` (hint: did you mean `mine`?)"
        );
        assert_eq!(
            refused("nosuch", &labs),
            "there is no lab `nosuch` (hint: there are `mine`)"
        );
        assert!(refused("nosuch", &[]).contains("there are no labs"));
    }
}
