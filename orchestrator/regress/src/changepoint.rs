//! Detection of level changes in a history, by PELT (Killick, Fearnhead and Eckley, JASA 107, 2012).
//!
//! The algorithm finds the exact segments of constant level that minimise the sum of squared deviations plus a
//! penalty per change. The penalty is 16 · σ², where σ² is half the mean square difference of neighbouring values
//! (von Neumann, Ann. Math. Stat. 12, 1941), an estimate that a few level changes hardly affect. With this penalty,
//! at most 1 % of histories of independent normal values have a change, whatever their length. It also suits short
//! histories, in which the error of the estimate matters most. In 1 % of histories, a change reduces the sum by more
//! than the following multiple of σ²: 15.0 for 6 values, 16.0 for 8, 15.8 for 10, 14.7 for 20, 13.9 for 60 and 14.0
//! for 200. If most values of a history repeat exactly, as the simulator's do, there is no noise and any step is a
//! change.
//!
//! The `changepoint` crate was not used: it detects changes online by a Bayesian method, which needs a prior of how
//! often levels change, and it depends on a linear algebra library. A nightly history has tens of values and is
//! analysed as a whole.

/// Change of the mean level in a series of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value at the new level.
    pub at: usize,
    /// Mean of the values before the change, back to the previous change.
    pub before: f64,
    /// Mean of the values after the change, up to the next change.
    pub after: f64,
}

/// Returns the level changes in `values`, in order; two changes are at least two values apart.
#[must_use]
pub fn change_points(values: &[f64]) -> Vec<ChangePoint> {
    let count = values.len();
    if count < 2 * MIN_SEGMENT {
        return Vec::new();
    }
    let sums = Sums::of(values);
    let penalty = PENALTY * variance(values);
    let ends = segments(&sums, count, penalty);
    let starts: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).collect();
    let levels: Vec<f64> = starts
        .iter()
        .zip(starts[1..].iter().chain([&count]))
        .map(|(&start, &end)| sums.mean(start, end))
        .collect();
    let changes = levels.windows(2).zip(&ends);
    changes
        .map(|(levels, &at)| ChangePoint {
            at,
            before: levels[0],
            after: levels[1],
        })
        .collect()
}

/// Returns the start index of each segment except the first, in the segmentation with the lowest cost: squared
/// deviations from the segment means, plus `penalty` for each change.
fn segments(sums: &Sums, count: usize, penalty: f64) -> Vec<usize> {
    // For each `end`: the least cost of the first `end` values, and the start of their last segment.
    let mut best = vec![(-penalty, 0); count + 1];
    let mut candidates = vec![0];
    for end in MIN_SEGMENT..=count {
        let cost = |&start: &usize| best[start].0 + sums.cost(start, end);
        let fits = |start: &&usize| end - **start >= MIN_SEGMENT;
        let costs = candidates
            .iter()
            .filter(fits)
            .map(|start| (cost(start), *start));
        let least = costs
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((f64::MAX, 0));
        best[end] = (least.0 + penalty, least.1);
        // Prunes: a segment start that now costs more than a change at this point can never be optimal again.
        let bound = best[end].0;
        candidates.retain(|&start| {
            end - start < MIN_SEGMENT || best[start].0 + sums.cost(start, end) <= bound
        });
        candidates.push(end + 1 - MIN_SEGMENT.min(end));
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|&start| start == 0 || start >= MIN_SEGMENT);
    }
    let mut starts = Vec::new();
    let mut end = count;
    while best[end].1 > 0 {
        end = best[end].1;
        starts.push(end);
    }
    starts.reverse();
    starts
}

/// Cumulative sums of the values' deviations from the first value, and of their squares; the first entry stores the
/// first value instead.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: &[f64]) -> Self {
        // Sums of deviations from the first value lose fewer digits than sums of the values.
        let base = values.first().copied().unwrap_or(0.0);
        let mut sums = vec![(base, 0.0)];
        let mut sum = 0.0;
        let mut squares = 0.0;
        for value in values {
            sum += value - base;
            squares += (value - base).powi(2);
            sums.push((sum, squares));
        }
        Self(sums)
    }

    fn total(&self, at: usize) -> (f64, f64) {
        if at == 0 { (0.0, 0.0) } else { self.0[at] }
    }

    /// Returns the mean of the values with indices in `start..end`.
    fn mean(&self, start: usize, end: usize) -> f64 {
        self.0[0].0 + (self.total(end).0 - self.total(start).0) / float(end - start)
    }

    /// Returns the sum of squared deviations of the values with indices in `start..end` from their mean.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let to = self.total(end);
        let from = self.total(start);
        let sum = to.0 - from.0;
        (to.1 - from.1 - sum * sum / float(end - start)).max(0.0)
    }
}

/// Returns the noise variance σ²: half the mean square difference between neighbours, or a tiny value if most
/// neighbours are equal.
fn variance(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).powi(2))
        .collect();
    let count = differences.len();
    let equal = differences.iter().filter(|&&square| square < MIN_VARIANCE);
    if 2 * equal.count() > count {
        MIN_VARIANCE
    } else {
        differences.iter().sum::<f64>() / (2.0 * float(count))
    }
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 runs")]
fn float(count: usize) -> f64 {
    count as f64
}

