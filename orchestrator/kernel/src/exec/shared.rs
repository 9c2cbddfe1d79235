//! What labs share: sysctls of the whole machine, and the directory of namespaces.
//!
//! The record is `/run/lcmp-lab/shared`, changed under the machine's lock: a lab is in it before
//! anything is changed, and the last lab to leave puts things back as they were.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{netns, sysctl};
use crate::{journal, name::LabName};

#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
struct Record {
    sysctls: BTreeMap<String, Raised>,
    /// The labs that need the directory of namespaces, where a lab made it.
    netns_directory: Vec<LabName>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
struct Raised {
    /// The value before the first lab.
    before: String,
    /// The value a lab wrote last.
    ours: String,
    /// The labs that need it.
    labs: Vec<LabName>,
}

/// Raises a sysctl to at least a value, for a lab. The machine's lock is held.
///
/// Inside a container the machine's own sysctls are not there, and cannot be changed.
pub(crate) fn raise(lab: &LabName, key: &str, at_least: u64) -> io::Result<()> {
    let now = match sysctl::read(key) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        now => now?,
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
    let wanted = at_least.max(raised.ours.parse().unwrap_or(0)).to_string();
    raised.ours.clone_from(&wanted);
    join(&mut raised.labs, lab);
    record.write()?;
    sysctl::write(key, &wanted, false)
}

/// Gives up a lab's need of a sysctl. The machine's lock is held.
pub(crate) fn release(lab: &LabName, key: &str) -> io::Result<()> {
    let mut record = Record::read()?;
    let Some(raised) = record.sysctls.get_mut(key) else {
        return Ok(());
    };
    raised.labs.retain(|other| other != lab);
    if raised.labs.is_empty() {
        // Someone else's value since then stays.
        if sysctl::read(key)? == raised.ours {
            sysctl::write(key, &raised.before, false)?;
        }
        record.sysctls.remove(key);
    }
    record.write()
}

/// Makes the directory of namespaces, where there is none yet, for a lab. The machine's lock is
/// held.
pub(crate) fn need_netns_directory(lab: &LabName) -> io::Result<()> {
    let mut record = Record::read()?;
    if !record.netns_directory.is_empty() || !netns::directory_is_ready()? {
        join(&mut record.netns_directory, lab);
        record.write()?;
    }
    if !netns::directory_is_ready()? {
        netns::make_directory()?;
    }
    Ok(())
}

/// Gives up a lab's need of the directory of namespaces. The machine's lock is held.
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

impl Record {
    fn read() -> io::Result<Self> {
        match fs::read(path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            text => Ok(serde_json::from_slice(&text?)?),
        }
    }

    /// Replaces the record in one step, so that a kill leaves the old or the new one.
    fn write(&self) -> io::Result<()> {
        if *self == Self::default() {
            return match fs::remove_file(path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            };
        }
        let next = path().with_extension("next");
        fs::write(&next, serde_json::to_vec(self)?)?;
        fs::rename(next, path())
    }
}

fn path() -> PathBuf {
    journal::base().join("shared")
}
