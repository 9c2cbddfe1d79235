//! Shares of next hops against the shares of their buckets.

use std::collections::BTreeMap;

use lab_records::{DecisionRow, HashCounts};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Decisions by switch and destination, which are positions in the plan.
#[derive(Default)]
pub(super) struct Shares {
    choices: BTreeMap<(usize, usize), BTreeMap<String, Share>>,
}

/// Buckets of a next datacenter and the decisions for it.
#[derive(Clone, Copy, Default)]
struct Share {
    buckets: u64,
    chosen: u64,
}

impl Shares {
    /// Adds a decision among the next hops with these buckets.
    pub fn add<'a>(
        &mut self,
        choice: (usize, usize),
        row: &DecisionRow,
        buckets: impl Iterator<Item = (&'a str, u16)>,
    ) {
        let shares = self.choices.entry(choice).or_insert_with(|| {
            let mut shares: BTreeMap<String, Share> = BTreeMap::new();
            for (next, buckets) in buckets {
                shares.entry(next.to_owned()).or_default().buckets += u64::from(buckets);
            }
            shares
        });
        if let Some(chosen) = &row.chosen {
            shares.entry(chosen.clone()).or_default().chosen += 1;
        }
    }

    /// Returns the counts; the chi-square is the sum over all destinations with a choice.
    pub fn counts(&self) -> HashCounts {
        let mut counts = HashCounts::default();
        let (mut chi_square, mut freedom) = (0.0, 0u32);
        for shares in self.choices.values() {
            let decisions: u64 = shares.values().map(|share| share.chosen).sum();
            let buckets: u64 = shares.values().map(|share| share.buckets).sum();
            counts.decisions += decisions;
            let mut cells = 0u32;
            for share in shares
                .values()
                .filter(|share| share.buckets + share.chosen > 0)
            {
                let expected = super::ratio(share.buckets, buckets);
                let all = super::ratio(decisions, 1);
                let off = super::ratio(share.chosen, 1) - expected * all;
                counts.next_hops += 1;
                counts.used += u64::from(share.chosen > 0);
                counts.largest_difference = counts.largest_difference.max((off / all).abs());
                // A next hop without buckets that was chosen is no chance.
                chi_square += off * off / (expected * all);
                cells += 1;
            }
            freedom += cells.saturating_sub(1);
        }
        let distribution = ChiSquared::new(f64::from(freedom));
        counts.p_value = match distribution {
            Ok(_) if chi_square.is_infinite() => Some(0.0),
            Ok(distribution) => Some(distribution.sf(chi_square)),
            Err(_) => None,
        };
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of one destination whose next hops have these buckets and decisions.
    fn counts(shares: &[(u64, u64)]) -> HashCounts {
        let share = |(at, &(buckets, chosen)): (usize, &(u64, u64))| {
            (format!("dc{at}"), Share { buckets, chosen })
        };
        let shares = shares.iter().enumerate().map(share).collect();
        Shares {
            choices: [((0, 0), shares)].into(),
        }
        .counts()
    }

    /// 100 throws of a die; Wikipedia, "Pearson's chi-squared test": χ² of a fair die with 5, 8, 9, 8, 10
    /// and 20 of 60 is 13.4, p 0.0199.
    #[test]
    fn the_p_value_of_an_unfair_die() {
        let die = counts(&[(1, 5), (1, 8), (1, 9), (1, 8), (1, 10), (1, 20)]);
        assert!((die.p_value.unwrap() - 0.0199).abs() < 0.0001, "{die:?}");
        assert_eq!((die.decisions, die.next_hops, die.used), (60, 6, 6));
        assert!((die.largest_difference - 10.0 / 60.0).abs() < 1e-12);
    }

    #[test]
    fn shares_like_the_buckets_are_no_surprise() {
        let even = counts(&[(1, 50), (2, 100), (1, 50)]);
        assert!((even.p_value.unwrap() - 1.0).abs() < 1e-12);
        let skewed = counts(&[(1, 100), (2, 50), (1, 50)]);
        assert!(skewed.p_value.unwrap() < 1e-6);
    }

    #[test]
    fn a_next_hop_without_buckets_is_no_chance_and_no_choice_has_no_p() {
        assert_eq!(counts(&[(1, 9), (0, 1)]).p_value, Some(0.0));
        assert_eq!(counts(&[(1, 9), (0, 0)]).p_value, None);
        assert_eq!(counts(&[(1, 9), (0, 0)]).next_hops, 1);
    }
}