/// Penalty for each change, in units of σ²; the module's documentation derives it.
const PENALTY: f64 = 16.0;

/// Minimum number of values in a segment, so that a single outlier is not a level.
const MIN_SEGMENT: usize = 2;

/// Variance assumed when most neighbouring values are equal or differ only by rounding.
const MIN_VARIANCE: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise::Noise;

    fn noisy(levels: &[(usize, f64)]) -> Vec<f64> {
        let mut state = 7u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1u32 << 31) - 0.5
        };
        let values = levels
            .iter()
            .flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        values.map(|level| level + 0.02 * noise()).collect()
    }

    #[test]
    fn a_step_is_found_at_its_place_and_noise_has_none() {
        let found = change_points(&noisy(&[(15, 3.0), (10, 3.1)]));
        let places: Vec<usize> = found.iter().map(|change| change.at).collect();
        assert_eq!(places, [15], "{found:?}");
        assert!((found[0].before - 3.0).abs() < 0.01 && (found[0].after - 3.1).abs() < 0.01);
        let there_and_back = change_points(&noisy(&[(10, 1.0), (5, 1.2), (12, 1.0)]));
        let places: Vec<usize> = there_and_back.iter().map(|change| change.at).collect();
        assert_eq!(places, [10, 15]);
        assert_eq!(change_points(&noisy(&[(60, 3.0)])), []);
    }

    /// Returns the share of `histories` random histories in which a change is found. Each history has `nights` normal
    /// values of variance 1; values from index `at` on are higher by `step`.
    fn share(seed: u64, histories: u32, nights: usize, at: usize, step: f64) -> f64 {
        let mut noise = Noise::new(seed);
        let found = (0..histories).filter(|_| {
            let value = |night| noise.normal() + if night < at { 0.0 } else { step };
            let values: Vec<f64> = (0..nights).map(value).collect();
            !change_points(&values).is_empty()
        });
        f64::from(u32::try_from(found.count()).unwrap()) / f64::from(histories)
    }

    /// At a false-alarm rate of 1 %, 40 of 4,000 histories are expected to have a change; 60 or more would occur for
    /// one seed in 1,000.
    #[test]
    fn noise_has_a_change_in_at_most_one_of_a_hundred_histories_of_any_length() {
        for nights in [4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60] {
            let alarms = share(nights as u64, 4_000, nights, nights, 0.0);
            assert!(alarms < 0.015, "{nights} nights: {alarms}");
        }
    }

    /// Expected shares of histories in which a step of 3 σ is found, from a simulation outside this crate: 0.68 for 12
    /// nights, 0.87 for 15, 0.98 for 20, 1 for 30 and more.
    #[test]
    fn a_step_of_three_deviations_in_the_middle_is_found() {
        for (nights, least) in [(12, 0.6), (15, 0.8), (20, 0.95), (30, 0.99), (60, 0.99)] {
            let found = share(100 + nights as u64, 500, nights, nights / 2, 3.0);
            assert!(found >= least, "{nights} nights: {found}");
        }
    }

    /// The level changes four nights before the end of the history.
    #[test]
    fn a_step_of_three_deviations_is_found_soon() {
        for (nights, least) in [(20, 0.75), (30, 0.85), (60, 0.9)] {
            let found = share(200 + nights as u64, 500, nights, nights - 4, 3.0);
            assert!(found >= least, "{nights} nights: {found}");
        }
    }

    #[test]
    fn exact_histories_show_any_step_and_short_ones_show_none() {
        let exact = [[2.0; 4], [2.001; 4]].concat();
        assert_eq!(change_points(&exact).len(), 1);
        let late = [[2.0; 4].as_slice(), &[2.001; 2]].concat();
        assert_eq!(change_points(&late).len(), 1);
        assert_eq!(change_points(&[2.0; 8]), []);
        assert_eq!(change_points(&[1.0, 2.0, 3.0]), []);
        assert_eq!(change_points(&[]), []);
    }

    proptest! {
        /// Pruning does not affect the result: no choice of up to two changes costs less than the segments found.
        #[test]
        fn no_two_changes_are_cheaper(values in prop::collection::vec(0.0..10.0f64, 4..24)) {
            let sums = Sums::of(&values);
            let count = values.len();
            let penalty = PENALTY * variance(&values);
            let cost = |starts: &[usize]| {
                let edges: Vec<usize> = [0].iter().chain(starts).chain([&count]).copied().collect();
                let costs = edges.windows(2).map(|edge| sums.cost(edge[0], edge[1]));
                costs.sum::<f64>() + penalty * float(starts.len())
            };
            let found = cost(&segments(&sums, count, penalty));
            let mut least = cost(&[]);
            for a in MIN_SEGMENT..=count - MIN_SEGMENT {
                least = least.min(cost(&[a]));
                for b in a + MIN_SEGMENT..=count.saturating_sub(MIN_SEGMENT) {
                    least = least.min(cost(&[a, b]));
                }
            }
            prop_assert!(found <= least + 1e-9, "{found} {least}");
        }
    }
}
