//! Effects: the change of each policy's slowdowns against a baseline, at each point of a sweep.
//!
//! Both policies of a cell meet the same flows, so an effect is computed from the differences in each draw: each seed
//! and each repetition. Its interval is that of the [`Uncertainty`] over draws and windows of time. A sweep makes
//! hundreds of comparisons, and one in twenty would be significant by chance; so the procedure of Benjamini and Hochberg
//! (J. R. Stat. Soc. B 57, 1995) decides which are, such that at most one in twenty of those called better or worse is
//! expected to be wrong.

use serde::Serialize;

use super::numbers::{CellNumbers, DrawSlowdowns, Slice};
use crate::{
    stats::{DrawValue, Estimate, SAME, Statistic, Uncertainty, UncertaintyMethod, WINDOWS},
    text::to_float,
};

/// Change of a policy's slowdowns against the baseline's at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// Number of the point, in the order of its first cell.
    pub point: usize,
    /// Label of the policy.
    pub policy: String,
    pub slice: Slice,
    /// Name of the compared percentile, such as `p99`.
    pub statistic: &'static str,
    /// Number of draws; 0 if a percentile is unknown in one of them.
    pub draws: usize,
    /// Number of flows of each policy, over all draws.
    pub flows: u64,
    /// Relative change of the percentile, a geometric mean over the draws; `None` if a draw has unfinished flows there,
    /// or fewer flows than the percentile needs.
    pub change: Option<Estimate>,
    /// Probability of a change at least as large if there were none; `None` with fewer than two draws.
    pub p_value: Option<f64>,
    /// Method of the interval and of the probability; `None` with fewer than two draws.
    pub method: Option<UncertaintyMethod>,
    pub outcome: EffectOutcome,
}

/// Meaning of an effect, after all effects of the sweep have been considered.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectOutcome {
    /// The slowdown is smaller than the baseline's.
    Better,
    /// The slowdown is larger than the baseline's.
    Worse,
    /// The interval lies within 1 % of zero.
    Same,
    /// The draws do not tell.
    Unknown,
}

/// Percentile that effects are computed for.
pub(crate) struct Percentile {
    name: &'static str,
    statistic: Statistic,
    value: fn(&DrawSlowdowns) -> Option<f64>,
    without_window: fn(&DrawSlowdowns) -> Option<[f64; WINDOWS]>,
}

impl Percentile {
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the percentile of a draw; `None` if it falls on an unfinished flow, or the draw has fewer flows than the
    /// percentile needs.
    pub fn of(&self, draw: &DrawSlowdowns) -> Option<f64> {
        let is_enough = draw.flows >= self.statistic.min_values() as u64;
        (self.value)(draw).filter(|_| is_enough)
    }

    /// Returns the logarithm of the second draw's percentile ÷ the first's; `None` if one is unknown.
    fn log_ratio(&self, pair: &[DrawSlowdowns; 2]) -> Option<DrawValue> {
        let [base, other] = pair.each_ref().map(|draw| self.of(draw));
        let windows = pair.each_ref().map(self.without_window);
        let without_window = match windows {
            [Some(base), Some(other)] => {
                Some(std::array::from_fn(|at| (other[at] / base[at]).ln()))
            }
            _ => None,
        };
        Some(DrawValue {
            value: (other? / base?).ln(),
            without_window,
        })
    }
}

pub(crate) const P50: Percentile = Percentile {
    name: "p50",
    statistic: Statistic::P50,
    value: |draw| draw.p50,
    without_window: |draw| draw.p50_without_window,
};

pub(crate) const P99: Percentile = Percentile {
    name: "p99",
    statistic: Statistic::P99,
    value: |draw| draw.p99,
    without_window: |draw| draw.p99_without_window,
};

