//! Limits of this machine, compared with the needs of a lab with eight datacenters and their fabrics.

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

/// Checks the hard limit on open files; a lab raises its soft limit up to the hard limit.
pub(super) fn open_files(hard: u64) -> Finding {
    let about = Requirement(
        "open files",
        "a lab needs two open files per namespace, and more for the processes of flows",
    );
    let namespaces = hard.saturating_sub(OTHER_FILES) / FILES_PER_NAMESPACE;
    if namespaces >= NAMESPACES {
        return about.ok(format!("up to {hard} files per process"));
    }
    let needed = OTHER_FILES + FILES_PER_NAMESPACE * NAMESPACES;
    let what = format!("up to {hard} files per process, enough for {namespaces} namespaces");
    let finding = match namespaces {
        0..SMALLEST_LAB => about.fail(what),
        _ => about.warn(what),
    };
    finding.with_fix(format!("ulimit -n {}", needed.next_power_of_two()))
}

/// Checks the size limit of the neighbour table, which all namespaces share. Since Linux 5.0, a lab's neighbours do not
/// count because they are permanent (`neigh_alloc` with `exempt_from_gc`), but the entry of each namespace's loopback
/// interface counts.
pub(super) fn neighbours(limit: u64) -> Finding {
    let about = Requirement("neighbour table", "all namespaces share it");
    if limit >= NEIGHBOURS {
        return about.ok(format!("up to {limit} entries"));
    }
    let finding = about.warn(format!(
        "up to {limit} entries, fewer than the {NEIGHBOURS} recommended"
    ));
    let enough = 2 * NEIGHBOURS;
    finding.with_fix(format!(
        "sysctl -w net.ipv4.neigh.default.gc_thresh3={enough}"
    ))
}

pub(super) fn processes(free: u64) -> Finding {
    let about = Requirement(
        "processes",
        "a flow needs two processes, and a DCI switch needs one",
    );
    let what = format!("{free} more processes can be started");
    match free {
        0..FEW_PROCESSES => about.fail(what).with_fix(RAISE_PROCESSES),
        FEW_PROCESSES..MANY_PROCESSES => about.warn(what).with_fix(RAISE_PROCESSES),
        _ => about.ok(what),
    }
}

pub(super) fn memory(available: Bytes) -> Finding {
    let about = Requirement("memory", "QPs and packets in flight take memory");
    let what = format!("{} available", in_short(available));
    if available < MEMORY {
        return about.warn(format!("{what}, less than the {MEMORY} recommended"));
    }
    about.ok(what)
}

/// Checks the limit on the number of connections that packet filters track.
pub(super) fn connections(connections: Connections) -> Finding {
    let about = Requirement(
        "tracked connections",
        "a packet filter of the root namespace tracks two connections per flow",
    );
    let flows = connections.free_flows();
    let max = connections.max;
    let what = format!("up to {max} connections, enough for {flows} flows per policy");
    if flows >= FLOWS {
        return about.ok(what);
    }
    about.warn(what).with_fix(connections.fix(FLOWS))
}

/// Returns the number of threads that can still be started under all limits of the system; `None` if the number is
/// unknown.
fn free_processes() -> Option<u64> {
    let running = u64::from(LoadAverage::current().ok()?.max);
    let of_kernel = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"]
        .into_iter()
        .filter_map(|path| number(Path::new(path)))
        .map(|limit| limit.saturating_sub(running));
    of_kernel.chain(free_in_cgroup()).min()
}

/// Returns the number of threads that can still be started in this process's control group and its ancestors; `None` if
/// they have no limit.
fn free_in_cgroup() -> Option<u64> {
    let groups = Process::myself().ok()?.cgroups().ok()?;
    let own = groups.into_iter().find(|group| group.hierarchy == 0)?;
    let path = Path::new("/sys/fs/cgroup").join(own.pathname.trim_start_matches('/'));
    let groups = path
        .ancestors()
        .take_while(|path| path.starts_with("/sys/fs/cgroup"));
    let free = |group: &Path| {
        let limit = number(&group.join("pids.max"))?;
        Some(limit.saturating_sub(number(&group.join("pids.current"))?))
    };
    groups.filter_map(free).min()
}

/// Returns the peak resident set size of this process; `None` if the kernel does not report it. The maximum of
/// getrusage(2) is not used, because it starts at the peak of the process that started this one.
#[must_use]
pub fn peak_memory() -> Option<Bytes> {
    let kibibytes = Process::myself().ok()?.status().ok()?.vmhwm?;
    Some(Bytes::new(kibibytes.saturating_mul(1_024)))
}

/// Returns the memory that is available without swapping: the smaller of the machine's and the control group's amount.
#[must_use]
pub fn available_memory() -> Bytes {
    let mut system = System::new();
    system.refresh_memory();
    let of_group = system.cgroup_limits().map(|limits| limits.free_memory);
    let of_machine = system.available_memory();
    Bytes::new(of_group.map_or(of_machine, |free| free.min(of_machine)))
}

/// Reads a number from a file; `None` if the text is `max` or the file cannot be read.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

const GC_THRESH3: &str = "/proc/sys/net/ipv4/neigh/default/gc_thresh3";
const RAISE_PROCESSES: &str = "sysctl -w kernel.pid_max=65536 kernel.threads-max=65536";

/// Number of namespaces in a lab with eight datacenters, each with a DCI switch, 2 spines, 4 leaves and 16 hosts: one
/// per node, and one for the delay lines.
const NAMESPACES: u64 = 185;
/// Number of namespaces in a lab with two datacenters, each with a DCI switch and a host: one per node, and one for the
/// delay lines.
const SMALLEST_LAB: u64 = 5;
const FILES_PER_NAMESPACE: u64 = 2;
/// Number of open files that are not namespaces: journals, pipes of flows, telemetry sockets.
const OTHER_FILES: u64 = 1_024;
/// Number of neighbour entries that the table should hold: one per namespace, and the same number for the rest of the
/// machine.
const NEIGHBOURS: u64 = 2 * NAMESPACES;
/// Number of processes that the smallest lab needs, with a few flows at the same time.
const FEW_PROCESSES: u64 = 50;
/// Number of processes and threads that a hundred simultaneous flows need, including the threads that start them.
const MANY_PROCESSES: u64 = 300;
/// Number of flows per policy for which the limit on tracked connections should suffice; `8dc.yaml` has 6,635.
const FLOWS: u64 = 10_000;
/// Memory that a lab should have available, in bytes: 400 MB were measured for 32 hosts with 304 QPs.
const MEMORY: Bytes = Bytes::new(500_000_000);
