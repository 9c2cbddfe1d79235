//! The nearest next hop, whatever waits there: LCMP's delay term alone, without its herd mitigation.

use super::{NextHop, OwnPolicy};

/// Chooses the next hop of least delay; of equal ones, by the hash.
#[derive(Clone, Copy, Debug)]
pub struct DelayOnly;

impl OwnPolicy for DelayOnly {
    fn name(&self) -> &'static str {
        "delay-only"
    }

    fn about(&self) -> &'static str {
        "the next hop of least one-way delay, hashed over equals"
    }

    fn choose(&self, next_hops: &[NextHop], hash: u32) -> usize {
        let least = next_hops.iter().map(|hop| hop.delay).min();
        let is_nearest = |hop: &NextHop| Some(hop.delay) == least;
        let nearest = next_hops.iter().filter(|hop| is_nearest(hop)).count();
        let Some(turn) = usize::try_from(hash)
            .ok()
            .and_then(|hash| hash.checked_rem(nearest))
        else {
            return 0;
        };
        let mut places = (0..next_hops.len()).filter(|&place| is_nearest(&next_hops[place]));
        places.nth(turn).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::tests::next_hop;

    #[test]
    fn the_nearest_is_taken_and_equals_share() {
        let hops = [
            next_hop(20, 100, 0),
            next_hop(10, 40, 9_000_000),
            next_hop(10, 25, 0),
        ];
        let chosen = [0, 1, 2].map(|hash| DelayOnly.choose(&hops, hash));
        assert_eq!(chosen, [1, 2, 1]);
    }
}
