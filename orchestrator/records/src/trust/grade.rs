//! Grade of a run's results.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Grade of a run: how far its results can be trusted, from best to worst.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Every figure is within its bound.
    #[default]
    Valid,
    /// A figure is outside its bound; read the reasons before using the results.
    Doubtful,
    /// The run has no results, or its results do not correspond to the scenario.
    Invalid,
}

impl Grade {
    /// Returns the grade as a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Doubtful => "doubtful",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
