//! End of every judging verb: the page, the answer as text or JSON, the checks that do not hold, the exit code.

use std::path::{Path, PathBuf};

use lab_reports::check::{Answer, Answered, Check, Judgement};

use crate::{
    args::Global,
    caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{note, print, print_json},
};

/// Returns the directory of an answer's page: `asked`, or the answer's folder in the `first` run's directory.
pub fn folder<A: Answer>(_: &A, asked: Option<&Path>, first: &Path) -> Result<PathBuf, Failure> {
    match asked {
        Some(dir) => Ok(dir.to_owned()),
        None => Ok(load::absolute(first)?.join(A::FOLDER)),
    }
}

/// Writes the page of an answer into `dir`, prints the answer, and returns the exit code of its checks.
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

/// Writes the checks that do not hold to standard error, a line each.
pub fn tell(checks: &[Check]) {
    for check in checks {
        match check.grade {
            Judgement::Pass => {}
            Judgement::Inconclusive => note(&format!("not clean: {}", check.reason)),
            Judgement::Fail => note(&format!("out of bounds: {}", check.reason)),
        }
    }
}
