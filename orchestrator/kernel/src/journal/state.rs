//! Labs on this machine, and their states.

use std::{fmt, io, path::PathBuf, time::SystemTime};

use lab_plan::model::Role;
use serde::Serialize;

use super::{Contents, Entry, Location, base, directory, hint, if_found, is_damage, recorded_run};
use crate::{name::LabName, process};

/// State of a lab, according to its journal and its owner.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabState {
    /// The process that owns the lab is running.
    Live,
    /// The owner has ended and has deliberately left the lab up.
    Kept,
    /// The owner was killed, or the machine was rebooted; `down` or the next `up` removes the remaining objects.
    Dead,
    /// The journal cannot be read; `down --forget` renames the lab's directory.
    Unreadable,
    /// The journal cannot be read because only root may read it.
    Private,
}

impl fmt::Display for LabState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Live => "live",
            Self::Kept => "kept",
            Self::Dead => "dead",
            Self::Unreadable => "unreadable",
            Self::Private => "private",
        })
    }
}

/// Status of a lab on this machine.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Status {
    pub lab: LabName,
    pub state: LabState,
    /// Location of the kernel on which the lab runs.
    #[serde(rename = "place")]
    pub location: Location,
    /// Name of the scenario; empty if the journal has no first entry.
    pub scenario: String,
    /// Path of the lab's run directory; `None` if none is recorded, for example because the run has not started.
    pub run: Option<PathBuf>,
    /// Slot of the lab; `None` if the journal has no first entry.
    pub slot: Option<u8>,
    /// Process id of the owner; `None` if the journal has no first entry.
    pub owner_pid: Option<i32>,
    /// Command line of the owner; `None` if the journal has no first entry.
    pub owner_command: Option<String>,
    /// Age of the lab in seconds; `None` if the journal has no first entry.
    pub age_seconds: Option<u64>,
    /// Number of DCI switches, spines and leaves together.
    pub switches: usize,
    pub hosts: usize,
    /// Reason why the journal cannot be read; `None` if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Returns the names of the labs on this machine, sorted.
pub(crate) fn labs() -> io::Result<Vec<LabName>> {
    let mut labs: Vec<LabName> = Vec::new();
    for entry in if_found(std::fs::read_dir(base()))?.into_iter().flatten() {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let name = entry.file_name();
            labs.extend(name.to_str().and_then(|name| name.parse().ok()));
        }
    }
    labs.sort();
    Ok(labs)
}

/// Reads a lab's journal and determines the lab's state; `None` if there is no lab of this name.
pub(crate) fn read(lab: &LabName) -> io::Result<Option<(Contents, LabState)>> {
    let directory = directory(lab);
    if !directory.is_dir() {
        return Ok(None);
    }
    let contents = Contents::read(&directory)?;
    let state = state(&contents)?;
    Ok(Some((contents, state)))
}

fn state(contents: &Contents) -> io::Result<LabState> {
    let boot_id = process::boot_id()?;
    Ok(
        match contents.head().filter(|head| head.boot_id == boot_id) {
            None => LabState::Dead,
            Some(_) if contents.entries.contains(&Entry::Kept) => LabState::Kept,
            Some(head) if head.owner.process.is_alive() => LabState::Live,
            Some(_) => LabState::Dead,
        },
    )
}

impl Status {
    pub(crate) fn of(lab: LabName, contents: &Contents, state: LabState) -> Self {
        let head = contents.head();
        let count = |wanted: fn(Role) -> bool| {
            let of_entry = |entry: &Entry| match entry {
                Entry::Nodes(nodes) => nodes.iter().filter(|node| wanted(node.role)).count(),
                _ => 0,
            };
            contents.entries.iter().map(of_entry).sum()
        };
        Self {
            run: recorded_run(&lab),
            lab,
            state,
            location: head.map(|head| head.location).unwrap_or_default(),
            scenario: head.map(|head| head.scenario.clone()).unwrap_or_default(),
            slot: head.map(|head| head.slot),
            owner_pid: head.map(|head| head.owner.process.pid),
            owner_command: head.map(|head| head.owner.command.clone()),
            age_seconds: head.map(|head| now().saturating_sub(head.since)),
            switches: count(|role| role != Role::Host),
            hosts: count(|role| role == Role::Host),
            problem: None,
        }
    }

    /// Returns the status of a lab whose journal cannot be read because of `error`.
    pub(crate) fn unreadable(lab: LabName, error: &io::Error) -> Self {
        let state = if is_damage(error) {
            LabState::Unreadable
        } else {
            LabState::Private
        };
        Self {
            problem: Some(format!("{error}{}", hint(error))),
            ..Self::of(lab, &Contents::default(), state)
        }
    }
}

/// Returns the current time in seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_only_root_may_read_is_not_damaged() {
        let of = |kind: io::ErrorKind| Status::unreadable("lab".parse().unwrap(), &kind.into());
        let status = of(io::ErrorKind::PermissionDenied);
        assert_eq!(status.state, LabState::Private);
        assert!(status.problem.unwrap().ends_with("(hint: run as root)"));
        assert_eq!(of(io::ErrorKind::InvalidData).state, LabState::Unreadable);
    }
}
