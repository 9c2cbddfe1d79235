//! Failures of verbs: a message for the user and a documented exit code.

use std::{error::Error, fmt, io, iter};

use lab_records::{Grade, RecordsError};
use lab_reports::{ReportError, check::Judgement};
use lab_scenario::ScenarioErrors;
use lab_sweep::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Exit codes, as `--help` lists them.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Exit {
    /// Success, or all checks hold.
    Pass = 0,
    /// A check failed, such as an assertion or a bound.
    Failed = 1,
    /// A usage error, or input that cannot be read or parsed.
    Usage = 2,
    /// An error of this machine: a missing program, privilege or kernel module, or a failed system call.
    Environment = 3,
    /// The run was interrupted, or its results are doubtful.
    Inconclusive = 4,
    /// The results of the run are invalid: they do not represent its scenario.
    Invalid = 5,
}

impl Exit {
    /// Returns the exit code for a run whose verdict is `grade`.
    pub const fn of_run(grade: Grade) -> Self {
        match grade {
            Grade::Valid => Self::Pass,
            Grade::Doubtful => Self::Inconclusive,
            Grade::Invalid => Self::Invalid,
        }
    }

    /// Returns the exit code for the judgement of a verb such as `compare` or `regress`.
    pub const fn of_judgement(judgement: Judgement) -> Self {
        match judgement {
            Judgement::Pass => Self::Pass,
            Judgement::Fail => Self::Failed,
            Judgement::Inconclusive => Self::Inconclusive,
        }
    }

    /// Returns `other` if `self` is [`Exit::Pass`], else `self`.
    pub const fn or(self, other: Self) -> Self {
        match self {
            Self::Pass => other,
            _ => self,
        }
    }

    /// Maps the exit code of a guest's command to an exit code of this process.
    const fn of_guest(code: u8) -> Self {
        match code {
            2 => Self::Usage,
            // Interrupted: exit code 4 itself, or death by SIGHUP, SIGINT or SIGTERM (128 + N).
            4 | 129 | 130 | 143 => Self::Inconclusive,
            5 => Self::Invalid,
            _ => Self::Environment,
        }
    }

    /// Returns the exit code as a number.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// Failure of a verb.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Failure {
    /// Exit code of the process.
    pub exit: Exit,
    /// Message for the user, without the `error:` heading.
    pub message: String,
    /// Problems of a scenario, each with its file, line, column and hint; empty for other failures.
    #[serde(default)]
    pub problems: Vec<Value>,
    /// True if a file could not be written for lack of space: its file system is full, or it reached a size limit.
    #[serde(default)]
    pub no_room: bool,
}

/// Result of a verb: the exit code, or the failure.
pub type Outcome = Result<Exit, Failure>;

impl Failure {
    /// Returns the failure for a guest whose command ended with exit code `code`.
    pub fn guest(code: u8, message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::of_guest(code),
            ..Self::environment(message)
        }
    }

    /// Returns the failure of a run that a signal interrupted.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Inconclusive,
            ..Self::environment(message)
        }
    }

    /// Returns the failure of a wrong command line or wrong input.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.to_string(),
            problems: Vec::new(),
            no_room: false,
        }
    }

    /// Returns the failure of this machine, such as a missing program or privilege.
    pub fn environment(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Environment,
            message: message.to_string(),
            problems: Vec::new(),
            no_room: false,
        }
    }

    /// Returns a failure of this machine caused by `error`, with a remedy if a file ran out of space.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let failure = Self::environment(with_causes(error));
        match remedy_for_room(error) {
            Some(remedy) => Self {
                message: format!("{} (hint: {remedy})", failure.message),
                no_room: true,
                ..failure
            },
            None => failure,
        }
    }

    /// Changes the exit code for a lack of disk space to [`Exit::Invalid`], because the run lacks rows. Other failures
    /// are unchanged.
    pub fn of_run(self) -> Self {
        if self.no_room {
            Self {
                exit: Exit::Invalid,
                ..self
            }
        } else {
            self
        }
    }

    /// Returns the failure of reading or writing a run. A run that cannot be parsed is wrong input, like any other file
    /// named on the command line.
    pub fn records(error: &RecordsError) -> Self {
        if error.is_of_machine() {
            Self::of(error)
        } else {
            Self::usage(with_causes(error))
        }
    }

    /// Returns the failure of a run's report; a run that cannot be read is treated as by [`Failure::records`].
    pub fn report(error: &ReportError) -> Self {
        Self::comparison(error, Some(error))
    }

    /// Returns the failure of a scenario, with each of its problems.
    pub fn scenario(errors: &ScenarioErrors) -> Self {
        let problem = |problem| serde_json::to_value(problem).expect("a problem is plain data");
        Self {
            problems: errors.problems().iter().map(problem).collect(),
            ..Self::usage(errors)
        }
    }

    /// Returns the failure for `error`, which occurred while runs were compared; `report` is the cause of `error` if
    /// reading the records or making the page failed. Runs that cannot be compared are a usage error; a page that
    /// cannot be drawn or written is an error of this machine.
    pub fn comparison(error: &(dyn Error + 'static), report: Option<&ReportError>) -> Self {
        let is_of_machine = match report {
            Some(ReportError::Records(records)) => records.is_of_machine(),
            Some(
                ReportError::Frame(_)
                | ReportError::Draw { .. }
                | ReportError::Data(_)
                | ReportError::Write { .. },
            ) => true,
            None => false,
        };
        if is_of_machine {
            Self::of(error)
        } else {
            Self::usage(with_causes(error))
        }
    }

    /// Returns the failure as a JSON object, as `--json` prints it.
    pub fn to_json(&self) -> Value {
        let errors = match self.problems.as_slice() {
            [] => vec![json!({ "message": self.message })],
            problems => problems.to_vec(),
        };
        json!({ "verdict": "error", "exit": self.exit.code(), "errors": errors })
    }
}

