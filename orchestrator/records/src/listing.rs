//! Runs in a results directory: listing, tags, sizes and deletion.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use lab_files::Links;

use crate::{
    RunFile,
    directory::{LATEST, RUN_FILE, point_latest, write_whole},
    error::{Operation, RecordsError},
};

/// Run in a results directory.
#[derive(Debug)]
pub struct ListedRun {
    /// Name of the run directory.
    pub name: String,
    /// Path of the run directory.
    pub path: PathBuf,
    /// Contents of `run.json`, or the error that occurred when `run.json` or the tags were read.
    pub file: Result<RunFile, RecordsError>,
    /// Tags in alphabetical order; empty if they cannot be read.
    pub tags: BTreeSet<String>,
    /// Sum of the sizes of the run's files in bytes; 0 if the files cannot be listed.
    pub bytes: u64,
}

/// Returns the runs in the directory `results`, oldest first; empty if the directory does not exist. Directories
/// without a `run.json` are left out; a run whose files cannot be read is included with its error.
///
/// # Errors
/// If a directory cannot be read.
pub fn list(results: &Path) -> Result<Vec<ListedRun>, RecordsError> {
    let entries = match fs::read_dir(results) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Operation::Read.failed(results)(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let path = entry.map_err(Operation::Read.failed(results))?.path();
        // `latest` is a link to a run that is listed under its own name.
        if !path.is_symlink() && path.join(RUN_FILE).symlink_metadata().is_ok() {
            runs.push(ListedRun::read(path));
        }
    }
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(runs)
}

impl ListedRun {
    /// Reads the run directory at `path`; an error becomes part of the result.
    #[must_use]
    pub fn read(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default();
        let (tags, of_tags) = match tags(&path) {
            Ok(tags) => (tags, None),
            Err(error) => (BTreeSet::new(), Some(error)),
        };
        let (bytes, of_size) = match size(&path) {
            Ok(bytes) => (bytes, None),
            Err(error) => (0, Some(Operation::Read.failed(&path)(error))),
        };
        let problem = of_tags.or(of_size);
        Self {
            name: name.to_string_lossy().into_owned(),
            file: problem.map_or_else(|| RunFile::read(&path), Err),
            tags,
            bytes,
            path,
        }
    }
}

/// Returns a run directory's tags; empty if it has no tags file.
///
/// # Errors
/// If the file cannot be read, is a link, is larger than 64 KiB, or has a line that is not a tag.
pub fn tags(run_dir: &Path) -> Result<BTreeSet<String>, RecordsError> {
    let path = run_dir.join(TAGS_FILE);
    let text = match lab_files::read_text(&path, Links::Refuse, MAX_TAGS) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(Operation::Read.failed(path)(error)),
    };
    // The line is not quoted: if `tags.txt` were a link, the line could come from any file.
    match (1..).zip(text.lines()).find(|(_, line)| !is_tag(line)) {
        Some((line, _)) => Err(RecordsError::Row {
            path,
            line,
            source: "the line is not a tag (letters, digits and `-_.:/=+`)".into(),
        }),
        None => Ok(text.lines().map(str::to_owned).collect()),
    }
}

/// Replaces the tags of a run directory.
///
/// # Errors
/// If the file cannot be written.
pub fn set_tags(run_dir: &Path, tags: &BTreeSet<String>) -> Result<(), RecordsError> {
    let text: String = tags.iter().map(|tag| format!("{tag}\n")).collect();
    write_whole(&run_dir.join(TAGS_FILE), &text)
}

/// Returns true if `word` can be a tag: letters, digits and `-_.:/=+`, at most 64 characters.
#[must_use]
pub fn is_tag(word: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || "-_.:/=+".contains(c);
    !word.is_empty() && word.chars().count() <= MAX_TAG && word.chars().all(is_allowed)
}

/// Deletes a run directory. If `latest` pointed to the deleted run, it now points to the newest remaining run, or is
/// removed if none remains.
///
/// # Errors
/// If the directory has no `run.json`, or cannot be removed.
pub fn delete(run_dir: &Path) -> Result<(), RecordsError> {
    if !run_dir.join(RUN_FILE).is_file() {
        return Err(RecordsError::NotARun {
            path: run_dir.to_owned(),
        });
    }
    let results = run_dir.parent().unwrap_or(Path::new("."));
    let latest = results.join(LATEST);
    let was_latest =
        fs::read_link(&latest).is_ok_and(|to| Some(to.as_os_str()) == run_dir.file_name());
    fs::remove_dir_all(run_dir).map_err(Operation::Delete.failed(run_dir))?;
    if !was_latest {
        return Ok(());
    }
    match list(results)?.last() {
        Some(newest) => point_latest(results, &newest.name),
        None => fs::remove_file(&latest).map_err(Operation::Delete.failed(&latest)),
    }
}

/// Returns the sum of the sizes of all files under `path`, in bytes.
fn size(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            bytes += size(&entry.path())?;
        } else if kind.is_file() {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// Name of the file with a run's tags, one per line.
const TAGS_FILE: &str = "tags.txt";

/// Maximum size of a tags file in bytes.
const MAX_TAGS: u64 = 64 << 10;

/// Maximum length of a tag in characters.
const MAX_TAG: usize = 64;
