//! Properties of networks that explain a policy's effect: a linear regression over the networks.

use linregress::{FormulaRegressionBuilder, RegressionDataBuilder};
use serde::Serialize;
use statrs::statistics::Statistics;

use super::{
    settings::Properties,
    wins::{NetworkEffect, NetworkEffects},
};
use crate::{
    stats::{Interval, median, student_half_width},
    sweep::Slice,
};

/// Regression of a policy's effect on properties of networks, under one setting.
///
/// The logarithm of the policy's p99 ÷ the baseline's is regressed on the properties, by ordinary least squares. Each
/// property is in units of its standard deviation over the networks, so that the coefficients can be compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Values of the axes other than the network.
    pub setting: String,
    /// Label of the policy.
    pub policy: String,
    /// Number of networks.
    pub networks: usize,
    /// Share of the effect's variance that the properties explain.
    pub r_squared: f64,
    pub coefficients: Vec<Coefficient>,
}

/// Relative change of a policy's p99, against the baseline's, by one standard deviation of a property.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// Name of the property.
    pub property: &'static str,
    pub value: f64,
    pub interval: Interval,
}

/// Number that is regressed on; `None` if it is unknown.
type PropertyOf = fn(&Properties) -> Option<f64>;

/// Properties by name, each as a number that is regressed on; ratios by their logarithms.
pub(super) const PROPERTIES: [(&str, PropertyOf); 5] = [
    ("pairs with a choice", |it| Some(it.choice)),
    ("spread of delays", |it| Some(it.delay_spread.ln())),
    ("spread of capacities", |it| Some(it.capacity_spread.ln())),
    ("busiest link", |it| it.busiest),
    ("datacenters", |it| Some(it.dcs.ln())),
];

/// Number of networks per property below which a regression says nothing.
const MIN_NETWORKS: usize = 10;

/// Regresses the effect of `policy` on p99, over all flows, under each setting with enough networks.
pub(super) fn explanations(
    effects: &NetworkEffects<'_>,
    policy: &str,
    baseline: &str,
) -> Vec<Explanation> {
    let mut settings: Vec<(&str, Vec<Observation>)> = Vec::new();
    let all: Vec<NetworkEffect<'_>> = effects.of(policy, Slice::All).collect();
    for it in &all {
        let Some(observation) = Observation::of(it, baseline) else {
            continue;
        };
        match settings.iter_mut().find(|(name, _)| *name == it.setting) {
            Some((_, observations)) => observations.push(observation),
            None => settings.push((it.setting, vec![observation])),
        }
    }
    let explained = settings.into_iter().filter_map(|(setting, observations)| {
        let (r_squared, coefficients) = regression(&observations)?;
        Some(Explanation {
            setting: setting.to_owned(),
            policy: policy.to_owned(),
            networks: observations.len(),
            r_squared,
            coefficients,
        })
    });
    explained.collect()
}

/// Network with everything that the regression needs.
struct Observation {
    /// Logarithm of the policy's p99 ÷ the baseline's.
    change: f64,
    /// Values of [`PROPERTIES`].
    properties: Vec<f64>,
}

impl Observation {
    fn of(effect: &NetworkEffect<'_>, baseline: &str) -> Option<Self> {
        let properties = Properties::of(effect.point, baseline)?;
        let values: Option<Vec<f64>> = PROPERTIES.iter().map(|(_, of)| of(&properties)).collect();
        Some(Self {
            change: effect.effect.change?.value.ln_1p(),
            properties: values?,
        })
    }
}

