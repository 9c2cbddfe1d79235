//! Names of labs and of what they make.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The name of a lab: lower-case letters, digits and inner hyphens, at most 32 characters.
///
/// It becomes part of namespace names and of a path below `/run`, so nothing else is let in.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabName(String);

/// Why a text is not the name of a lab.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a lab name (hint: up to {MAX_LAB_NAME} lower-case letters, digits and inner \
     hyphens, like `8dc`)"
)]
pub struct LabNameError {
    text: String,
}

impl LabName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace of a node, by the node's short name: `lcmp-8dc-dc1`.
    #[must_use]
    pub fn netns(&self, short: &str) -> NetnsName {
        NetnsName(format!("lcmp-{self}-{short}"))
    }
}

impl FromStr for LabName {
    type Err = LabNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let good = (1..=MAX_LAB_NAME).contains(&text.len())
            && text.bytes().all(inner)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if good {
            Ok(Self(text.to_owned()))
        } else {
            Err(LabNameError {
                text: text.to_owned(),
            })
        }
    }
}

impl TryFrom<String> for LabName {
    type Error = LabNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<LabName> for String {
    fn from(name: LabName) -> Self {
        name.0
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a network namespace, a file in `/run/netns`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NetnsName(String);

impl NetnsName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NetnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As long as a scenario's name, which names the lab unless told otherwise.
const MAX_LAB_NAME: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_leave_its_directory_is_no_lab_name() {
        for text in [
            "",
            "..",
            "a/b",
            "-a",
            "a-",
            "A",
            "a b",
            "ä",
            "a_b",
            &"a".repeat(33),
        ] {
            assert!(text.parse::<LabName>().is_err(), "{text}");
        }
        for text in ["8dc", "a", "smoke-2", &"a".repeat(32)] {
            assert!(text.parse::<LabName>().is_ok(), "{text}");
        }
    }

    #[test]
    fn namespaces_are_recognisable() {
        let lab: LabName = "8dc".parse().unwrap();
        assert_eq!(lab.netns("dc1-h1").as_str(), "lcmp-8dc-dc1-h1");
    }
}
