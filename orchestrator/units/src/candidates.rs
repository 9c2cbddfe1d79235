//! Rule by which next hops towards a datacenter become candidates.

use core::fmt;

use crate::Ratio;

/// Rule by which a switch's neighbours become candidates, the next hops among which a policy chooses.
///
/// With `FewestHops` and `DownhillDelay` each next hop is nearer to the destination, so that packets never return to a
/// switch, whichever candidates the switches choose and whichever links are down. With `Tunnels` only the first switch
/// chooses, and each tunnel is a path without a loop.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum CandidateSet {
    /// All neighbours from which a path needs one inter-DC link less, as in the paper's artifact.
    #[default]
    FewestHops,
    /// All neighbours that are nearer by least one-way delay, if the best path through them is not too long.
    DownhillDelay {
        /// Largest delay of the best path through a candidate, divided by the least delay from the switch; at least 1.
        stretch: Ratio,
        /// Maximum number of candidates for one destination; of more, the ones with the least delay are kept.
        max: u8,
    },
    /// The first links of tunnels: of up to `k` paths from the first switch to the destination that share no link. The
    /// other switches follow the tunnel that the first switch has chosen.
    Tunnels {
        /// Maximum number of tunnels for one pair of datacenters.
        k: u8,
    },
}

impl CandidateSet {
    /// Returns the word by which a scenario names the rule.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FewestHops => FEWEST_HOPS,
            Self::DownhillDelay { .. } => DOWNHILL_DELAY,
            Self::Tunnels { .. } => TUNNELS,
        }
    }

    /// Returns the rule as a clause for messages.
    #[must_use]
    pub const fn rule(self) -> &'static str {
        match self {
            Self::FewestHops => "candidates are next hops on paths of the fewest links",
            Self::DownhillDelay { .. } => {
                "candidates are neighbours that are nearer by delay, within `routing.stretch`"
            }
            Self::Tunnels { .. } => {
                "candidates are paths without common links, at most `routing.tunnels.k`"
            }
        }
    }

    /// Returns true if only a packet's first switch chooses, and all others follow a tunnel.
    #[must_use]
    pub const fn has_tunnels(self) -> bool {
        matches!(self, Self::Tunnels { .. })
    }

    /// Returns true for [`CandidateSet::FewestHops`], the default, which files leave out.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        matches!(self, Self::FewestHops)
    }
}

/// Word for [`CandidateSet::FewestHops`].
pub const FEWEST_HOPS: &str = "fewest-hops";

/// Word for [`CandidateSet::DownhillDelay`].
pub const DOWNHILL_DELAY: &str = "downhill-delay";

/// Word for [`CandidateSet::Tunnels`].
pub const TUNNELS: &str = "tunnels";

impl fmt::Display for CandidateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::FewestHops => Ok(()),
            Self::DownhillDelay { stretch, max } => {
                write!(f, ", stretch {stretch}, at most {max}")
            }
            Self::Tunnels { k } => write!(f, ", at most {k} without common links"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_set_is_shown_with_its_bounds() {
        let stretch = "1.5".parse().unwrap();
        let downhill = CandidateSet::DownhillDelay { stretch, max: 8 };
        assert_eq!(
            downhill.to_string(),
            "downhill-delay, stretch 3/2, at most 8"
        );
        assert_eq!(CandidateSet::default().to_string(), "fewest-hops");
        let tunnels = CandidateSet::Tunnels { k: 4 };
        assert_eq!(
            tunnels.to_string(),
            "tunnels, at most 4 without common links"
        );
        assert!(CandidateSet::FewestHops.is_default() && !downhill.is_default());
    }
}
