//! `run.json`.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Phase, RunEnd, RunInfo, Tally, UtcTime, Verdict,
    error::{Operation, RecordsError},
    file::write_whole,
    format::{FORMAT_VERSION, RUN_FILE},
};

/// All of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// [`FORMAT_VERSION`] of its writer.
    pub format: u32,
    /// When the run began.
    pub started_at: UtcTime,
    /// What the run is.
    pub info: RunInfo,
    /// How it went; nothing while it runs, and for ever if it died.
    pub outcome: Option<Outcome>,
}

/// How a run went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the engine knows.
    pub end: RunEnd,
    /// What the flow rows add up to.
    pub tally: Tally,
    /// Whether the run can be trusted.
    pub verdict: Verdict,
}

impl RunFile {
    /// Writes it into `run_dir`.
    pub(crate) fn write(&self, run_dir: &Path) -> Result<(), RecordsError> {
        let path = run_dir.join(RUN_FILE);
        let text = serde_json::to_string_pretty(self).map_err(|source| RecordsError::Json {
            path: path.clone(),
            source,
        })?;
        write_whole(&path, &(text + "\n"))
    }

    /// Reads it from `run_dir`. The version comes first: another's file may differ in everything else.
    pub(crate) fn read(run_dir: &Path) -> Result<Self, RecordsError> {
        let path = run_dir.join(RUN_FILE);
        let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => RecordsError::NotARun {
                path: run_dir.to_owned(),
            },
            _ => Operation::Read.failed(&path)(source),
        })?;
        let not_json = |source| RecordsError::Json {
            path: path.clone(),
            source,
        };
        let head: Head = serde_json::from_str(&text).map_err(not_json)?;
        if head.format != FORMAT_VERSION {
            return Err(RecordsError::OtherFormat {
                path,
                found: head.format,
            });
        }
        serde_json::from_str(&text).map_err(not_json)
    }
}

/// Writes into a finished run when it ended and how long its phases took, by the clock of whoever
/// followed it: a guest has no clock that is right. Nothing where the run is not finished.
///
/// # Errors
/// When `run.json` cannot be read or written.
pub fn stamp(run_dir: &Path, ended_at: UtcTime, phases: Vec<Phase>) -> Result<(), RecordsError> {
    let mut run = RunFile::read(run_dir)?;
    let Some(outcome) = &mut run.outcome else {
        return Ok(());
    };
    outcome.end.ended_at = ended_at;
    outcome.end.phases = phases;
    run.write(run_dir)
}

/// What every version of `run.json` has.
#[derive(Deserialize)]
struct Head {
    format: u32,
}
