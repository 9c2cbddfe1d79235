//! Pearson's chi-square test of a hash: compares each next hop's share in decisions with its share in the buckets.
//!
//! The statistic has the chi-square distribution only if the expected counts are large enough, so cells (next hops with
//! expected and observed decisions) are pooled until each has at least five expected decisions (Cochran, Biometrics 10,
//! 1954). Destinations with fewer than two such cells are tested together, with their next hops pooled by rank in the
//! table, because a hash that prefers an index does so at every destination.
//!
//! Only decisions of the first repetition are tested. The n-th flow between two hosts has the same addresses and ports,
//! and so the same hash, in every repetition; decisions of later repetitions are therefore not independent.

use std::collections::BTreeMap;

use lab_records::HashCounts;
use lab_units::PortId;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::share::{count, ratio};
use crate::decision::NumberedDecision;

/// Numbers of decisions for each next hop, by the indices of switch and destination in the plan.
#[derive(Default)]
pub(super) struct Shares {
    choices: BTreeMap<(usize, usize), HashedHops>,
}

/// Next hops for one destination, in the order of the switch's candidates; further chosen ones come last.
#[derive(Default)]
struct HashedHops(Vec<HopShare>);

/// Number of a next hop's hash buckets, and numbers of decisions that chose this next hop.
#[derive(Clone)]
struct HopShare {
    next: PortId,
    buckets: u64,
    chosen: u64,
    /// Number of decisions in the first repetition that chose this next hop; the chi-square test uses only these.
    tested: u64,
}

/// Expected and observed number of decisions, for one next hop or for several pooled ones.
#[derive(Clone, Copy, Default)]
struct ChoiceCell {
    expected: f64,
    observed: f64,
}

impl Shares {
    /// Adds a decision among next hops with the given buckets.
    pub fn add(
        &mut self,
        destination: (usize, usize),
        decision: &NumberedDecision,
        buckets: impl Iterator<Item = (PortId, u16)>,
    ) {
        let choice = self.choices.entry(destination).or_insert_with(|| {
            let mut choice = HashedHops::default();
            for (next, buckets) in buckets {
                choice.share(next).buckets += u64::from(buckets);
            }
            choice
        });
        if let Some(chosen) = decision.chosen {
            let share = choice.share(chosen);
            share.chosen += 1;
            share.tested += u64::from(decision.repetition == 0);
        }
    }

    /// Returns the counts; chi-square is summed over all destinations with several next hops.
    pub fn counts(&self) -> HashCounts {
        let mut counts = HashCounts::default();
        let mut chi_square = 0.0;
        let mut freedom = 0;
        let mut test = |cells: &[ChoiceCell]| match pooled(cells).as_slice() {
            [] | [_] => false,
            cells => {
                chi_square += cells.iter().map(ChoiceCell::chi_square).sum::<f64>();
                freedom += cells.len() - 1;
                true
            }
        };
        let mut together: Vec<ChoiceCell> = Vec::new();
        let mut is_impossible = false;
        for choice in self.choices.values() {
            let decisions = choice.sum(|share| share.chosen);
            counts.decisions += decisions;
            for cell in choice.cells(|share| share.chosen) {
                counts.next_hops += 1;
                counts.used += u64::from(cell.observed > 0.0);
                let off = (cell.observed - cell.expected) / ratio(decisions, 1);
                counts.largest_difference = counts.largest_difference.max(off.abs());
                // A next hop without buckets can never be chosen by a hash.
                is_impossible |= cell.expected == 0.0;
            }
            let cells = choice.cells(|share| share.tested);
            if cells.len() > 1 && !test(&cells) {
                counts.untested += choice.sum(|share| share.tested);
                together.resize(together.len().max(cells.len()), ChoiceCell::default());
                for (sum, cell) in together.iter_mut().zip(&cells) {
                    *sum = sum.with(cell);
                }
            }
        }
        if test(&together) {
            counts.untested = 0;
        }
        counts.p_value = match ChiSquared::new(ratio(count(freedom), 1)) {
            _ if is_impossible => Some(0.0),
            Ok(distribution) => Some(distribution.sf(chi_square)),
            Err(_) => None,
        };
        counts
    }
}

impl HashedHops {
    /// Returns the counts of the next hop `next`; adds empty counts if `next` is new.
    fn share(&mut self, next: PortId) -> &mut HopShare {
        let at = self
            .0
            .iter()
            .position(|share| share.next == next)
            .unwrap_or_else(|| {
                self.0.push(HopShare {
                    next,
                    buckets: 0,
                    chosen: 0,
                    tested: 0,
                });
                self.0.len() - 1
            });
        &mut self.0[at]
    }

