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

/// Names of a run's datacenters, in the run's order.
#[derive(Clone, Debug, Default)]
pub struct DcNames {
    names: Vec<String>,
    positions: HashMap<String, usize>,
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
    /// leads to it; `None` if the text is not a path over `dcs`. No datacenter's name contains `-`.
    #[must_use]
    pub fn steps(&self, dcs: &DcNames) -> Option<Vec<(usize, Twin)>> {
        self.0.split('-').map(|text| dcs.step(text)).collect()
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

    /// Returns the datacenter with the name `text`, or the name and a place such as `_2`.
    fn step(&self, text: &str) -> Option<(usize, Twin)> {
        let (name, twin) = Twin::split(text);
        Some((self.position(name)?, twin))
    }
}

impl<N: Into<String>> FromIterator<N> for DcNames {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        Self {
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

    #[test]
    fn a_step_over_a_parallel_link_has_its_place() {
        let dcs: DcNames = ["a", "b", "b1"].into_iter().collect();
        let path = DcPath::new(["a", "b_2", "b1", "a_10"]);
        assert_eq!(path.as_str(), "a-b_2-b1-a_10");
        let steps = [(0, 0), (1, 1), (2, 0), (0, 9)].map(|(dc, place)| (dc, Twin(place)));
        assert_eq!(path.steps(&dcs), Some(steps.to_vec()));
        assert_eq!([dcs.name(2), dcs.name(0)], ["b1", "a"]);
        for other in ["a-c", "a-b_1", "a-b_", "a_2x-b", "a-_2", "", "a-", "-a"] {
            assert_eq!(DcPath::new([other]).steps(&dcs), None, "{other}");
        }
    }
}
