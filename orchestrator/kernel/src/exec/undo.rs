//! Removal of a lab's objects according to its journal.
//!
//! Removal continues after a failure. A missing object is not an error, and an object that differs from the one in the
//! journal is left unchanged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use lab_units::Mac;
use nix::{
    errno::Errno,
    mount::{MntFlags, umount2},
};
use rtnetlink::packet_route::RouteNetlinkMessage;

use super::{error::UndoError, inventory::Inventory, netns, processes, shared};
use crate::{
    journal::{Contents, Entry, Journal, Process, Undone, if_found},
    name::{LabName, NetnsName},
    netlink::{Batch, KernelError, NetlinkError, Socket, dump, rdma, route},
    process::{self, NetnsId, ProcessId},
    step::{Rule, Undo},
};

/// Removes every object that the journal lists, and records each object as undone once it has been handled. The caller
/// must hold the machine's lock.
pub(crate) fn undo(lab: &LabName, contents: &Contents, journal: &mut Journal) -> Vec<UndoError> {
    let inventory = Inventory::of(contents);
    let mut undoing = Undoing {
        journal,
        errors: Vec::new(),
    };
    undoing.end_processes(&inventory);
    for path in &inventory.pins {
        undoing.done(Undone::Pins(path.to_path_buf()), remove_pins(path));
    }
    match Socket::route() {
        Ok(mut socket) => undoing.undo_in_root(&inventory, &mut socket),
        Err(error) => undoing.errors.push(file("NETLINK_ROUTE", error)),
    }
    for (name, id) in inventory.namespaces.iter().rev() {
        undoing.done(Undone::Netns((*name).clone()), remove_netns(name, *id));
    }
    for &key in inventory.sysctls.keys() {
        let released = shared::release(lab, key).err();
        let error = released.map(|error| file(key, error));
        undoing.done(Undone::Sysctl(key.to_owned()), error);
    }
    if inventory.netns_directory {
        let removed = shared::release_netns_directory(lab).err();
        let error = removed.map(|error| file(&netns::directory().display().to_string(), error));
        undoing.done(Undone::NetnsDirectory, error);
    }
    undoing.errors
}

/// State of an undo in progress: the journal, and the errors that have occurred so far.
struct Undoing<'a> {
    journal: &'a mut Journal,
    errors: Vec<UndoError>,
}

