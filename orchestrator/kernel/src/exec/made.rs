//! What a journal says was made.

use std::{collections::BTreeMap, path::Path};

use crate::{
    journal::{Contents, Entry},
    name::NetnsName,
    process::ProcessId,
    step::{Mac, Rule, Step, Undo, Veth},
};

/// What a journal says was made, or may have been.
#[derive(Default)]
pub(super) struct Made<'a> {
    pub processes: Vec<ProcessId>,
    pub pins: Vec<&'a Path>,
    /// With its inode, if it was made for sure.
    pub namespaces: BTreeMap<&'a NetnsName, Option<u64>>,
    pub rxe: Vec<(&'a str, &'a str)>,
    pub rules: Vec<&'a Rule>,
    pub links: Vec<(&'a str, Mac)>,
    /// The groups that the interfaces in the root namespace are in.
    pub groups: Vec<u32>,
    pub sysctls: Vec<&'a str>,
    pub netns_directory: bool,
}

impl<'a> Made<'a> {
    pub fn of(contents: &'a Contents) -> Self {
        let mut made = Self::default();
        for entry in &contents.entries {
            match entry {
                Entry::Do(steps) => steps.iter().for_each(|step| made.step(step)),
                Entry::MadeNetns { name, inode } => {
                    made.namespaces.insert(name, Some(*inode));
                }
                Entry::NetnsDirectory => made.netns_directory = true,
                Entry::Process(process) => made.processes.push(*process),
                Entry::Pins(path) => made.pins.push(path),
                Entry::Lab(_) | Entry::Nodes(_) | Entry::Kept => {}
            }
        }
        made
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
