//! Failures of verbs: a message for the user and a documented exit code.

use std::fmt;

use lab_records::Grade;
use lab_reports::ReportError;
use lab_scenario::ScenarioErrors;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Exit codes, as `--help` lists them.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Pass = 0,
    /// A failed assertion.
    Failed = 1,
    /// A usage error, or an error in the scenario.
    Usage = 2,
    /// An error of this machine: a missing program, right or module, or a failed system call.
    Environment = 3,
    /// A run that was interrupted, or whose results are doubtful.
    Inconclusive = 4,
    /// A run whose results are invalid: they are not those of the scenario.
    Invalid = 5,
}

impl Exit {
    /// Returns the exit code for a run of this grade.
    pub const fn of_run(grade: Grade) -> Self {
        match grade {
            Grade::Valid => Self::Pass,
            Grade::Doubtful => Self::Inconclusive,
            Grade::Invalid => Self::Invalid,
        }
    }

    /// Returns this exit code, or `other` if it is success.
    pub const fn or(self, other: Self) -> Self {
        match self {
            Self::Pass => other,
            _ => self,
        }
    }

    /// Returns the exit code for a guest that failed with `code`.
    const fn of_guest(code: u8) -> Self {
        match code {
            2 => Self::Usage,
            // Interrupted by itself, or by SIGHUP, SIGINT or SIGTERM.
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
#[derive(Debug, Deserialize, Serialize)]
pub struct Failure {
    /// Exit code of the process.
    pub exit: Exit,
    /// Message for the user, without the `error:` heading.
    pub message: String,
    /// Problems of a scenario, each with its file, line, column and hint; empty for other failures.
    #[serde(default)]
    pub problems: Vec<Value>,
}

/// Result of a verb.
pub type Outcome = Result<Exit, Failure>;

impl Failure {
    /// Returns the failure of a guest that ended with `code`, or that would have.
    pub fn guest(code: u8, message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::of_guest(code),
            ..Self::environment(message)
        }
    }

    /// Returns the failure of a run that a signal ended.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Inconclusive,
            ..Self::environment(message)
        }
    }

    /// Returns the failure of a wrong scenario or command line.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.to_string(),
            problems: Vec::new(),
        }
    }

    /// Returns the failure of this machine.
    pub fn environment(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Environment,
            message: message.to_string(),
            problems: Vec::new(),
        }
    }

    /// Returns the failure of a scenario, with each of its problems.
    pub fn scenario(errors: &ScenarioErrors) -> Self {
        let problem = |problem| serde_json::to_value(problem).expect("a problem is plain data");
        Self {
            problems: errors.problems().iter().map(problem).collect(),
            ..Self::usage(errors)
        }
    }

    /// Returns the failure of a comparison of runs by `error`, whose part is `report`: runs that cannot be
    /// compared are a usage error, a comparison that cannot be drawn or written is not.
    pub fn comparison(error: &dyn std::error::Error, report: Option<&ReportError>) -> Self {
        let message = with_causes(error);
        match report {
            Some(ReportError::Frame(_) | ReportError::Draw { .. } | ReportError::Write { .. }) => {
                Self::environment(message)
            }
            _ => Self::usage(message),
        }
    }

    /// Returns the failure as the object that `--json` prints.
    pub fn to_json(&self) -> Value {
        let errors = match self.problems.as_slice() {
            [] => vec![json!({ "message": self.message })],
            problems => problems.to_vec(),
        };
        json!({ "verdict": "error", "exit": self.exit.code(), "errors": errors })
    }
}

/// Conversion of errors to failures that name the failed action.
pub trait During<T> {
    /// Converts an error to `cannot {action}: {error and its causes}`, exit code 3.
    fn during(self, action: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: std::error::Error> During<T> for Result<T, E> {
    fn during(self, action: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| {
            Failure::environment(format_args!("cannot {action}: {}", with_causes(&error)))
        })
    }
}

/// Returns an error with its causes in one line; a cause that the text already contains is left out.
pub fn with_causes(error: &dyn std::error::Error) -> String {
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn an_interrupted_guest_is_no_error_of_this_machine() {
        let exits = [2, 3, 4, 129, 130, 137, 143].map(Exit::of_guest);
        let (environment, interrupted) = (Exit::Environment, Exit::Inconclusive);
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

    /// One rule: an interrupted run is doubtful, exit code 4, and not 128 + SIGINT.
    #[test]
    fn the_documents_say_what_an_interrupted_run_is() {
        assert_eq!(Failure::interrupted("").exit.code(), 4);
        assert_eq!(Exit::of_run(Grade::Doubtful).code(), 4);
        let readme = include_str!("../../../README.md");
        let help = Cli::command().render_long_help().to_string();
        for (text, words) in [
            (readme, "it is doubtful, and the exit code is 4"),
            (readme, "or the run was interrupted |"),
            (readme, "4 inconclusive: interrupted"),
            (help.as_str(), "4  inconclusive: the run was interrupted"),
        ] {
            assert!(text.contains(words), "{words}");
        }
        for text in [readme, &help] {
            assert!(!text.contains("exit code 130") && !text.contains("exit 130"));
        }
    }

    #[test]
    fn causes_are_not_repeated() {
        let inner = std::io::Error::other("disk on fire");
        let outer = std::io::Error::other(inner);
        assert_eq!(with_causes(&outer), "disk on fire");
    }
}
