//! What a policy is given, and what it answers.

use lab_abi::{Rule, rows::MAX_CANDIDATES};

/// A next hop of the flow's destination, as the switch sees it when the flow begins.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Candidate {
    /// C_path, installed by the control plane.
    pub path: u8,
    /// C_cong of the egress port.
    pub congestion: u8,
    /// Whether the egress port is alive.
    pub is_alive: bool,
    /// Its share of a bucket policy's hash buckets; LCMP does not look at it.
    pub buckets: u16,
}

/// A candidate with what the decision made of it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Scored {
    /// The candidate.
    pub candidate: Candidate,
    /// C, the total cost; 0 where the rule does not compute it.
    pub cost: u32,
    /// Whether the hash was taken over this candidate and those like it.
    pub is_kept: bool,
}

/// A decision: which candidate, by which rule, and the scores that explain it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decision {
    /// The chosen candidate's place among those given.
    pub chosen: usize,
    /// What the decision followed.
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

    /// The candidates in the order given.
    #[must_use]
    pub fn candidates(&self) -> &[Scored] {
        &self.scored[..self.count]
    }
}

/// A table of `candidates` without scores; those past [`MAX_CANDIDATES`] do not fit.
pub(crate) fn unscored(candidates: &[Candidate]) -> ([Scored; MAX_CANDIDATES], usize) {
    let mut scored = [NOTHING; MAX_CANDIDATES];
    for (slot, &candidate) in scored.iter_mut().zip(candidates) {
        *slot = Scored {
            candidate,
            ..NOTHING
        };
    }
    (scored, candidates.len().min(MAX_CANDIDATES))
}

const NOTHING: Scored = Scored {
    candidate: Candidate {
        path: 0,
        congestion: 0,
        is_alive: false,
        buckets: 0,
    },
    cost: 0,
    is_kept: false,
};
