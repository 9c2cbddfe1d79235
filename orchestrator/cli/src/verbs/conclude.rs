//! Last step of every verb that judges: writes the page, prints the answer, and reports the checks that do not hold.

use std::path::{Path, PathBuf};

use lab_reports::check::{Answer, Answered, Check, Judgement};

use crate::{
    args::Global,
    caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{note, print, print_json},
};

/// Returns the directory for an answer's page: `asked`, or else the answer's default folder in the directory of the
/// `first` run.
pub fn folder<A: Answer>(_: &A, asked: Option<&Path>, first: &Path) -> Result<PathBuf, Failure> {
    match asked {
        Some(dir) => Ok(dir.to_owned()),
        None => Ok(load::absolute(first)?.join(A::FOLDER)),
    }
}

/// Writes the page of an answer into `dir`, prints the answer as text or JSON, and returns the exit code of its checks.
pub fn conclude<A: Answer>(answer: &A, dir: &Path, global: &Global) -> Outcome {
    caller::check_links(dir).during(format_args!("use `{}`", dir.display()))?;
    let written = answer.write(dir);
    caller::hand_over(dir);
    let written = written.during(format_args!(
        "write the comparison into `{}`",
        dir.display()
    ))?;
    let (checks, omissions) = (answer.checks(), answer.omissions());
    if global.json {
        let omissions = omissions.clone();
        print_json(&Answered::new(
            answer.values(),
            checks,
            omissions,
            Some(&written.html),
        ));
    } else {
        print(&answer.document(&[]).terminal());
        print(&format!("page: {}", written.html.display()));
    }
    tell(checks);
    for omission in omissions {
        note(&format!("not compared: {omission}"));
    }
    Ok(Exit::of_judgement(Judgement::of(checks)))
}

/// Prints each check that does not hold as a line on standard error.
pub fn tell(checks: &[Check]) {
    for check in checks {
        match check.grade {
            Judgement::Pass => {}
            Judgement::Inconclusive => note(&format!("not clean: {}", check.reason)),
            Judgement::Fail => note(&format!("out of bounds: {}", check.reason)),
        }
    }
}
