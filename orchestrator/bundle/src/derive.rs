//! Derives the numbers of a report again from the run's rows and compares them with the stored numbers.

use std::{collections::BTreeSet, fs, path::Path};

use lab_plan::Plan;
use lab_records::{
    FlowCounts, Outcome, Reason, RecordsError, RunDir, UtcTime,
    directory::{self, FIGURES_DIR, PLAN_FILE, REPORT_FILE, SUMMARY_FILE},
};
use lab_reports::{Report, ReportError, words};
use serde::Serialize;

use crate::{error::BundleError, manifest::Digester};

/// Difference between a file or number stored in a run and the file or number derived from the run's rows.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Discrepancy {
    /// File of the run that contains the difference.
    pub file: String,
    /// Description for the user: the stored and the derived value, or the reason why one of the two is missing.
    pub detail: String,
}

/// Result of deriving a run's numbers from its rows.
#[derive(Clone, Debug, Serialize)]
pub struct Derivation {
    /// Start of the run, as recorded in `run.json`.
    pub started_at: UtcTime,
    /// Number of figures whose numbers were compared with the stored ones.
    pub figures: usize,
    /// Differences between the derived and the stored numbers.
    pub differences: Vec<Discrepancy>,
}

/// Failure to derive a run's numbers.
#[derive(Debug, thiserror::Error)]
pub enum DeriveError {
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The report cannot be generated.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Files(#[from] BundleError),
    /// The plan cannot be read.
    #[error("`{PLAN_FILE}` is not a plan in the format of this lcmp-lab version")]
    Plan(#[source] serde_json::Error),
}

/// Derives the numbers of the run in `kept` from its rows and compares them with the numbers in `kept`: figures,
/// summary text, counts, verdict and evidence (counts of each policy's mechanism). For this, it generates a report in
/// `again`, which is created and must not exist.
///
/// # Errors
/// If the records are invalid or have another format, or a file cannot be read or written.
pub fn derive(kept: &Path, again: &Path) -> Result<Derivation, DeriveError> {
    let run = RunDir::open(kept)?;
    run.require_own_format()?;
    copy_records(kept, again)?;
    let report = lab_reports::render(again)?;
    let mut differences = Vec::new();
    let names = names(&kept.join(FIGURES_DIR))?;
    let drawn = self::names(&again.join(FIGURES_DIR))?;
    let figures: BTreeSet<&String> = names.union(&drawn).collect();
    for name in &figures {
        let name = format!("{FIGURES_DIR}/{name}");
        differences.extend(compare_text(&name, kept, again)?);
    }
    differences.extend(compare_text(SUMMARY_FILE, kept, again)?);
    let plan_text = directory::read_text(kept, PLAN_FILE)?.unwrap_or_default();
    let mut digester = Digester::default();
    digester.add(plan_text.as_bytes());
    if digester.hex() != run.info().plan_hash {
        differences.push(Discrepancy {
            file: PLAN_FILE.to_owned(),
            detail: "the file's SHA-256 differs from the SHA-256 recorded in `run.json`".to_owned(),
        });
    }
    if let Some(outcome) = run.outcome() {
        let plan: Plan = serde_json::from_str(&plan_text).map_err(DeriveError::Plan)?;
        let evidence = lab_recorder::evidence(&plan, kept)?;
        differences.extend(compare_outcome(outcome, &report));
        if evidence != outcome.end.evidence {
            differences.push(of_run(
                "the stored evidence (counts of each policy's mechanism) differs from the evidence derived \
                 from the rows",
            ));
        }
    }
    Ok(Derivation {
        started_at: run.started_at(),
        figures: figures.len(),
        differences,
    })
}

/// Hard-links all files of the run in `kept` into `again`, except the report, which is generated there later.
fn copy_records(kept: &Path, again: &Path) -> Result<(), BundleError> {
    fs::create_dir(again).map_err(BundleError::io("create", again))?;
    for name in names_of_files(kept)? {
        if [SUMMARY_FILE, REPORT_FILE].contains(&name.as_str()) {
            continue;
        }
        let from = kept.join(&name);
        let to = again.join(&name);
        fs::hard_link(&from, &to).map_err(BundleError::io("link", to))?;
    }
    Ok(())
}

fn names_of_files(dir: &Path) -> Result<BTreeSet<String>, BundleError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(BundleError::io("read", dir)(error)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(BundleError::io("read", dir))?;
        if entry.path().is_file() {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// Returns the names of the CSV files in `dir`, which contain the numbers of the figures.
fn names(dir: &Path) -> Result<BTreeSet<String>, BundleError> {
    let mut names = names_of_files(dir)?;
    names.retain(|name| Path::new(name).extension().is_some_and(|it| it == "csv"));
    Ok(names)
}

/// Compares the file called `name` in both directories line by line; `None` if the files are equal.
fn compare_text(
    name: &str,
    kept: &Path,
    again: &Path,
) -> Result<Option<Discrepancy>, RecordsError> {
    let texts = (
        directory::read_text(kept, name)?,
        directory::read_text(again, name)?,
    );
    let detail = match texts {
        (Some(kept), Some(again)) if kept == again => return Ok(None),
        (Some(kept), Some(again)) => lines(&kept, &again),
        (None, Some(_)) => "can be derived from the rows, but is not stored in the run".to_owned(),
        (Some(_), None) | (None, None) => "cannot be derived from the rows".to_owned(),
    };
    let file = name.to_owned();
    Ok(Some(Discrepancy { file, detail }))
}

/// Describes how two texts differ: the number of differing lines and the first of them.
fn lines(kept: &str, again: &str) -> String {
    let count = kept.lines().count().max(again.lines().count());
    let line = |text: &str, at| text.lines().nth(at).unwrap_or("no line").trim().to_owned();
    let pairs = kept
        .lines()
        .map(Some)
        .chain(std::iter::repeat(None))
        .zip(again.lines().map(Some).chain(std::iter::repeat(None)));
    let differing: Vec<usize> = pairs
        .take(count)
        .enumerate()
        .filter(|(_, (kept, again))| kept != again)
        .map(|(at, _)| at)
        .collect();
    let Some(&first) = differing.first() else {
        return "only the line endings differ".to_owned();
    };
    format!(
        "{} of {count} lines differ; the first is line {}: stored `{}`, derived `{}`",
        differing.len(),
        first + 1,
        line(kept, first),
        line(again, first)
    )
}

/// Compares the counts and the verdict in `run.json` with those derived from the rows.
fn compare_outcome(outcome: &Outcome, derived: &Report) -> Vec<Discrepancy> {
    let counts = |it: FlowCounts| [it.flows, it.finished, it.unfinished, it.below_one];
    let mut differences = Vec::new();
    if outcome.counts != derived.counts {
        differences.push(of_run(&format!(
            "counts of [all flows, finished flows, unfinished flows, impossibly fast flows]: stored {:?}, derived {:?}",
            counts(outcome.counts),
            counts(derived.counts)
        )));
    }
    if outcome.verdict.reasons != derived.summary.reasons {
        differences.push(of_run(&format!(
            "reasons to distrust the run: stored {:?}, derived {:?}",
            words(&outcome.verdict.reasons),
            words(&derived.summary.reasons)
        )));
    }
    differences
}

/// Formats each reason to distrust a run as `GRADE: TEXT`, such as `doubtful: …`.
fn words(reasons: &[Reason]) -> Vec<String> {
    let words = |reason: &Reason| format!("{}: {}", reason.grade, words::reason(reason));
    reasons.iter().map(words).collect()
}

fn of_run(detail: &str) -> Discrepancy {
    Discrepancy {
        file: "run.json".to_owned(),
        detail: detail.to_owned(),
    }
}
