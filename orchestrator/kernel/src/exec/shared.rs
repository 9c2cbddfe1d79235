//! Sysctls of the whole machine that labs share: who needs them, and what they were.
//!
//! The record is `/run/lcmp-lab/sysctls`, changed under the machine's lock: a lab is in it before the
//! value is changed, and the last lab to leave puts the old value back, if it is still ours.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::sysctl;
use crate::{journal, name::LabName};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Record(BTreeMap<String, Shared>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Shared {
    /// The value before the first lab.
    before: String,
    /// The value a lab wrote last.
    ours: String,
    /// The labs that need it.
    labs: Vec<LabName>,
}

/// Raises a sysctl to at least a value, for a lab. The machine's lock is held.
pub(crate) fn raise(lab: &LabName, key: &str, at_least: u64) -> io::Result<()> {
    let now = sysctl::read(key)?;
    let mut record = Record::read()?;
    let enough = now.parse::<u64>().is_ok_and(|now| now >= at_least);
    if enough && !record.0.contains_key(key) {
        return Ok(());
    }
    let shared = record.0.entry(key.to_owned()).or_insert_with(|| Shared {
        before: now.clone(),
        ours: now.clone(),
        labs: Vec::new(),
    });
    let wanted = at_least.max(shared.ours.parse().unwrap_or(0)).to_string();
    shared.ours.clone_from(&wanted);
    if !shared.labs.contains(lab) {
        shared.labs.push(lab.clone());
    }
    record.write()?;
    sysctl::write(key, &wanted, false)
}

/// Gives up a lab's need of a sysctl. The machine's lock is held.
pub(crate) fn release(lab: &LabName, key: &str) -> io::Result<()> {
    let mut record = Record::read()?;
    let Some(shared) = record.0.get_mut(key) else {
        return Ok(());
    };
    shared.labs.retain(|other| other != lab);
    if shared.labs.is_empty() {
        // Someone else's value since then stays.
        if sysctl::read(key)? == shared.ours {
            sysctl::write(key, &shared.before, false)?;
        }
        record.0.remove(key);
    }
    record.write()
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
        if self.0.is_empty() {
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
    journal::base().join("sysctls")
}