/// Maximum expected share of the effects called better or worse for which the opposite or no change is true.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// Computes the effects of all policies but `baseline` at each point; `points` has the cells of each point that have
/// results.
#[must_use]
pub fn effects(points: &[Vec<&CellNumbers>], baseline: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (point, cells) in points.iter().enumerate() {
        let Some(first) = cells.first() else { continue };
        let policies = first.policies.iter().map(|it| &it.policy);
        for policy in policies.filter(|label| *label != baseline) {
            for slice in [Slice::All, Slice::WithChoice] {
                let pairs = pairs(cells, [baseline, policy], slice);
                if pairs.is_empty() {
                    continue;
                }
                effects.extend([P50, P99].iter().map(|percentile| Effect {
                    point,
                    policy: policy.clone(),
                    slice,
                    ..Effect::of(&pairs, percentile)
                }));
            }
        }
    }
    judge(&mut effects);
    effects
}

/// Returns the draws of two policies in each cell and repetition: the first's and the second's. Copies of one draw, such
/// as listed flows under several seeds, count once.
fn pairs(cells: &[&CellNumbers], labels: [&str; 2], slice: Slice) -> Vec<[DrawSlowdowns; 2]> {
    let in_cell = |cell: &&'_ CellNumbers| {
        let draws = |label: &str| cell.policy(label).map_or(&[][..], |it| it.draws(slice));
        let [base, other] = labels.map(|label| draws(label).to_vec());
        base.into_iter().filter_map(move |base| {
            let same = |draw: &&DrawSlowdowns| draw.repetition == base.repetition;
            Some([base, *other.iter().find(same)?])
        })
    };
    let mut pairs: Vec<[DrawSlowdowns; 2]> = Vec::new();
    for pair in cells.iter().flat_map(in_cell) {
        let is_copy = |other: &[DrawSlowdowns; 2]| {
            other
                .iter()
                .zip(&pair)
                .all(|(one, other)| one.is_copy_of(other))
        };
        if !pairs.iter().any(is_copy) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Returns each of `labels` once, in the order of their first places.
pub(crate) fn distinct<'a>(labels: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for label in labels {
        if !found.contains(&label.as_str()) {
            found.push(label);
        }
    }
    found
}

impl Effect {
    /// Returns true for the effect of `policy` on the p99 of the flows in `slice`.
    pub(crate) fn is_p99_of(&self, policy: &str, slice: Slice) -> bool {
        self.policy == policy && self.slice == slice && self.statistic == P99.name
    }

    /// Computes an effect from draws, without its point, policy, slice and outcome.
    fn of(pairs: &[[DrawSlowdowns; 2]], percentile: &Percentile) -> Self {
        // Without the draws in which a policy lost flows, that policy would look better than it is.
        let all: Option<Vec<DrawValue>> = pairs.iter().map(|it| percentile.log_ratio(it)).collect();
        let draws = all.unwrap_or_default();
        let mean = draws.iter().map(|draw| draw.value).sum::<f64>() / count(draws.len().max(1));
        let uncertainty = Uncertainty::of(&draws);
        let change = (!draws.is_empty()).then(|| Estimate {
            value: mean.exp_m1(),
            interval: uncertainty.map(|it| it.interval().map(f64::exp_m1)),
        });
        Self {
            point: 0,
            policy: String::new(),
            slice: Slice::All,
            statistic: percentile.name,
            draws: draws.len(),
            flows: pairs.iter().map(|pair| pair[0].flows).sum(),
            change,
            p_value: uncertainty.map(|it| it.p_value()),
            method: uncertainty.map(|it| it.method),
            outcome: EffectOutcome::Unknown,
        }
    }
}

