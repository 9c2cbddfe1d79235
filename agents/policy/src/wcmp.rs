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
//! these integers and the split is exact. Otherwise the table has N = [`MAX_BUCKETS`] buckets: every next hop gets
//! one bucket, and the rest are distributed by largest remainder. The split is static: neither delay nor load counts.

use lab_abi::rows::MAX_CANDIDATES;

use crate::{candidate::Path, policy::BucketPolicy};

/// WCMP with buckets in proportion to path capacity.
pub const POLICY: BucketPolicy = BucketPolicy {
    name: "wcmp",
    doc: "5-tuple hash over the candidates in proportion to their paths' capacity; no parameters.",
    about: "5-tuple hash in proportion to the paths' capacity",
    law: Some(buckets),
};

/// Maximum number of buckets per destination. With [`MAX_CANDIDATES`] next hops, a next hop has 16 on average, and
/// rounding changes its share by less than one bucket.
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
        deal(&weights[..count], total, &mut buckets[..count]);
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

/// Gives each weight above 0 one bucket, and distributes the remaining buckets by largest remainder; ties go to the
/// first weight.
fn deal(weights: &[u64], total: u128, buckets: &mut [u16]) {
    let mut remainders = [0; MAX_CANDIDATES];
    let mut left = MAX_BUCKETS;
    let kept = weights.iter().filter(|weight| **weight > 0).count();
    let dealt = u128::from(MAX_BUCKETS) - kept as u128;
    for ((weight, slot), remainder) in weights.iter().zip(&mut *buckets).zip(&mut remainders) {
        let share = u128::from(*weight) * dealt;
        *slot = u16::from(*weight > 0) + u16::try_from(share / total).unwrap_or(MAX_BUCKETS);
        *remainder = share % total;
        left -= *slot;
    }
    while left > 0 {
        let Some((next, largest)) = remainders
            .iter_mut()
            .take(weights.len())
            .enumerate()
            .rev()
            .max_by_key(|(_, share)| **share)
        else {
            return;
        };
        buckets[next] += 1;
        *largest = 0;
        left -= 1;
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
        // 253 buckets remain: shares of 29.0…, 112.1… and 111.8…; the last bucket goes to the largest remainder.
        assert_eq!(of(&[101, 390, 389]), [30, 113, 113]);
        assert_eq!(of(&[1, 1_000_000]), [1, 255]);
    }

    proptest! {
        #[test]
        fn tables_are_small_and_in_the_order_of_capacities(
            capacities in prop::collection::vec(1..=u64::MAX, 1..=MAX_CANDIDATES),
        ) {
            let buckets = of(&capacities);
            prop_assert!(buckets.iter().sum::<u16>() <= MAX_BUCKETS);
            prop_assert!(buckets.iter().all(|&buckets| buckets > 0));
            for (a, more) in capacities.iter().zip(&buckets) {
                for (b, fewer) in capacities.iter().zip(&buckets) {
                    prop_assert!(a <= b || more >= fewer, "{capacities:?}: {buckets:?}");
                }
            }
        }
    }
}
