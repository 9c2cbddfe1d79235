//! What was found.

use std::fmt;

use lab_units::Bytes;
use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// A lab runs, and something about it is not as good as it could be.
    Warn,
    /// No lab runs in the place it is found for until it is mended.
    Fail,
}

/// Something about this machine that a lab depends on.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What it is about, in a word or two: `netem`, `open files`.
    pub subject: String,
    /// What was found.
    pub what: String,
    /// What a lab needs it for.
    pub why: String,
    /// The command that mends it, where one does.
    pub mend: Option<String>,
}

impl Finding {
    /// Something that is as it should be.
    #[must_use]
    pub fn ok(subject: &str, what: impl Into<String>, why: &str) -> Self {
        Self {
            level: Level::Ok,
            subject: subject.to_owned(),
            what: what.into(),
            why: why.to_owned(),
            mend: None,
        }
    }

    /// Something that could be better.
    #[must_use]
    pub fn warn(subject: &str, what: impl Into<String>, why: &str) -> Self {
        Self {
            level: Level::Warn,
            ..Self::ok(subject, what, why)
        }
    }

    /// Something that keeps labs from running.
    #[must_use]
    pub fn fail(subject: &str, what: impl Into<String>, why: &str) -> Self {
        Self {
            level: Level::Fail,
            ..Self::ok(subject, what, why)
        }
    }

    /// With the command that mends it.
    #[must_use]
    pub fn mended_by(self, command: impl Into<String>) -> Self {
        Self {
            mend: Some(command.into()),
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
            mend,
        } = self;
        write!(f, "{level:<5} {subject}: {what}; {why}")?;
        match mend {
            Some(command) => write!(f, " (hint: {command})"),
            None => Ok(()),
        }
    }
}

/// An amount as a person would say it: its first three digits.
pub(super) fn in_short(amount: Bytes) -> Bytes {
    let digits = amount.get().checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(2));
    Bytes::new(amount.get() / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_said_with_three_digits() {
        assert_eq!(in_short(Bytes::new(21_522_976_768)).to_string(), "21500 MB");
        assert_eq!(in_short(Bytes::new(999)).to_string(), "999 B");
        assert_eq!(in_short(Bytes::ZERO).to_string(), "0 B");
    }

    #[test]
    fn a_finding_is_one_line_with_its_mend_at_the_end() {
        let finding = Finding::fail(
            "netem",
            "this kernel has no netem qdisc",
            "links get their delay from it",
        );
        assert_eq!(
            finding.clone().mended_by("modprobe sch_netem").to_string(),
            "fail  netem: this kernel has no netem qdisc; links get their delay from it \
             (hint: modprobe sch_netem)"
        );
        assert_eq!(
            finding.to_string(),
            "fail  netem: this kernel has no netem qdisc; links get their delay from it"
        );
    }

    #[test]
    fn findings_sort_by_how_much_they_matter() {
        assert!(Level::Fail > Level::Warn && Level::Warn > Level::Ok);
    }

    #[test]
    fn levels_are_words_in_json() {
        let finding = Finding::warn("memory", "little", "queues are in it");
        let json = serde_json::to_string(&finding).unwrap();
        assert_eq!(
            json,
            r#"{"level":"warn","subject":"memory","what":"little","why":"queues are in it","mend":null}"#
        );
    }
}