/// Sets the outcomes: better and worse by the procedure of Benjamini and Hochberg over all effects.
fn judge(effects: &mut [Effect]) {
    let mut sorted: Vec<f64> = effects.iter().filter_map(|it| it.p_value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let tests = count(sorted.len().max(1));
    let bound = (1..)
        .zip(&sorted)
        .filter(|&(rank, &p)| p <= FALSE_DISCOVERIES * count(rank) / tests)
        .last()
        .map_or(-1.0, |(_, &p)| p);
    for effect in effects {
        let Some(Estimate { value, interval }) = effect.change else {
            continue;
        };
        let is_same = interval.is_some_and(|it| it.low > -SAME && it.high < SAME);
        let is_significant = effect.p_value.is_some_and(|p| p <= bound);
        effect.outcome = match is_significant {
            _ if is_same => EffectOutcome::Same,
            true if value < 0.0 => EffectOutcome::Better,
            true => EffectOutcome::Worse,
            false => EffectOutcome::Unknown,
        };
    }
}

fn count(number: usize) -> f64 {
    to_float(number as u64)
}

#[cfg(test)]
mod tests {
    use lab_records::Grade;

    use super::{
        super::numbers::{CellNetwork, CellPolicy},
        *,
    };
    use crate::stats::Interval;

    fn draw(repetition: u32, p99: f64) -> DrawSlowdowns {
        DrawSlowdowns {
            repetition,
            flows: 1_000,
            p50: Some(1.0),
            p99: Some(p99),
            mean: Some(1.0),
            p50_without_window: None,
            p99_without_window: None,
        }
    }

    fn cell(of: &[(&str, &[f64])]) -> CellNumbers {
        CellNumbers {
            cell: String::new(),
            identity: String::new(),
            plan: String::new(),
            verdict: Grade::Valid,
            reasons: Vec::new(),
            flows: 1_000,
            flows_with_choice: None,
            network: CellNetwork::default(),
            policies: of
                .iter()
                .map(|(label, p99s)| CellPolicy {
                    policy: (*label).to_owned(),
                    unfinished: 0,
                    busiest: None,
                    mechanism: None,
                    all: (0..).zip(*p99s).map(|(at, &p99)| draw(at, p99)).collect(),
                    with_choice: Vec::new(),
                })
                .collect(),
        }
    }

    fn p99(effects: &[Effect], point: usize) -> &Effect {
        let mut found = effects.iter().filter(|it| it.point == point);
        found.find(|it| it.statistic == "p99").unwrap()
    }

    /// The ratios are ½, ¼ and ½, so the logarithms are −0.6931, −1.3863, −0.6931: mean −0.9242, s = 0.4002, standard
    /// error 0.2310. t = −4.000 with two degrees of freedom: p = 0.0572. The interval is −0.9242 ± 4.3027 · 0.2310.
    #[test]
    fn an_effect_is_the_mean_of_the_draws_of_two_seeds() {
        let first = cell(&[("ecmp", &[4.0, 4.0]), ("lcmp", &[2.0, 1.0])]);
        let second = cell(&[("ecmp", &[8.0]), ("lcmp", &[4.0])]);
        let found = effects(&[vec![&first, &second]], "ecmp");
        let effect = p99(&found, 0);
        let change = effect.change.unwrap();
        let interval = change.interval.unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found}");
        near(change.value, (-0.9242_f64).exp_m1());
        near(interval.low, (-1.9182_f64).exp_m1());
        near(interval.high, 0.0698_f64.exp_m1());
        near(effect.p_value.unwrap(), 0.0572);
        assert_eq!((effect.draws, effect.flows), (3, 3_000));
        assert_eq!(effect.outcome, EffectOutcome::Unknown);
    }

    /// The ratios are ½ and ¼, so the logarithms are −0.6931 and −1.3863, and the part between them is 0.2402 / 2. Without
    /// every other window of the first draw, the other policy's p99 is 2 · e^0.2, so the logarithm is 0.2 larger:
    /// deviations of 0.1, whose squares add up to 0.1, and 0.1 · 0.81 / 4 = 0.02025. The standard error is 0.37465 with
    /// 1.36345 degrees of freedom, and the quantile 6.93747 (integrated numerically).
    #[test]
    fn windows_make_the_interval_hierarchical() {
        let mut both = cell(&[("ecmp", &[4.0, 8.0]), ("lcmp", &[2.0, 2.0])]);
        for (policy, slowest) in both.policies.iter_mut().zip([4.0, 2.0]) {
            let other = if slowest == 2.0 { 0.2_f64.exp() } else { 1.0 };
            let windows = std::array::from_fn(|at| [slowest, other * slowest][at % 2]);
            policy.all[0].p99_without_window = Some(windows);
            policy.all[1].p99_without_window = Some([slowest; WINDOWS]);
        }
        let found = effects(&[vec![&both]], "ecmp");
        let effect = p99(&found, 0);
        assert_eq!(effect.method, Some(UncertaintyMethod::Hierarchical));
        let interval = effect.change.unwrap().interval.unwrap();
        let half = (interval.high.ln_1p() - interval.low.ln_1p()) / 2.0;
        assert!((half - 6.93747 * 0.37465).abs() < 1e-3, "{half}");
    }

    /// Of five p-values, 0.011 ≤ 0.05 · 2/5 is the largest within its bound: 0.04 > 0.05 · 3/5.
    #[test]
    fn of_many_effects_only_those_within_the_false_discovery_rate_are_called() {
        let effect = |p_value: f64, value: f64| Effect {
            p_value: Some(p_value),
            change: Some(Estimate {
                value,
                interval: Some(Interval {
                    low: value - 0.1,
                    high: value + 0.1,
                }),
            }),
            ..Effect::of(&[], &P99)
        };
        let mut found = [
            effect(0.04, -0.5),
            effect(0.011, 0.5),
            effect(0.3, 0.2),
            effect(0.002, -0.5),
            effect(0.9, 0.0),
        ];
        judge(&mut found);
        let expected = [
            EffectOutcome::Unknown,
            EffectOutcome::Worse,
            EffectOutcome::Unknown,
            EffectOutcome::Better,
            EffectOutcome::Unknown,
        ];
        assert_eq!(found.map(|effect| effect.outcome), expected);
    }

    #[test]
    fn equal_policies_are_the_same_and_one_draw_tells_nothing() {
        let equal = cell(&[("ecmp", &[4.0, 5.0]), ("wcmp", &[4.0, 5.0])]);
        let once = cell(&[("ecmp", &[4.0]), ("wcmp", &[2.0])]);
        let found = effects(&[vec![&equal], vec![&once], vec![]], "ecmp");
        assert_eq!(p99(&found, 0).outcome, EffectOutcome::Same);
        let alone = p99(&found, 1);
        assert_eq!(
            (alone.p_value, alone.outcome),
            (None, EffectOutcome::Unknown)
        );
        assert_eq!(alone.change.unwrap().value, -0.5);
    }

    #[test]
    fn copies_of_one_draw_are_no_evidence() {
        let copies = cell(&[("ecmp", &[4.0, 4.0]), ("lcmp", &[2.0, 2.0])]);
        let found = effects(&[vec![&copies]], "ecmp");
        let effect = p99(&found, 0);
        let found = (effect.draws, effect.p_value, effect.outcome);
        assert_eq!(found, (1, None, EffectOutcome::Unknown));
    }

    #[test]
    fn a_percentile_of_too_few_flows_or_of_unfinished_ones_has_no_effect() {
        let mut few = cell(&[("ecmp", &[4.0, 4.0]), ("lcmp", &[2.0, 2.0])]);
        let draws = few.policies.iter_mut().flat_map(|it| &mut it.all);
        draws.for_each(|draw| draw.flows = 10);
        let mut lost = cell(&[("ecmp", &[4.0, 4.0]), ("lcmp", &[2.0, 2.0])]);
        lost.policies[1].all.iter_mut().for_each(|it| it.p99 = None);
        let found = effects(&[vec![&few], vec![&lost]], "ecmp");
        assert_eq!(p99(&found, 0).change, None);
        assert_eq!((p99(&found, 1).draws, p99(&found, 1).change), (0, None));
        let mut partly = cell(&[("ecmp", &[4.0, 4.0]), ("lcmp", &[2.0, 2.0])]);
        partly.policies[1].all[1].p99 = None;
        assert_eq!(p99(&effects(&[vec![&partly]], "ecmp"), 0).change, None);
    }
}
