//! Inverse delay: hash buckets in inverse proportion to the delay of the path behind each next hop.
//!
//! ```text
//! n_i = N · (1 / d_i) / Σ (1 / d_j)
//! ```
//!
//! of N buckets, where d_i is the delay of its path. Neither capacity nor load counts.

use lab_abi::rows::MAX_CANDIDATES;

use crate::{candidate::Path, policy::BucketPolicy, wcmp::in_proportion};

/// Inverse delay.
pub const POLICY: BucketPolicy = BucketPolicy {
    name: "inverse-delay",
    doc: "5-tuple hash over the candidates in inverse proportion to their paths' delay; no parameters.",
    about: "5-tuple hash in inverse proportion to the paths' delay",
    law: Some(buckets),
};

/// Returns each next hop's buckets by its path's delay.
///
/// Next hops past [`MAX_CANDIDATES`] are ignored.
#[must_use]
pub fn buckets(paths: &[Path]) -> [u16; MAX_CANDIDATES] {
    in_proportion(paths, |path| HOUR / path.delay.get().max(1))
}

/// One hour in nanoseconds, which the delays of a minute divide without remainder.
const HOUR: u64 = 3_600_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::tests::path;

    #[test]
    fn a_path_of_half_the_delay_has_twice_the_buckets() {
        let buckets = buckets(&[10, 20, 60].map(|delay| path(delay, 100)));
        assert_eq!(buckets[..3], [6, 3, 1]);
    }
}
