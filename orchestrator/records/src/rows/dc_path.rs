//! Paths as the texts in a run's tables, and their datacenters.

use std::{collections::HashMap, fmt};

use lab_units::Twin;
use serde::{Deserialize, Serialize};

use super::fields;

/// Datacenters on a path, from first to last, such as `dc1-dc4-dc8`. A datacenter that is reached over the second of
/// parallel links is followed by the link's place: `dc1-dc4_2-dc8`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DcPath(String);

/// Names of a run's datacenters, to split paths by.
#[derive(Clone, Debug, Default)]
pub struct DcNames {
    names: Vec<String>,
    positions: HashMap<String, usize>,
    /// Largest number of `-` in a name.
    max_dashes: usize,
}

impl DcPath {
    /// Creates the path over `dcs`, in this order.
    #[must_use]
    pub fn new<I: IntoIterator<Item: AsRef<str>>>(dcs: I) -> Self {
        let mut text = String::new();
        for dc in dcs {
            if !text.is_empty() {
                text.push('-');
            }
            text.push_str(dc.as_ref());
        }
        Self(text)
    }

    /// Returns the path's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Splits the path into positions of datacenters in `dcs`, each with the place among parallel links of the link that
    /// leads to it; `None` if the text is not a path over `dcs`.
    ///
    /// A datacenter's name may contain `-`, so splitting the text at `-` would be wrong. Of several names that the text
    /// goes on with, the longest is tried first.
    #[must_use]
    pub fn steps(&self, dcs: &DcNames) -> Option<Vec<(usize, Twin)>> {
        let mut steps = Vec::new();
        dcs.walk(&self.0, &mut steps).then_some(steps)
    }
}

impl DcNames {
    /// Returns the name at `position`.
    ///
    /// # Panics
    /// If there are not so many names.
    #[must_use]
    pub fn name(&self, position: usize) -> &str {
        &self.names[position]
    }

    /// Returns the position of `name`; `None` if it is no datacenter's.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Appends the steps of the path `rest`; returns false, and appends none, if it is not a path over these names.
    fn walk(&self, rest: &str, steps: &mut Vec<(usize, Twin)>) -> bool {
        let dashes = rest.match_indices('-').map(|(at, _)| at);
        let mut ends: Vec<usize> = dashes.take(self.max_dashes + 1).collect();
        if ends.len() <= self.max_dashes {
            ends.push(rest.len());
        }
        for end in ends.into_iter().rev() {
            let Some(step) = self.step(&rest[..end]) else {
                continue;
            };
            steps.push(step);
            let after = rest[end..].strip_prefix('-');
            if after.is_none_or(|after| self.walk(after, steps)) {
                return true;
            }
            steps.pop();
        }
        false
    }

    /// Returns the datacenter with the name `text`, or the name and a place such as `_2`.
    fn step(&self, text: &str) -> Option<(usize, Twin)> {
        if let Some(position) = self.position(text) {
            return Some((position, Twin::FIRST));
        }
        let (name, twin) = Twin::split(text);
        Some((self.position(name)?, twin))
    }
}

impl<N: Into<String>> FromIterator<N> for DcNames {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let dashes = names.iter().map(|name| name.matches('-').count());
        Self {
            max_dashes: dashes.max().unwrap_or(0),
            positions: names.iter().cloned().zip(0..).collect(),
            names,
        }
    }
}

impl fmt::Display for DcPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fields!(Text: DcPath);

#[cfg(test)]
mod tests {
    use super::*;

    fn split(path: &str, dcs: &[&str]) -> Option<Vec<(String, u32)>> {
        let dcs: DcNames = dcs.iter().copied().collect();
        let steps = DcPath::new([path]).steps(&dcs)?.into_iter();
        let named = steps.map(|(position, twin)| (dcs.name(position).to_owned(), twin.0));
        Some(named.collect())
    }

    fn steps<const N: usize>(steps: [(&str, u32); N]) -> Option<Vec<(String, u32)>> {
        Some(steps.map(|(dc, twin)| (dc.to_owned(), twin)).to_vec())
    }

    #[test]
    fn a_path_is_split_at_known_names_not_at_every_dash() {
        let path = DcPath::new(["a", "a-b", "b"]);
        assert_eq!(path.as_str(), "a-a-b-b");
        assert_eq!(split("a-a-b-b", &["a-b", "b"]), None);
        let three = steps([("a", 0), ("a-b", 0), ("b", 0)]);
        assert_eq!(split("a-a-b-b", &["a-b", "a", "b"]), three);
        assert_eq!(split("a-a-b-b", &["b", "a", "a-b"]), three);
    }

    /// The longest name that `a-b-c` begins with is `a-b`, but no name begins with what then remains.
    #[test]
    fn a_shorter_name_is_taken_where_the_longest_leads_nowhere() {
        let two = steps([("a", 0), ("b-c", 0)]);
        assert_eq!(split("a-b-c", &["a", "a-b", "b-c"]), two);
    }

    #[test]
    fn a_step_over_a_parallel_link_has_its_place() {
        let four = steps([("a", 0), ("b", 1), ("b1", 0), ("a", 9)]);
        assert_eq!(split("a-b_2-b1-a_10", &["a", "b", "b1"]), four);
        for other in ["a-b_1", "a-b_", "a_2x-b", "a-_2", "", "a-", "-a"] {
            assert_eq!(split(other, &["a", "b"]), None, "{other}");
        }
    }
}
