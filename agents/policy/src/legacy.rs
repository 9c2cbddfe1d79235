//! Legacy DCI switch: ECMP in the kernel's routing table, without a flow table.
//!
//! Linux hashes a flow to 31 bits and takes the first next hop whose upper bound is at least the hash
//! (hash-threshold, RFC 2992; `fib_rebalance` and `fib_select_multipath`). With n live next hops of equal weight, the
//! upper bound of next hop i, counted from 1, is
//!
//! ```text
//! b_i = round(2^31 · i / n) − 1
//! ```
//!
//! When a next hop dies or returns, all bounds move. Flows of other next hops can move as well, because flows are not
//! pinned. The kernel's own hash has a secret key; [`crate::flow_hash`] is used in its place.

/// Returns the index of the next hop that `hash` selects among `count` live next hops of equal weight by hash-threshold
/// (RFC 2992); `None` if `count` is 0.
#[must_use]
pub fn hash_threshold(count: usize, hash: u32) -> Option<usize> {
    let bits = u64::from(hash >> 1);
    let total = u64::try_from(count).ok()?;
    let end = |number: u64| ((number << 31) + total / 2) / total;
    let number = (1..=total).find(|&number| bits < end(number))?;
    usize::try_from(number - 1).ok()
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds_equal_the_kernels() {
        // The upper bounds of three next hops are 715827882, 1431655764 and 2147483647.
        let ends = [715_827_882, 1_431_655_764, 2_147_483_647u32];
        for (expected, end) in ends.into_iter().enumerate() {
            assert_eq!(hash_threshold(3, end << 1), Some(expected));
            let next = (expected + 1 < 3).then_some(expected + 1);
            if let Some(next) = next {
                assert_eq!(hash_threshold(3, (end + 1) << 1), Some(next));
            }
        }
        assert_eq!(hash_threshold(3, u32::MAX), Some(2));
        assert_eq!(hash_threshold(0, 7), None);
    }

    #[test]
    fn a_lost_next_hop_moves_flows_of_other_next_hops() {
        let hashes: Vec<u32> = (0..600u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let moved = hashes.iter().filter(|&&hash| {
            let before = hash_threshold(6, hash).expect("six next hops are up");
            // The first of six next hops is down.
            before > 0 && hash_threshold(5, hash).map(|index| index + 1) != Some(before)
        });
        assert!(moved.count() > 100);
    }

    proptest! {
        #[test]
        fn next_hops_have_equal_shares_in_order(count in 1..=crate::MAX_CANDIDATES, hash: u32, more: u32) {
            let chosen = hash_threshold(count, hash).expect("some next hops are up");
            prop_assert!(chosen < count);
            prop_assert!(hash_threshold(count, hash.saturating_add(more)).expect("a next hop is up") >= chosen);
            let share = u64::try_from(chosen).expect("a small number");
            let count = u64::try_from(count).expect("a small number");
            let exact = u64::from(hash >> 1) * count / (1 << 31);
            prop_assert!(share.abs_diff(exact) <= 1);
        }
    }
}
