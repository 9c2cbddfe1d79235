//! How a verb fails: a message for a person and a documented exit code.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Exit codes, as `--help` lists them.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Pass = 0,
    /// What was asserted does not hold.
    Failed = 1,
    /// Usage, or an error in the scenario.
    Usage = 2,
    /// Something is missing or went wrong on this machine.
    Environment = 3,
    /// The run ended, but its results cannot be trusted.
    Inconclusive = 4,
}

impl Exit {
    /// A guest that could not be had is the environment's fault, unless it was asked for wrongly.
    pub const fn of_guest(code: u8) -> Self {
        if code == Self::Usage.code() {
            Self::Usage
        } else {
            Self::Environment
        }
    }

    /// The number the process ends with.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A verb that did not do what it was asked.
#[derive(Debug, Deserialize, Serialize)]
pub struct Failure {
    /// What the process ends with.
    pub exit: Exit,
    /// What to say.
    pub message: String,
}

/// What verbs return.
pub type Outcome = Result<Exit, Failure>;

impl Failure {
    /// The scenario or the command line is wrong.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.to_string(),
        }
    }

    /// Something is missing or went wrong here.
    pub fn environment(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Environment,
            message: message.to_string(),
        }
    }
}

/// Says what was tried when it fails.
pub trait During<T> {
    /// `cannot {action}: {error and its causes}`, exit code 3.
    fn during(self, action: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: std::error::Error> During<T> for Result<T, E> {
    fn during(self, action: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| {
            Failure::environment(format_args!("cannot {action}: {}", with_causes(&error)))
        })
    }
}

/// An error and what caused it, in one line; a cause that the error already tells is not repeated.
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
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let inner = std::io::Error::other("disk on fire");
        let outer = std::io::Error::other(inner);
        assert_eq!(with_causes(&outer), "disk on fire");
    }
}
