//! Index of the ended runs in a results directory.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lab_records::{EngineInfo, Grade, Outcome, RunDir, RunInfo, listing};

use super::Reuse;
use crate::failure::Failure;

/// Ended runs by their identity; of several runs with the same identity, the newest.
#[derive(Default)]
pub struct FoundRuns(BTreeMap<Reuse, PathBuf>);

impl FoundRuns {
    /// Reads the ended runs in `results`; runs that cannot be read are left out.
    pub fn read(results: &Path) -> Result<Self, Failure> {
        let runs = listing::list(results).map_err(|error| Failure::records(&error))?;
        let mut found = Self::default();
        for run in runs {
            let Ok(file) = run.file else { continue };
            // A run with a problem was interrupted or its engine failed, and an invalid run has no usable values.
            let serves =
                |it: &Outcome| it.end.problems.is_empty() && it.verdict.grade != Grade::Invalid;
            if !file.outcome.as_ref().is_some_and(serves) {
                continue;
            }
            if let Some(reuse) = identity(&run.path, &file.info) {
                found.add(reuse, run.path);
            }
        }
        Ok(found)
    }

    /// Returns the directory of the run with the identity `reuse`; `None` if no ended run has this identity.
    pub fn run(&self, reuse: &Reuse) -> Option<&Path> {
        self.0.get(reuse).map(PathBuf::as_path)
    }

    /// Adds an ended run, unless its identity is [`Reuse::Never`].
    pub fn add(&mut self, reuse: Reuse, run: PathBuf) {
        if reuse != Reuse::Never {
            self.0.insert(reuse, run);
        }
    }
}

/// Returns the identity of the run in `dir`; `None` for a simulation whose plan file is missing or has another
/// version's format.
fn identity(dir: &Path, info: &RunInfo) -> Option<Reuse> {
    match info.engine {
        EngineInfo::Sim(_) => {
            let plan = RunDir::open(dir).and_then(|run| run.plan()).ok()??;
            let asked = info.provenance.asked.as_ref();
            let options = asked.map(|it| it.options.clone()).unwrap_or_default();
            Some(Reuse::of_plan(plan, &options))
        }
        EngineInfo::Kernel => Some(Reuse::of_lab_run(info)),
    }
}
