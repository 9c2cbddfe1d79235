//! Making run directories: `results/20261121T093000Z-8dc-1f2e3d4c`.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    UtcTime,
    error::{Operation, RecordsError},
    format::LATEST,
};

/// Makes an empty run directory under `results_dir`, named after `now`, the scenario and the plan's
/// hash, and points `latest` at it.
///
/// # Errors
/// When a directory or the link cannot be made.
pub fn create_run_dir(
    results_dir: &Path,
    now: SystemTime,
    scenario: &str,
    plan_hash: &str,
) -> Result<PathBuf, RecordsError> {
    fs::create_dir_all(results_dir).map_err(Operation::CreateDir.failed(results_dir))?;
    let name = make_run_dir(results_dir, &run_name(now, scenario, plan_hash))?;
    point_latest(results_dir, &name)?;
    Ok(results_dir.join(name))
}

/// Points `latest` in `results_dir` at its directory `run_name`, replacing the link at once.
///
/// # Errors
/// When the link cannot be made, for instance because `latest` is a directory.
pub fn point_latest(results_dir: &Path, run_name: &str) -> Result<(), RecordsError> {
    let latest = results_dir.join(LATEST);
    let draft = results_dir.join(format!(".{LATEST}-{}", std::process::id()));
    // A draft of an earlier process with our id; without one there is nothing to remove.
    let _ = fs::remove_file(&draft);
    symlink(run_name, &draft).map_err(Operation::CreateFile.failed(&draft))?;
    fs::rename(&draft, &latest).map_err(|source| {
        let _ = fs::remove_file(&draft);
        Operation::Replace.failed(&latest)(source)
    })
}

fn run_name(now: SystemTime, scenario: &str, plan_hash: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let scenario: String = scenario.chars().filter(kept).take(MAX_NAME).collect();
    let hash = plan_hash.chars().filter(char::is_ascii_hexdigit);
    let hash: String = hash.take(SHORT_HASH).collect();
    format!("{}-{scenario}-{hash}", UtcTime::new(now).file_name())
}

/// Makes the directory `name`, or `name-2` and so on if another run of the same second has it.
fn make_run_dir(results_dir: &Path, name: &str) -> Result<String, RecordsError> {
    for attempt in 1..=MAX_SAME_SECOND {
        let name = match attempt {
            1 => name.to_owned(),
            attempt => format!("{name}-{attempt}"),
        };
        let path = results_dir.join(&name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(name),
            Err(source)
                if source.kind() == io::ErrorKind::AlreadyExists && attempt < MAX_SAME_SECOND => {}
            Err(source) => return Err(Operation::CreateDir.failed(path)(source)),
        }
    }
    unreachable!("the last attempt returns")
}

/// Characters of a scenario's name in a directory's name.
const MAX_NAME: usize = 32;

/// Digits of a hash that people tell runs apart by.
const SHORT_HASH: usize = 8;

/// Runs of one plan started in one second that get a directory of their own.
const MAX_SAME_SECOND: u32 = 100;
