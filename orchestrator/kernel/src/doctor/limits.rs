//! Limits of the machine, compared with the needs of a lab of eight datacenters with fabrics.

use std::{fs, path::Path};

use lab_units::Bytes;
use nix::sys::resource::{Resource, getrlimit};
use procfs::{Current, LoadAverage, process::Process};
use sysinfo::System;

use super::finding::{Finding, Requirement, in_short};
use crate::connections::Connections;

pub(super) fn findings() -> Vec<Finding> {
    let files = getrlimit(Resource::RLIMIT_NOFILE).map(|(_, hard)| open_files(hard));
    let neighbours = number(Path::new(GC_THRESH3)).map(neighbours);
    let processes = free_processes().map(processes);
    let memory = Some(memory(available_memory()));
    let findings = [files.ok(), neighbours, processes, memory];
    findings.into_iter().flatten().collect()
}

/// Checks the hard limit of open files, up to which a lab raises its own.
pub(super) fn open_files(hard: u64) -> Finding {
    let about = Requirement(
        "open files",
        "a namespace takes two, a flow's processes some",
    );
    let namespaces = hard.saturating_sub(OTHER_FILES) / FILES_PER_NAMESPACE;
    if namespaces >= NAMESPACES {
        return about.ok(format!("up to {hard} for a process"));
    }
    let needed = OTHER_FILES + FILES_PER_NAMESPACE * NAMESPACES;
    let what = format!("up to {hard} for a process, enough for {namespaces} namespaces");
    let finding = match namespaces {
        0..SMALLEST_LAB => about.fail(what),
        _ => about.warn(what),
    };
    finding.with_fix(format!("ulimit -n {}", needed.next_power_of_two()))
}

/// Checks the limit of the neighbour table, which all namespaces share. A lab's neighbours are
/// permanent and not counted since Linux 5.0 (`neigh_alloc` with `exempt_from_gc`), but that of every
/// namespace's loopback interface is.
pub(super) fn neighbours(limit: u64) -> Finding {
    let about = Requirement("neighbour table", "it is shared by all namespaces");
    if limit >= NEIGHBOURS {
        return about.ok(format!("up to {limit} entries"));
    }
    let finding = about.warn(format!("up to {limit} entries, it should be {NEIGHBOURS}"));
    let enough = 2 * NEIGHBOURS;
    finding.with_fix(format!(
        "sysctl -w net.ipv4.neigh.default.gc_thresh3={enough}"
    ))
}

pub(super) fn processes(free: u64) -> Finding {
    let about = Requirement("processes", "a flow takes two, a DCI switch one");
    let what = format!("{free} more can be started");
    match free {
        0..FEW_PROCESSES => about.fail(what).with_fix(RAISE_PROCESSES),
        FEW_PROCESSES..MANY_PROCESSES => about.warn(what).with_fix(RAISE_PROCESSES),
        _ => about.ok(what),
    }
}

pub(super) fn memory(available: Bytes) -> Finding {
    let about = Requirement("memory", "QPs and packets in flight are in it");
    let what = format!("{} available", in_short(available));
    if available < MEMORY {
        return about.warn(format!("{what}, it should be {MEMORY}"));
    }
    about.ok(what)
}

/// Checks the limit of the connections that packet filters track.
pub(super) fn connections(connections: Connections) -> Finding {
    let about = Requirement(
        "tracked connections",
        "a packet filter of the root namespace tracks two of each flow",
    );
    let (flows, max) = (connections.free_flows(), connections.max);
    let what = format!("up to {max}, room for {flows} flows of a policy");
    if flows >= FLOWS {
        return about.ok(what);
    }
    about.warn(what).with_fix(connections.fix(FLOWS))
}

/// Returns the number of threads that the lowest limit still allows.
fn free_processes() -> Option<u64> {
    let running = u64::from(LoadAverage::current().ok()?.max);
    let of_kernel = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"]
        .into_iter()
        .filter_map(|path| number(Path::new(path)))
        .map(|limit| limit.saturating_sub(running));
    of_kernel.chain(free_in_cgroup()).min()
}

/// Returns the lowest limit of this process's control group and its ancestors.
fn free_in_cgroup() -> Option<u64> {
    let groups = Process::myself().ok()?.cgroups().ok()?;
    let own = groups.into_iter().find(|group| group.hierarchy == 0)?;
    let path = Path::new("/sys/fs/cgroup").join(own.pathname.trim_start_matches('/'));
    let mut groups = path.ancestors();
    let groups = groups.by_ref();
    let groups = groups.take_while(|path| path.starts_with("/sys/fs/cgroup"));
    let free = |group: &Path| {
        let limit = number(&group.join("pids.max"))?;
        Some(limit.saturating_sub(number(&group.join("pids.current"))?))
    };
    groups.filter_map(free).min()
}

/// Returns the memory that is available without swapping, of the machine, or of the control group if that is less.
#[must_use]
pub fn available_memory() -> Bytes {
    let mut system = System::new();
    system.refresh_memory();
    let of_group = system.cgroup_limits().map(|limits| limits.free_memory);
    let of_machine = system.available_memory();
    Bytes::new(of_group.map_or(of_machine, |free| free.min(of_machine)))
}

/// Reads a number from a file; `None` if the text is `max`.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

const GC_THRESH3: &str = "/proc/sys/net/ipv4/neigh/default/gc_thresh3";
const RAISE_PROCESSES: &str = "sysctl -w kernel.pid_max=65536 kernel.threads-max=65536";

/// Namespaces of eight datacenters with fabrics of 2 spines, 4 leaves and 16 hosts, and of the delay
/// lines.
const NAMESPACES: u64 = 185;
/// Namespaces of two datacenters with a host each, and of the delay lines.
const SMALLEST_LAB: u64 = 5;
const FILES_PER_NAMESPACE: u64 = 2;
/// Files besides namespaces: journals, pipes of flows, telemetry sockets.
const OTHER_FILES: u64 = 1_024;
/// Neighbours: one per namespace, and as many for the rest of the machine.
const NEIGHBOURS: u64 = 2 * NAMESPACES;
/// Processes of the smallest lab, with a few flows at once.
const FEW_PROCESSES: u64 = 50;
/// Processes of a hundred flows at once, with the threads that start them.
const MANY_PROCESSES: u64 = 300;
/// Number of flows of a policy that the limits must allow; `8dc.yaml` has 6,635.
const FLOWS: u64 = 10_000;
/// 32 hosts with 304 QPs were measured at 400 MB.
const MEMORY: Bytes = Bytes::new(500_000_000);
