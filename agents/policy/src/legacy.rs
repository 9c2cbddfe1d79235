//! A legacy DCI switch: plain ECMP as the kernel's routing table does it, without a flow table.
//!
//! Linux hashes a flow to 31 bits and takes the first next hop whose upper bound is not below it
//! (hash-threshold, RFC 2992; `fib_rebalance` and `fib_select_multipath`). Of n next hops of equal
//! weight that are up, next hop i, counted from 1, ends at
//!
//! ```text
//! b_i = round(2^31 · i / n) − 1
//! ```
//!
//! Where one goes down or comes back the bounds move and so do flows that had nothing to do with it:
//! nothing is pinned. The kernel's own hash has a secret key; ours is [`crate::flow_hash`].

/// The place of the next hop that `hash` falls to, of `count` that are up.
///
/// `None` when none is.
#[must_use]
pub fn place(count: usize, hash: u32) -> Option<usize> {
    let bits = u64::from(hash >> 1);
    let total = u64::try_from(count).ok()?;
    let end = |place: u64| ((place << 31) + total / 2) / total;
    let place = (1..=total).find(|&place| bits < end(place))?;
    usize::try_from(place - 1).ok()
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds_are_the_kernels() {
        // Three next hops end at 715827882, 1431655764 and 2147483647.
        let ends = [715_827_882, 1_431_655_764, 2_147_483_647u32];
        for (expected, end) in ends.into_iter().enumerate() {
            assert_eq!(place(3, end << 1), Some(expected));
            let next = (expected + 1 < 3).then_some(expected + 1);
            if let Some(next) = next {
                assert_eq!(place(3, (end + 1) << 1), Some(next));
            }
        }
        assert_eq!(place(3, u32::MAX), Some(2));
        assert_eq!(place(0, 7), None);
    }

    #[test]
    fn a_next_hop_that_goes_moves_flows_of_others_too() {
        let hashes: Vec<u32> = (0..600u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let moved = hashes.iter().filter(|&&hash| {
            let before = place(6, hash).expect("six are up");
            // The first of six goes.
            before > 0 && place(5, hash).map(|place| place + 1) != Some(before)
        });
        assert!(moved.count() > 100);
    }

    proptest! {
        #[test]
        fn next_hops_have_equal_shares_in_order(count in 1..=8usize, hash: u32, more: u32) {
            let chosen = place(count, hash).expect("some are up");
            prop_assert!(chosen < count);
            prop_assert!(place(count, hash.saturating_add(more)).expect("up") >= chosen);
            let share = u64::try_from(chosen).expect("small");
            let count = u64::try_from(count).expect("small");
            let exact = u64::from(hash >> 1) * count / (1 << 31);
            prop_assert!(share.abs_diff(exact) <= 1);
        }
    }
}
