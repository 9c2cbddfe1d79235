//! Directory of a sweep: its manifest, and a file for each cell that has ended.
//!
//! Every file is written under another name and then renamed, so a killed process leaves no half-written file. One sweep
//! at a time uses a directory; others may read it meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use lab_files::{Links, draft};
use lab_records::directory::REPORT_FILE;
use lab_reports::sweep::CellNumbers;
use lab_scenario::SweepRecords;

use serde::{Serialize, de::DeserializeOwned};

use crate::{manifest::Manifest, queue::CellCost, slurm::TaskArray};

/// Directory of a sweep.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// Error of a file in a sweep's directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`: {error}", path.display())]
pub struct StoreError {
    action: &'static str,
    path: PathBuf,
    #[source]
    error: io::Error,
}

/// Folders in a sweep's directory with a file for each cell.
const RESULTS: &str = "cells";
const COSTS: &str = "costs";
const FAILURES: &str = "failed";

/// Folder with a file for each array of Slurm tasks.
const ARRAYS: &str = "slurm";

/// Folder with the run directories that are kept.
const RUNS: &str = "runs";

/// Name of the request to end the Slurm tasks.
const CANCEL: &str = "cancel";

/// Name of the manifest.
const MANIFEST: &str = "sweep.json";

/// Name of the file with the estimated costs.
const ESTIMATES: &str = "estimates.json";

/// Name of the file that a running sweep locks.
const LOCK: &str = "lock";

/// Maximum size of a file, ten times the need of a thousand scenarios or policies.
const MAX_FILE: u64 = 256 << 20;

impl StoreError {
    /// Returns true if the content of the file is not valid.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        let kind = self.error.kind();
        matches!(
            kind,
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        )
    }
}

