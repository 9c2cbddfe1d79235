//! Result of one of the doctor's checks.

use std::fmt;

use lab_units::Bytes;
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The requirement is met.
    Ok,
    /// Labs run here, but with a limitation.
    Warn,
    /// No lab can run here until the problem is fixed.
    Fail,
}

/// Result of checking one of a lab's requirements on this machine.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    pub level: Level,
    /// Short name of the requirement: `netem`, `open files`.
    pub subject: String,
    /// State of the machine that the check found.
    pub what: String,
    /// Reason why a lab needs the requirement.
    pub why: String,
    /// Command that fixes the problem; `None` if there is no problem or no known command.
    pub fix: Option<String>,
}

impl Finding {
    /// Returns a finding of level [`Level::Ok`].
    #[must_use]
    pub fn ok(subject: &str, what: impl Into<String>, why: &str) -> Self {
        Self {
            level: Level::Ok,
            subject: subject.to_owned(),
            what: what.into(),
            why: why.to_owned(),
            fix: None,
        }
    }

    /// Returns a finding of level [`Level::Warn`].
    #[must_use]
    pub fn warn(subject: &str, what: impl Into<String>, why: &str) -> Self {
        Self {
            level: Level::Warn,
            ..Self::ok(subject, what, why)
        }
    }

    /// Returns a finding of level [`Level::Fail`].
    #[must_use]
    pub fn fail(subject: &str, what: impl Into<String>, why: &str) -> Self {
        Self {
            level: Level::Fail,
            ..Self::ok(subject, what, why)
        }
    }

    /// Adds the command that fixes the problem.
    #[must_use]
    pub fn with_fix(self, command: impl Into<String>) -> Self {
        Self {
            fix: Some(command.into()),
            ..self
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            level,
            subject,
            what,
            why,
            fix,
        } = self;
        write!(f, "{level:<5} {subject}: {what}; {why}")?;
        match fix {
            Some(command) => write!(f, " (hint: {command})"),
            None => Ok(()),
        }
    }
}

/// Requirement that a lab has: its short name, and the reason why a lab needs it.
pub(super) struct Requirement(pub &'static str, pub &'static str);

impl Requirement {
    pub(super) fn ok(&self, what: impl Into<String>) -> Finding {
        Finding::ok(self.0, what, self.1)
    }

    pub(super) fn warn(&self, what: impl Into<String>) -> Finding {
        Finding::warn(self.0, what, self.1)
    }

    pub(super) fn fail(&self, what: impl Into<String>) -> Finding {
        Finding::fail(self.0, what, self.1)
    }
}

/// Rounds an amount down to three significant digits, for messages.
pub(super) fn in_short(amount: Bytes) -> Bytes {
    let digits = amount.get().checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(2));
    Bytes::new(amount.get() / unit * unit)
}
