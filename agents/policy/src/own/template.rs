//! Template of a user-defined policy: copy this file, rename its type, and rewrite `choose`, which is ECMP here.

use super::policy::{NextHop, OwnPolicy};

/// Describe your policy here, with its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template;

impl OwnPolicy for Template {
    fn name(&self) -> &'static str {
        "template"
    }

    fn about(&self) -> &'static str {
        "5-tuple hash over all candidates, written as a user-defined policy"
    }

    fn choose(&self, next_hops: &[NextHop], hash: u32) -> usize {
        // Each next hop has `delay`, `capacity`, `link_rate`, `queue` and `queueing_delay()`.
        usize::try_from(hash).unwrap_or(0) % next_hops.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ecmp,
        own::{
            decide,
            tests::{candidate, next_hop},
        },
    };

    #[test]
    fn the_template_chooses_as_ecmp_does() {
        let candidates = [true, false, true, true].map(candidate);
        let next_hops = [next_hop(10, 100, 0); 4];
        for hash in 0..12 {
            let own =
                decide(&Template, &candidates, &next_hops, hash).expect("a candidate is alive");
            let ecmp = ecmp::decide(&candidates, hash).expect("a candidate is alive");
            assert_eq!(own.chosen, ecmp.chosen);
        }
    }
}
