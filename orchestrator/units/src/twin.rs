//! Names of parallel links.

use core::fmt;

/// Place of a link among the parallel links between the same two nodes, from 0 in the order of the scenario. Code calls
/// such links twins, even if there are more than two.
///
/// As text it is the end of a name: none for the first link, `_2` for the second. The second link from `dc1` to `dc2` is
/// `dc1-dc2_2`, and `dc2_2` is the next hop of `dc1` over it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Twin(pub u32);

impl Twin {
    /// First link between two nodes, the only one unless links are parallel.
    pub const FIRST: Self = Self(0);

    /// Returns true for [`Twin::FIRST`], which files leave out.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.0 == 0
    }

    /// Splits a name into its start and the link's place; names without an end such as `_2` are those of first links.
    #[must_use]
    pub fn split(name: &str) -> (&str, Self) {
        let split = name.rsplit_once('_').and_then(|(start, number)| {
            let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
            let is_plain = is_plain && !number.starts_with('0');
            let number: u32 = number.parse().ok().filter(|_| is_plain)?;
            (number >= 2).then(|| (start, Self(number - 1)))
        });
        split.unwrap_or((name, Self::FIRST))
    }
}

impl fmt::Display for Twin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            place => write!(f, "_{}", u64::from(place) + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn a_name_is_split_into_what_it_was_made_of() {
        for (place, name) in [(0, "dc1-dc2"), (1, "dc1-dc2_2"), (9, "dc1-dc2_10")] {
            assert_eq!(format!("dc1-dc2{}", Twin(place)), name);
            assert_eq!(Twin::split(name), ("dc1-dc2", Twin(place)));
        }
    }

    #[test]
    fn other_ends_are_parts_of_the_name() {
        for name in [
            "",
            "dc2_",
            "dc2_0",
            "dc2_1",
            "dc2_02",
            "dc2_+2",
            "dc2_x",
            "dc2_4294967296",
        ] {
            assert_eq!(Twin::split(name), (name, Twin::FIRST));
        }
    }
}
