//! State that labs share: sysctls of the whole machine, and the directory of namespaces.
//!
//! The record is `/run/lcmp-lab/shared`, changed under the machine's lock. A lab is in the record
//! before it changes anything, and the last lab to leave restores the machine.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    backend::{read_sysctl, write_sysctl},
    netns,
};
use crate::{
    journal::{self, Entry, Journal, if_found},
    name::LabName,
};

#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
struct Record {
    sysctls: BTreeMap<String, Raised>,
    /// Labs that need the directory of namespaces, if a lab created it.
    netns_directory: Vec<LabName>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
struct Raised {
    /// Value before the first lab.
    before: String,
    /// Value that a lab wrote last.
    ours: String,
    /// Labs that need the value.
    labs: Vec<LabName>,
}

/// Raises a sysctl to at least a value, for a lab. The caller holds the machine's lock.
///
/// A container lacks the machine's sysctls; nothing is changed there.
pub(crate) fn raise(
    lab: &LabName,
    journal: &mut Journal,
    key: &str,
    at_least: u64,
) -> io::Result<()> {
    let Some(now) = if_found(read_sysctl(key))? else {
        return Ok(());
    };
    let mut record = Record::read()?;
    let enough = now.parse::<u64>().is_ok_and(|now| now >= at_least);
    if enough && !record.sysctls.contains_key(key) {
        return Ok(());
    }
    let raised = record.sysctls.entry(key.to_owned());
    let raised = raised.or_insert_with(|| Raised {
        before: now.clone(),
        ours: now,
        labs: Vec::new(),
    });
    let wanted = at_least.max(number(&raised.ours)).to_string();
    raised.ours.clone_from(&wanted);
    join(&mut raised.labs, lab);
    journal.write(&Entry::Raised {
        key: key.to_owned(),
        before: raised.before.clone(),
        ours: wanted.clone(),
    })?;
    record.write()?;
    write_sysctl(key, &wanted, false)
}

/// Releases a lab's share of a sysctl. The caller holds the machine's lock.
pub(crate) fn release(lab: &LabName, key: &str) -> io::Result<()> {
    let mut record = Record::read()?;
    let Some(raised) = record.sysctls.get_mut(key) else {
        return Ok(());
    };
    raised.labs.retain(|other| other != lab);
    if raised.labs.is_empty() {
        // A value that someone else wrote since then stays.
        if read_sysctl(key)? == raised.ours {
            write_sysctl(key, &raised.before, false)?;
        }
        record.sysctls.remove(key);
    }
    record.write()
}

/// Creates the directory of namespaces for a lab if it does not exist. The caller holds the machine's
/// lock.
pub(crate) fn need_netns_directory(lab: &LabName, journal: &mut Journal) -> io::Result<()> {
    let mut record = Record::read()?;
    if !record.netns_directory.is_empty() || !netns::directory_is_ready()? {
        join(&mut record.netns_directory, lab);
        journal.write(&Entry::NetnsDirectory)?;
        record.write()?;
    }
    if !netns::directory_is_ready()? {
        netns::make_directory()?;
    }
    Ok(())
}

/// Releases a lab's share of the directory of namespaces. The caller holds the machine's lock.
pub(crate) fn release_netns_directory(lab: &LabName) -> io::Result<()> {
    let mut record = Record::read()?;
    if !record.netns_directory.contains(lab) {
        return Ok(());
    }
    record.netns_directory.retain(|other| other != lab);
    if record.netns_directory.is_empty() {
        netns::remove_directory()?;
    }
    record.write()
}

fn join(labs: &mut Vec<LabName>, lab: &LabName) {
    if !labs.contains(lab) {
        labs.push(lab.clone());
    }
}

fn number(value: &str) -> u64 {
    value.parse().unwrap_or(0)
}

impl Record {
    fn read() -> io::Result<Self> {
        // A process that is killed while it writes leaves it.
        if_found(fs::remove_file(next_path()))?;
        let text = if_found(fs::read(path()))?;
        Ok(text.map_or_else(|| Ok(Self::default()), |text| serde_json::from_slice(&text))?)
    }

    /// Replaces the record atomically.
    fn write(&self) -> io::Result<()> {
        if *self == Self::default() {
            return if_found(fs::remove_file(path())).map(drop);
        }
        fs::write(next_path(), serde_json::to_vec(self)?)?;
        fs::rename(next_path(), path())
    }
}

fn path() -> PathBuf {
    journal::base().join("shared")
}

/// Returns the path of a record that is being written.
fn next_path() -> PathBuf {
    path().with_extension("next")
}
