//! The decision of a switch.

use lab_te::quantise;

use crate::{
    layout::AgentLayout,
    network::Mlp,
    state::{Divisors, Observation},
};

/// Actor of one switch.
#[derive(Clone, Debug)]
pub struct Actor {
    pub layout: AgentLayout,
    pub network: Mlp,
    pub divisors: Divisors,
}

/// Decision of an actor, in force in the interval after the observed one.
#[derive(Clone, Debug, PartialEq)]
pub struct ActorDecision {
    /// Inputs of the network.
    pub inputs: Vec<f32>,
    /// Shares of the candidates, by head.
    pub ratios: Vec<Vec<f32>>,
}

impl Actor {
    /// Returns the decision for the measurements of an interval.
    #[must_use]
    pub fn decide(&self, observation: &Observation<'_>) -> ActorDecision {
        let inputs = observation.inputs(self.divisors);
        let ratios = self.network.forward(&inputs).ratios;
        let mut rest = ratios.as_slice();
        let heads = self.layout.heads.iter().map(|head| {
            let (own, others) = rest.split_at(head.candidates);
            rest = others;
            own.to_vec()
        });
        ActorDecision {
            ratios: heads.collect(),
            inputs,
        }
    }
}

/// Distributes `count` buckets over the live candidates of a destination in proportion to `ratios`, rounded as the
/// tables of centralised traffic engineering are.
///
/// If no live candidate has a positive share, the live candidates get their `provisioned` buckets, which are WCMP's; if
/// no candidate is live, all candidates get theirs.
#[must_use]
pub fn buckets(ratios: &[f32], live: &[bool], provisioned: &[u16], count: u16) -> Vec<u16> {
    // The maximum discards a share that is not a number.
    let share = |(&ratio, &live)| f64::from(if live { ratio } else { 0.0 }).max(0.0);
    let shares: Vec<f64> = ratios.iter().zip(live).map(share).collect();
    let is_live = live.contains(&true);
    quantise(&shares, count).unwrap_or_else(|| {
        let kept = provisioned.iter().zip(live);
        kept.map(|(&buckets, &live)| if live || !is_live { buckets } else { 0 })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use lab_units::{BitsPerSec, Bytes, Nanos};
    use proptest::prelude::*;

    use super::*;
    use crate::{
        layout::{TeamLayout, tests::square},
        network::tests::network,
    };

    fn actor() -> Actor {
        let layout = TeamLayout::new(&square()).agents[0].clone();
        Actor {
            network: network(layout.shape().inputs, &layout.shape().heads),
            layout,
            divisors: Divisors {
                utilisation: 1.0,
                demand: 1.0,
            },
        }
    }

    fn decision(actor: &Actor) -> ActorDecision {
        let rate = BitsPerSec::new(1_000_000_000).unwrap();
        actor.decide(&Observation {
            interval: Nanos::from_millis(100),
            largest_rate: rate,
            links: &[(Bytes::new(5_000_000), rate), (Bytes::new(1_000_000), rate)],
            demands: &[Bytes::new(2_000_000), Bytes::new(4_000_000)],
        })
    }

    #[test]
    fn a_network_of_zeros_splits_evenly() {
        let mut actor = actor();
        actor.network.parameters.fill(0.0);
        assert_eq!(decision(&actor).ratios, [[0.5, 0.5]]);
    }

    /// The tables that both engines install, on every machine and at every level of optimisation.
    #[test]
    fn a_decision_is_pinned_to_the_bit() {
        let decision = decision(&actor());
        assert_eq!(decision.inputs, [0.4, 0.08, 0.16, 0.32]);
        let bits: Vec<u32> = decision.ratios[0]
            .iter()
            .map(|ratio| ratio.to_bits())
            .collect();
        assert_eq!(bits, [0x3ef5_bd50, 0x3f05_2158], "{bits:x?}");
        let table = buckets(&decision.ratios[0], &[true; 2], &[1, 4], 100);
        assert_eq!(table, [48, 52]);
    }

    /// The shape of `dc3` in the 13-DC network. A program in another language, which rounds each operation to 32 bits
    /// in the documented order, computed the bits and the tables.
    #[test]
    fn tables_of_a_large_switch_are_pinned_to_the_bit() {
        let inputs: Vec<f32> = (0..18_u8).map(|at| f32::from(at) / 8.0).collect();
        let ratios = network(18, &[2, 4, 4]).forward(&inputs).ratios;
        let bits: Vec<u32> = ratios.iter().map(|ratio| ratio.to_bits()).collect();
        let expected = [
            0x3e9c_419a,
            0x3f31_df33,
            0x3eca_561c,
            0x3e12_0f1e,
            0x3e27_2b18,
            0x3e99_0cc8,
            0x3e72_0dd9,
            0x3eee_7676,
            0x3e07_1ec0,
            0x3e29_e679,
        ];
        assert_eq!(bits, expected, "{bits:x?}");
        let heads = [&ratios[..2], &ratios[2..6], &ratios[6..]];
        let tables = heads.map(|head| buckets(head, &[true; 4][..head.len()], &[1; 4], 100));
        let expected = [vec![31, 69], vec![40, 14, 16, 30], vec![24, 46, 13, 17]];
        assert_eq!(tables, expected);
    }

    /// ECMP's shares, rounded to 100 buckets; the first candidates get the rest.
    #[test]
    fn equal_shares_are_ecmps_tables_for_any_number_of_candidates() {
        let tables: [&[u16]; 8] = [
            &[100],
            &[50, 50],
            &[34, 33, 33],
            &[25; 4],
            &[20; 5],
            &[17, 17, 17, 17, 16, 16],
            &[15, 15, 14, 14, 14, 14, 14],
            &[13, 13, 13, 13, 12, 12, 12, 12],
        ];
        for expected in tables {
            let count = expected.len();
            let mut even = vec![0.0; count];
            crate::network::softmax(&mut even);
            let live = vec![true; count];
            assert_eq!(buckets(&even, &live, &vec![1; count], 100), expected);
        }
    }

    /// 41.7, 33.5 and 24.8 buckets: the two buckets that are left go to the third and the first candidate.
    #[test]
    fn buckets_do_not_depend_on_the_order_of_the_candidates() {
        let mut ratios = [0.417, 0.335, 0.248];
        let mut expected = [42, 33, 25];
        for _ in 0..3 {
            assert_eq!(buckets(&ratios, &[true; 3], &[1; 3], 100), expected);
            ratios.rotate_left(1);
            expected.rotate_left(1);
        }
    }

    #[test]
    fn dead_candidates_yield_their_share() {
        let table = |live: [bool; 3]| buckets(&[0.6, 0.3, 0.1], &live, &[8, 4, 4], 100);
        assert_eq!(table([true; 3]), [60, 30, 10]);
        assert_eq!(table([false, true, true]), [0, 75, 25]);
        assert_eq!(table([false, false, true]), [0, 0, 100]);
    }

    #[test]
    fn without_a_share_that_is_live_the_buckets_are_wcmps() {
        let table = |live: [bool; 3]| buckets(&[1.0, 0.0, 0.0], &live, &[8, 4, 2], 100);
        assert_eq!(table([false, true, true]), [0, 4, 2]);
        assert_eq!(table([false; 3]), [8, 4, 2]);
        assert_eq!(buckets(&[f32::NAN; 2], &[true; 2], &[8, 4], 100), [8, 4]);
    }

    proptest! {
        #[test]
        fn only_live_candidates_have_buckets(
            candidates in proptest::collection::vec((0f32..1.0, any::<bool>(), 1u16..9), 1..7),
        ) {
            let ratios: Vec<f32> = candidates.iter().map(|it| it.0).collect();
            let live: Vec<bool> = candidates.iter().map(|it| it.1).collect();
            let provisioned: Vec<u16> = candidates.iter().map(|it| it.2).collect();
            let table = buckets(&ratios, &live, &provisioned, 100);
            prop_assert!(table.iter().any(|&buckets| buckets > 0));
            let dead = table.iter().zip(&live).filter(|(_, live)| !**live);
            prop_assert!(!live.contains(&true) || dead.map(|(buckets, _)| *buckets).sum::<u16>() == 0);
        }
    }
}