/// Conversion of errors to failures whose message names the failed action.
pub trait During<T> {
    /// Converts an error to a failure with exit code 3 and the message `cannot {action}: {error and its causes}`.
    fn during(self, action: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: Error + 'static> During<T> for Result<T, E> {
    fn during(self, action: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| {
            let failure = Failure::of(&error);
            Failure {
                message: format!("cannot {action}: {}", failure.message),
                ..failure
            }
        })
    }
}

/// Returns a hint for the user if `error` is a lack of space for a file.
fn remedy_for_room(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut next = Some(error);
    let causes = iter::from_fn(|| {
        let cause = next?;
        next = cause.source();
        Some(cause)
    });
    let mut kinds = causes.filter_map(|cause| {
        let of_records = || cause.downcast_ref::<RecordsError>()?.io_kind();
        let of_system = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        of_system.or_else(of_records)
    });
    kinds.find_map(|kind| match kind {
        io::ErrorKind::StorageFull => Some(
            "free space on the full file system, or choose a folder on another one, such as with `--results`",
        ),
        io::ErrorKind::QuotaExceeded => {
            Some("your disk quota is used up; choose a folder on another file system, such as with `--results`")
        }
        io::ErrorKind::FileTooLarge => {
            Some("this shell limits file sizes: run `ulimit -f unlimited` in a new shell")
        }
        _ => None,
    })
}

/// Returns an error and its causes in one line. A cause that the text already contains is left out.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(&error)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use lab_records::error::Operation;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn an_interrupted_guest_is_no_error_of_this_machine() {
        let exits = [2, 3, 4, 129, 130, 137, 143].map(Exit::of_guest);
        let environment = Exit::Environment;
        let interrupted = Exit::Inconclusive;
        assert_eq!(
            exits,
            [
                Exit::Usage,
                environment,
                interrupted,
                interrupted,
                interrupted,
                environment,
                interrupted
            ]
        );
    }

    /// An interrupted run is doubtful and has exit code 4, not 128 + SIGINT; the READMEs and the help must state the
    /// same.
    #[test]
    fn the_documents_say_what_an_interrupted_run_is() {
        assert_eq!(Failure::interrupted("").exit.code(), 4);
        assert_eq!(Exit::of_run(Grade::Doubtful).code(), 4);
        let readme = include_str!("../README.md");
        let reports = include_str!("../../../reports/README.md");
        let help = Cli::command().render_long_help().to_string();
        for (text, words) in [
            (readme, "it is doubtful, and the exit code is 4"),
            (reports, "or the run was interrupted |"),
            (reports, "| 4 | inconclusive: interrupted"),
            (help.as_str(), "4  inconclusive: the run was interrupted"),
        ] {
            assert!(text.contains(words), "{words}");
        }
        for text in [readme, reports, &help] {
            assert!(!text.contains("exit code 130") && !text.contains("exit 130"));
        }
    }

    #[test]
    fn a_run_without_room_is_invalid_and_says_what_helps() {
        for (kind, remedy) in [
            (io::ErrorKind::StorageFull, "free space"),
            (io::ErrorKind::QuotaExceeded, "quota"),
            (io::ErrorKind::FileTooLarge, "ulimit -f"),
        ] {
            let error = RecordsError::Io {
                operation: Operation::Write,
                path: "flows.csv".into(),
                source: kind.into(),
            };
            let failure = Err::<(), _>(error).during("finish").unwrap_err();
            let begin = "cannot finish: cannot write `flows.csv`: ";
            assert!(failure.message.starts_with(begin), "{}", failure.message);
            assert!(failure.message.contains(remedy), "{}", failure.message);
            assert_eq!(failure.exit, Exit::Environment);
            assert_eq!(failure.of_run().exit, Exit::Invalid);
        }
        let other = Failure::of(&io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(other.of_run().exit, Exit::Environment);
    }

    #[test]
    fn causes_are_not_repeated() {
        let inner = io::Error::other("disk on fire");
        let outer = io::Error::other(inner);
        assert_eq!(with_causes(&outer), "disk on fire");
    }
}
