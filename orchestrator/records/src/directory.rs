//! Names of files in a run directory, and names of run directories: `results/20261121T093000Z-8dc-1f2e3d4c`.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_files::{Bounded, Links};
use serde::de::DeserializeOwned;

use crate::{
    UtcTime, draft,
    error::{Operation, RecordsError},
};

/// Format number of a run directory's files, except for `plan.json`, which has its own. This lcmp-lab writes only this
/// format and reads all formats from [`OLDEST_FORMAT`] on. Every change of a column, a key or a meaning increases the
/// number; see the crate's rules for [formats](crate#formats).
///
/// - 1: runs of the kernel engine
/// - 2: simulated runs: `semantics` of flows, `tx_packets` and `marks` of links, `pfc.csv`, `story.csv`
/// - 3: `switches.csv`, `ports.csv`
/// - 5: `certificate.csv` (measured rate and delay of each link), the grade of a verdict, and the figures that decide
///   the grade
/// - 6: `rates.csv`, and the flow tables in the evidence
/// - 7: a code, a figure and its bound as the reason of a verdict
/// - 8: `deviations` with a code and a number for each count of switches and hosts, instead of the sentences in
///   `switches`
/// - 9: no sentences in the verdict; warnings about a ranking are computed from the evidence
pub const FORMAT_VERSION: u32 = 9;

/// Oldest format that this lcmp-lab can read. In that format, counts of switches and hosts are sentences; all other
/// keys and columns that a reader needs are the same as in [`FORMAT_VERSION`].
pub const OLDEST_FORMAT: u32 = 7;

/// File with the facts of a run and its outcome.
pub const RUN_FILE: &str = "run.json";

/// File with the scenario's text.
pub const SCENARIO_FILE: &str = "scenario.yaml";

/// File with the plan, as JSON.
pub const PLAN_FILE: &str = "plan.json";

/// Directory with the run's figures.
pub const FIGURES_DIR: &str = "figures";

/// File with the numbers of the table that a run prints at its end, in the format of `--json`.
pub const SUMMARY_FILE: &str = "summary.json";

/// File with the texts of the files that the scenario names, by path, as a JSON object.
pub const INPUTS_FILE: &str = "inputs.json";

/// File with the eBPF objects that the scenario names, by path, in base64.
pub const PROGRAMS_FILE: &str = "programs.json";

/// File with the report on the run.
pub const REPORT_FILE: &str = "report.html";

/// Maximum size of [`RUN_FILE`] in bytes, ten times what the links, faults and evidence of the largest lab need.
pub const MAX_RUN_FILE: u64 = 16 << 20;

/// Maximum size of [`PLAN_FILE`] in bytes, twice the need of a million flows.
pub const MAX_PLAN: u64 = 1 << 30;

/// Maximum size of text files other than [`RUN_FILE`] and [`PLAN_FILE`], in bytes; [`INPUTS_FILE`] with four inputs of
/// the maximum size still fits.
pub const MAX_TEXT: u64 = 256 << 20;

/// Name of the symbolic link to the newest run, beside the run directories.
pub const LATEST: &str = "latest";

/// Creates an empty run directory under `results_dir`, named after `now`, the scenario and the plan's hash. The link
/// `latest` is left unchanged; [`point_latest`] moves it once the run has records.
///
/// # Errors
/// If a directory cannot be created.
pub fn create_run_dir(
    results_dir: &Path,
    now: SystemTime,
    scenario: &str,
    plan_hash: &str,
) -> Result<PathBuf, RecordsError> {
    fs::create_dir_all(results_dir).map_err(Operation::CreateDir.failed(results_dir))?;
    let name = make_run_dir(results_dir, &run_name(now, scenario, plan_hash))?;
    Ok(results_dir.join(name))
}