impl Undoing<'_> {
    /// Records an object as undone unless the undo failed, so that a later undo leaves a new object of the same name
    /// alone.
    fn done(&mut self, object: Undone, error: Option<UndoError>) {
        if error.as_ref().is_none_or(UndoError::is_left) {
            self.write(Entry::Undone(vec![object]));
        }
        self.errors.extend(error);
    }

    fn write(&mut self, entry: Entry) {
        let written = self.journal.write(&entry);
        self.errors
            .extend(written.err().map(|error| file("journal", error)));
    }

    fn end_processes(&mut self, inventory: &Inventory<'_>) {
        let ended = processes::end(inventory);
        let known = |id: &ProcessId| inventory.processes.iter().any(|process| process.id == *id);
        for id in ended.left.into_iter().filter(|id| !known(id)) {
            // The control group is read now, because the process's namespace will lose its name in the next steps.
            let cgroup = process::cgroup(id.pid).unwrap_or_default();
            self.write(Entry::Process(Process { id, cgroup }));
        }
        if !ended.done.is_empty() {
            let done = ended.done.into_iter().map(Undone::Process);
            self.write(Entry::Undone(done.collect()));
        }
        self.errors.extend(ended.errors);
    }

    fn undo_in_root(&mut self, inventory: &Inventory<'_>, socket: &mut Socket) {
        if !inventory.rxe.is_empty() {
            self.delete_rxe(&inventory.rxe);
        }
        self.delete_rules(&inventory.rules, socket);
        if !inventory.links.is_empty()
            && let Err(error) = self.delete_links(inventory, socket)
        {
            let undo = "ip link del".to_owned();
            self.errors.push(UndoError::Step { undo, error });
        }
    }

    fn delete_rxe(&mut self, rxe: &[(&str, &str)]) {
        // A kernel without the RDMA subsystem has no RDMA devices.
        let Ok(mut socket) = Socket::rdma() else {
            return;
        };
        let Ok(devices) = rdma::devices(&mut socket) else {
            return;
        };
        for &(name, dev) in rxe.iter().rev() {
            let device = devices.iter().find(|device| device.name == name);
            let error = device.and_then(|device| {
                let on = rdma::interfaces(&mut socket, device.index).unwrap_or_default();
                if on.iter().any(|other| other != dev) {
                    return Some(UndoError::NotOurs { what: name.into() });
                }
                let deleted = rdma::delete(&mut socket, device.index);
                unless_gone(Undo::Rxe { name, dev }.to_string(), deleted)
            });
            self.done(Undone::Rxe(name.to_owned()), error);
        }
    }

    fn delete_rules(&mut self, rules: &[&Rule], socket: &mut Socket) {
        for rules in rules.chunks(RULES_AT_ONCE) {
            let mut batch = Batch::default();
            for rule in rules {
                batch.route(&RouteNetlinkMessage::DelRule(route::rule(rule)), 0);
            }
            let mut refused: BTreeMap<_, _> = match socket.execute(batch) {
                Ok(refused) => refused.into_iter().collect(),
                Err(error) => {
                    self.errors.push(file("ip rule del", error));
                    continue;
                }
            };
            for (number, &rule) in rules.iter().enumerate() {
                let undo = || Undo::Rule(rule).to_string();
                let refused = refused.remove(&number);
                let error = refused.and_then(|error| unless_gone(undo(), Err(error.into())));
                self.done(Undone::Rule(rule.clone()), error);
            }
        }
    }

    /// Deletes the interfaces in the root namespace. A group whose members all belong to the lab is deleted with one
    /// request, because each single deletion costs tens of milliseconds.
    fn delete_links(
        &mut self,
        inventory: &Inventory<'_>,
        socket: &mut Socket,
    ) -> Result<(), NetlinkError> {
        let links = dump::links(socket)?;
        let is_ours = |link: &dump::Interface| {
            let ours = |&(dev, mac): &(&str, Mac)| link.name == dev && link.mac == Some(mac);
            link.veth && inventory.links.iter().any(ours)
        };
        let (ours, others): (Vec<_>, Vec<_>) = links.iter().partition(|link| is_ours(link));
        for &(dev, _) in &inventory.links {
            if others.iter().any(|link| link.name == dev) {
                let error = UndoError::NotOurs { what: dev.into() };
                self.done(Undone::Link(dev.to_owned()), Some(error));
            } else if !ours.iter().any(|link| link.name == dev) {
                self.done(Undone::Link(dev.to_owned()), None);
            }
        }
        let is_alone = |group: u32| {
            inventory.groups.contains(&group) && !others.iter().any(|link| link.group == group)
        };
        let (together, single): (Vec<_>, Vec<_>) =
            ours.into_iter().partition(|link| is_alone(link.group));
        for link in single {
            let deleted = socket.execute_one(Batch::of(&route::link_delete(link.index)));
            let error = unless_gone(format!("ip link del {}", link.name), deleted);
            self.done(Undone::Link(link.name.clone()), error);
        }
        let groups: BTreeSet<u32> = together.iter().map(|link| link.group).collect();
        for group in groups {
            let deleted = socket.execute_one(Batch::of(&route::group_delete(group)));
            match unless_gone(format!("ip link del group {group}"), deleted) {
                Some(error) => self.errors.push(error),
                None => {
                    let links = together.iter().filter(|link| link.group == group);
                    links.for_each(|link| self.done(Undone::Link(link.name.clone()), None));
                }
            }
        }
        Ok(())
    }
}

/// Removes the name of a namespace if the name still refers to `made`, the namespace that the lab created.
fn remove_netns(name: &NetnsName, made: NetnsId) -> Option<UndoError> {
    match netns::state(name) {
        netns::Name::Free => return None,
        netns::Name::Netns(found) if found != made => {
            let what = netns::path(name).display().to_string();
            return Some(UndoError::NotOurs { what });
        }
        // If the owner was killed before it mounted the namespace, only the file exists.
        netns::Name::Netns(_) | netns::Name::File => {}
    }
    let removed = netns::remove(&netns::path(name));
    removed.err().map(|error| UndoError::Netns {
        name: name.clone(),
        error,
    })
}

/// Unmounts a BPF file system, which removes the objects that are pinned in it.
fn remove_pins(path: &Path) -> Option<UndoError> {
    match umount2(path, MntFlags::MNT_DETACH) {
        // The file system is not mounted yet, or is no longer mounted.
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

/// Number of rules that one system call deletes, far below the limit on the size of a call.
const RULES_AT_ONCE: usize = 256;
