//! WCMP: hash buckets in proportion to the capacity of the path behind each next hop.
//!
//! Zhou et al., "WCMP: Weighted Cost Multipathing for Improved Fairness in Data Centers" (EuroSys '14): next hop i
//! owns
//!
//! ```text
//! n_i = N · c_i / Σ c_j
//! ```
//!
//! of N buckets, where c_i is the capacity of its path. If the capacities form a ratio of small integers, the n_i are
//! these integers and the split is exact. Otherwise the table has N = [`MAX_BUCKETS`] buckets, and the n_i are rounded
//! by largest remainder. A next hop whose n_i is below 1 gets one bucket, and the others share the rest. The split is
//! static: neither delay nor load counts.

use lab_abi::rows::MAX_CANDIDATES;

use crate::{candidate::Path, policy::BucketPolicy};

/// WCMP with buckets in proportion to path capacity.
pub const POLICY: BucketPolicy = BucketPolicy {
    name: "wcmp",
    doc: "5-tuple hash over the candidates in proportion to their paths' capacity; no parameters.",
    about: "5-tuple hash in proportion to the paths' capacity",
    law: Some(buckets),
};

/// Maximum number of buckets per destination. With [`MAX_CANDIDATES`] next hops, a next hop has 16 on average.
pub const MAX_BUCKETS: u16 = 256;

/// Returns the number of buckets for each next hop, in proportion to the capacity of its path.
///
/// Next hops past [`MAX_CANDIDATES`] are ignored.
///
/// ```
/// use lab_policy::{Path, wcmp};
/// use lab_units::{BitsPerSec, Nanos};
///
/// let path = |gbit: u64| Path {
///     delay: Nanos::from_millis(10),
///     capacity: BitsPerSec::new(gbit * 1_000_000_000).unwrap(),
///     link_rate: BitsPerSec::new(200_000_000_000).unwrap(),
///     hops: 2,
/// };
/// let buckets = wcmp::buckets(&[25, 100, 200].map(path));
/// assert_eq!(buckets[..3], [1, 4, 8]);
/// ```
#[must_use]
pub fn buckets(paths: &[Path]) -> [u16; MAX_CANDIDATES] {
    in_proportion(paths, |path| path.capacity.get())
}

/// Returns the number of buckets for each path, in proportion to its weight; a path with weight 0 gets none.
pub(crate) fn in_proportion(
    paths: &[Path],
    weight: impl Fn(&Path) -> u64,
) -> [u16; MAX_CANDIDATES] {
    let mut weights = [0; MAX_CANDIDATES];
    for (slot, path) in weights.iter_mut().zip(paths) {
        *slot = weight(path);
    }
    let count = paths.len().min(MAX_CANDIDATES);
    reduce(&mut weights[..count]);
    let total = total(&weights[..count]);
    let mut buckets = [0; MAX_CANDIDATES];
    if total <= u128::from(MAX_BUCKETS) {
        for (slot, weight) in buckets.iter_mut().zip(weights) {
            *slot = u16::try_from(weight).unwrap_or(MAX_BUCKETS);
        }
    } else {
        deal(&weights[..count], &mut buckets[..count]);
    }
    buckets
}

