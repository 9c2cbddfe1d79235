//! File `run.json`, with the facts of a run and its outcome.

use std::{io, path::Path};

use lab_files::Links;
use serde::{Deserialize, Serialize};

use crate::{
    LiveChange, Outcome, Phase, RunInfo, UtcTime, Verdict,
    directory::{FORMAT_VERSION, MAX_RUN_FILE, OLDEST_FORMAT, RUN_FILE, write_whole},
    error::{Operation, RecordsError},
    format,
};

/// Contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Format number of the file, from [`OLDEST_FORMAT`] to [`FORMAT_VERSION`].
    pub format: u32,
    /// Time at which the run started.
    pub started_at: UtcTime,
    /// Facts that were known before the first flow started.
    pub info: RunInfo,
    /// Outcome of the run; `None` while it runs, and if its process died.
    pub outcome: Option<Outcome>,
}

impl RunFile {
    /// Writes `run.json` to the run directory `run_dir`.
    pub(crate) fn write(&self, run_dir: &Path) -> Result<(), RecordsError> {
        let path = run_dir.join(RUN_FILE);
        let text = serde_json::to_string_pretty(self).map_err(|source| RecordsError::Json {
            path: path.clone(),
            source,
        })?;
        write_whole(&path, &(text + "\n"))
    }

    /// Reads `run.json` from the run directory `run_dir`. The format is checked first, because other keys may differ
    /// between formats.
    pub(crate) fn read(run_dir: &Path) -> Result<Self, RecordsError> {
        let path = run_dir.join(RUN_FILE);
        let text =
            lab_files::read_text(&path, Links::Refuse, MAX_RUN_FILE).map_err(
                |source| match source.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                        RecordsError::NotARun {
                            path: run_dir.to_owned(),
                        }
                    }
                    _ => Operation::Read.failed(&path)(source),
                },
            )?;
        let not_json = |source| RecordsError::Json {
            path: path.clone(),
            source,
        };
        let head: RunHead = serde_json::from_str(&text).map_err(not_json)?;
        if !(OLDEST_FORMAT..FORMAT_VERSION).contains(&head.format) {
            format::check(&path, head.format, FORMAT_VERSION)?;
        }
        serde_json::from_str(&text).map_err(not_json)
    }

    /// Fails if `run.json` in `run_dir` does not have this program's own format.
    pub(crate) fn require_own_format(&self, run_dir: &Path) -> Result<(), RecordsError> {
        format::check(&run_dir.join(RUN_FILE), self.format, FORMAT_VERSION)
    }
}

/// Replaces end time and phases of a finished run by the host's measurements, because a guest's clock is wrong. Also
/// adds the changes that the host recorded, and recomputes the verdict. Does nothing if the run is not finished.
///
/// # Errors If `run.json` cannot be read or written, or does not have this program's own format.
pub fn stamp(
    run_dir: &Path,
    ended_at: UtcTime,
    phases: Vec<Phase>,
    changes: Vec<LiveChange>,
) -> Result<(), RecordsError> {
    let mut run = RunFile::read(run_dir)?;
    run.require_own_format(run_dir)?;
    let Some(outcome) = &mut run.outcome else {
        return Ok(());
    };
    outcome.end.ended_at = ended_at;
    outcome.end.phases = phases;
    outcome.end.changes.extend(changes);
    outcome.verdict = Verdict::of(&run.info, Some(&outcome.end), &outcome.counts);
    run.write(run_dir)
}

/// Keys that a `run.json` of every format has.
#[derive(Deserialize)]
struct RunHead {
    format: u32,
}