/// Returns the share of explained variance and the coefficients of the properties that differ between networks; `None`
/// if there are too few networks, or if all changes are equal.
fn regression(observations: &[Observation]) -> Option<(f64, Vec<Coefficient>)> {
    let values = |at: usize| observations.iter().map(move |it| it.properties[at]);
    // A property in which a few networks differ from all others would be explained by these alone.
    let differs = |at: &usize| {
        let middle = median(values(*at).collect()).unwrap_or_default();
        let others = values(*at).filter(|value| (value - middle).abs() > MIN_DEVIATION);
        others.count() >= MIN_NETWORKS
    };
    let mut used: Vec<usize> = Vec::new();
    for at in (0..PROPERTIES.len()).filter(differs) {
        // Of two properties that say the same, the second would make the coefficients arbitrary.
        let says_the_same = |other: &usize| {
            let product = values(at).covariance(values(*other));
            let correlation = product / (values(at).std_dev() * values(*other).std_dev());
            correlation.abs() > MAX_CORRELATION
        };
        if !used.iter().any(says_the_same) {
            used.push(at);
        }
    }
    if used.is_empty() || observations.len() < MIN_NETWORKS * used.len() {
        return None;
    }
    let changes: Vec<f64> = observations.iter().map(|it| it.change).collect();
    if changes.iter().std_dev() <= MIN_DEVIATION {
        return None;
    }
    let mut columns = vec![(CHANGE, changes)];
    for &at in &used {
        let [mean, deviation] = [values(at).mean(), values(at).std_dev()];
        let scaled = values(at).map(|value| (value - mean) / deviation);
        columns.push((PROPERTIES[at].0, scaled.collect()));
    }
    let data = RegressionDataBuilder::new().build_from(columns).ok()?;
    let names: Vec<&str> = used.iter().map(|&at| PROPERTIES[at].0).collect();
    let builder = FormulaRegressionBuilder::new().data(&data);
    let model = builder.data_columns(CHANGE, names).fit().ok()?;
    let quantile = student_half_width(observations.len() - used.len() - 1)?;
    // The first parameter is the intercept.
    let fitted = model.parameters().iter().zip(model.se()).skip(1);
    let coefficients: Vec<Coefficient> = used
        .iter()
        .zip(fitted)
        .map(|(&at, (value, error))| Coefficient {
            property: PROPERTIES[at].0,
            value: value.exp_m1(),
            interval: Interval {
                low: (value - quantile * error).exp_m1(),
                high: (value + quantile * error).exp_m1(),
            },
        })
        .collect();
    let is_finite = |it: &Coefficient| it.interval.low.is_finite() && it.interval.high.is_finite();
    let is_known = coefficients.iter().all(is_finite);
    is_known.then(|| (model.rsquared(), coefficients))
}

const CHANGE: &str = "change";

/// Correlation of two properties above which one is left out.
const MAX_CORRELATION: f64 = 0.99;

/// Standard deviation below which values count as equal.
const MIN_DEVIATION: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 20 networks, half have a choice everywhere and half nowhere: the standard deviation of the share is
    /// √(20 · 0.25 / 19) = 0.51299. The logarithm of the change is 0.2 with a choice and 0 without, ± 0.01: the slope is
    /// 0.2 · 0.51299 = 0.10260 per standard deviation. The squared residuals add up to 0.002, so with 18 degrees of freedom
    /// its standard error is √(0.002 / 18 / 19) = 0.0024183, and the interval is ± 2.1009 of these. R² is 1 − 0.002 / 0.202.
    #[test]
    fn a_coefficient_is_the_change_by_one_standard_deviation() {
        let observation = |at: u32| {
            let choice = f64::from(at % 2);
            let residual = if at % 4 < 2 { 0.01 } else { -0.01 };
            Observation {
                change: 0.2 * choice + residual,
                properties: vec![choice, 0.0, 0.0, 0.5, 3.0],
            }
        };
        let observations: Vec<_> = (0..20).map(observation).collect();
        let (r_squared, found) = regression(&observations).unwrap();
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        };
        near(r_squared, 1.0 - 0.002 / 0.202);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].property, "pairs with a choice");
        near(found[0].value, 0.102_598_f64.exp_m1());
        near(found[0].interval.low, 0.097_517_f64.exp_m1());
        near(found[0].interval.high, 0.107_679_f64.exp_m1());
        assert_eq!(regression(&observations[..9]), None, "too few networks");
    }

    /// With the number of datacenters, which is 8 with a choice and 13 without, nothing else can be told.
    #[test]
    fn a_property_that_says_the_same_as_another_is_left_out() {
        let observation = |at: u32| {
            let choice = f64::from(at % 2);
            Observation {
                change: 0.2 * choice + f64::from(at % 3) / 100.0,
                properties: vec![choice, 0.0, 0.0, 0.5, 13.0 - 5.0 * choice],
            }
        };
        let observations: Vec<_> = (0..30).map(observation).collect();
        let (_, found) = regression(&observations).unwrap();
        let names: Vec<_> = found.iter().map(|it| it.property).collect();
        assert_eq!(names, ["pairs with a choice"]);
    }

    #[test]
    fn a_property_in_which_few_networks_differ_is_left_out() {
        let observation = |at: u32| {
            let spread = if at < 9 { 2.0 } else { 1.0 };
            Observation {
                change: spread - f64::from(at % 2),
                properties: vec![f64::from(at % 2), 0.0, spread, 0.5, 3.0],
            }
        };
        let observations: Vec<_> = (0..40).map(observation).collect();
        let (_, found) = regression(&observations).unwrap();
        let names: Vec<_> = found.iter().map(|it| it.property).collect();
        assert_eq!(names, ["pairs with a choice"]);
    }
}
