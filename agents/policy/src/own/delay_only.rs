//! Next hop with the lowest delay, regardless of its queue: LCMP's delay term alone, without herd mitigation.

use super::policy::{NextHop, OwnPolicy};

/// Policy that chooses the next hop with the lowest delay; the hash breaks ties.
#[derive(Clone, Copy, Debug)]
pub struct DelayOnly;

impl OwnPolicy for DelayOnly {
    fn name(&self) -> &'static str {
        "delay-only"
    }

    fn about(&self) -> &'static str {
        "the next hop with the lowest one-way delay; the hash breaks ties"
    }

    fn choose(&self, next_hops: &[NextHop], hash: u32) -> usize {
        let min = next_hops.iter().map(|hop| hop.delay).min();
        let is_nearest = |hop: &NextHop| Some(hop.delay) == min;
        let nearest = next_hops.iter().filter(|hop| is_nearest(hop)).count();
        let nth = usize::try_from(hash).unwrap_or(0).checked_rem(nearest);
        let mut indices = (0..next_hops.len()).filter(|&index| is_nearest(&next_hops[index]));
        indices.nth(nth.unwrap_or(0)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::tests::next_hop;

    #[test]
    fn the_nearest_is_chosen_and_equals_share() {
        let hops = [
            next_hop(20, 100, 0),
            next_hop(10, 40, 9_000_000),
            next_hop(10, 25, 0),
        ];
        let chosen = [0, 1, 2].map(|hash| DelayOnly.choose(&hops, hash));
        assert_eq!(chosen, [1, 2, 1]);
    }
}