/// Divides the weights by their greatest common divisor.
fn reduce(weights: &mut [u64]) {
    let divisor = weights
        .iter()
        .fold(0, |a, &b| greatest_common_divisor(a, b))
        .max(1);
    for weight in weights {
        *weight /= divisor;
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn total(weights: &[u64]) -> u128 {
    weights.iter().copied().map(u128::from).sum()
}

/// Gives each weight above 0 its share of the buckets by largest remainder, but at least one bucket; ties go to the first
/// weight.
fn deal(weights: &[u64], buckets: &mut [u16]) {
    let mut left = MAX_BUCKETS;
    let mut total = total(weights);
    // A bucket for a weight with a smaller share leaves less for the others, of which more can fall below one.
    while let Some(small) = (0..weights.len()).find(|&at| {
        let share = u128::from(weights[at]) * u128::from(left);
        weights[at] > 0 && buckets[at] == 0 && share < total
    }) {
        buckets[small] = 1;
        left -= 1;
        total -= u128::from(weights[small]);
    }
    let mut remainders = [0; MAX_CANDIDATES];
    let mut dealt = 0;
    for ((weight, slot), remainder) in weights.iter().zip(&mut *buckets).zip(&mut remainders) {
        if *slot == 0 && *weight > 0 {
            let share = u128::from(*weight) * u128::from(left);
            *slot = u16::try_from(share / total).unwrap_or(left);
            *remainder = share % total;
            dealt += *slot;
        }
    }
    for _ in dealt..left {
        let all = remainders.iter_mut().enumerate().rev();
        if let Some((largest, remainder)) = all.max_by_key(|(_, remainder)| **remainder) {
            buckets[largest] += 1;
            *remainder = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use lab_units::BitsPerSec;

    use super::*;
    use crate::candidate::tests::path;

    fn of(capacities: &[u64]) -> Vec<u16> {
        let paths: Vec<_> = capacities
            .iter()
            .map(|&bps| Path {
                capacity: BitsPerSec::new(bps).expect("a rate above zero"),
                ..path(10, 1)
            })
            .collect();
        buckets(&paths)[..paths.len()].to_vec()
    }

    #[test]
    fn a_path_without_weight_has_no_bucket() {
        let paths = [(0, 1), (10, 1), (20, 1), (0, 1), (1_000_000_000, 1)]
            .map(|(delay, gbit)| path(delay, gbit));
        let by_delay = |count| in_proportion(&paths[..count], |path| path.delay.get());
        assert_eq!(by_delay(1)[..1], [0]);
        assert_eq!(by_delay(4)[..4], [0, 1, 2, 0]);
        assert_eq!(by_delay(5)[..5], [0, 1, 1, 0, 254]);
    }

    #[test]
    fn the_eight_datacenters_ratios_are_kept_exactly() {
        let gbit = |rate: u64| rate * 1_000_000_000;
        for (rates, expected) in [
            ([200, 200, 100, 100, 25, 25], [8, 8, 4, 4, 1, 1]),
            ([200, 200, 100, 100, 40, 40], [10, 10, 5, 5, 2, 2]),
        ] {
            assert_eq!(of(&rates.map(gbit)), expected);
        }
        assert_eq!(of(&[gbit(400)]), [1]);
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn ratios_of_large_numbers_are_rounded_to_a_full_table() {
        // Shares of 29.38…, 113.45… and 113.16…: the last bucket goes to the largest remainder.
        assert_eq!(of(&[101, 390, 389]), [29, 114, 113]);
        // 7.83, 19.57, 78.29, 124.48 and 25.83: the last three go to the first, the fifth and the second.
        assert_eq!(of(&[10, 25, 100, 159, 33]), [8, 20, 78, 124, 26]);
    }

    /// 256 ÷ 1007 is less than one bucket. In the last row 256 · 7 ÷ 1783 is 1.005, but of the 253 buckets that three weights of
    /// 1 leave, 7 has a share of 0.995 among 1780.
    #[test]
    fn the_others_share_what_a_bucket_for_each_small_share_leaves() {
        assert_eq!(of(&[1, 1_000_000]), [1, 255]);
        assert_eq!(of(&[1000, 1, 1, 1, 1, 1, 1, 1]), [249, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(of(&[1, 7, 1, 1773, 1]), [1, 1, 1, 252, 1]);
    }

    proptest! {
        #[test]
        fn tables_are_small_and_in_the_order_of_capacities(
            capacities in prop::collection::vec(1..=u64::MAX, 1..=MAX_CANDIDATES),
        ) {
            let buckets = of(&capacities);
            prop_assert!(buckets.iter().sum::<u16>() <= MAX_BUCKETS);
            prop_assert!(buckets.iter().all(|&buckets| buckets > 0));
            let mut weights = capacities.clone();
            reduce(&mut weights);
            if total(&weights) > u128::from(MAX_BUCKETS) {
                prop_assert_eq!(buckets.iter().sum::<u16>(), MAX_BUCKETS);
                // A share between one and two buckets can get one, so the bound on the others is two instead of one.
                let several: Vec<_> = weights.iter().zip(&buckets).filter(|it| *it.1 > 1).collect();
                let left: u128 = several.iter().map(|it| u128::from(*it.1)).sum();
                let sum: u128 = several.iter().map(|it| u128::from(*it.0)).sum();
                for (weight, dealt) in several {
                    let [share, dealt] = [u128::from(*weight) * left, u128::from(*dealt) * sum];
                    prop_assert!(share.abs_diff(dealt) < 2 * sum, "{capacities:?}: {buckets:?}");
                }
            }
            for (a, more) in capacities.iter().zip(&buckets) {
                for (b, fewer) in capacities.iter().zip(&buckets) {
                    prop_assert!(a <= b || more >= fewer, "{capacities:?}: {buckets:?}");
                }
            }
        }
    }
}
