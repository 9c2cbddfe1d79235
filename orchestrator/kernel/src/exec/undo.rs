//! Removal of a lab by its journal alone.
//!
//! A failure does not stop the rest, a missing object is no error, and an object that is not the one
//! in the journal is left as it is.

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use lab_units::Mac;
use nix::{
    errno::Errno,
    mount::{MntFlags, umount2},
    sys::signal::Signal,
};
use rtnetlink::packet_route::RouteNetlinkMessage;

use super::{netns, shared};
use crate::{
    journal::{Contents, Entry, FORMAT, if_found},
    name::{LabName, NetnsName},
    netlink::{Batch, KernelError, NetlinkError, Socket, dump, rdma, route},
    process::{self, ProcessId},
    step::{Rule, Step, Undo, Veth},
};

/// Object that could not be removed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum UndoError {
    #[error("`{undo}` failed: {error}")]
    Step { undo: String, error: NetlinkError },
    #[error(
        "the journal of lab `{lab}` has format {found}, this program knows {FORMAT} (hint: take it \
         down with the program that made it)"
    )]
    Format { lab: LabName, found: u32 },
    #[error("cannot remove namespace `{name}`: {error}")]
    Netns { name: NetnsName, error: io::Error },
    #[error("`{what}` is not what the lab made, it is left as it is")]
    NotOurs { what: String },
    #[error("process {pid} of the lab did not end")]
    Process { pid: i32 },
    #[error("`{path}`: {error}")]
    File { path: String, error: io::Error },
}

/// Removes every object that the journal names. The caller holds the machine's lock.
pub(crate) fn undo(lab: &LabName, contents: &Contents) -> Vec<UndoError> {
    let mut errors = Vec::new();
    let inventory = Inventory::of(contents);
    inventory.end_processes(&mut errors);
    for path in &inventory.pins {
        errors.extend(remove_pins(path));
    }
    match Socket::route() {
        Ok(mut socket) => inventory.undo_in_root(&mut socket, &mut errors),
        Err(error) => errors.push(file("NETLINK_ROUTE", error)),
    }
    for (name, inode) in inventory.namespaces.iter().rev() {
        errors.extend(remove_netns(name, *inode));
    }
    for key in &inventory.sysctls {
        let released = shared::release(lab, key);
        errors.extend(released.err().map(|error| file(key, error)));
    }
    if inventory.netns_directory {
        let removed = shared::release_netns_directory(lab);
        let path = || netns::directory().display().to_string();
        errors.extend(removed.err().map(|error| file(&path(), error)));
    }
    errors
}

/// Objects that a journal names: created, or about to be when its owner ended.
#[derive(Default)]
struct Inventory<'a> {
    processes: Vec<ProcessId>,
    pins: Vec<&'a Path>,
    /// Namespaces, each with its inode if the journal says that it was created.
    namespaces: BTreeMap<&'a NetnsName, Option<u64>>,
    rxe: Vec<(&'a str, &'a str)>,
    rules: Vec<&'a Rule>,
    links: Vec<(&'a str, Mac)>,
    /// Groups of the interfaces in the root namespace.
    groups: Vec<u32>,
    sysctls: Vec<&'a str>,
    netns_directory: bool,
}

impl<'a> Inventory<'a> {
    fn of(contents: &'a Contents) -> Self {
        let mut found = Self::default();
        for entry in &contents.entries {
            match entry {
                Entry::Do(steps) => steps.iter().for_each(|step| found.step(step)),
                Entry::MadeNetns { name, inode } => {
                    found.namespaces.insert(name, Some(*inode));
                }
                Entry::NetnsDirectory => found.netns_directory = true,
                Entry::Process(process) => found.processes.push(*process),
                Entry::Pins(path) => found.pins.push(path),
                Entry::Lab(_) | Entry::Nodes(_) | Entry::Kept => {}
            }
        }
        found
    }

    fn step(&mut self, step: &'a Step) {
        if let Step::Veth(Veth { a, b, .. }) = step {
            for group in [a.group, b.group] {
                if group != 0 && !self.groups.contains(&group) {
                    self.groups.push(group);
                }
            }
        }
        match step.undo() {
            Some(Undo::Netns(name)) => {
                self.namespaces.entry(name).or_insert(None);
            }
            Some(Undo::Link { dev, mac }) => self.links.push((dev, mac)),
            Some(Undo::Rule(rule)) => self.rules.push(rule),
            Some(Undo::Rxe { name, dev }) if !self.rxe.contains(&(name, dev)) => {
                self.rxe.push((name, dev));
            }
            Some(Undo::SharedSysctl { key }) => self.sysctls.push(key),
            Some(Undo::Rxe { .. }) | None => {}
        }
    }
}

