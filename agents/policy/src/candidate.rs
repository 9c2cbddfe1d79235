//! Input and result of a decision.

use lab_abi::{Rule, rows::MAX_CANDIDATES};
use lab_units::{BitsPerSec, Nanos};

/// Path to the destination behind a candidate, in paper units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Path {
    /// One-way delay from end to end.
    pub delay: Nanos,
    /// Least capacity of its links.
    pub capacity: BitsPerSec,
    /// Rate of its first link.
    pub link_rate: BitsPerSec,
    /// Number of its links.
    pub hops: u32,
}

/// Candidate next hop of a flow's destination, as the switch sees it at the decision.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Candidate {
    /// C_path (Eq. 2), installed by the control plane.
    pub path: u8,
    /// C_cong (Eq. 5) of the egress port.
    pub congestion: u8,
    /// True if the egress port is alive.
    pub is_alive: bool,
    /// Hash buckets of the candidate; LCMP ignores them.
    pub buckets: u16,
}

/// Candidate with its score in a decision.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Scored {
    /// Scored candidate.
    pub candidate: Candidate,
    /// C, the total cost (Eq. 1); 0 where the rule does not compute it.
    pub cost: u32,
    /// True if the candidate was in the set that the hash was taken over.
    pub is_kept: bool,
}

/// Decision: the chosen candidate, its rule, and the scores that explain it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decision {
    /// Index of the chosen candidate.
    pub chosen: usize,
    /// Rule of the decision.
    pub rule: Rule,
    scored: [Scored; MAX_CANDIDATES],
    count: usize,
}

impl Decision {
    pub(crate) const fn new(
        chosen: usize,
        rule: Rule,
        scored: [Scored; MAX_CANDIDATES],
        count: usize,
    ) -> Self {
        Self {
            chosen,
            rule,
            scored,
            count,
        }
    }

    /// Returns the candidates in the order given.
    #[must_use]
    pub fn candidates(&self) -> &[Scored] {
        &self.scored[..self.count]
    }
}

/// Returns a table of the first [`MAX_CANDIDATES`] candidates without scores, and their number.
pub(crate) fn unscored(candidates: &[Candidate]) -> ([Scored; MAX_CANDIDATES], usize) {
    let mut scored = [UNUSED; MAX_CANDIDATES];
    for (slot, &candidate) in scored.iter_mut().zip(candidates) {
        slot.candidate = candidate;
    }
    (scored, candidates.len().min(MAX_CANDIDATES))
}

const UNUSED: Scored = Scored {
    candidate: Candidate {
        path: 0,
        congestion: 0,
        is_alive: false,
        buckets: 0,
    },
    cost: 0,
    is_kept: false,
};

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a path with two links of equal rates.
    pub(crate) fn path(delay_ms: u64, gbit: u64) -> Path {
        let rate = BitsPerSec::new(gbit * 1_000_000_000).expect("not zero");
        Path {
            delay: Nanos::from_millis(delay_ms),
            capacity: rate,
            link_rate: rate,
            hops: 2,
        }
    }
}