/// Points the link `latest` in `results_dir` to the run directory `run_name`, atomically.
///
/// # Errors
/// If the link cannot be created, for example because `latest` is a directory.
pub fn point_latest(results_dir: &Path, run_name: &str) -> Result<(), RecordsError> {
    let latest = results_dir.join(LATEST);
    let draft = results_dir.join(format!(".{LATEST}-{}", std::process::id()));
    // An earlier process with the same id may have left its temporary link.
    let _ = fs::remove_file(&draft);
    symlink(run_name, &draft).map_err(Operation::CreateFile.failed(&draft))?;
    fs::rename(&draft, &latest).map_err(|source| {
        let _ = fs::remove_file(&draft);
        Operation::Replace.failed(&latest)(source)
    })
}

/// Reads the text file `name` in the run directory `run_dir`; `None` if there is no such file. A symbolic link is
/// refused, because it could point to any file.
///
/// # Errors
/// If the file cannot be read, is not a regular file, is not UTF-8, or is larger than [`MAX_TEXT`] ([`MAX_PLAN`] for
/// the plan).
pub fn read_text(run_dir: &Path, name: &str) -> Result<Option<String>, RecordsError> {
    let max = match name {
        PLAN_FILE => MAX_PLAN,
        RUN_FILE => MAX_RUN_FILE,
        _ => MAX_TEXT,
    };
    let path = run_dir.join(name);
    match lab_files::read_text(&path, Links::Refuse, max) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Operation::Read.failed(path)(error)),
    }
}

/// Writes `text` to the file `name` in the run directory `run_dir`.
///
/// # Errors
/// If the file cannot be written.
pub fn write_text(run_dir: &Path, name: &str, text: &str) -> Result<(), RecordsError> {
    write_whole(&run_dir.join(name), text)
}

/// Writes the file `name` in the run directory `run_dir` atomically: `write` gets a file that replaces it.
///
/// # Errors
/// If the file cannot be written.
pub fn write_with(
    run_dir: &Path,
    name: &str,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), RecordsError> {
    let path = run_dir.join(name);
    draft::replace_with(&path, write).map_err(Operation::Replace.failed(&path))
}

/// Writes `texts` as a JSON object to the file `name` in the run directory `run_dir`.
///
/// # Errors
/// If the file cannot be written.
pub fn write_texts(
    run_dir: &Path,
    name: &str,
    texts: &BTreeMap<String, String>,
) -> Result<(), RecordsError> {
    let text = serde_json::to_string_pretty(texts).expect("texts are plain data");
    write_text(run_dir, name, &(text + "\n"))
}

/// Deserialises the plan of the run directory `run_dir` as a `T`, without checking its format; `None` if there is no
/// plan.
pub(crate) fn read_plan<T: DeserializeOwned>(run_dir: &Path) -> Result<Option<T>, RecordsError> {
    let path = run_dir.join(PLAN_FILE);
    let file = match lab_files::open(&path, Links::Refuse) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Operation::Read.failed(path)(error)),
    };
    let text = BufReader::new(Bounded::new(file, MAX_PLAN));
    match serde_json::from_reader(text) {
        Ok(plan) => Ok(Some(plan)),
        Err(source) => Err(RecordsError::Plan { path, source }),
    }
}

/// Writes `text` to `path` atomically: a reader sees either the old file or the complete new one.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), RecordsError> {
    draft::replace(path, text.as_bytes()).map_err(Operation::Replace.failed(path))
}

fn run_name(now: SystemTime, scenario: &str, plan_hash: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let scenario: String = scenario.chars().filter(kept).take(MAX_NAME).collect();
    let hash: String = plan_hash
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(SHORT_HASH)
        .collect();
    format!("{}-{scenario}-{hash}", UtcTime::new(now).file_name())
}

/// Creates the directory `name`. If another run that started in the same second has this name, tries `name-2` and so
/// on. Returns the name of the created directory.
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

/// Maximum number of characters of the scenario's name in a directory name.
const MAX_NAME: usize = 32;

/// Number of digits of the plan's hash in a directory name.
const SHORT_HASH: usize = 8;

/// Maximum number of runs of one plan that start in the same second.
const MAX_SAME_SECOND: u32 = 100;
