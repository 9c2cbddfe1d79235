//! UCMP as in the LCMP authors' code: ECMP over the next hops with the fastest first link.
//!
//! ```text
//! n_i = 1 if r_i = max r_j, else 0
//! ```
//!
//! where r_i is the rate of the next hop's own link. The delay, the rest of the path and the flow's size, which make
//! up UCMP's uniform cost, do not count. This policy serves to reproduce the authors' figures.

use lab_abi::rows::MAX_CANDIDATES;

use crate::{candidate::Path, policy::BucketPolicy};

/// UCMP as implemented in the authors' code.
pub const POLICY: BucketPolicy = BucketPolicy {
    name: "ucmp-artifact",
    doc: "5-tuple hash over the candidates whose first link is the fastest, which is UCMP in the code of\n\
          LCMP's authors; no parameters.",
    about: "5-tuple hash over the fastest first links",
    law: Some(buckets),
};

/// Returns one bucket for each next hop whose own link is the fastest, and 0 for all others.
///
/// Next hops past [`MAX_CANDIDATES`] are ignored.
#[must_use]
pub fn buckets(paths: &[Path]) -> [u16; MAX_CANDIDATES] {
    let rates = || paths.iter().map(|path| path.link_rate);
    let widest = rates().take(MAX_CANDIDATES).max();
    let mut buckets = [0; MAX_CANDIDATES];
    for (slot, rate) in buckets.iter_mut().zip(rates()) {
        *slot = u16::from(Some(rate) == widest);
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::tests::path;

    #[test]
    fn only_the_widest_first_links_have_a_bucket() {
        let eight_datacenters = [25, 100, 200, 25, 100, 200].map(|gbit| path(10, gbit));
        assert_eq!(buckets(&eight_datacenters)[..6], [0, 0, 1, 0, 0, 1]);
        assert_eq!(buckets(&[path(10, 40)])[..2], [1, 0]);
        assert_eq!(buckets(&[]), [0; MAX_CANDIDATES]);
    }
}
