//! Last step of every verb that judges: writes the page, prints the answer, and reports the checks that do not hold.

use std::path::{Path, PathBuf};

use lab_reports::check::{Answer, Check, Judgement, PageAnswer};
use serde::Serialize;

use crate::{
    caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{note, print, print_json},
};

/// Result of a command that checks runs, for `--json`.
#[derive(Serialize)]
struct Answered<'a, V> {
    /// Values that the command computed.
    #[serde(flatten)]
    values: V,
    /// Judgement of all checks.
    verdict: Judgement,
    /// Exit code of the process.
    exit: u8,
    /// Reasons of the checks that do not hold, and sentences on data that were not compared.
    reasons: Vec<&'a str>,
    /// All checks, including those that hold.
    checks: &'a [Check],
    /// Path of the HTML page; `None` if the command writes no page.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a Path>,
}

/// Writes an answer's HTML page into the directory `asked` or, if that is `None`, into a subfolder of the run directory
/// `first`. Then prints the answer and returns the exit code that its checks imply.
pub fn write_and_conclude<A: PageAnswer>(
    answer: &A,
    asked: Option<&Path>,
    first: &Path,
    json: bool,
) -> Outcome {
    let dir = match asked {
        Some(dir) => dir.to_owned(),
        None => load::absolute(first)?.join(A::FOLDER),
    };
    conclude(answer, Some(&write_page(answer, &dir)?), json)
}

/// Writes an answer's HTML page into the directory `dir`, and returns the page's path.
pub fn write_page<A: PageAnswer>(answer: &A, dir: &Path) -> Result<PathBuf, Failure> {
    let action = format!("write the page into `{}`", dir.display());
    let target = caller::resolved(dir).during(&action)?;
    let written = answer.write(&target);
    caller::hand_over(&target);
    Ok(written.during(&action)?.html)
}

/// Prints an answer and the path of its HTML page, if any, and returns the exit code that the answer's checks imply.
pub fn conclude<A: Answer>(answer: &A, page: Option<&Path>, json: bool) -> Outcome {
    let checks = answer.checks();
    let omissions = answer.omissions();
    let verdict = Judgement::of(&checks);
    let exit = Exit::of_judgement(verdict);
    if json {
        let do_not_hold = checks.iter().filter(|it| it.grade != Judgement::Pass);
        let reasons = do_not_hold.map(|it| &it.reason).chain(&omissions);
        print_json(&Answered {
            values: answer.values(),
            verdict,
            exit: exit.code(),
            reasons: reasons.map(String::as_str).collect(),
            checks: &checks,
            page,
        });
    } else {
        print(&answer.text());
        if let Some(page) = page {
            print(&format!("{}: {}", A::PAGE, page.display()));
        }
    }
    if !A::STATES_CHECKS {
        checks.iter().filter_map(line).for_each(|it| note(&it));
    }
    for omission in &omissions {
        note(&format!("not compared: {omission}"));
    }
    Ok(exit)
}

/// Returns the line that reports a check that does not hold; `None` for a check that holds.
fn line(check: &Check) -> Option<String> {
    let heading = match check.grade {
        Judgement::Pass => return None,
        Judgement::Inconclusive if check.is_of_run() => "not clean",
        Judgement::Inconclusive => "undecided",
        Judgement::Fail => "out of bounds",
    };
    Some(format!("{heading}: {}", check.reason))
}
