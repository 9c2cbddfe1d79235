//! Input and result of a routing decision.

use lab_abi::{Rule, rows::MAX_CANDIDATES};
use lab_units::{BitsPerSec, Nanos};

/// Path from a candidate to the destination, with delay and rates at the paper's scale (before scaling for emulation).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Path {
    /// One-way end-to-end delay of the path.
    pub delay: Nanos,
    /// Lowest capacity of the path's links.
    pub capacity: BitsPerSec,
    /// Rate of the path's first link.
    pub link_rate: BitsPerSec,
    /// Number of links on the path.
    pub hops: u32,
}

/// Candidate next hop towards a flow's destination, with the state on which the switch bases its decision.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Candidate {
    /// C_path (Eq. 2), set by the control plane.
    pub path: u8,
    /// C_cong (Eq. 5) of the egress port.
    pub congestion: u8,
    /// True if the egress port is alive.
    pub is_alive: bool,
    /// Number of hash buckets that the candidate owns; LCMP ignores it.
    pub buckets: u16,
}

/// Candidate and its score in a decision.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Scored {
    pub candidate: Candidate,
    /// Total cost C (Eq. 1); 0 if the rule does not compute it.
    pub cost: u32,
    /// True if the candidate was in the set that the hash chose from.
    pub is_kept: bool,
}

/// Result of a decision: the chosen candidate, the rule that chose it, and the scores that explain it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decision {
    /// Index of the chosen candidate.
    pub chosen: usize,
    /// Rule that chose the candidate.
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

    /// Returns the scored candidates in their original order.
    #[must_use]
    pub fn candidates(&self) -> &[Scored] {
        &self.scored[..self.count]
    }
}

/// Returns the first [`MAX_CANDIDATES`] candidates as a table without scores, and their number.
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
        let rate = BitsPerSec::new(gbit * 1_000_000_000).expect("a rate above zero");
        Path {
            delay: Nanos::from_millis(delay_ms),
            capacity: rate,
            link_rate: rate,
            hops: 2,
        }
    }
}
