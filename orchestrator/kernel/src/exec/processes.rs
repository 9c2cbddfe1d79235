//! Termination of a lab's processes.
//!
//! A process is the lab's if the journal names it, or if it is in a namespace of the journal that still has its name:
//! the kernel gives the inode of an ended namespace to a later one.

use std::{
    collections::BTreeSet,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use super::{error::UndoError, inventory::Inventory, netns};
use crate::process::{self, NetnsId, ProcessId};

/// Processes of a lab after they were asked to end.
#[derive(Default)]
pub(super) struct Ended {
    /// Processes that are gone, or are not the lab's.
    pub done: Vec<ProcessId>,
    /// Processes that do not end.
    pub left: Vec<ProcessId>,
    pub errors: Vec<UndoError>,
}

/// Kills the processes of a lab, and waits for their end.
pub(super) fn end(inventory: &Inventory<'_>) -> Ended {
    let mut ended = Ended::default();
    let mut named = Vec::new();
    for process in &inventory.processes {
        let ProcessId { pid, .. } = process.id;
        let cgroup = process::cgroup(pid).unwrap_or_default();
        if process.id.is_alive() && cgroup != process.cgroup {
            ended.errors.push(UndoError::OtherCgroup { pid, cgroup });
            ended.done.push(process.id);
        } else {
            named.push(process.id);
        }
    }
    let namespaces = mounted(inventory);
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        // A process may start others until it is killed.
        let running: BTreeSet<ProcessId> = named
            .iter()
            .copied()
            .chain(inside(&namespaces))
            .filter(|process| process.is_alive())
            .collect();
        if running.is_empty() || Instant::now() >= deadline {
            let gone = named.iter().filter(|process| !running.contains(process));
            ended.done.extend(gone);
            let errors = running
                .iter()
                .map(|&ProcessId { pid, .. }| UndoError::Process { pid });
            ended.errors.extend(errors);
            ended.left.extend(running);
            return ended;
        }
        for process in &running {
            // A process that cannot be signalled is reported, since it does not end.
            let _ = process.signal(Signal::SIGKILL);
        }
        sleep(PAUSE);
    }
}

/// Returns the namespaces that still have their names.
fn mounted(inventory: &Inventory<'_>) -> BTreeSet<NetnsId> {
    let mounted = inventory
        .namespaces
        .iter()
        .filter(|(name, id)| netns::state(name) == netns::Name::Netns(**id));
    mounted.map(|(_, id)| *id).collect()
}

/// Returns the processes in namespaces, apart from this one.
fn inside(namespaces: &BTreeSet<NetnsId>) -> Vec<ProcessId> {
    if namespaces.is_empty() {
        return Vec::new();
    }
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let all = process::all().unwrap_or_default().into_iter();
    // The process is identified first: a later process with the same ID does not count as this one.
    let all = all.filter(|pid| *pid != own).filter_map(ProcessId::of);
    let is_inside = |process: &ProcessId| {
        NetnsId::of_process(process.pid).is_some_and(|id| namespaces.contains(&id))
    };
    all.filter(is_inside).collect()
}

/// A killed process ends at once unless the kernel blocks it.
const KILL_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);