impl Store {
    /// Opens the directory `dir`, which is created if necessary.
    ///
    /// # Errors
    /// If a folder cannot be created.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        for folder in [RESULTS, COSTS, FAILURES] {
            let path = dir.join(folder);
            fs::create_dir_all(&path).map_err(failed("create", &path))?;
        }
        Ok(Self::at(dir))
    }

    /// Returns the store in `dir`, which is not read yet.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        let dir = dir.to_owned();
        Self { dir }
    }

    /// Returns the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the file that a running sweep locks.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.dir.join(LOCK)
    }

    /// Returns the name of a file that no sweep has written. `None` if the directory is missing, has a manifest, or has
    /// only files of a sweep.
    ///
    /// # Errors
    /// If the directory exists and cannot be listed.
    pub fn foreign_file(&self) -> Result<Option<String>, StoreError> {
        let failed = || failed("list", &self.dir);
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(failed())?,
        };
        let mut foreign = None;
        for entry in entries {
            let file = entry.map_err(failed())?.file_name();
            let name = file.to_string_lossy();
            // A process that was killed before it wrote the manifest may have left the other ones.
            match &*name {
                MANIFEST => return Ok(None),
                RESULTS | COSTS | FAILURES | LOCK => {}
                other if draft::is_draft(other) => {}
                other => foreign = Some(other.to_owned()),
            }
        }
        Ok(foreign)
    }

    /// Reads the manifest; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn manifest(&self) -> Result<Option<Manifest>, StoreError> {
        read(&self.dir.join(MANIFEST))
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        write(&self.dir.join(MANIFEST), manifest)
    }

    /// Returns the identities of the cells that have results.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn done(&self) -> Result<BTreeSet<String>, StoreError> {
        self.listed(RESULTS)
    }

    /// Returns the identities of the cells that have results and everything that `records` ask for.
    ///
    /// # Errors
    /// If a folder cannot be listed.
    pub fn complete(&self, records: SweepRecords) -> Result<BTreeSet<String>, StoreError> {
        let mut done = self.done()?;
        done.retain(|identity| self.has_records(identity, records));
        Ok(done)
    }

    /// Removes those of the results of `cells` that are damaged, and returns their number.
    ///
    /// # Errors
    /// If results cannot be read or removed.
    pub fn remove_damaged<'a>(
        &self,
        cells: impl IntoIterator<Item = &'a str>,
    ) -> Result<usize, StoreError> {
        let mut removed = 0;
        for identity in cells {
            match self.numbers(identity) {
                Err(error) if error.is_damage() => {
                    remove(&self.path(RESULTS, identity))?;
                    removed += 1;
                }
                read => drop(read?),
            }
        }
        Ok(removed)
    }

    /// Returns true if a cell has results and everything that `records` ask for.
    ///
    /// # Errors
    /// If the results cannot be read.
    pub fn is_complete(&self, identity: &str, records: SweepRecords) -> Result<bool, StoreError> {
        Ok(self.numbers(identity)?.is_some() && self.has_records(identity, records))
    }

    /// Returns true if everything is kept of a cell that `records` ask for.
    #[must_use]
    pub(crate) fn has_records(&self, identity: &str, records: SweepRecords) -> bool {
        let kept = kept_at(identity, records);
        kept.is_none_or(|path| self.dir.join(path).exists())
    }

    /// Moves a cell's run directory into this one, in place of an earlier one.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn keep_run(&self, identity: &str, run: &Path) -> Result<(), StoreError> {
        let path = self.dir.join(RUNS).join(identity);
        let moved = fs::create_dir_all(self.dir.join(RUNS))
            .and_then(|()| match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            })
            .and_then(|()| fs::rename(run, &path));
        moved.map_err(failed("move the run directory to", &path))
    }

    /// Returns the identities of the cells that have failed. One that ran again on two nodes may have results, too, which
    /// then count.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn failed(&self) -> Result<BTreeSet<String>, StoreError> {
        self.listed(FAILURES)
    }

    /// Reads the results of a cell; `None` if it has none.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn numbers(&self, identity: &str) -> Result<Option<CellNumbers>, StoreError> {
        let path = self.path(RESULTS, identity);
        let numbers: Option<CellNumbers> = read(&path)?;
        if numbers.as_ref().is_some_and(|it| it.identity != identity) {
            let message = "it has the results of another cell";
            let error = io::Error::new(io::ErrorKind::InvalidData, message);
            return Err(failed("use", &path)(error));
        }
        Ok(numbers)
    }

    /// Reads the measured cost of a cell; `None` if it has none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn cost(&self, identity: &str) -> Result<Option<CellCost>, StoreError> {
        read(&self.path(COSTS, identity))
    }

    /// Reads the estimated costs of cells, by identity. Damaged ones are made again, so they are none.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn estimates(&self) -> Result<BTreeMap<String, CellCost>, StoreError> {
        match read(&self.dir.join(ESTIMATES)) {
            Err(error) if error.is_damage() => Ok(BTreeMap::new()),
            estimates => Ok(estimates?.unwrap_or_default()),
        }
    }

    /// Writes the estimated costs of cells, by identity.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_estimates(&self, estimates: &BTreeMap<&str, CellCost>) -> Result<(), StoreError> {
        write(&self.dir.join(ESTIMATES), estimates)
    }

    /// Reads the message of a failed cell; `None` if the cell has not failed. A damaged message is replaced by the error of
    /// reading it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn failure(&self, identity: &str) -> Result<Option<String>, StoreError> {
        match read(&self.path(FAILURES, identity)) {
            Err(error) if error.is_damage() => Ok(Some(error.to_string())),
            message => message,
        }
    }

    /// Writes the results of a cell and what it cost.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, numbers: &CellNumbers, cost: CellCost) -> Result<(), StoreError> {
        let identity = &numbers.identity;
        write(&self.path(COSTS, identity), &cost)?;
        write(&self.path(RESULTS, identity), numbers)
    }

    /// Removes the message of a cell that failed earlier and runs again.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn forget_failure(&self, identity: &str) -> Result<(), StoreError> {
        remove(&self.path(FAILURES, identity))
    }

    /// Writes the message of a failed cell.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_failure(&self, identity: &str, message: &str) -> Result<(), StoreError> {
        write(&self.path(FAILURES, identity), &message)
    }

    /// Reads the arrays of Slurm tasks whose cells have not all ended.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn arrays(&self) -> Result<Vec<TaskArray>, StoreError> {
        if !self.slurm().exists() {
            return Ok(Vec::new());
        }
        let names = self.listed(ARRAYS)?;
        let arrays = names.iter().filter_map(|name| self.array(name).transpose());
        arrays.collect()
    }

    /// Reads the array with the name `name`; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn array(&self, name: &str) -> Result<Option<TaskArray>, StoreError> {
        read(&self.path(ARRAYS, name))
    }

    /// Writes an array of Slurm tasks.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_array(&self, array: &TaskArray) -> Result<(), StoreError> {
        write(&self.path(ARRAYS, &array.name), array)
    }

    /// Removes an array whose cells have ended, with the logs and run directories that its tasks left.
    ///
    /// # Errors
    /// If its record cannot be removed.
    pub fn remove_array(&self, name: &str) -> Result<(), StoreError> {
        remove(&self.path(ARRAYS, name))?;
        for entry in fs::read_dir(self.slurm()).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let rest = file.strip_prefix(name);
            if rest.is_some_and(|rest| rest.starts_with(['-', '.'])) {
                let path = entry.path();
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            }
        }
        Ok(())
    }

    /// Claims an array for the job `job`, unless another job has claimed it; returns the job that has it. If an array was
    /// submitted twice, because Slurm's answer was lost, only the tasks of this job run.
    ///
    /// # Errors
    /// If the claim can be neither written nor read.
    pub fn claim(&self, name: &str, job: u64) -> Result<u64, StoreError> {
        // The target of a symbolic link is written in one step.
        let path = self.slurm().join(format!("{name}.job"));
        match symlink(job.to_string(), &path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed("write", &path)(error))
            }
            _ => Ok(self.claimed(name).unwrap_or(job)),
        }
    }

    /// Returns the job that has claimed an array; `None` if no task has started.
    #[must_use]
    pub fn claimed(&self, name: &str) -> Option<u64> {
        let target = fs::read_link(self.slurm().join(format!("{name}.job"))).ok()?;
        target.to_str()?.parse().ok()
    }

    /// Asks the process that watches the Slurm tasks to end them.
    ///
    /// # Errors
    /// If the request cannot be written.
    pub fn ask_to_cancel(&self) -> Result<(), StoreError> {
        write(&self.slurm().join(CANCEL), &())
    }

    /// Returns true if the Slurm tasks are to be ended.
    #[must_use]
    pub fn is_to_cancel(&self) -> bool {
        self.slurm().join(CANCEL).exists()
    }

    /// Removes the request of [`Self::ask_to_cancel`].
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn forget_cancel(&self) -> Result<(), StoreError> {
        remove(&self.slurm().join(CANCEL))
    }

    /// Returns the folder with the arrays and logs of Slurm tasks.
    #[must_use]
    pub fn slurm(&self) -> PathBuf {
        self.dir.join(ARRAYS)
    }

    fn listed(&self, folder: &str) -> Result<BTreeSet<String>, StoreError> {
        let path = self.dir.join(folder);
        let failed = || failed("list", &path);
        let mut found = BTreeSet::new();
        for entry in fs::read_dir(&path).map_err(failed())? {
            let name = entry.map_err(failed())?.file_name();
            let identity = name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
            found.extend(identity.map(str::to_owned));
        }
        Ok(found)
    }

    fn path(&self, folder: &str, identity: &str) -> PathBuf {
        self.dir.join(folder).join(format!("{identity}{EXTENSION}"))
    }
}