    fn sum(&self, count: impl Fn(&HopShare) -> u64) -> u64 {
        self.0.iter().map(count).sum()
    }

    /// Returns a cell for each next hop that has buckets or was chosen; `count` returns the decisions to include.
    fn cells(&self, count: impl Fn(&HopShare) -> u64) -> Vec<ChoiceCell> {
        let buckets = self.sum(|share| share.buckets);
        let decisions = ratio(self.sum(&count), 1);
        let shares = self
            .0
            .iter()
            .filter(|share| share.buckets + share.chosen > 0);
        let cell = |share: &HopShare| ChoiceCell {
            expected: ratio(share.buckets, buckets) * decisions,
            observed: ratio(count(share), 1),
        };
        shares.map(cell).collect()
    }
}

impl ChoiceCell {
    fn with(&self, other: &Self) -> Self {
        Self {
            expected: self.expected + other.expected,
            observed: self.observed + other.observed,
        }
    }

    fn chi_square(&self) -> f64 {
        (self.observed - self.expected).powi(2) / self.expected
    }
}

/// Pools cells, starting with the smallest expected counts, until each has at least [`MIN_EXPECTED`] expected
/// decisions. Returns no cells if all cells together have fewer expected decisions.
fn pooled(cells: &[ChoiceCell]) -> Vec<ChoiceCell> {
    let mut sorted = cells.to_vec();
    sorted.sort_by(|a, b| a.expected.total_cmp(&b.expected));
    let mut pooled: Vec<ChoiceCell> = Vec::new();
    let mut open = ChoiceCell::default();
    for cell in &sorted {
        open = open.with(cell);
        // The tolerance covers rounding errors in sums of shares.
        if open.expected >= MIN_EXPECTED - 1e-9 {
            pooled.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = pooled.last_mut() {
        *last = last.with(&open);
    }
    pooled
}

/// Minimum number of expected decisions per cell (Cochran's rule).
const MIN_EXPECTED: f64 = 5.0;

#[cfg(test)]
mod tests {
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::evidence::lcmp::tests::decision;

    /// Returns the counts for destinations, each given as its next hops' buckets and decisions.
    fn counts_of(destinations: &[Vec<(u64, u64)>]) -> HashCounts {
        let choice = |(at, shares): (usize, &Vec<(u64, u64)>)| {
            let shares = (0..)
                .map(PortId)
                .zip(shares)
                .map(|(next, &(buckets, chosen))| HopShare {
                    next,
                    buckets,
                    chosen,
                    tested: chosen,
                });
            ((0, at), HashedHops(shares.collect()))
        };
        Shares {
            choices: destinations.iter().enumerate().map(choice).collect(),
        }
        .counts()
    }

    fn counts(shares: &[(u64, u64)]) -> HashCounts {
        counts_of(&[shares.to_vec()])
    }

    /// Example from Wikipedia, "Pearson's chi-squared test": a die is thrown 60 times and shows its sides 5, 8, 9, 8,
    /// 10 and 20 times. Against a fair die, χ² is 13.4 and p is 0.0199.
    #[test]
    fn the_p_value_of_an_unfair_die() {
        let die = counts(&[(1, 5), (1, 8), (1, 9), (1, 8), (1, 10), (1, 20)]);
        assert!((die.p_value.unwrap() - 0.0199).abs() < 0.0001, "{die:?}");
        assert_eq!((die.decisions, die.next_hops, die.used), (60, 6, 6));
        assert_eq!(die.untested, 0);
        assert!((die.largest_difference - 10.0 / 60.0).abs() < 1e-12);
    }

    /// Eight repetitions with the same 20 hashes have the p-value of one repetition: χ² is 1.8 with one degree of
    /// freedom, so p = erfc(√0.9) = 0.1797. With 160 independent decisions, it would be 0.00015.
    #[test]
    fn repetitions_of_the_same_hashes_add_no_evidence() {
        let mut shares = Shares::default();
        for repetition in 0..8 {
            for (next, decisions) in [(PortId(1), 13), (PortId(2), 7)] {
                let decision = NumberedDecision {
                    repetition,
                    chosen: Some(next),
                    ..decision()
                };
                for _ in 0..decisions {
                    shares.add(
                        (0, 0),
                        &decision,
                        [(PortId(1), 1), (PortId(2), 1)].into_iter(),
                    );
                }
            }
        }
        let counts = shares.counts();
        assert_eq!(counts.decisions, 160);
        assert!(
            (counts.p_value.unwrap() - 0.1797).abs() < 1e-4,
            "{counts:?}"
        );
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
        let only = counts(&[(1, 9), (0, 0)]);
        assert_eq!((only.p_value, only.next_hops, only.untested), (None, 1, 0));
    }

    /// For 40 decisions over buckets 1, 1, 2, 6 and 10, the expected counts are 2, 2, 4, 12 and 20; the first three are
    /// pooled into a cell of 8. χ² is 2²/8 + 4²/12 + 6²/20 = 3.6333, whose survival function with two degrees of
    /// freedom is e^(−1.81667) = 0.16256.
    #[test]
    fn cells_of_few_expected_decisions_are_pooled() {
        let pooled = counts(&[(1, 6), (1, 0), (2, 0), (6, 8), (10, 26)]);
        assert!(
            (pooled.p_value.unwrap() - 0.162_56).abs() < 1e-5,
            "{pooled:?}"
        );
    }

    #[test]
    fn nine_decisions_are_too_few_for_two_next_hops_and_ten_are_enough() {
        let nine = counts(&[(1, 9), (1, 0)]);
        assert_eq!((nine.p_value, nine.untested), (None, 9));
        // χ² is 10 with one degree of freedom, so p = erfc(√5).
        let ten = counts(&[(1, 10), (1, 0)]);
        assert!((ten.p_value.unwrap() - 0.001_565_4).abs() < 1e-7, "{ten:?}");
    }

    /// Three destinations have four decisions each. When pooled, the first next hops have all 12 decisions, where 6 are
    /// expected: χ² is 12 and p = erfc(√6).
    #[test]
    fn destinations_of_few_decisions_are_tested_together() {
        let three = counts_of(&vec![vec![(1, 4), (1, 0)]; 3]);
        assert!(
            (three.p_value.unwrap() - 0.000_532_0).abs() < 1e-6,
            "{three:?}"
        );
        assert_eq!(three.untested, 0);
        let with_two_more = [vec![vec![(1, 20), (1, 20)]], vec![vec![(1, 1), (1, 1)]]].concat();
        let two_left_out = counts_of(&with_two_more);
        assert_eq!(two_left_out.p_value, Some(1.0));
        assert_eq!((two_left_out.decisions, two_left_out.untested), (42, 2));
    }

    /// Hash buckets by destination: WCMP in the scenario 8dc, two equal links, three equal links, and unequal links.
    const BUCKETS: [&[u64]; 4] = [
        &[200, 200, 100, 100, 40, 40],
        &[1, 1],
        &[1, 1, 1],
        &[1, 2, 8],
    ];

    /// Returns the counts of a run with up to 12 destinations and up to 60 decisions for each. In `biased` of 100
    /// decisions, the hash selects the first next hop.
    fn small_run(random: &mut Pcg64Mcg, biased: u64) -> HashCounts {
        let mut below = |bound: u64| random.next_u64() % bound;
        let count = 1 + below(12);
        let destinations: Vec<_> = (0..count)
            .map(|_| {
                let buckets = BUCKETS[usize::try_from(below(4)).unwrap()];
                let mut shares: Vec<(u64, u64)> = buckets.iter().map(|&it| (it, 0)).collect();
                for _ in 0..=below(60) {
                    let mut bucket = if below(100) < biased {
                        0
                    } else {
                        below(buckets.iter().sum())
                    };
                    let is_in = |&(buckets, _): &(u64, u64)| {
                        let is_this = bucket < buckets;
                        if !is_this {
                            bucket -= buckets;
                        }
                        is_this
                    };
                    let at = shares.iter().position(is_in).unwrap();
                    shares[at].1 += 1;
                }
                shares
            })
            .collect();
        counts_of(&destinations)
    }

    /// Of 20,000 tests of a fair hash, the share with a p-value below a level should be that level. A count with mean
    /// 20 lies between 7 and 36 in all but one of 1,000 cases.
    #[test]
    fn small_runs_of_a_fair_hash_raise_as_many_alarms_as_the_level_says() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let tests: Vec<f64> = std::iter::repeat_with(|| small_run(&mut random, 0))
            .filter_map(|counts| counts.p_value)
            .take(20_000)
            .collect();
        for (level, expected) in [(0.05, 0.8..1.1), (0.01, 0.8..1.2), (0.001, 0.35..1.8)] {
            let alarms = tests.iter().filter(|&&p_value| p_value < level).count();
            let share = ratio(count(alarms), 20_000) / level;
            assert!(expected.contains(&share), "{level}: {share:.2}");
        }
    }

    #[test]
    fn a_hash_that_takes_the_first_next_hop_in_every_third_decision_is_found() {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let runs = std::iter::repeat_with(|| small_run(&mut random, 33));
        let large = runs.filter(|counts| counts.decisions > 200).take(200);
        let found = large
            .filter(|counts| counts.p_value.is_some_and(|it| it < 0.001))
            .count();
        assert!(found >= 195, "{found} of 200");
    }
}
