//! Objects of a lab, as its journal lists them.

use std::{collections::BTreeMap, path::Path};

use lab_units::Mac;

use crate::{
    journal::{Contents, Entry, Process, Undone},
    name::NetnsName,
    process::NetnsId,
    step::{Rule, Step, Undo, Veth},
};

/// Objects of a lab that must still be removed: the journal lists them as created or about to be created, and not as
/// undone.
#[derive(Default)]
pub(super) struct Inventory<'a> {
    pub processes: Vec<&'a Process>,
    pub pins: Vec<&'a Path>,
    /// Identities of the lab's namespaces, by name.
    pub namespaces: BTreeMap<&'a NetnsName, NetnsId>,
    pub rxe: Vec<(&'a str, &'a str)>,
    pub rules: Vec<&'a Rule>,
    pub links: Vec<(&'a str, Mac)>,
    /// Numbers of the interface groups that contain the lab's interfaces in the root namespace.
    pub groups: Vec<u32>,
    /// Machine-wide sysctls that the lab has raised, by key.
    pub sysctls: BTreeMap<&'a str, Sysctl<'a>>,
    pub netns_directory: bool,
}

/// Values of a machine-wide sysctl before and after the lab raised it.
pub(super) struct Sysctl<'a> {
    /// Value before any lab raised the sysctl.
    pub before: &'a str,
    /// Value that this lab wrote.
    pub ours: &'a str,
}

impl<'a> Inventory<'a> {
    pub fn of(contents: &'a Contents) -> Self {
        let mut found = Self::default();
        for entry in &contents.entries {
            match entry {
                Entry::Do(steps) => steps.iter().for_each(|step| found.step(step)),
                Entry::MadeNetns { name, id } => {
                    found.namespaces.insert(name, *id);
                }
                Entry::NetnsDirectory => found.netns_directory = true,
                Entry::Raised { key, before, ours } => {
                    found.sysctls.insert(key, Sysctl { before, ours });
                }
                Entry::Process(process) => found.processes.push(process),
                Entry::Pins(path) => found.pins.push(path),
                Entry::Undone(undone) => undone.iter().for_each(|it| found.forget(it)),
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
            Some(Undo::Link { dev, mac }) => self.links.push((dev, mac)),
            Some(Undo::Rule(rule)) => self.rules.push(rule),
            Some(Undo::Rxe { name, dev }) if !self.rxe.contains(&(name, dev)) => {
                self.rxe.push((name, dev));
            }
            // These objects have journal entries of their own, written just before the objects are created.
            Some(Undo::Netns(_) | Undo::SharedSysctl { .. } | Undo::Rxe { .. }) | None => {}
        }
    }

    fn forget(&mut self, undone: &Undone) {
        match undone {
            Undone::Process(id) => self.processes.retain(|process| process.id != *id),
            Undone::Pins(path) => self.pins.retain(|pins| *pins != path.as_path()),
            Undone::Rxe(name) => self.rxe.retain(|(rxe, _)| *rxe != name),
            Undone::Rule(rule) => self.rules.retain(|other| *other != rule),
            Undone::Link(dev) => self.links.retain(|(link, _)| *link != dev),
            Undone::Netns(name) => {
                self.namespaces.remove(name);
            }
            Undone::Sysctl(key) => {
                self.sysctls.remove(key.as_str());
            }
            Undone::NetnsDirectory => self.netns_directory = false,
        }
    }
}
