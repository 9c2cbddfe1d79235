//! Number of networks in which each policy is better or worse.

use serde::Serialize;

use super::{sample::TrainsError, settings::Setting};
use crate::{
    stats::{SAME, median},
    sweep::{CellNumbers, Effect, EffectOutcome, P99, PointCells, Slice, distinct, effects},
};

/// Outcomes of one policy under one setting, in numbers of networks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wins {
    /// Values of the axes other than the network.
    pub setting: String,
    /// Label of the policy.
    pub policy: String,
    pub slice: Slice,
    /// Networks with results.
    pub networks: usize,
    pub better: usize,
    pub worse: usize,
    /// The interval lies within 1 % of zero.
    pub same: usize,
    /// The change is significant or the same, but not larger than the error of trains, or this error is unknown.
    pub within_error: usize,
    /// The draws do not tell.
    pub unknown: usize,
    /// No percentile: too few flows in a draw, or unfinished ones.
    pub without: usize,
    /// Median change of the p99 over the networks that have one.
    pub median: Option<f64>,
}

/// Effect of a policy in one network under one setting.
#[derive(Clone, Copy)]
pub(super) struct NetworkEffect<'a> {
    pub setting: &'a str,
    pub point: &'a PointCells,
    pub effect: &'a Effect,
}

/// Effects of all policies on the p99 in all networks.
pub(super) struct NetworkEffects<'a> {
    settings: &'a [Setting<'a>],
    /// Name of the setting and point by the number that effects give it.
    places: Vec<(&'a str, &'a PointCells)>,
    effects: Vec<Effect>,
}

impl<'a> NetworkEffects<'a> {
    /// Computes the effects against `baseline` at the points of all `settings`.
    pub fn new(settings: &'a [Setting<'a>], baseline: &str) -> Self {
        let of_setting = |setting: &'a Setting<'a>| {
            let points = setting.points.iter();
            points.map(|point| (setting.name.as_str(), *point))
        };
        let places: Vec<(&str, &PointCells)> = settings.iter().flat_map(of_setting).collect();
        let numbers: Vec<Vec<&CellNumbers>> = places
            .iter()
            .map(|(_, point)| point.numbers.iter().collect())
            .collect();
        Self {
            settings,
            effects: effects(&numbers, baseline),
            places,
        }
    }

    /// Returns the labels of the policies, in the order of the scenario.
    pub fn policies(&self) -> Vec<&str> {
        distinct(self.effects.iter().map(|effect| &effect.policy))
    }

    /// Returns the effects of `policy` on the p99 of the flows in `slice`.
    pub fn of(&self, policy: &str, slice: Slice) -> impl Iterator<Item = NetworkEffect<'_>> {
        let effects = self.effects.iter();
        let of_policy = effects.filter(move |it| it.is_p99_of(policy, slice));
        of_policy.map(|effect| {
            let place = &self.places[effect.point];
            NetworkEffect {
                setting: place.0,
                point: place.1,
                effect,
            }
        })
    }

    /// Counts the outcomes of `policy` under each setting. `errors` are those of trains; `None` without a sample. A change
    /// that is not larger than the error of trains is counted neither as better nor as worse.
    pub fn wins(&self, policy: &str, slice: Slice, errors: Option<&[TrainsError]>) -> Vec<Wins> {
        let is_own = |it: &&TrainsError| {
            it.policy == policy && it.slice == slice && it.statistic == P99.name()
        };
        let error = errors.map_or(0.0, |errors| {
            let mut own = errors.iter().filter(is_own);
            let known = own.find_map(|it| Some(it.change?.p95));
            known.unwrap_or(f64::INFINITY)
        });
        let count = |setting: &Setting<'_>| {
            let here = |it: &NetworkEffect<'_>| it.setting == setting.name;
            let found: Vec<&Effect> = self
                .of(policy, slice)
                .filter(here)
                .map(|it| it.effect)
                .collect();
            let mut wins = Wins {
                setting: setting.name.clone(),
                policy: policy.to_owned(),
                slice,
                networks: found.len(),
                better: 0,
                worse: 0,
                same: 0,
                within_error: 0,
                unknown: 0,
                without: 0,
                median: median(
                    found
                        .iter()
                        .filter_map(|it| Some(it.change?.value))
                        .collect(),
                ),
            };
            for effect in found {
                *wins.counter(effect, error) += 1;
            }
            wins
        };
        self.settings.iter().map(count).collect()
    }
}

impl Wins {
    /// Returns the counter for `effect`, given the error of trains.
    fn counter(&mut self, effect: &Effect, error: f64) -> &mut usize {
        let Some(change) = effect.change else {
            return &mut self.without;
        };
        let is_within = change.value.ln_1p().abs() <= error.ln_1p();
        match effect.outcome {
            EffectOutcome::Better | EffectOutcome::Worse if is_within => &mut self.within_error,
            EffectOutcome::Better => &mut self.better,
            EffectOutcome::Worse => &mut self.worse,
            EffectOutcome::Same if error > SAME => &mut self.within_error,
            EffectOutcome::Same => &mut self.same,
            EffectOutcome::Unknown => &mut self.unknown,
        }
    }
}
