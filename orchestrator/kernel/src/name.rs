//! Names of labs and their namespaces.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Name of a lab: lower-case letters, digits and inner hyphens, at most 32 characters. The name is part of namespace
/// names and of a path below `/run`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabName(String);

/// Error for a text that is not a lab name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a lab name (hint: up to {MAX_LAB_NAME} lower-case letters, digits and inner \
     hyphens, like `8dc`)"
)]
pub struct LabNameError {
    text: String,
}

impl LabName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the namespace for the node whose short name is `short`: `lcmp-8dc-dc1`.
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
        let text = text.to_owned();
        if good {
            Ok(Self(text))
        } else {
            Err(LabNameError { text })
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

/// Name of a network namespace, a file in `/run/netns`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NetnsName(String);

impl NetnsName {
    /// Returns the name as text.
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

/// Maximum length of a lab's name. A scenario's name has the same maximum, because it is the lab's default name.
const MAX_LAB_NAME: usize = 32;

/// Network namespace that a step acts in.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Namespace {
    /// The namespace in which the machine's own interfaces are.
    Root,
    /// A namespace of the lab.
    Named(NetnsName),
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the root namespace"),
            Self::Named(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_leave_its_directory_is_refused() {
        let long = "a".repeat(33);
        for text in ["", "..", "a/b", "-a", "a-", "A", "ä", "a_b", "a b", &long] {
            assert!(text.parse::<LabName>().is_err(), "{text}");
        }
        for text in ["8dc", "a", "smoke-2", &"a".repeat(32)] {
            assert!(text.parse::<LabName>().is_ok(), "{text}");
        }
    }

    #[test]
    fn namespaces_are_named_after_lab_and_node() {
        let lab: LabName = "8dc".parse().unwrap();
        assert_eq!(lab.netns("dc1-h1").as_str(), "lcmp-8dc-dc1-h1");
    }
}
