//! Files and links that are replaced whole or not at all.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::Path,
};

use crate::{
    error::{Operation, RecordsError},
    format::LATEST,
};

/// Writes `text` to `path`, so that a reader sees the old file or the new one.
pub fn write_whole(path: &Path, text: &str) -> Result<(), RecordsError> {
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft).map_err(Operation::CreateFile.failed(&draft))?;
    file.write_all(text.as_bytes())
        .map_err(Operation::Write.failed(&draft))?;
    file.sync_all().map_err(Operation::Sync.failed(&draft))?;
    fs::rename(&draft, path).map_err(Operation::Replace.failed(path))
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