impl Inventory<'_> {
    /// Kills the lab's processes and all others in its namespaces, and waits for them.
    fn end_processes(&self, errors: &mut Vec<UndoError>) {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let namespaces = self.namespaces.iter();
        let inodes = namespaces.filter_map(|(name, inode)| inode.or_else(|| netns::inode(name)));
        let inodes: Vec<u64> = inodes.collect();
        let inside = |pid: &i32| process::netns_inode(*pid).is_some_and(|at| inodes.contains(&at));
        let found = process::all().unwrap_or_default().into_iter();
        let found = found.filter(inside);
        let mut running = self.processes.clone();
        running.extend(found.filter_map(ProcessId::of));
        running.retain(|process| process.pid != own && process.is_alive());
        for process in &running {
            // A process that cannot be signalled is reported below, since it does not end.
            let _ = process.signal(Signal::SIGKILL);
        }
        let deadline = Instant::now() + KILL_TIMEOUT;
        while running.iter().any(|process| process.is_alive()) && Instant::now() < deadline {
            sleep(PAUSE);
        }
        let left = running.iter().filter(|process| process.is_alive());
        errors.extend(left.map(|process| UndoError::Process { pid: process.pid }));
    }

    fn undo_in_root(&self, socket: &mut Socket, errors: &mut Vec<UndoError>) {
        if !self.rxe.is_empty() {
            self.delete_rxe(errors);
        }
        self.delete_rules(socket, errors);
        if !self.links.is_empty() {
            let deleted = self.delete_links(socket, errors);
            let undo = "ip link del".to_owned();
            errors.extend(deleted.err().map(|error| UndoError::Step { undo, error }));
        }
    }

    fn delete_rxe(&self, errors: &mut Vec<UndoError>) {
        // Without the RDMA subsystem there is no device.
        let Ok(mut socket) = Socket::rdma() else {
            return;
        };
        let Ok(devices) = rdma::devices(&mut socket) else {
            return;
        };
        for &(name, dev) in self.rxe.iter().rev() {
            let Some(device) = devices.iter().find(|device| device.name == name) else {
                continue;
            };
            let on = rdma::interfaces(&mut socket, device.index).unwrap_or_default();
            if on.iter().any(|other| other != dev) {
                errors.push(UndoError::NotOurs { what: name.into() });
                continue;
            }
            let deleted = rdma::delete(&mut socket, device.index);
            let undo = Undo::Rxe { name, dev }.to_string();
            errors.extend(unless_gone(undo, deleted));
        }
    }

    fn delete_rules(&self, socket: &mut Socket, errors: &mut Vec<UndoError>) {
        for rules in self.rules.chunks(RULES_AT_ONCE) {
            let mut batch = Batch::default();
            for rule in rules {
                batch.route(&RouteNetlinkMessage::DelRule(route::rule(rule)), 0);
            }
            match socket.execute(batch) {
                Err(error) => errors.push(file("ip rule del", error)),
                Ok(refused) => errors.extend(refused.into_iter().filter_map(|(number, error)| {
                    let undo = Undo::Rule(rules[number]).to_string();
                    unless_gone(undo, Err(error.into()))
                })),
            }
        }
    }

    /// Deletes the interfaces in the root namespace, a whole group at once if the group has no other
    /// members: single deletions cost tens of milliseconds each.
    fn delete_links(
        &self,
        socket: &mut Socket,
        errors: &mut Vec<UndoError>,
    ) -> Result<(), NetlinkError> {
        let links = dump::links(socket)?;
        let is_ours = |link: &dump::Link| {
            let ours = |&(dev, mac): &(&str, Mac)| link.name == dev && link.mac == Some(mac);
            link.veth && self.links.iter().any(ours)
        };
        let (ours, others): (Vec<_>, Vec<_>) = links.iter().partition(|link| is_ours(link));
        for &(dev, _) in &self.links {
            if others.iter().any(|link| link.name == dev) {
                errors.push(UndoError::NotOurs { what: dev.into() });
            }
        }
        let alone = |group: &&u32| !others.iter().any(|link| link.group == **group);
        let groups: Vec<u32> = self.groups.iter().filter(alone).copied().collect();
        for &group in &groups {
            if ours.iter().any(|link| link.group == group) {
                let deleted = socket.execute_one(Batch::of(&route::group_delete(group)));
                errors.extend(unless_gone(format!("ip link del group {group}"), deleted));
            }
        }
        for link in ours.iter().filter(|link| !groups.contains(&link.group)) {
            let deleted = socket.execute_one(Batch::of(&route::link_delete(link.index)));
            errors.extend(unless_gone(format!("ip link del {}", link.name), deleted));
        }
        Ok(())
    }
}

fn remove_netns(name: &NetnsName, made: Option<u64>) -> Option<UndoError> {
    match (made, netns::inode(name)) {
        (_, None) => return None,
        (Some(made), Some(found)) if made != found && is_netns(name) => {
            return Some(UndoError::NotOurs {
                what: netns::path(name).display().to_string(),
            });
        }
        _ => {}
    }
    let removed = netns::remove(&netns::path(name));
    removed.err().map(|error| UndoError::Netns {
        name: name.clone(),
        error,
    })
}

/// Returns true if a namespace is mounted on its file.
fn is_netns(name: &NetnsName) -> bool {
    nix::sys::statfs::statfs(&netns::path(name))
        .is_ok_and(|found| found.filesystem_type() == nix::sys::statfs::NSFS_MAGIC)
}

/// Unmounts a BPF file system, which removes the objects pinned there.
fn remove_pins(path: &Path) -> Option<UndoError> {
    match umount2(path, MntFlags::MNT_DETACH) {
        // Not mounted yet or any more.
        Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => {}
        Err(errno) => return Some(file(&path.display().to_string(), errno.into())),
    }
    let removed = if_found(fs::remove_dir_all(path)).err();
    removed.map(|error| file(&path.display().to_string(), error))
}

fn unless_gone(undo: String, done: Result<(), NetlinkError>) -> Option<UndoError> {
    let gone = |error: &KernelError| {
        let errno = Errno::from_raw(error.errno());
        matches!(errno, Errno::ENOENT | Errno::ENODEV | Errno::ESRCH)
    };
    match done {
        Ok(()) => None,
        Err(NetlinkError::Kernel(error)) if gone(&error) => None,
        Err(error) => Some(UndoError::Step { undo, error }),
    }
}

fn file(path: &str, error: io::Error) -> UndoError {
    UndoError::File {
        path: path.to_owned(),
        error,
    }
}

/// Rules deleted by one system call, which takes many more.
const RULES_AT_ONCE: usize = 256;
/// A killed process ends at once unless the kernel blocks it.
const KILL_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);
