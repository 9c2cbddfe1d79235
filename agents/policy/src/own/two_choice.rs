//! The one of two next hops whose queue drains first, after DRILL.
//!
//! For every packet, Ghorbani et al., "DRILL: Micro Load Balancing for Low-latency Data Center Networks" (SIGCOMM
//! '17), compares the queues of d random egress ports and of the m ports that were least loaded before. This policy
//! compares queues once per flow, because RDMA does not tolerate reordering. It uses d = 2, with both ports selected
//! by the flow's hash instead of a random number, and m = 0, because a policy has no memory. Queues are compared by
//! the time in which they drain, because links differ in rate; path delay does not count.

use super::policy::{NextHop, OwnPolicy};

/// Policy that chooses the one of two next hops whose queue drains first; the hash selects the two.
#[derive(Clone, Copy, Debug)]
pub struct TwoChoice;

impl OwnPolicy for TwoChoice {
    fn name(&self) -> &'static str {
        "two-choice"
    }

    fn about(&self) -> &'static str {
        "of two next hops that the hash selects, the one whose queue drains first"
    }

    fn choose(&self, next_hops: &[NextHop], hash: u32) -> usize {
        let count = next_hops.len();
        let Ok(hash) = usize::try_from(hash) else {
            return 0;
        };
        if count < 2 {
            return 0;
        }
        let first = hash % count;
        // The second next hop differs from the first: the quotient of the hash is independent of its remainder.
        let second = (first + 1 + hash / count % (count - 1)) % count;
        if next_hops[second].queueing_delay() < next_hops[first].queueing_delay() {
            second
        } else {
            first
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, vec};

    use super::*;
    use crate::own::tests::next_hop;

    #[test]
    fn the_queue_that_drains_first_is_chosen() {
        // At 200 Gbit/s, 1 MB drains in 40 µs; at 40 Gbit/s, half of it drains in 100 µs.
        let hops = [next_hop(50, 200, 1_000_000), next_hop(10, 40, 500_000)];
        assert!((0..20).all(|hash| TwoChoice.choose(&hops, hash) == 0));
    }

    #[test]
    fn without_queues_the_hash_decides() {
        let hops = [next_hop(10, 100, 0); 6];
        assert!((0..60).all(|hash| {
            TwoChoice.choose(&hops, hash) == usize::try_from(hash % 6).expect("a small number")
        }));
    }

    /// The hash modulo the number of next hops selects the first next hop; the quotient selects the second next hop
    /// among the remaining ones, counted from the first one's successor. Six hashes cover every ordered pair of three
    /// next hops; two hashes cover those of two next hops. A queue at the first next hop makes the policy choose the
    /// second, so that the test observes the index of the second.
    #[test]
    fn remainder_and_quotient_of_the_hash_select_two_next_hops() {
        for (count, hash, first, second) in [
            (3, 0, 0, 1),
            (3, 1, 1, 2),
            (3, 2, 2, 0),
            (3, 3, 0, 2),
            (3, 4, 1, 0),
            (3, 5, 2, 1),
            (2, 0, 0, 1),
            (2, 1, 1, 0),
        ] {
            let mut hops = vec![next_hop(10, 100, 0); count];
            hops[first] = next_hop(10, 100, 1_000);
            assert_eq!(TwoChoice.choose(&hops, hash), second, "{hash} of {count}");
        }
    }

    #[test]
    fn the_longest_queue_is_never_chosen_and_all_others_are() {
        let mut hops = [next_hop(10, 100, 0); 6];
        hops[3] = next_hop(10, 100, 1_000);
        let chosen: BTreeSet<_> = (0..60).map(|hash| TwoChoice.choose(&hops, hash)).collect();
        assert_eq!(chosen, BTreeSet::from([0, 1, 2, 4, 5]));
    }
}