/// Returns the path, from a sweep's directory, of what is kept of a cell: its report, or the folder with its rows. `None`
/// if nothing is.
pub fn kept_at(identity: &str, records: SweepRecords) -> Option<String> {
    match records {
        SweepRecords::Summary => None,
        SweepRecords::Flows => Some(format!("{RUNS}/{identity}/")),
        SweepRecords::Full => Some(format!("{RUNS}/{identity}/{REPORT_FILE}")),
    }
}

/// Ending of the names of files.
const EXTENSION: &str = ".json";

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    let text = match lab_files::read(path, Links::Follow, MAX_FILE) {
        Err(error) if is_missing(&error) => return Ok(None),
        text => text.map_err(failed("read", path))?,
    };
    let value = serde_json::from_slice(&text).map_err(io::Error::from);
    value.map(Some).map_err(failed("read", path))
}

/// Returns a function that turns an I/O error into the error of `action` on `path`.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError {
        action,
        path,
        error,
    }
}

/// Returns true if a file is missing, or the path of its folder is that of a file.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn remove(path: &Path) -> Result<(), StoreError> {
    draft::remove(path).map_err(failed("remove", path))
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let text = serde_json::to_vec(value).expect("it is plain data");
    draft::replace(path, &text).map_err(failed("write", path))
}

#[cfg(test)]
mod tests {
    use lab_records::Grade;
    use lab_reports::sweep::CellNetwork;
    use lab_units::Bytes;

    use super::*;

    #[test]
    fn a_cell_is_complete_with_its_results_and_what_is_kept_of_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        let kinds = [
            SweepRecords::Summary,
            SweepRecords::Flows,
            SweepRecords::Full,
        ];
        let complete = || {
            kinds.map(|records| {
                let listed = store.complete(records).unwrap().contains("abc");
                assert_eq!(store.is_complete("abc", records).unwrap(), listed);
                listed
            })
        };
        assert_eq!(complete(), [false, false, false]);
        let numbers = CellNumbers {
            cell: "8dc".to_owned(),
            identity: "abc".to_owned(),
            plan: String::new(),
            verdict: Grade::Valid,
            reasons: Vec::new(),
            flows: 1,
            flows_with_choice: None,
            network: CellNetwork::default(),
            policies: Vec::new(),
        };
        let cost = CellCost {
            seconds: 1.0,
            memory: Bytes::new(1),
        };
        store.write(&numbers, cost).unwrap();
        assert_eq!(complete(), [true, false, false]);
        let run = |file: &str| {
            let run = folder.path().join("work");
            fs::create_dir(&run).unwrap();
            fs::write(run.join(file), "").unwrap();
            store.keep_run("abc", &run).unwrap();
        };
        run("flows.csv");
        assert_eq!(complete(), [true, true, false]);
        run("report.html");
        assert_eq!(complete(), [true, true, true]);
        assert!(!folder.path().join("runs/abc/flows.csv").exists());
    }
}
