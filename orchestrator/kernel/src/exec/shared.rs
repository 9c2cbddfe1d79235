//! Machine state that labs share: machine-wide sysctls, and the directory of namespaces.
//!
//! The record of this state is `/run/lcmp-lab/shared`, which is changed only under the machine's lock. A lab is entered
//! in the record before it changes anything, and the last lab to leave restores the machine. The labs' journals contain
//! the same facts, so a record that cannot be read is renamed and rebuilt from the journals.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    backend::{read_sysctl, write_sysctl},
    inventory::{Inventory, Sysctl},
    netns,
};
use crate::{
    journal::{self, Contents, Entry, Journal, if_found},
    name::LabName,
    process,
};

#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
struct Record {
    sysctls: BTreeMap<String, Raised>,
    /// Labs that need the directory of namespaces, `/run/netns`; empty if the directory existed before all labs.
    netns_directory: Vec<LabName>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
struct Raised {
    /// Value before any lab raised the sysctl.
    before: String,
    /// Value that the latest lab wrote to the sysctl.
    ours: String,
    /// Labs that need the raised value.
    labs: Vec<LabName>,
}

/// Raises a sysctl to at least `at_least` on behalf of a lab. The caller must hold the machine's lock.
///
/// Does nothing in a container, where machine-wide sysctls are missing.
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
    let raised = record
        .sysctls
        .entry(key.to_owned())
        .or_insert_with(|| Raised {
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

/// Ends a lab's use of a raised sysctl; after the last lab, the original value is restored. The caller must hold the
/// machine's lock.
pub(crate) fn release(lab: &LabName, key: &str) -> io::Result<()> {
    let mut record = Record::read()?;
    let Some(raised) = record.sysctls.get_mut(key) else {
        return Ok(());
    };
    raised.labs.retain(|other| other != lab);
    if raised.labs.is_empty() {
        // If another program has written another value since, that value stays.
        if read_sysctl(key)? == raised.ours {
            write_sysctl(key, &raised.before, false)?;
        }
        record.sysctls.remove(key);
    }
    record.write()
}

/// Creates the directory of namespaces on behalf of a lab if it does not exist. The caller must hold the machine's
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

/// Ends a lab's use of the directory of namespaces; removes the directory if no other lab needs it and it is empty. The
/// caller must hold the machine's lock.
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
        // A process that was killed while writing a record may have left this file.
        if_found(fs::remove_file(next_path())).map_err(at(&next_path()))?;
        let text = match fs::read(path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(at(&path())(error));
            }
            text => text,
        };
        text.and_then(|text| Ok(serde_json::from_slice(&text)?))
            .or_else(|damage| Self::recover(&damage))
    }

    /// Renames the damaged file of the record, and rebuilds the record from the labs' journals.
    fn recover(damage: &io::Error) -> io::Result<Self> {
        let mut record = Self::default();
        for lab in journal::labs()? {
            match Contents::read(&journal::directory(&lab)) {
                Ok(contents) => record.add(&lab, &contents)?,
                Err(error) => tracing::warn!(
                    %lab, %error,
                    "the lab's journal cannot be read, so its machine-wide changes remain"
                ),
            }
        }
        let names = (0_u32..).map(|number| path().with_extension(format!("damaged-{number}")));
        let mut free = names.filter(|path| !path.exists());
        let aside = free.next().ok_or(io::ErrorKind::AlreadyExists)?;
        fs::rename(path(), &aside).map_err(at(&path()))?;
        record.write()?;
        tracing::warn!(
            "`{}` was damaged ({damage}): it is rebuilt from the labs' journals, and the damaged file is kept as `{}` \
             (hint: compare the sysctls in both files, then remove the damaged one)",
            path().display(),
            aside.display()
        );
        Ok(record)
    }

    /// Adds the shared state that a lab uses according to its journal; ignores a lab of an earlier boot.
    fn add(&mut self, lab: &LabName, contents: &Contents) -> io::Result<()> {
        let boot_id = process::boot_id()?;
        if contents.head().is_none_or(|head| head.boot_id != boot_id) {
            return Ok(());
        }
        let held = Inventory::of(contents);
        for (key, Sysctl { before, ours }) in held.sysctls {
            let raised = self
                .sysctls
                .entry(key.to_owned())
                .or_insert_with(|| Raised {
                    before: before.to_owned(),
                    ours: ours.to_owned(),
                    labs: Vec::new(),
                });
            if number(ours) > number(&raised.ours) {
                ours.clone_into(&mut raised.ours);
            }
            join(&mut raised.labs, lab);
        }
        if held.netns_directory {
            join(&mut self.netns_directory, lab);
        }
        Ok(())
    }

    /// Replaces the record's file atomically, or removes the file if the record is empty.
    fn write(&self) -> io::Result<()> {
        if *self == Self::default() {
            return if_found(fs::remove_file(path()))
                .map(drop)
                .map_err(at(&path()));
        }
        fs::write(next_path(), serde_json::to_vec(self)?).map_err(at(&next_path()))?;
        fs::rename(next_path(), path()).map_err(at(&path()))
    }
}

/// Returns a function that adds `path` to an error.
fn at(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

fn path() -> PathBuf {
    journal::base().join("shared")
}

/// Returns the path of the temporary file to which a new record is written before it replaces the current one.
fn next_path() -> PathBuf {
    path().with_extension("next")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_record_is_read_or_refused() {
        let lab: LabName = "t".parse().unwrap();
        let raised = Raised {
            before: "1000".into(),
            ours: "300000".into(),
            labs: vec![lab.clone()],
        };
        let record = Record {
            sysctls: BTreeMap::from([("net.core.netdev_max_backlog".into(), raised)]),
            netns_directory: vec![lab],
        };
        lab_fuzz::fuzz_json::<Record>(
            "record of what labs share",
            &[serde_json::to_vec(&record).unwrap()],
        );
    }
}
