//! The verbs for labs that are there: `status`, `exec`, `down`.

use std::os::unix::process::ExitStatusExt;

use lab_kernel::{
    LabName,
    exec::UndoError,
    journal::{LabState, Status},
    lab::{self, DownError, Live},
};

use crate::{
    args::{DownArgs, ExecArgs, Global},
    failure::{During, Exit, Failure, Outcome},
    output::{note, print, print_json},
};

/// `lcmp-lab status`.
pub fn status(json: bool) -> Outcome {
    let labs = lab::status().during("list the labs")?;
    if json {
        print_json(&labs);
        return Ok(Exit::Pass);
    }
    if labs.is_empty() {
        print("no labs");
    }
    for lab in &labs {
        print(&line(lab));
    }
    Ok(Exit::Pass)
}

/// `lcmp-lab exec`.
pub fn exec(arguments: &ExecArgs, global: &Global) -> Outcome {
    let lab = named_or_only(global.lab.as_deref())?;
    let labs = lab::status().during("list the labs")?;
    if labs
        .iter()
        .any(|status| status.lab == lab && is_in_guest(status))
    {
        return Err(Failure::environment(format_args!(
            "lab `{lab}` runs in a guest, which `exec` cannot reach (hint: `up --here`, on a kernel \
             that `lcmp-lab doctor` finds complete)"
        )));
    }
    let ran = lab::exec_in(&lab, &arguments.node, &arguments.command)
        .map_err(|error| Failure::usage(crate::failure::with_causes(&error)))?;
    if ran.in_root {
        note(&format!(
            "`{}` is an RDMA host in the root namespace: the command ran there",
            arguments.node
        ));
    }
    let code = ran
        .status
        .code()
        .or(ran.status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    std::process::exit(code)
}

/// `lcmp-lab down`.
pub fn down(arguments: &DownArgs, global: &Global) -> Outcome {
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

fn down_text(lab: &LabName, result: Result<Vec<UndoError>, DownError>) -> (String, bool) {
    match result {
        Ok(left) if left.is_empty() => (format!("lab `{lab}` is down"), false),
        Ok(left) => {
            let left: Vec<String> = left.iter().map(ToString::to_string).collect();
            (
                format!("lab `{lab}` is not wholly down:\n  {}", left.join("\n  ")),
                true,
            )
        }
        Err(error) => (format!("error: {error}"), true),
    }
}

/// The lab that is meant: the named one, or the only one there is.
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

/// Nothing of such a lab is on this kernel but its name.
fn is_in_guest(lab: &Status) -> bool {
    lab.state == LabState::Live && lab.switches == 0
}

fn line(lab: &Status) -> String {
    let owner = match (lab.owner_pid, &lab.owner_command) {
        (Some(pid), Some(command)) => format!("process {pid}, `{command}`"),
        _ => "nobody known".to_owned(),
    };
    format!(
        "{:<16} {:<5} {} switches, {} hosts, for {} s, by {owner}",
        lab.lab.as_str(),
        lab.state,
        lab.switches,
        lab.hosts,
        lab.age_seconds.unwrap_or_default(),
    )
}
