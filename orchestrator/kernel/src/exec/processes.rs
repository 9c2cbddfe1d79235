//! Termination of the processes that belong to a lab.
//!
//! A process belongs to the lab if the journal lists it, or if it runs in a namespace that the journal lists and that
//! still has its name. The name must be checked because the kernel reuses the inodes of ended namespaces.

use std::{
    collections::BTreeSet,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use super::{error::UndoError, inventory::Inventory, netns};
use crate::process::{self, NetnsId, ProcessId};

/// Processes of a lab after an attempt to kill them.
#[derive(Default)]
pub(super) struct Ended {
    /// Processes that have ended or do not belong to the lab.
    pub done: Vec<ProcessId>,
    /// Processes that are still running after [`KILL_TIMEOUT`].
    pub left: Vec<ProcessId>,
    pub errors: Vec<UndoError>,
}

/// Kills the processes of a lab, and waits until they have ended.
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
        // A process may start further processes until it has been killed, so the loop continues while there are any.
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
            // An error needs no handling here: a process that cannot be signalled does not end, and is then reported.
            let _ = process.signal(Signal::SIGKILL);
        }
        sleep(PAUSE);
    }
}

/// Returns the lab's namespaces that are still mounted under their names.
fn mounted(inventory: &Inventory<'_>) -> BTreeSet<NetnsId> {
    let mounted = inventory
        .namespaces
        .iter()
        .filter(|(name, id)| netns::state(name) == netns::Name::Netns(**id));
    mounted.map(|(_, id)| *id).collect()
}

/// Returns all processes in `namespaces` except the calling process.
fn inside(namespaces: &BTreeSet<NetnsId>) -> Vec<ProcessId> {
    if namespaces.is_empty() {
        return Vec::new();
    }
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let all = process::all().unwrap_or_default().into_iter();
    // The start time is read before the namespace, so that a later process with the same id is not mistaken for this
    // process.
    let all = all.filter(|pid| *pid != own).filter_map(ProcessId::of);
    let is_inside = |process: &ProcessId| {
        NetnsId::of_process(process.pid).is_some_and(|id| namespaces.contains(&id))
    };
    all.filter(is_inside).collect()
}

/// Maximum wait for killed processes to end; they end at once unless they are blocked in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);
