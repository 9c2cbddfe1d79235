//! Result of one check.

use std::fmt;

use lab_units::Bytes;
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The requirement is met.
    Ok,
    /// A lab runs, with a limitation.
    Warn,
    /// No lab runs here until it is fixed.
    Fail,
}

/// Result of checking one requirement of a lab on this machine.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// Severity.
    pub level: Level,
    /// Requirement in a word or two: `netem`, `open files`.
    pub subject: String,
    /// State that was found.
    pub what: String,
    /// Use of the requirement in a lab.
    pub why: String,
    /// Command that fixes a problem, if there is one.
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

/// Rounds an amount down to its first three digits.
pub(super) fn in_short(amount: Bytes) -> Bytes {
    let digits = amount.get().checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(2));
    Bytes::new(amount.get() / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_with_three_digits() {
        assert_eq!(in_short(Bytes::new(21_522_976_768)).to_string(), "21500 MB");
        assert_eq!(in_short(Bytes::new(999)).to_string(), "999 B");
        assert_eq!(in_short(Bytes::ZERO).to_string(), "0 B");
    }

    #[test]
    fn a_finding_is_one_line_that_ends_with_its_fix() {
        let finding = Finding::fail(
            "netem",
            "this kernel has no netem qdisc",
            "links get their delay from it",
        );
        assert_eq!(
            finding.clone().with_fix("modprobe sch_netem").to_string(),
            "fail  netem: this kernel has no netem qdisc; links get their delay from it \
             (hint: modprobe sch_netem)"
        );
        assert_eq!(
            finding.to_string(),
            "fail  netem: this kernel has no netem qdisc; links get their delay from it"
        );
    }

    #[test]
    fn levels_are_words_in_json() {
        let finding = Finding::warn("memory", "little", "queues are in it");
        let json = serde_json::to_string(&finding).unwrap();
        assert_eq!(
            json,
            r#"{"level":"warn","subject":"memory","what":"little","why":"queues are in it","fix":null}"#
        );
    }
}
